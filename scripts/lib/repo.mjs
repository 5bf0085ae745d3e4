/**
 * What every command needs before it can begin: a fitting Node, the dependencies, a build.
 * Runs on a bare clone, so nothing here (or in what it imports) needs an installed package.
 */
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './processes.mjs';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

export const inRoot = (...parts) => path.join(ROOT, ...parts);

/** A tool's program as npm installs it. */
export const bin = (name) => inRoot('node_modules/.bin', name);

export const say = (line) => process.stdout.write(`${line}\n`);

const QUIET_TOOLS = { TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1' };

/** Everything up to a runnable `dist`. Ends the process with a readable line when that can't be had. */
export async function prepare() {
  requireNode();
  await install();
  await build();
}

export function requireNode() {
  const wanted = JSON.parse(readFileSync(inRoot('package.json'), 'utf8')).engines.node;
  if (satisfies(process.versions.node, wanted)) return;
  give(
    `xtimer needs Node ${wanted}; this is ${process.versions.node}. Install one of these and run the command again.`,
  );
}

/** Only the two forms our `engines` field uses: `^1.2.3` and `>=1.2.3`, joined by `||`. */
export function satisfies(version, range) {
  const [major, minor, patch] = version.split('.').map(Number);
  return range.split('||').some((part) => {
    const [, operator, ...wanted] = part.trim().match(/^(\^|>=)(\d+)\.(\d+)\.(\d+)$/);
    const [a, b, c] = wanted.map(Number);
    if (major !== a) return operator === '>=' && major > a;
    return minor > b || (minor === b && patch >= c);
  });
}

/** True when npm has not installed since the lock file last changed. */
export function installIsDue(root = ROOT) {
  const modifiedAt = (file) => statSync(path.join(root, file), { throwIfNoEntry: false })?.mtimeMs;
  const installedAt = modifiedAt('node_modules/.package-lock.json');
  return installedAt === undefined || installedAt < modifiedAt('package-lock.json');
}

export async function install() {
  if (!installIsDue()) return;
  say('installing (first time, about 20 s)…');
  const { code, output } = await run('npm', ['ci', '--loglevel=error'], { cwd: ROOT, quiet: true });
  if (code !== 0) give(`npm ci failed:\n${output}`);
}

/** What runs: the server, its console, the receiver (and the example), each with what it depends on. */
const RUNNING = ['server', 'admin', 'receiver', 'example-orders'].map((name) => `--filter=@xtimer/${name}`);

export async function build() {
  say('building…');
  const { code, output } = await turbo('build', ...RUNNING);
  if (code !== 0) give(`the build failed:\n${output}`);
}

export const turbo = (task, ...filters) =>
  run(bin('turbo'), ['run', task, ...filters, '--output-logs=errors-only'], {
    cwd: ROOT,
    env: QUIET_TOOLS,
    quiet: true,
  });

function give(message) {
  console.error(message);
  process.exit(1);
}
