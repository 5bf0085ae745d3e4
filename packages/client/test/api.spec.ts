import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as contracts from '@xtimer/contracts';
import { afterAll, beforeAll, expect, expectTypeOf, it, onTestFinished } from 'vitest';
import type { z } from 'zod';
import { type Client, createClient, XtimerError } from '../src/index.js';
import { routes } from '../src/routes.js';

/** The client against the built server, embedded, with a database of its own. */

const MAIN = fileURLToPath(new URL('../../../apps/server/dist/main.js', import.meta.url));
const TOKEN = 'a-token-for-tests-only';

let server: ChildProcess;
let folder: string;
let url: string;
let client: Client;
/** `METHOD /path` of what the client sent and got an answer to. */
const called = new Set<string>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'xtimer-client-'));
  server = spawn(process.execPath, [MAIN], {
    cwd: folder,
    env: { PATH: process.env.PATH, XTIMER_PORT: '0', XTIMER_ADMIN_TOKEN: TOKEN },
  });
  url = `http://${await addressOf(server)}`;
  client = createClient({
    ...{ url, token: TOKEN },
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      if (response.ok) called.add(`${init!.method} ${new URL(String(input)).pathname}`);
      return response;
    },
  });
});

afterAll(async () => {
  const exit = once(server, 'close');
  server.kill('SIGTERM');
  await exit;
  await rm(folder, { recursive: true, force: true });
});

function addressOf(child: ChildProcess): Promise<string> {
  let output = '';
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        const started = output.split('\n').find((line) => line.includes('"node started"') && line.endsWith('}'));
        if (started) resolve(JSON.parse(started).address);
      });
    }
    child.once('close', () => reject(new Error(`the server ended:\n${output}`)));
  });
}

/** The type says it to the compiler; here the answer says it itself, down to fields the contract does not know. */
function checked<S extends z.ZodType>(schema: S, answer: z.output<S>): z.output<S> {
  expect(schema.parse(answer)).toEqual(answer);
  return answer;
}

const timer = (name: string, target = 'http://127.0.0.1:9/x') => ({
  ...{ app: 'shop', name, cron: '0 0 * * * ?' },
  notifyHTTPParam: { method: 'POST', url: target } as const,
});

async function receiver() {
  const server = createServer((_, response) => response.end('thanks')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { target: `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`, called: once(server, 'request') };
}

it('works on timers', async () => {
  const { timerId } = checked(contracts.TimerCreated, await client.timers.create(timer('nightly')));
  const updated = await client.timers.update({ timerId, description: 'every hour', startAt: '2026-01-01T00:00:00Z' });
  expect(checked(contracts.TimerView, updated)).toMatchObject({ timerId, status: 1, description: 'every hour' });
  expect(checked(contracts.TimerView, await client.timers.enable({ timerId })).status).toBe(2);
  const tooSoon = await client.timers.pause({ timerId }).catch((error) => error);
  expect(tooSoon).toMatchObject({ code: contracts.ErrorCode.tooManyChanges, status: 429, retryAfterMs: 3_000 });
  expect(checked(contracts.TimerView, await client.timers.get({ app: 'shop', timerId: String(timerId) })).status).toBe(
    2,
  );
  const active = checked(contracts.TimerList, await client.timers.list({ name: 'NIGHT', status: 2, pageSize: 1 }));
  expect(active).toMatchObject({ total: 1, list: [{ timerId }] });
  await client.timers.delete({ timerId });
  const gone = await client.timers.get({ timerId }).catch((error) => error);
  expect(gone).toBeInstanceOf(XtimerError);
  expect(gone).toMatchObject({ code: contracts.ErrorCode.notFound, status: 404, field: 'timerId', value: timerId });
  expect(gone.requestId).toMatch(/^[\da-f-]{36}$/);

  const past = Date.UTC(2026, 0, 1);
  const range = { startTime: new Date(past).toISOString(), endTime: past + 2 * 3_600_000 };
  const { target } = await receiver();
  const hourly = await client.timers.create(timer('hourly', target));
  const backfilled = await client.timers.backfill({ ...hourly, ...range });
  expect(checked(contracts.TimerBackfilled, backfilled)).toEqual({ created: 2, existing: 0 });

  const other = await client.timers.create(timer('paused'));
  expect(checked(contracts.TimerView, await client.timers.pause(other)).status).toBe(1);
});

it('runs a timer, shows and cancels its tasks', async () => {
  const { target, called } = await receiver();
  // The next minutes are planned before the answer comes, and nothing is added to them later.
  const minutes = { cron: '0 * * * * ?', endAt: Date.now() + 240_000, enable: true };
  const { timerId } = await client.timers.create({ ...timer('tasks', target), ...minutes });
  const { taskId } = checked(contracts.TimerRun, await client.timers.run({ timerId, body: { now: true } }));
  await called;
  const run = checked(contracts.TaskDetail, await client.tasks.get({ taskId }));
  expect(run).toMatchObject({ taskId, timerId, origin: 'manual', payload: '{"now":true}' });

  const page = checked(contracts.TaskList, await client.tasks.list({ timerId, status: 0, pageSize: '2' }));
  const [planned, another] = [page.list[0]!, page.list[1]!];
  const canceled = await client.tasks.cancel({ taskIds: [planned.taskId, taskId.replace(/_\d+/, '_5')] });
  expect(checked(contracts.TasksCanceled, canceled).results.map(({ outcome }) => outcome)).toEqual([
    'canceled',
    'notFound',
  ]);

  const retried = await client.tasks.retry({ taskIds: [planned.taskId, taskId.replace(/_\d+/, '_5')] });
  expect(checked(contracts.TasksRetried, retried).results.map(({ outcome }) => outcome)).toEqual([
    'accepted',
    'notFound',
  ]);
  const filter = { app: 'shop', timerId, startTime: another.runTimer, endTime: another.runTimer + 1 };
  const one = { matched: 1, accepted: 1 };
  expect(checked(contracts.TasksMatched, await client.tasks.cancelMatching({ filter }))).toEqual(one);
  const again = await client.tasks.retryMatching({ filter: { ...filter, status: 4 }, ratePerSecond: 5 });
  expect(checked(contracts.TasksMatched, again)).toEqual(one);

  const all: string[] = [];
  for await (const task of client.tasks.each({ timerId, pageSize: 1 })) all.push(task.taskId);
  expect(all).toContain(taskId);
  expect(all).toEqual((await client.tasks.list({ timerId })).list.map((task) => task.taskId));
  expect(all.length).toBeGreaterThan(1);
});

it('works on topics and their jobs', async () => {
  const { target, called } = await receiver();
  const [app, topic] = ['shop', 'order/timeout ⏰'];
  const notifyHTTPParam = { method: 'POST', url: target } as const;
  const made = await client.topics.create({ app, topic, notifyHTTPParam, retry: { maxAttempts: 3 } });
  expect(checked(contracts.TopicView, made)).toMatchObject({ topic, status: 2, slotAmount: 16 });
  const changed = await client.topics.update({ app, topic, timeoutMs: 5_000 });
  expect(checked(contracts.TopicView, changed)).toMatchObject({ timeoutMs: 5_000, retry: { maxAttempts: 3 } });

  const once = { app, topic, jobId: '订单 1', payload: { order: 1 }, delayMs: 3_600_000 };
  const published = checked(contracts.JobPublished, await client.jobs.publish(once));
  expect(published).toMatchObject({ created: true, jobId: '订单 1', payload: { order: 1 }, status: 0 });
  expect(await client.jobs.publish(once)).toEqual({ ...published, created: false });
  const other = await client.jobs.publish({ ...once, payload: 'x' }).catch((error) => error);
  expect(other).toMatchObject({ code: contracts.ErrorCode.conflict, status: 409, field: 'jobId' });
  const batch = await client.jobs.publishBatch({
    app,
    jobs: [
      { topic, payload: 'now', delayMs: 0, jobId: 'now' },
      { topic, payload: 'later', actionTime: '2030-01-01T00:00:00Z', jobId: 'later' },
      { topic: 'nope', payload: '', delayMs: 0 },
    ],
  });
  expect(checked(contracts.JobsPublished, batch).results).toEqual([
    { jobId: 'now', created: true },
    { jobId: 'later', created: true },
    { error: expect.objectContaining({ code: contracts.ErrorCode.notFound, field: 'topic' }) },
  ]);
  await called;
  const jobOf = async (jobId: string) => checked(contracts.JobView, await client.jobs.get({ app, topic, jobId }));
  await expect.poll(() => jobOf('now')).toMatchObject({ status: 2, output: 'thanks' });

  const moved = await client.jobs.reschedule({ app, topic, jobId: 'later', delayMs: 7_200_000 });
  expect(checked(contracts.JobRescheduled, moved)).toMatchObject({ outcome: 'rescheduled', job: { jobId: 'later' } });
  const canceled = await client.jobs.cancel({ app, topic, jobId: '订单 1' });
  expect(checked(contracts.JobCanceled, canceled)).toMatchObject({ outcome: 'canceled', job: { status: 4 } });
  const ids: string[] = [];
  for await (const job of client.jobs.each({ app, topic, pageSize: 1 })) ids.push(job.jobId);
  expect(ids).toEqual(['later', '订单 1', 'now']);
  const waiting = checked(contracts.JobList, await client.jobs.list({ app, topic, status: 0 }));
  expect(waiting.list.map(({ jobId }) => jobId)).toEqual(['later']);

  const counts = { waiting: 1, running: 0, failed: 0 };
  expect(checked(contracts.TopicWithCounts, await client.topics.get({ app, topic }))).toMatchObject(counts);
  const topics = checked(contracts.TopicList, await client.topics.list({ app }));
  expect(topics).toMatchObject({ total: 1, list: [{ topic, ...counts }] });
  const tasks = checked(contracts.TaskList, await client.tasks.list({ app, topic, status: 2 }));
  expect(tasks.list).toMatchObject([{ topic, jobId: 'now', origin: 'job' }]);
  const kept = await client.topics.delete({ app, topic }).catch((error) => error);
  expect(kept).toMatchObject({ status: 409, field: 'cancelJobs' });
  const deleted = await client.topics.delete({ app, topic, cancelJobs: true });
  expect(checked(contracts.TopicDeleted, deleted)).toEqual({ canceled: 1 });
});

it('reads schedules, tests callbacks, rotates secrets, asks for health', async () => {
  const preview = checked(contracts.CronPreview, await client.cron.preview({ cron: '0 30 2 * * ?', count: 3 }));
  expect(preview.next).toHaveLength(3);
  const mistake = await client.cron.preview({ cron: '61 * * * *' }).catch((error) => error);
  expect(mistake).toMatchObject({ code: contracts.ErrorCode.invalid, status: 400, field: 'cron' });

  const { target } = await receiver();
  const tested = await client.callbacks.test({ notifyHTTPParam: { method: 'GET', url: target } });
  expect(checked(contracts.CallbackTested, tested)).toMatchObject({ success: true, httpStatus: 200, output: 'thanks' });

  await client.timers.create({ ...timer('secret'), app: 'a.b-c' });
  const rotated = checked(contracts.SecretRotated, await client.apps.rotateSecret({ app: 'a.b-c' }));
  expect(rotated.secret).toMatch(/^whsec_/);
  const kept = { app: 'a.b-c', historyRetentionDays: 7 };
  expect(checked(contracts.AppView, await client.apps.update(kept))).toEqual(kept);
  expect(checked(contracts.AppView, await client.apps.get({ app: 'a.b-c' }))).toEqual(kept);

  const text = expect.any(String);
  const health = { status: 'up', version: text, nodeId: text, mode: 'embedded', roles: ['api', 'worker'] };
  expect(await client.health.live()).toEqual({ ...health, node: process.version, tz: text });
  expect(await client.health.ready()).toEqual({ status: 'ready', database: 'up', buckets: 'up' });
});

it('is refused without the right token, and never says which one it sent', async () => {
  const stranger = createClient({ url, token: 'a-wrong-token' });
  const failure = await stranger.timers.list().catch((error) => error);
  expect(failure).toMatchObject({ code: contracts.ErrorCode.unauthorized, status: 401, field: 'Authorization' });
  expect(`${failure.message} ${JSON.stringify(failure)} ${failure.stack}`).not.toContain('a-wrong-token');
  expect(await createClient({ url }).health.ready()).toMatchObject({ status: 'ready' });
});

it('takes its types from the contracts', () => {
  expectTypeOf(client.timers.create).parameter(0).toEqualTypeOf<z.input<typeof contracts.CreateTimer>>();
  expectTypeOf(client.timers.get).returns.resolves.toEqualTypeOf<contracts.TimerView>();
  expectTypeOf(client.tasks.get).returns.resolves.toEqualTypeOf<contracts.TaskDetail>();
  expectTypeOf(client.tasks.each()).toEqualTypeOf<AsyncGenerator<contracts.TaskView, void, undefined>>();
  expectTypeOf({ pageSize: 20, status: 3 as const }).toExtend<Parameters<Client['tasks']['list']>[0]>();
  expectTypeOf({ pageSize: true }).not.toExtend<Parameters<Client['tasks']['list']>[0]>();
  expectTypeOf<Parameters<Client['timers']['enable']>[0]>().not.toBeAny();
  expectTypeOf(client.jobs.get).returns.resolves.toEqualTypeOf<contracts.JobView>();
  expectTypeOf(client.jobs.each).returns.toEqualTypeOf<AsyncGenerator<contracts.JobView, void, undefined>>();
  expectTypeOf({ app: '', topic: '', payload: 1, delayMs: 0 }).toExtend<Parameters<Client['jobs']['publish']>[0]>();
  expectTypeOf({ app: '', payload: 1 }).not.toExtend<Parameters<Client['jobs']['publish']>[0]>();
  expectTypeOf<undefined>().not.toExtend<Parameters<Client['timers']['enable']>[0]>();
});

const known = Object.values(routes)
  .flatMap((group) => Object.values(group))
  .map((line) => ('pagesOf' in line ? line.pagesOf : line))
  .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`);

/** The same calls once more for a browser's address line; the client sends the POST. */
const byAddressLine = ['GET /xtimer/enableTimer', 'GET /xtimer/unEnableTimer', 'GET /xtimer/deleteTimer'];

it('has a method for every route of the OpenAPI document, and no other', async () => {
  const document = (await (await fetch(`${url}/docs-json`)).json()) as { paths: Record<string, object> };
  const served = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(served.filter((route) => !known.includes(route) && !byAddressLine.includes(route))).toEqual([]);
  expect(known.filter((route) => !served.includes(route))).toEqual([]);
});

it('was seen to work on every route', () => {
  const patterns = known.map((route) => [route, new RegExp(`^${route.replace(/\{\w+\}/g, '[^/]+')}$`)] as const);
  expect(
    patterns.filter(([, pattern]) => ![...called].some((one) => pattern.test(one))).map(([route]) => route),
  ).toEqual([]);
});
