import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LONGEST_DELAY_MS, PAYLOAD_LIMIT } from '@xtimer/contracts';
import { expect, it, onTestFinished } from 'vitest';
import { recorded, setup, type World } from './support.js';

const HOUR = 3_600_000;

/** Answers as told; what it was called with. */
async function target() {
  const told = { status: 200, hold: null as Promise<void> | null };
  const calls: { headers: Record<string, unknown>; body: string }[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    calls.push({ headers: request.headers, body });
    server.emit('called');
    await told.hold;
    response.writeHead(told.status).end('heard');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`;
  return { told, calls, called: () => once(server, 'called'), notifyHTTPParam: { method: 'POST', url } };
}

const topicFields = (fields: object = {}): Record<string, unknown> => ({
  app: 'shop',
  topic: 'order-timeout',
  notifyHTTPParam: { method: 'POST', url: 'http://127.0.0.1:9/x' },
  ...fields,
});

async function withTopic(fields: object = {}, env: Record<string, string> = {}) {
  const world = await setup(env);
  const created = await world.post('/topics', topicFields(fields));
  expect(created.status, created.text).toBe(201);
  const publish = (fields: object = {}) =>
    world.post('/jobs', { app: 'shop', topic: 'order-timeout', payload: { order: 1 }, delayMs: HOUR, ...fields });
  return { ...world, publish, put: putOf(world) };
}

const putOf =
  ({ send }: World) =>
  (url: string, body: object) =>
    send({ method: 'PUT', url, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

const IN_SHOP = 'app=shop&topic=order-timeout';

it('publishes a job, calls it once with its payload, and keeps it in history', async () => {
  const { calls, notifyHTTPParam } = await target();
  const world = await withTopic({ notifyHTTPParam });
  const { get, publish } = world;
  const ended = recorded(world, 1);
  const before = Date.now();
  const published = await publish({ jobId: 'o-1', delayMs: 50, slotBasis: 'customer 7' });
  expect(published).toMatchObject({
    status: 201,
    json: {
      data: {
        ...{ created: true, jobId: 'o-1', app: 'shop', topic: 'order-timeout', payload: { order: 1 }, status: 0 },
        ...{ attempt: 0, taskId: expect.stringMatching(/^\d{10,16}_\d{13}$/), reason: null, httpStatus: null },
      },
    },
  });
  const { actionTime, slot, taskId } = published.json.data;
  expect(actionTime - before).toBeGreaterThanOrEqual(50);
  expect(slot).toBeLessThan(16);
  await ended;
  expect(calls).toHaveLength(1);
  expect(calls[0]).toMatchObject({
    body: '{"order":1}',
    headers: { 'x-xtimer-topic': 'order-timeout', 'x-xtimer-task-id': taskId },
  });
  const job = (await get(`/jobs/o-1?${IN_SHOP}`)).json.data;
  expect(job).toMatchObject({ status: 2, attempt: 1, httpStatus: 200, output: 'heard', lateness: expect.any(Number) });

  const { list } = (await get(`/xtimer/getTaskList?${IN_SHOP}`)).json.data;
  expect(list).toHaveLength(1);
  expect(list[0]).toMatchObject({
    ...{ taskId, topic: 'order-timeout', jobId: 'o-1', name: 'order-timeout', origin: 'job', runTimer: actionTime },
  });
  expect(list[0]).not.toHaveProperty('timerId');
  const task = (await get(`/xtimer/getTask?taskId=${taskId}`)).json.data;
  expect(task).toMatchObject({ jobId: 'o-1', topic: 'order-timeout', payload: '{"order":1}', attempts: [] });
});

it('is one job per id: 201, then 200 with the job as it is, then 409 for another payload', async () => {
  const { publish, get } = await withTopic();
  const first = await publish({ jobId: '订单 🛒/1' });
  const [again, other] = [
    await publish({ jobId: '订单 🛒/1', delayMs: 0 }),
    await publish({ jobId: '订单 🛒/1', payload: 'x' }),
  ];
  expect([first.status, again.status, other.status]).toEqual([201, 200, 409]);
  expect(again.json.data).toEqual({ ...first.json.data, created: false });
  expect(other.json.data).toMatchObject({ field: 'jobId', value: '订单 🛒/1', expected: /same payload/ });
  const read = await get(`/jobs/${encodeURIComponent('订单 🛒/1')}?${IN_SHOP}`);
  expect({ ...read.json.data, created: true }).toEqual(first.json.data);

  const long = '🙂'.repeat(64);
  expect((await publish({ jobId: long })).status).toBe(201);
  expect((await get(`/jobs/${encodeURIComponent(long)}?${IN_SHOP}`)).json.data.jobId).toBe(long);
  expect((await get(`/jobs/nope?${IN_SHOP}`)).json).toMatchObject({ code: 40400, data: { field: 'jobId' } });
  const made = [await publish(), await publish()].map((answer) => answer.json.data.jobId);
  expect(new Set(made).size).toBe(2);
});

it('gives the payload back as it was given, as far as its text tells', async () => {
  const { publish, get } = await withTopic();
  const cases: [given: unknown, back: unknown, stored: string][] = [
    [{ a: [1, 'ü😀\0'], b: null }, { a: [1, 'ü😀\0'], b: null }, '{"a":[1,"ü😀\\u0000"],"b":null}'],
    [[], [], '[]'],
    ['', '', ''],
    ['plain ⏰', 'plain ⏰', 'plain ⏰'],
    ['{ "a": 1 }', '{ "a": 1 }', '{ "a": 1 }'],
    ['{"a":12345678901234567890}', '{"a":12345678901234567890}', '{"a":12345678901234567890}'],
    ['{broken', '{broken', '{broken'],
    ['12', '12', '12'],
    [12.5, '12.5', '12.5'],
    [null, 'null', 'null'],
    [false, 'false', 'false'],
  ];
  for (const [given, back, stored] of cases) {
    const { status, json } = await publish({ payload: given });
    expect([status, json.data.payload]).toEqual([201, back]);
    const { jobId, taskId } = json.data;
    expect((await get(`/jobs/${jobId}?${IN_SHOP}`)).json.data.payload).toEqual(back);
    expect((await get(`/xtimer/getTask?taskId=${taskId}`)).json.data.payload).toBe(stored);
  }
});

it('takes a time as delay or moment, and at once what is past', async () => {
  const { publish } = await withTopic({ status: 1 });
  const now = Date.now();
  const at = async (time: object) => (await publish({ delayMs: undefined, ...time })).json.data.actionTime;
  expect(await at({ actionTime: now + HOUR })).toBe(now + HOUR);
  expect(await at({ actionTime: '2030-01-01T08:00:00+08:00' })).toBe(Date.UTC(2030, 0, 1));
  expect((await at({ delayMs: LONGEST_DELAY_MS })) - now).toBeGreaterThanOrEqual(LONGEST_DELAY_MS);
  for (const past of [{ actionTime: 0 }, { actionTime: now - HOUR }, { delayMs: 0 }]) {
    expect(Math.abs((await at(past)) - now)).toBeLessThan(10_000);
  }
});

it('names what is wrong about a job, in a batch as well', async () => {
  const { post, publish, get } = await withTopic();
  const cases: [fields: object, field: string, expected: RegExp, status?: number][] = [
    [{ app: undefined }, 'app', /app name/],
    [{ topic: undefined }, 'topic', /name of a topic/],
    [{ topic: 'order-timout' }, 'topic', /one of order-timeout/, 404],
    [{ payload: undefined }, 'payload', /any JSON value/],
    [{ payload: 'a\0' }, 'payload', /NUL/],
    [{ payload: '\ud800' }, 'payload', /surrogate/],
    [{ payload: 'x'.repeat(PAYLOAD_LIMIT + 1) }, 'payload', /262144 bytes/, 413],
    [{ payload: `${'😀'.repeat(PAYLOAD_LIMIT / 4)}x` }, 'payload', /262144 bytes/, 413],
    [{ payload: { x: 'x'.repeat(PAYLOAD_LIMIT) } }, 'payload', /262144 bytes/, 413],
    [{ delayMs: -1 }, 'delayMs', /0 to 315619200000/],
    [{ delayMs: LONGEST_DELAY_MS + 1 }, 'delayMs', /315619200000/],
    [{ delayMs: 1.5 }, 'delayMs', /whole number/],
    [{ delayMs: '1000' }, 'delayMs', /whole number/],
    [{ delayMs: null }, 'delayMs', /whole number/],
    [{ delayMs: 1e300 }, 'delayMs', /315619200000/],
    [{ delayMs: undefined }, 'delayMs', /actionTime/],
    [{ actionTime: 5 }, 'actionTime', /not both/],
    [{ delayMs: undefined, actionTime: Date.now() + LONGEST_DELAY_MS + 60_000 }, 'actionTime', /ten years/],
    [{ delayMs: undefined, actionTime: '2030-01-01' }, 'actionTime', /ISO 8601/],
    [{ delayMs: undefined, actionTime: -1 }, 'actionTime', /epoch/],
    [{ jobId: '' }, 'jobId', /1 to 128/],
    [{ jobId: 'x'.repeat(129) }, 'jobId', /1 to 128/],
    [{ jobId: 'a\nb' }, 'jobId', /control/],
    [{ jobId: '\u0085' }, 'jobId', /control/],
    [{ jobId: '\udc00' }, 'jobId', /well-formed/],
    [{ jobId: '..' }, 'jobId', /not "\."/],
    [{ jobId: 5 }, 'jobId', /1 to 128/],
    [{ slotBasis: '' }, 'slotBasis', /1 to 256/],
    [{ slotBasis: 7 }, 'slotBasis', /1 to 256/],
    [{ maxAttempts: 0 }, 'maxAttempts', /1 to 100/],
    [{ maxAttempts: 101 }, 'maxAttempts', /1 to 100/],
    [{ colour: 'red' }, 'colour', /no field/],
  ];
  const good = { topic: 'order-timeout', payload: 'p', delayMs: HOUR };
  for (const [fields, field, expected, status = 400] of cases) {
    const shown = JSON.stringify(fields).slice(0, 80);
    const answer = await publish(fields);
    expect([answer.status, answer.json.data.field], shown).toEqual([status, field]);
    expect(answer.json.data.expected, shown).toMatch(expected);
    expect(answer.text.length, shown).toBeLessThan(2_000);
    if ('app' in fields) continue;
    const jobs = [good, { ...good, ...fields }, good];
    const batch = await post('/jobs/batch', { app: 'shop', jobs });
    expect(batch.status, shown).toBe(200);
    expect(batch.json.data.results, shown).toEqual([
      { jobId: expect.any(String), created: true },
      { error: expect.objectContaining({ code: status * 100, field, expected: answer.json.data.expected }) },
      { jobId: expect.any(String), created: true },
    ]);
  }
  const tooLarge = (await publish({ payload: 'x'.repeat(PAYLOAD_LIMIT + 1) })).json;
  expect(tooLarge.message).toBe('payload is too large with 262145 bytes: at most 262144 bytes');
  expect((await publish({ payload: '\u0001'.repeat(PAYLOAD_LIMIT) })).status).toBe(201);
  const body = (await publish({ payload: 'x'.repeat(2 * 1024 * 1024) })).json;
  expect(body).toMatchObject({ code: 41300, message: expect.stringMatching(/with 20\d+ bytes: at most 2 MiB/) });
  expect((await get(`/jobs?${IN_SHOP}&pageSize=200`)).json.data.list).toHaveLength(2 * (cases.length - 1) + 1);
});

it('answers deep nesting instead of failing at it', async () => {
  const { send } = await withTopic();
  const deep = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  const body = (payload: string) => `{"app":"shop","topic":"order-timeout","delayMs":3600000,"payload":${payload}}`;
  const headers = { 'content-type': 'application/json' };
  const nested = await send({ method: 'POST', url: '/jobs', headers, body: body(deep(120_000)) });
  expect([nested.status, nested.json.data.field], nested.text.slice(0, 200)).toEqual([400, 'payload']);
  const asText = await send({ method: 'POST', url: '/jobs', headers, body: body(JSON.stringify(deep(120_000))) });
  expect([asText.status, asText.json.data.payload]).toEqual([201, deep(120_000)]);
});

it('takes a batch of 1000 for several topics, in order, and no more', async () => {
  const { post, get } = await withTopic();
  await post('/topics', topicFields({ topic: 'reminder' }));
  const jobs = Array.from({ length: 1_000 }, (_, at) => ({
    topic: at % 3 === 0 ? 'reminder' : 'order-timeout',
    jobId: `j-${at % 900}`,
    payload: { at: at % 900 },
    delayMs: HOUR + at,
  }));
  const answer = await post('/jobs/batch', { app: 'shop', jobs });
  expect(answer.status).toBe(200);
  expect(answer.json.data.results).toEqual(jobs.map(({ jobId }, at) => ({ jobId, created: at < 900 })));
  const counts = (await get('/topics?app=shop')).json.data.list.map((topic: Record<string, unknown>) => [
    ...[topic.topic, topic.waiting, topic.running, topic.failed],
  ]);
  expect(counts).toEqual([
    ['order-timeout', 600, 0, 0],
    ['reminder', 300, 0, 0],
  ]);

  const one = jobs[0];
  const cases: [body: object, status: number, field: string | undefined][] = [
    [{ app: 'shop', jobs: [...jobs, one] }, 400, 'jobs'],
    [{ app: 'shop', jobs: [] }, 400, 'jobs'],
    [{ app: 'shop', jobs: one }, 400, 'jobs'],
    [{ app: 'shop' }, 400, 'jobs'],
    [{ jobs: [one] }, 400, 'app'],
    [{ app: 'shop', jobs: [one], topic: 'x' }, 400, 'topic'],
    [
      { app: 'shop', jobs: Array.from({ length: 70 }, () => ({ ...one, payload: 'x'.repeat(PAYLOAD_LIMIT) })) },
      413,
      undefined,
    ],
  ];
  for (const [body, status, field] of cases) {
    const refused = await post('/jobs/batch', body);
    expect([refused.status, refused.json.data.field], refused.text.slice(0, 200)).toEqual([status, field]);
  }
  const odd = await post('/jobs/batch', {
    app: 'shop',
    jobs: [5, null, [], 'x', { ...one, jobId: 'j-0', payload: 1 }],
  });
  expect(odd.json.data.results.map((one: { error: { code: number } }) => one.error.code)).toEqual([
    ...[40000, 40000, 40000, 40000, 40900],
  ]);
});

it('cancels with a definite answer', async () => {
  const { told, calls, called, notifyHTTPParam } = await target();
  const world = await withTopic({ notifyHTTPParam });
  const { get, post, publish } = world;
  await publish({ jobId: 'waits' });
  const canceled = await post(`/jobs/waits/cancel?${IN_SHOP}`);
  expect(canceled.json.data).toMatchObject({ outcome: 'canceled', job: { status: 4, reason: 'canceled' } });
  expect((await get(`/jobs/waits?${IN_SHOP}`)).json.data).toMatchObject({ status: 4, reason: 'canceled' });

  let release = () => {};
  told.hold = new Promise((resolve) => {
    release = resolve;
  });
  const [arrived, ended] = [called(), recorded(world, 1)];
  await publish({ jobId: 'runs', delayMs: 0 });
  await arrived;
  const running = await post('/jobs/runs/cancel', { app: 'shop', topic: 'order-timeout' });
  expect(running.json.data).toMatchObject({ outcome: 'running', job: { status: 1 } });
  const moved = { app: 'shop', topic: 'order-timeout', delayMs: HOUR };
  expect((await post('/jobs/runs/reschedule', moved)).json.data.outcome).toBe('running');
  release();
  await ended;
  for (const jobId of ['runs', 'waits']) {
    expect((await post(`/jobs/${jobId}/cancel?${IN_SHOP}`)).json.data.outcome).toBe('ended');
    expect((await post(`/jobs/${jobId}/reschedule`, moved)).json.data.outcome).toBe('ended');
  }
  expect(calls).toHaveLength(1);
  const refusals: [path: string, body: object | undefined, status: number, field: string][] = [
    [`nope/cancel?${IN_SHOP}`, undefined, 404, 'jobId'],
    ['waits/cancel?app=other&topic=order-timeout', undefined, 404, 'topic'],
    ['waits/cancel?app=shop', undefined, 400, 'topic'],
    [`waits/cancel?${IN_SHOP}&x=1`, undefined, 400, 'x'],
    ['nope/reschedule', moved, 404, 'jobId'],
    ['waits/reschedule', { ...moved, delayMs: -1 }, 400, 'delayMs'],
    ['waits/reschedule', { ...moved, delayMs: undefined }, 400, 'delayMs'],
    ['waits/reschedule', { ...moved, actionTime: 5 }, 400, 'actionTime'],
    ['waits/reschedule', { ...moved, delayMs: undefined, actionTime: '2099-01-01T00:00:00Z' }, 400, 'actionTime'],
    ['waits/reschedule', { ...moved, payload: 1 }, 400, 'payload'],
    ['%00/reschedule', moved, 400, 'jobId'],
  ];
  for (const [path, body, status, field] of refusals) {
    const answer = await post(`/jobs/${path}`, body);
    expect([answer.status, answer.json.data.field], path).toEqual([status, field]);
  }
});

it('moves a waiting job, and it is called then', async () => {
  const { calls, notifyHTTPParam } = await target();
  const world = await withTopic({ notifyHTTPParam });
  const { post, publish } = world;
  const { actionTime } = (await publish({ jobId: 'moves' })).json.data;
  const later = { app: 'shop', topic: 'order-timeout', actionTime: actionTime + HOUR };
  expect((await post('/jobs/moves/reschedule', later)).json.data).toMatchObject({
    ...{ outcome: 'rescheduled', job: { status: 0, actionTime: actionTime + HOUR, dueAt: actionTime + HOUR } },
  });
  expect(calls).toEqual([]);
  const ended = recorded(world, 1);
  const soon = { app: 'shop', topic: 'order-timeout', delayMs: 20 };
  expect((await post('/jobs/moves/reschedule', soon)).json.data.outcome).toBe('rescheduled');
  await ended;
  expect(calls).toHaveLength(1);
});

it('lists the jobs of a topic, latest first, page by page, by status, time and id', async () => {
  const { get, post, publish } = await withTopic();
  const start = Date.UTC(2030, 0, 1);
  for (const at of [3, 1, 4, 0, 2]) await publish({ jobId: `j-${at}`, delayMs: undefined, actionTime: start + at });
  await post(`/jobs/j-1/cancel?${IN_SHOP}`);
  const ids = async (query: string) => {
    const found: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const next: string = cursor && `&cursor=${cursor}`;
      const { data } = (await get(`/jobs?${IN_SHOP}&pageSize=2${query}${next}`)).json;
      found.push(...data.list.map((job: { jobId: string }) => job.jobId));
      cursor = data.nextCursor;
    }
    return found.map((id) => id.slice(2)).join('');
  };
  expect(await ids('')).toBe('43210');
  expect(await ids('&status=0')).toBe('4320');
  expect(await ids(`&startTime=${start + 1}&endTime=${start + 4}`)).toBe('321');
  expect(await ids('&jobId=j-2')).toBe('2');
  expect(await ids('&jobId=j-2&status=4')).toBe('');
  expect((await get(`/jobs?${IN_SHOP}`)).json.data.nextCursor).toBeNull();
  const history = (await get(`/xtimer/getTaskList?${IN_SHOP}&startTime=${start}&endTime=${start + 9}&pageSize=2`)).json;
  expect(history.data).toMatchObject({ total: 5, list: [{ jobId: 'j-4' }, { jobId: 'j-3' }] });

  const cases: [url: string, status: number, field: string][] = [
    ['/jobs?topic=order-timeout', 400, 'app'],
    ['/jobs?app=shop', 400, 'topic'],
    [`/jobs?${IN_SHOP}x`, 404, 'topic'],
    [`/jobs?${IN_SHOP}&status=9`, 400, 'status'],
    [`/jobs?${IN_SHOP}&pageSize=201`, 400, 'pageSize'],
    [`/jobs?${IN_SHOP}&cursor=AAAA`, 400, 'cursor'],
    [`/jobs?${IN_SHOP}&startTime=5&endTime=5`, 400, 'endTime'],
    ['/xtimer/getTaskList?topic=order-timeout', 400, 'app'],
    [`/xtimer/getTaskList?${IN_SHOP}&timerId=1`, 400, 'topic'],
    ['/xtimer/getTaskList?app=shop&topic=nope', 404, 'topic'],
  ];
  for (const [url, status, field] of cases) {
    const answer = await get(url);
    expect([answer.status, answer.json.data.field], url).toEqual([status, field]);
  }
});

it('replays a dead job, and cancels and replays by topic', async () => {
  const { told, calls, notifyHTTPParam } = await target();
  told.status = 500;
  const world = await withTopic({ notifyHTTPParam, retry: { initialDelayMs: 10, jitter: 0 } });
  const { get, post, publish } = world;
  const dead = recorded(world, 2);
  const { taskId } = (await publish({ jobId: 'dies', delayMs: 0, maxAttempts: 2 })).json.data;
  await dead;
  const detail = async () => (await get(`/xtimer/getTask?taskId=${taskId}`)).json.data;
  expect(await detail()).toMatchObject({ status: 3, attempt: 2, jobId: 'dies' });
  expect((await get(`/topics/order-timeout?app=shop`)).json.data).toMatchObject({ waiting: 0, running: 0, failed: 1 });

  told.status = 200;
  const replayed = recorded(world, 1);
  const answer = await post('/xtimer/retryTask', { app: 'shop', taskId });
  expect(answer.json.data.results).toEqual([{ taskId, outcome: 'accepted' }]);
  await replayed;
  expect(await detail()).toMatchObject({ status: 2, attempt: 3, replayCount: 1 });
  expect(new Set(calls.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);

  await post('/topics', topicFields({ topic: 'other' }));
  await publish({ topic: 'other' });
  const waiting = (await publish({ jobId: 'waits' })).json.data;
  const filter = { app: 'shop', topic: 'order-timeout' };
  expect((await post('/xtimer/cancelTask', { filter })).json.data).toEqual({ matched: 1, accepted: 1 });
  expect((await get(`/jobs/waits?${IN_SHOP}`)).json.data).toMatchObject({ status: 4, reason: 'canceled' });
  const last = recorded(world, 1);
  const again = await post('/xtimer/retryTask', { filter: { ...filter, status: 4 } });
  expect(again.json.data).toEqual({ matched: 1, accepted: 1 });
  await last;
  expect((await post('/xtimer/cancelTask', { taskId: waiting.taskId })).json.data.results[0].outcome).toBe('ended');
  const unknown = await post('/xtimer/cancelTask', { filter: { app: 'shop', topic: 'nope' } });
  expect([unknown.status, unknown.json.data.field]).toEqual([404, 'topic']);
  const both = await post('/xtimer/cancelTask', { filter: { ...filter, timerId: 1 } });
  expect([both.status, both.json.data.field]).toEqual([400, 'filter.topic']);
});

it('holds jobs back while a topic is paused, and lets them go', async () => {
  const { calls, notifyHTTPParam } = await target();
  const world = await withTopic({ notifyHTTPParam, status: 1 });
  const { get, publish, put } = world;
  const held = async () => (await get(`/jobs/held?${IN_SHOP}`)).json.data;
  await publish({ jobId: 'held', delayMs: 0 });
  await expect.poll(held, { timeout: 10_000 }).toMatchObject({ status: 0, dueAt: null });
  expect((await get(`/xtimer/getTaskList?${IN_SHOP}`)).json.data.list[0]).toMatchObject({ jobId: 'held', dueAt: null });
  expect(calls).toEqual([]);
  const ended = recorded(world, 1);
  expect((await put('/topics/order-timeout?app=shop', { status: 2 })).json.data).toMatchObject({ status: 2 });
  await ended;
  expect(await held()).toMatchObject({ status: 2, dueAt: expect.any(Number) });
  expect(calls).toHaveLength(1);
});

it('gives an app its signing secret with its first topic', async () => {
  const { calls, notifyHTTPParam } = await target();
  const world = await withTopic({ notifyHTTPParam });
  expect((await world.get('/apps/shop')).status).toBe(200);
  const ended = recorded(world, 1);
  await world.publish({ delayMs: 0 });
  await ended;
  expect(calls[0]!.headers['webhook-signature']).toMatch(/^v1,/);
});

it('answers 503 for a batch that the database takes nothing of', async () => {
  const { post, stores } = await withTopic();
  await stores.database.close();
  const jobs = [1, 2].map((payload) => ({ topic: 'order-timeout', payload, delayMs: HOUR }));
  expect(await post('/jobs/batch', { app: 'shop', jobs })).toMatchObject({ status: 503, json: { code: 50300 } });
});
