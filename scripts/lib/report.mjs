/** Vitest's JSON report, read for the two closing lines of `npm test`. */

/**
 * Counts a report. A file that failed without a failed test of its own (it did not load, a hook threw) counts as one
 * failure, and so does a run that ended badly although every test in it passed (an unhandled error, a crash).
 */
export function totalsOf(report, exitCode) {
  const totals = { passed: 0, failed: 0, skipped: 0 };
  for (const file of report?.testResults ?? []) {
    const failedBefore = totals.failed;
    for (const test of file.assertionResults) {
      if (test.status === 'passed') totals.passed++;
      else if (test.status === 'failed') totals.failed++;
      else totals.skipped++;
    }
    if (file.status === 'failed' && totals.failed === failedBefore) totals.failed++;
  }
  if ((exitCode !== 0 || !report) && totals.failed === 0) totals.failed++;
  return totals;
}

export function add(...all) {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const totals of all) for (const key of Object.keys(total)) total[key] += totals[key];
  return total;
}

export const summaryLine = ({ passed, failed, skipped }) => `${passed} passed, ${failed} failed, ${skipped} skipped`;

/** How a suite's title names the engine it ran on. */
const ENGINES = [
  { name: 'in-process', pattern: /memory|in.process/i },
  { name: 'SQLite', pattern: /sqlite/i },
  { name: 'MariaDB', pattern: /mariadb|mysql/i },
  { name: 'MySQL', pattern: /mariadb|mysql/i },
  { name: 'Redis', pattern: /redis(?![ -]?cluster)/i },
  { name: 'Redis Cluster', pattern: /redis[ -]?cluster/i },
  { name: 'Chromium', pattern: /chromium|browser/i },
];

/**
 * The line that tells which engines the run covered: those with at least one passed test. `versions` are the servers
 * the suites were given (`MariaDB 10.11.14`): which of MariaDB and MySQL it was shows only there.
 */
export function enginesLine(report, versions) {
  const titles = (report?.testResults ?? [])
    .filter((file) => !file.name.includes('/scripts/'))
    .flatMap((file) => file.assertionResults)
    .filter((test) => test.status === 'passed')
    .map((test) => test.fullName);
  const covered = [];
  const not = [];
  for (const { name, pattern } of ENGINES) {
    const version = versions.find((text) => text.startsWith(`${name} `));
    const given = version || (name !== 'MariaDB' && name !== 'MySQL');
    if (given && titles.some((title) => pattern.test(title))) covered.push(version ?? name);
    else not.push(name);
  }
  return `engines covered: ${covered.join(', ') || 'none'}${not.length ? `; not covered: ${not.join(', ')}` : ''}`;
}
