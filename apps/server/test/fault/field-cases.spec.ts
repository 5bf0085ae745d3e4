import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import type { TaskDetail } from '@xtimer/contracts';
import { startRedisCluster, type TestServer } from '@xtimer/testkit';
import { describe, expect, it, type TestContext, vi } from 'vitest';
import { Api, at, openWorld, until } from '../e2e/support.js';
import { World } from './world.js';

/** Cases of the field reports that need real processes and are covered nowhere else; docs/guarantees.md lists all. */

// Each process we start is ended with ours.
process.setMaxListeners(50);
vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });

const embedded = await openWorld('embedded');
const clustered = await openWorld('clustered');
const NEVER = '0 0 3 1 1 ? 2099';

interface Call {
  at: number;
  attempt: number;
  key: string;
  runTimer: number;
  body: string;
}

/** A target that answers by a script: `answer` gets the number of the call, from 1. */
async function scripted(
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  answer: (n: number, response: ServerResponse) => void,
) {
  const calls: Call[] = [];
  let most = 0;
  let open = 0;
  const server = createServer(async (request, response) => {
    most = Math.max(most, ++open);
    response.on('close', () => open--);
    let body = '';
    for await (const piece of request) body += piece;
    calls.push({
      at: Date.now(),
      attempt: Number(request.headers['x-xtimer-attempt']),
      key: String(request.headers['idempotency-key']),
      runTimer: Number(request.headers['x-xtimer-run-timer']),
      body,
    });
    answer(calls.length, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    calls,
    mostAtOnce: () => most,
  };
}

const say = (response: ServerResponse, status: number, headers = {}) => response.writeHead(status, headers).end('{}');
const to = (url: string) => ({ method: 'POST', url, body: '{{taskId}}' });
const runNow = async (api: Api, timerId: number) =>
  (await api.post<{ taskId: string }>('/xtimer/runTimer', { timerId })).taskId;
const kill = (server: TestServer) => server.stop('SIGKILL');

describe.concurrent('embedded', () => {
  const folderOf = async () => (await World.open('embedded', 0))!;

  it('case 8: all attempts of one execution carry one key and rising numbers, and history shows one execution', async (test) => {
    const api = new Api(await embedded.start());
    const target = await scripted(test, (n, response) => {
      if (n === 2) return; // nothing until the timeout
      say(response, n === 1 ? 500 : 200);
    });
    const retry = { initialDelayMs: 100, maxAttempts: 5 };
    const timerId = await api.create({ cron: NEVER, notifyHTTPParam: to(target.url), timeoutMs: 1_000, retry });
    const task = await api.ended(await runNow(api, timerId));
    expect(task).toMatchObject({ status: 2, attempt: 3 });
    expect(task.attempts.map(({ attempt, httpStatus }) => [attempt, httpStatus])).toEqual([
      [1, 500],
      [2, null],
    ]);
    expect(task.attempts[1]!.error).toMatch(/^CALLBACK_TIMEOUT/);
    expect(target.calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(new Set(target.calls.map(({ key }) => key)).size).toBe(1);
    expect(await api.tasks({ timerId })).toHaveLength(1);
    const other = await api.ended(await runNow(api, timerId));
    expect(target.calls.at(-1)!.key).not.toBe(target.calls[0]!.key);
    expect(other.attempt).toBe(1);
    await api.server.stop();
  });

  it('case 21: the target says when to come back, in seconds or as a date', async (test) => {
    const world = await folderOf();
    test.onTestFinished(() => world.close());
    const api = new Api(await world.startAnother());
    const waits: number[] = [];
    const target = await scripted(test, (n, response) => {
      waits.push(Date.now());
      if (n === 1) return say(response, 429, { 'Retry-After': '3' });
      // A date has whole seconds: the next but three is at least three away.
      if (n === 2) return say(response, 503, { 'Retry-After': new Date(Date.now() + 4_000).toUTCString() });
      say(response, 200);
    });
    const retry = { initialDelayMs: 100, maxAttempts: 5 };
    const timerId = await api.create({ cron: NEVER, notifyHTTPParam: to(target.url), retry });
    const task = await api.ended(await runNow(api, timerId));
    expect(task).toMatchObject({ status: 2, attempt: 3 });
    expect(task.attempts.map(({ httpStatus }) => httpStatus)).toEqual([429, 503]);
    expect(waits[1]! - waits[0]!).toBeGreaterThanOrEqual(3_000);
    expect(waits[2]! - waits[1]!).toBeGreaterThanOrEqual(3_000);
  });

  it('cases 4, 5: after an outage the newest missed slot runs, the others are one row, and no future slot is used up', async (test) => {
    const world = await folderOf();
    test.onTestFinished(() => world.close());
    const first = new Api(await world.startAnother());
    const target = await scripted(test, (_, response) => say(response, 200));
    const misfire = { policy: 'fireOnce', graceMs: 1_000 };
    const often = await first.create({ cron: '* * * * * ?', notifyHTTPParam: to(target.url), misfire, enable: true });
    const later = await first.create({ cron: '0 0 * * * ?', notifyHTTPParam: to(target.url), misfire, enable: true });
    const planned = await first.tasks({ timerId: later, status: 0 });
    await until('it fires', () => target.calls.length >= 2);
    await kill(first.server);
    const killedAt = Date.now();
    await at(killedAt + 8_000);
    const api = new Api(await world.startAnother());
    const backAt = Date.now();
    await until('it fires on its slots again', () => target.calls.some(({ runTimer }) => runTimer > backAt));
    const made = target.calls.filter(({ at, runTimer }) => at > killedAt && runTimer < backAt - 2_000);
    expect(made.length).toBeLessThanOrEqual(3);
    const skipped = await until('the misfire rule has decided', async () => {
      const rows = await api.tasks({ timerId: often, status: 5 });
      return rows.length > 0 && rows;
    });
    expect(skipped.every(({ reason }) => reason === 'misfire')).toBe(true);
    expect(skipped.reduce((sum, { skippedCount }) => sum + skippedCount!, 0)).toBeGreaterThanOrEqual(5);
    const after = await api.tasks({ timerId: later });
    expect(after.filter(({ status }) => status !== 0)).toEqual([]);
    expect(after.map(({ taskId }) => taskId)).toEqual(expect.arrayContaining(planned.map(({ taskId }) => taskId)));
  });

  it('case 9: a run that died with its node does not block a timer that forbids overlap', async (test) => {
    const world = await folderOf();
    test.onTestFinished(() => world.close());
    let api = new Api(await world.startAnother());
    const target = await scripted(test, (n, response) => {
      if (n > 1) say(response, 200);
    });
    const timerId = await api.create({
      ...{ cron: '* * * * * ?', notifyHTTPParam: to(target.url), overlap: 'skip', timeoutMs: 60_000, enable: true },
    });
    await until('it runs', () => target.calls.length === 1);
    await kill(api.server);
    api = new Api(await world.startAnother());
    await until('later slots run', () => new Set(target.calls.map(({ key }) => key)).size >= 3, 60_000);
    const task = await api.ended(`${timerId}_${target.calls[0]!.runTimer}`);
    expect(task).toMatchObject({ status: 2, attempt: 2 });
    expect(task.attempts[0]!.error).toMatch(/^NODE_LOST/);
    // Stopped politely in mid-run: the next start is not blocked either.
    await api.server.stop('SIGTERM');
    const calls = target.calls.length;
    api = new Api(await world.startAnother());
    await until('it runs again', () => target.calls.length > calls + 1);
  });

  it('case 16: a target that answers nothing delays nobody else, and gets no more calls at once than its limit', async (test) => {
    const world = await folderOf();
    test.onTestFinished(() => world.close());
    const api = new Api(await world.startAnother());
    const slow = await scripted(test, (_, response) => void setTimeout(() => say(response, 200), 30_000).unref());
    const quick = await scripted(test, (_, response) => say(response, 200));
    const cron = '0/3 * * * * ?';
    const create = (url: string) =>
      api.create({ app: 'lanes', cron, notifyHTTPParam: to(url), retry: { maxAttempts: 1 }, enable: true });
    await Promise.all(Array.from({ length: 150 }, () => create(slow.url)));
    const quicks = await Promise.all(Array.from({ length: 10 }, () => create(quick.url)));
    const from = Date.now();
    await at(from + 10_000);
    const end = Math.floor(Date.now() / 3_000) * 3_000 - 3_000;
    const slots = Array.from({ length: (end - Math.ceil(from / 3_000) * 3_000) / 3_000 }, (_, i) => i);
    await until('the quick ones have been called', () => {
      const calls = quick.calls.filter(({ runTimer }) => runTimer >= from && runTimer < end);
      return calls.length >= slots.length * quicks.length;
    });
    expect(slow.mostAtOnce()).toBeGreaterThan(100);
    expect(slow.mostAtOnce()).toBeLessThanOrEqual(128);
    console.log(`case 16: latest ${Math.max(...quick.calls.map((call) => call.at - call.runTimer))} ms`);
    await kill(api.server);
  });
});

describe.skipIf(clustered.missing).concurrent('clustered', () => {
  it('case 10: what is final stays final, also when a frozen node wakes up and reports', async (test) => {
    const world = (await World.open('clustered', 0))!;
    test.onTestFinished(() => world.close());
    const frozen = new Api(await world.startAnother());
    let held: ServerResponse;
    const target = await scripted(test, (n, response) => {
      if (n === 1) held = response;
      else say(response, 200);
    });
    const timerId = await frozen.create({ cron: NEVER, notifyHTTPParam: to(target.url), timeoutMs: 600_000 });
    const taskId = await runNow(frozen, timerId);
    await until('its call is under way', () => target.calls.length === 1);
    const api = new Api(await world.startAnother());
    frozen.server.freeze();
    const final = await api.ended(taskId);
    expect(final).toMatchObject({ status: 2, attempt: 2, httpStatus: 200 });
    say(held!, 500);
    frozen.server.thaw();
    await until('the late result is dropped', () =>
      frozen.server.log().some(({ msg }) => /taken over: dropped/.test(String(msg))),
    );
    expect(await api.task(taskId)).toEqual(final);
    expect(target.calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(new Set(target.calls.map(({ key }) => key)).size).toBe(1);
    const cancel = await api.post('/xtimer/cancelTask', { taskId });
    expect(cancel).toMatchObject({ results: [{ taskId, outcome: 'ended' }] });
  });

  it('case 15: every key ends by itself, none later than an hour after the planning horizon', async (test) => {
    const world = (await World.open('clustered', 0))!;
    test.onTestFinished(() => world.close());
    const api = new Api(await world.startAnother());
    const target = await scripted(test, (_, response) => say(response, 200));
    const lua = (script: string) =>
      promisify(execFile)('redis-cli', ['-p', String(world.redis.port), 'eval', script, '0']).then(({ stdout }) =>
        Number(stdout),
      );
    const all = (each: string) =>
      lua(`local n = 0 for _, k in ipairs(redis.call('KEYS', '*')) do ${each} end return n`);
    const endless = () => all("if redis.call('TTL', k) < 0 then n = n + 1 end");
    const members = () => all("if redis.call('TYPE', k).ok == 'zset' then n = n + redis.call('ZCARD', k) end");
    const timers = await Promise.all(
      Array.from({ length: 30 }, () =>
        api.create({ cron: '* * * * * ?', notifyHTTPParam: to(target.url), enable: true }),
      ),
    );
    await until('all fire', () => target.calls.length > 5 * timers.length);
    expect(await members()).toBeGreaterThan(0);
    const longest = "if redis.call('TYPE', k).ok == 'zset' then n = math.max(n, redis.call('TTL', k)) end";
    expect(await all(longest)).toBeLessThanOrEqual((2 * 60 + 62) * 60);
    expect(await endless()).toBe(0);
    for (const timerId of timers) await api.post('/xtimer/deleteTimer', { timerId });
    // Taking members out is tidying: what a busy Redis or a planner under way leaves behind ends with its minute.
    const left = await members();
    console.log(`case 15: ${left} members left of ${timers.length} deleted timers`);
    expect(await endless()).toBe(0);
  });

  it('case 22: a replay is one new call with the same body, however often it is asked for', async (test) => {
    const [a, b] = await Promise.all([1, 2].map(async () => new Api(await clustered.start())));
    const target = await scripted(test, (n, response) => say(response, [500, 502][n - 1] ?? 200));
    const timerId = await a!.create({ cron: NEVER, notifyHTTPParam: to(target.url), retry: { maxAttempts: 1 } });
    const taskId = await runNow(a!, timerId);
    expect(await a!.ended(taskId)).toMatchObject({ status: 3, httpStatus: 500, attempt: 1 });
    const press = async (api: Api) =>
      (await api.post<{ results: { outcome: string }[] }>('/xtimer/retryTask', { taskId })).results[0]!.outcome;
    const attempt = (count: number) =>
      until(`attempt ${count} ends`, async () => {
        const task: TaskDetail = await a!.task(taskId);
        return task.attempt === count && task.status >= 2 && task;
      });
    expect(await press(a!)).toBe('accepted');
    expect(await attempt(2)).toMatchObject({ status: 3, httpStatus: 502, replayCount: 1 });
    expect((await Promise.all([a!, b!, a!, b!].map(press))).filter((outcome) => outcome === 'accepted')).toHaveLength(
      1,
    );
    expect(await attempt(3)).toMatchObject({ status: 2, replayCount: 2 });
    await at(Date.now() + 1_000);
    expect(target.calls.map((call) => [call.attempt, call.body, call.key])).toEqual(
      [1, 2, 3].map((n) => [n, taskId, target.calls[0]!.key]),
    );
    expect(await a!.tasks({ timerId, status: 3 })).toEqual([]);
    await Promise.all([a!, b!].map(({ server }) => server.stop()));
  });

  it('case 24: a Redis Cluster of three masters creates, fires and cancels', async (test) => {
    const cluster = await startRedisCluster();
    test.onTestFinished(() => cluster.stop());
    const world = (await World.open('clustered', 0))!;
    test.onTestFinished(() => world.close());
    const target = await scripted(test, (_, response) => say(response, 200));
    const node = await world.startAnother({ XTIMER_REDIS_URL: cluster.url });
    const api = new Api(node);
    const timerId = await api.create({ cron: '* * * * * ?', notifyHTTPParam: to(target.url), enable: true });
    await until('it fires', () => target.calls.length >= 3);
    const far = (await api.tasks({ timerId, status: 0 }))[0]!.taskId;
    expect(await api.post('/xtimer/cancelTask', { taskId: far })).toMatchObject({ results: [{ outcome: 'canceled' }] });
    await api.pause(timerId);
    const keys = target.calls.map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('cases 23, 25: while Redis or the database is away the API answers within 5 s, and all goes on by itself', async (test) => {
    const world = (await World.open('clustered', 1))!;
    test.onTestFinished(() => world.close());
    const api = new Api(world.nodes[0]!.server!);
    const target = await scripted(test, (_, response) => say(response, 200));
    const create = () => api.create({ cron: '* * * * * ?', notifyHTTPParam: to(target.url), enable: true });
    await create();
    await until('it fires', () => target.calls.length >= 2);

    await world.redis.stop();
    const before = Date.now();
    const timerId = await create();
    console.log(`without Redis: a timer is created in ${Date.now() - before} ms`);
    expect(Date.now() - before).toBeLessThan(5_000);
    await until(
      'both fire without Redis',
      () => target.calls.filter(({ body }) => body.startsWith(`${timerId}_`)).length > 2,
    );
    await world.restartRedis(0);

    world.database!.freeze();
    const asked = Date.now();
    const answer = await api.server.api('/xtimer/getAppTimers?app=e2e');
    expect([answer.status, Date.now() - asked < 5_500]).toEqual([503, true]);
    world.database!.thaw();
    const thawedAt = Date.now();
    await until('it fires again', () => target.calls.some(({ runTimer }) => runTimer > thawedAt));
    const keys = target.calls.map(({ key }) => key);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('case 26: instants are the same whatever zones database and hosts have', async (test) => {
    const world = (await World.open('clustered', 0))!;
    test.onTestFinished(() => world.close());
    const sql = `SET GLOBAL time_zone = '+05:00'`;
    const { port } = new URL(world.database!.url);
    await promisify(execFile)('mariadb', ['--no-defaults', '-h127.0.0.1', `-P${port}`, '-uroot', '-e', sql]);
    const target = await scripted(test, (_, response) => say(response, 200));
    const first = new Api(await world.startAnother({ TZ: 'America/New_York' }));
    const cron = '0 0 10 15 1 ? 2027';
    const timerId = await first.create({ cron, notifyHTTPParam: to(target.url), enable: true });
    const done = await first.ended(await runNow(first, timerId));
    expect(Math.abs(done.startedAt! - target.calls[0]!.at)).toBeLessThan(10_000);
    const seen = async (api: Api) => [(await api.timer(timerId)).nextFireAt, await api.task(done.taskId)];
    const before = await seen(first);
    expect(before[0]).toBe(Date.parse('2027-01-15T10:00:00Z'));
    await first.server.stop();
    const second = new Api(await world.startAnother({ TZ: 'Asia/Tokyo' }));
    expect(await seen(second)).toEqual(before);
    const range = { timerId, startTime: done.runTimer, endTime: done.runTimer + 1 };
    expect((await second.tasks(range)).map(({ taskId }) => taskId)).toEqual([done.taskId]);
  });
});
