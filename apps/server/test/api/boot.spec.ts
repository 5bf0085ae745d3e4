import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Pipeline } from '@xtimer/pipeline';
import { expect, it, onTestFinished, vi } from 'vitest';
import { setup } from './support.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'xtimer-boot-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** The built server as a process of its own; it sees only the variables given here. */
function boot(cwd: string, env: Record<string, string>, ...args: string[]) {
  const child: ChildProcess = spawn(process.execPath, [MAIN, ...args], {
    cwd,
    env: { PATH: process.env.PATH, ...env },
  });
  let output = '';
  let told: () => void = () => {};
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      told();
    });
  }
  const exit = once(child, 'close').then(([code]) => ({ code: code as number | null, output }));
  onTestFinished(() => void child.kill('SIGKILL'));
  return {
    child,
    exit,
    /** Resolves to everything said so far once it matches. */
    says: (pattern: RegExp) =>
      new Promise<string>((resolve, reject) => {
        told = () => pattern.test(output) && resolve(output);
        told();
        exit.then(() => reject(new Error(`ended without saying ${pattern}:\n${output}`)));
      }),
  };
}

const logLine = (output: string, message: string) =>
  output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .find((line) => line.msg === message);

it('starts on an empty folder, shows the token once, answers, and ends with 0 on SIGTERM', async () => {
  const cwd = await folder();
  const first = boot(cwd, { XTIMER_PORT: '0' });
  const output = await first.says(/node started/);
  const token = /xta_\S+/.exec(output)![0];
  const started = logLine(output, 'node started');
  expect(started).toMatchObject({ mode: 'embedded', roles: ['api', 'worker'], buckets: 16, redis: 'in process' });
  expect(JSON.stringify(started)).not.toContain(token);
  const answer = await fetch(`http://${started.address}/xtimer/getAppTimers`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('x-powered-by')).toBeNull();
  first.child.kill('SIGTERM');
  expect((await first.exit).code).toBe(0);

  const second = boot(cwd, { XTIMER_PORT: '0', XTIMER_BUCKETS: '16' });
  expect(await second.says(/Sign in/)).not.toMatch(/xta_/);
  second.child.kill('SIGINT');
  expect((await second.exit).code).toBe(0);

  const other = await boot(cwd, { XTIMER_PORT: '0', XTIMER_BUCKETS: '8' }).exit;
  expect(other.code).toBe(1);
  expect(other.output).toMatch(/works with 16 buckets.*XTIMER_BUCKETS=16/);
});

it('says which port is taken, before it touches the database', async () => {
  const cwd = await folder();
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  onTestFinished(() => void other.close());
  const { port } = other.address() as { port: number };
  const { code, output } = await boot(cwd, {
    XTIMER_PORT: String(port),
    XTIMER_DATABASE_URL: 'mysql://u:p@127.0.0.1:1/x',
  }).exit;
  expect(code).toBe(1);
  expect(output).toMatch(new RegExp(`port ${port} on 127.0.0.1 is taken.*XTIMER_PORT`));
});

it('waits for a database that is not there, then says where it looked, without the password', async () => {
  const { code, output } = await boot(await folder(), {
    XTIMER_PORT: '0',
    XTIMER_START_TIMEOUT_MS: '600',
    XTIMER_DATABASE_URL: 'mysql://scott:tiger-secret@127.0.0.1:1/timers',
    XTIMER_REDIS_URL: 'redis://:redis-secret@127.0.0.1:1',
  }).exit;
  expect(code).toBe(1);
  expect(logLine(output, 'waiting for the database mysql://127.0.0.1:1/timers')).toBeDefined();
  expect(output).toMatch(/the database mysql:\/\/127\.0\.0\.1:1\/timers does not answer .*: check XTIMER_DATABASE_URL/);
  expect(output).not.toMatch(/secret/);
});

it('stops at mistakes in the configuration with the whole list', async () => {
  const { code, output } = await boot(await folder(), { XTIMER_PORT: 'http', XTIMER_BUCKETS: '0' }).exit;
  expect(code).toBe(1);
  expect(output).toMatch(
    /2 mistakes:\n {2}- XTIMER_PORT="http".*\n {2}- XTIMER_BUCKETS="0": expected a whole number from 1 to 1024/,
  );
  expect(output).not.toMatch(/\bat /);
});

it('only migrates when told so', async () => {
  const { code, output } = await boot(await folder(), {}, 'migrate').exit;
  expect(code).toBe(0);
  expect(logLine(output, 'the schema is up to date')).toBeDefined();
});

it('closes the stores after the stages have drained', async () => {
  const { app, stores } = await setup();
  const order: string[] = [];
  const pipeline = app.get(Pipeline);
  const stop = pipeline.stop.bind(pipeline);
  vi.spyOn(pipeline, 'stop').mockImplementation(async (graceMs) => {
    await stop(graceMs);
    order.push('stages');
  });
  const close = stores.database.close.bind(stores.database);
  vi.spyOn(stores.database, 'close').mockImplementation(async () => {
    order.push('database');
    await close();
  });
  await app.close();
  expect(order).toEqual(['stages', 'database']);
});
