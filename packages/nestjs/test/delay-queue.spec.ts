import { Injectable } from '@nestjs/common';
import { type Client, createClient } from '@xtimer/client';
import { startServer, type TestServer } from '@xtimer/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DelayConsumer, DelayQueue, type XtimerContext, XtimerCron } from '../src/index.js';
import { adapters, freePort, NOWHERE, optionsOf, startApp, until, withModule } from './support.js';

/** Against the built server, embedded: what is published comes back over the callback route. */

let server: TestServer;
let client: Client;
beforeAll(async () => {
  server = await startServer();
  client = createClient(server);
});
afterAll(() => server.stop());

const HOUR = 3_600_000;

@Injectable()
class Orders {
  readonly seen: { payload: unknown; context: XtimerContext }[] = [];

  @DelayConsumer('order-timeout')
  expire(payload: unknown, context: XtimerContext) {
    this.seen.push({ payload, context });
    return { ok: true };
  }

  @XtimerCron({ name: 'nightly', cron: '0 0 3 1 1 ? 2099' })
  nightly(payload: unknown, context: XtimerContext) {
    this.seen.push({ payload, context });
  }
}

let apps = 0;
async function setup(adapter: (typeof adapters)[number] = 'fastify') {
  const name = `queue-${++apps}`;
  // An app is there, and has a secret, once it has something.
  const notifyHTTPParam = { method: 'POST' as const, url: NOWHERE };
  await client.topics.create({ app: name, topic: 'order-timeout', notifyHTTPParam });
  const { secret } = await client.apps.rotateSecret({ app: name });
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const options = optionsOf({ url: server.url, token: server.token, app: name, secret, baseUrl });
  const { app } = await startApp(withModule(options, [Orders]), { adapter, port });
  return { name, queue: app.get(DelayQueue), orders: app.get(Orders) };
}

describe.each(adapters)('on %s', (adapter) => {
  it('brings a job to its method on time, with its payload as it was', async () => {
    const { name, queue, orders } = await setup(adapter);
    const payloads = [{ order: 7, text: '⏰ "' }, ['a', 1], 'plain', '12', '{"a":1}', 12, true, null];
    const at = Date.now() + 1_000;
    const jobs = await Promise.all(payloads.map((payload) => queue.publish('order-timeout', payload, { at })));
    await until(() => orders.seen.length >= payloads.length);
    for (const [i, payload] of payloads.entries()) {
      const call = orders.seen.find(({ context }) => context.jobId === jobs[i]!.jobId)!;
      expect(call.payload).toEqual(payload);
      expect(call.context).toMatchObject({ attempt: 1, scheduledAt: at, taskId: jobs[i]!.taskId });
    }
    expect(orders.seen).toHaveLength(payloads.length);
    const { jobId } = jobs[0]!;
    const ended = await until(async () => {
      const job = await client.jobs.get({ app: name, topic: 'order-timeout', jobId });
      return job.status === 2 && job;
    });
    expect(ended).toMatchObject({ payload: payloads[0], output: '{"ok":true}', httpStatus: 200 });
  });

  it('brings a run of a timer to its method', async () => {
    const { name, orders } = await setup(adapter);
    const [timer] = (await client.timers.list({ app: name })).list;
    const { taskId } = await client.timers.run({ app: name, timerId: timer!.timerId, body: { day: 1 } });
    await until(() => orders.seen.length > 0);
    expect(orders.seen[0]).toMatchObject({ payload: { day: 1 }, context: { taskId, jobId: null } });
  });
});

it('is one job for one jobId, and refuses another payload under it', async () => {
  const { queue } = await setup();
  const publish = (payload: object) => queue.publish('order-timeout', payload, { delayMs: HOUR, jobId: 'o-1' });
  const [first, second] = await Promise.all([publish({ a: 1 }), publish({ a: 1 })]);
  expect([first.created, second.created].sort()).toEqual([false, true]);
  expect(second.taskId).toBe(first.taskId);
  await expect(publish({ a: 2 })).rejects.toMatchObject({ status: 409, field: 'jobId' });
});

it('cancels and moves jobs, with a definite answer', async () => {
  const { queue, orders } = await setup();
  const publish = (jobId: string, delayMs: number) => queue.publish('order-timeout', jobId, { delayMs, jobId });
  await publish('canceled', HOUR);
  await publish('moved', HOUR);
  expect(await queue.cancel('order-timeout', 'canceled')).toMatchObject({ outcome: 'canceled' });
  expect(await queue.cancel('order-timeout', 'canceled')).toMatchObject({ outcome: 'ended' });
  expect(await queue.cancel('order-timeout', 'never-published')).toEqual({ outcome: 'notFound' });
  expect(await queue.reschedule('order-timeout', 'never-published', { delayMs: 1 })).toEqual({ outcome: 'notFound' });
  expect(await queue.reschedule('order-timeout', 'canceled', { delayMs: 1 })).toMatchObject({ outcome: 'ended' });
  const at = new Date(Date.now() + 500);
  const moved = await queue.reschedule('order-timeout', 'moved', { at });
  expect(moved).toMatchObject({ outcome: 'rescheduled', job: { actionTime: at.getTime() } });
  await until(() => orders.seen.length > 0);
  expect(orders.seen.map(({ payload }) => payload)).toEqual(['moved']);
});

it('names the topics there are when one is unknown', async () => {
  const { queue } = await setup();
  const unknown = queue.publish('order-timout', {}, { delayMs: 1 });
  await expect(unknown).rejects.toMatchObject({ status: 404, message: expect.stringContaining('order-timeout') });
  await expect(queue.cancel('order-timout', 'x')).rejects.toThrow('order-timeout');
  await expect(queue.publish('order-timeout', {}, { delayMs: -1 })).rejects.toMatchObject({ status: 400 });
});

it('publishes once more when no answer came, as the same job', async () => {
  const seen: unknown[] = [];
  const answers: (() => Promise<Response>)[] = [
    () => Promise.reject(new TypeError('fetch failed')),
    async () => new Response('bad gateway', { status: 502 }),
    async () => Response.json({ code: 0, message: 'ok', data: { jobId: 'x' } }),
  ];
  const flaky = createClient({
    url: NOWHERE,
    fetch: (_url, init) => {
      seen.push(JSON.parse(String(init!.body)));
      return answers.shift()!();
    },
  });
  const queue = new DelayQueue(flaky, optionsOf() as never);
  expect(await queue.publish('order-timeout', { a: 1 }, { delayMs: 5 })).toEqual({ jobId: 'x' });
  expect(seen).toHaveLength(3);
  expect(new Set(seen.map((body) => JSON.stringify(body))).size).toBe(1);
  expect(seen[0]).toMatchObject({ jobId: expect.stringMatching(/^[\w-]{36}$/), delayMs: 5, payload: { a: 1 } });
});
