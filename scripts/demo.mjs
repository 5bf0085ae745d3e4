/**
 * `npm run demo`: a throw-away server, a receiver and sample timers; callbacks scroll by until Ctrl-C.
 * `npm run demo -- --once`: ends by itself with a table of the first executions. Exit code 0 only if what the receiver
 * saw and what history says are the same.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { apiClient } from './lib/api.mjs';
import { callLine, disagreements, historyTable, plannedDisagreements } from './lib/demo-checks.mjs';
import { fastTimers, realWorld, slowTimers } from './lib/demo-timers.mjs';
import { end, freePort, onInterrupt, start, until } from './lib/processes.mjs';
import { inRoot, prepare, ROOT, say } from './lib/repo.mjs';

const ONCE_LIMIT_MS = 60_000;
const ONCE_ROWS = 5;
const once = process.argv.includes('--once');

await prepare();

const wantedPort = Number(process.env.XTIMER_PORT ?? 8082);
// What is set for a real server must not reach the demo: no other database, no other rules.
for (const name of Object.keys(process.env)) if (name.startsWith('XTIMER_')) delete process.env[name];

const folder = mkdtempSync(path.join(tmpdir(), 'xtimer-demo-'));
let receiver;
let server;
const cleanUp = async () => {
  // The server first: its calls in flight still find the receiver.
  if (server) await end(server);
  if (receiver) await end(receiver);
  rmSync(folder, { recursive: true, force: true });
};
onInterrupt(cleanUp, { exitCode: once ? undefined : 0 });

try {
  const { api, receiverUrl } = await bringUp();
  const timers = await register(api, receiverUrl);
  const calls = watchCalls(receiverUrl);
  process.exitCode = once ? await tellOnce(api, timers, calls) : await tellForever(api, calls);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  await cleanUp();
}

async function bringUp() {
  receiver = start(process.execPath, [inRoot('apps/receiver/dist/main.js'), '--port', '0'], { cwd: ROOT, quiet: true });
  await until(() => /https?:\/\/\S+/.test(receiver.output), { what: 'the receiver', child: receiver });
  const receiverUrl = receiver.output.match(/https?:\/\/[^\s"',]+/)[0].replace(/\/$/, '');

  const port = await freePort(wantedPort);
  if (port !== wantedPort) say(`port ${wantedPort} is taken, using ${port}`);
  const token = randomBytes(18).toString('base64url');
  const env = {
    XTIMER_PORT: String(port),
    XTIMER_DATABASE_URL: `sqlite:${path.join(folder, 'demo.db')}`,
    XTIMER_ADMIN_TOKEN: token,
    XTIMER_LOG_LEVEL: 'warn',
  };
  server = start(process.execPath, [inRoot('apps/server/dist/main.js')], { cwd: ROOT, env, quiet: true });
  const base = `http://127.0.0.1:${port}`;
  const ready = async () => (await fetch(`${base}/readyz`)).ok;
  await until(ready, { what: 'the server', child: server });
  say(`\nconsole   ${base}\ntoken     ${token}\nreceiver  ${receiverUrl}\n`);
  return { api: apiClient(base, token), receiverUrl };
}

/** → what was registered, the fast ones marked: they are what `--once` waits for. */
async function register(api, receiverUrl) {
  const timers = [];
  // The slow ones first, so that the first second of the fast ones is not spent on setting up.
  for (const definition of slowTimers(receiverUrl)) timers.push(await registerOne(api, definition, false));
  for (const definition of fastTimers(receiverUrl)) timers.push(await registerOne(api, definition, true));
  say(`${timers.length} timers registered in app "demo"\n`);
  return timers;
}

async function registerOne(api, definition, fast) {
  const { timerId } = await api.post('/xtimer/createTimer', definition);
  return { timerId: String(timerId), definition, fast, registeredAt: Date.now() };
}

/** Collects what the receiver sees and prints a line for each; `all` grows while the demo runs. */
function watchCalls(receiverUrl) {
  const all = [];
  const fetchNew = async () => {
    const response = await fetch(`${receiverUrl}/_calls?since=${all.at(-1)?.seq ?? 0}`);
    for (const call of await response.json()) {
      all.push(call);
      say(callLine(call));
    }
  };
  return { all, fetchNew };
}

async function tellForever(api, calls) {
  say('Ctrl-C ends the demo.\n');
  for (let round = 1; ; round++) {
    await calls.fetchNew();
    if (round % 20 === 0) {
      const tasks = await api.tasks({ app: 'demo', endTime: Date.now() });
      const count = (status) => tasks.filter((task) => task.status === status).length;
      say(`— history: ${count(2)} succeeded, ${count(3)} failed; the receiver saw ${calls.all.length} calls —`);
    }
    await sleep(500);
  }
}

async function tellOnce(api, timers, calls) {
  const fast = timers.filter((timer) => timer.fast);
  const finished = async () => (await api.tasks({ app: 'demo', endTime: Date.now() + 1000 })).filter(isFinished);
  const enough = async () => {
    await calls.fetchNew();
    const rows = await finished();
    return rows.length >= ONCE_ROWS && fast.every(({ timerId }) => rows.some((row) => String(row.timerId) === timerId));
  };
  const problems = [];
  try {
    await until(enough, { what: 'the first executions', withinMs: ONCE_LIMIT_MS, everyMs: 300, child: server });
  } catch (error) {
    problems.push(error.message);
  }
  problems.push(...(await plannedDisagreements(api, timers, realWorld)));

  // Both sides are compared once nothing is on its way any more.
  for (const { timerId } of timers) await api.post('/xtimer/unEnableTimer', undefined, { app: 'demo', timerId });
  const settled = async () => (await api.tasks({ app: 'demo', status: 1 })).length === 0;
  await until(settled, { what: 'the last callbacks', child: server });
  await calls.fetchNew();
  const rows = await finished();
  say(`\n${historyTable(rows)}\n`);
  problems.push(...disagreements(rows, calls.all));
  for (const { timerId, definition } of fast) {
    if (!rows.some((row) => String(row.timerId) === timerId)) problems.push(`"${definition.name}" never finished`);
  }
  if (rows.length < ONCE_ROWS) problems.push(`${rows.length} executions instead of at least ${ONCE_ROWS}`);
  for (const problem of problems) say(`✗ ${problem}`);
  if (problems.length === 0) say(`✓ the receiver saw all ${rows.length} callbacks, and history agrees`);
  return problems.length === 0 ? 0 : 1;
}

function isFinished({ status }) {
  return status === 2 || status === 3;
}
