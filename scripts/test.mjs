/**
 * `npm test`: everything, from a bare clone to one closing line `N passed, N failed, N skipped`.
 * `npm test -- <filter>` gives Vitest a filter; the other checks run all the same.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { endAll, onInterrupt, run } from './lib/processes.mjs';
import { bin, install, ROOT, requireNode, say, turbo } from './lib/repo.mjs';
import { add, enginesLine, summaryLine, totalsOf } from './lib/report.mjs';
import { bringUp, versionsOf } from './lib/services.mjs';

/** Far beyond a healthy run: a suite that hangs ends here and counts as failed. */
const SUITES_LIMIT_MS = 40 * 60_000;

requireNode();
await install();

const folder = mkdtempSync(path.join(tmpdir(), 'xtimer-test-'));
const cleanUp = async () => {
  await endAll();
  await services?.down();
  rmSync(folder, { recursive: true, force: true });
};
let services;
onInterrupt(cleanUp);

let totals;
try {
  services = await bringUp(folder);
  for (const line of services.missing) say(`! ${line}`);
  totals = add(
    await check('build', () => turbo('build')),
    await check('dependencies', () => run('npm', ['ls', '--all'], { cwd: ROOT, quiet: true })),
    await check('lint', () => run('npm', ['run', '--silent', 'lint'], { cwd: ROOT, quiet: true })),
    await check('types', () => turbo('typecheck')),
    await suites(process.argv.slice(2)),
  );
} finally {
  await cleanUp();
}

if (process.env.CI === 'true' && services.missing.length > 0) {
  say(`CI=true, and not everything could run:\n${services.missing.join('\n')}`);
  totals = add(totals, { passed: 0, failed: services.missing.length, skipped: 0 });
}
if (totals.failed > 0) process.exitCode = 1;
say(`\n${summaryLine(totals)}`);

/** A tool that answers yes or no counts as one test; what it has to say is shown when it says no. */
async function check(name, tool) {
  const { code, output } = await tool();
  say(`${code === 0 ? '✓' : '✗'} ${name}`);
  if (code === 0) return { passed: 1, failed: 0, skipped: 0 };
  say(output);
  return { passed: 0, failed: 1, skipped: 0 };
}

async function suites(filters) {
  const file = path.join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  // What an interrupted suite leaves in its temp folder goes with ours.
  const env = { ...services.env, DO_NOT_TRACK: '1', TMPDIR: folder };
  const { code } = await run(bin('vitest'), ['run', ...reporters, ...filters], {
    cwd: ROOT,
    env,
    timeoutMs: SUITES_LIMIT_MS,
  });
  const report = read(file);
  const versions = await versionsOf({ ...process.env, ...env }).catch((error) => {
    say(`! the servers' versions can't be read: ${error.message}`);
    return [];
  });
  say(enginesLine(report, versions));
  return totalsOf(report, code);
}

/** `undefined` when Vitest did not live to write it. */
function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
