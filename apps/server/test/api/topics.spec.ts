import { expect, it } from 'vitest';
import { setup } from './support.js';

const topicFields = (fields: object = {}): Record<string, unknown> => ({
  app: 'shop',
  topic: 'order-timeout',
  notifyHTTPParam: { method: 'POST', url: 'http://127.0.0.1:9/x' },
  ...fields,
});

async function world() {
  const { send, get, post } = await setup();
  const json = { 'content-type': 'application/json' };
  const put = (url: string, body: object) => send({ method: 'PUT', url, headers: json, body: JSON.stringify(body) });
  return { get, post, put, del: (url: string) => send({ method: 'DELETE', url }) };
}

it('reads a topic back with its defaults, and changes only what is named', async () => {
  const { get, post, put } = await world();
  const created = await post('/topics', topicFields());
  expect(created.status).toBe(201);
  expect(created.json.data).toEqual({
    ...{ app: 'shop', topic: 'order-timeout', status: 2, description: '', slotAmount: 16, timeoutMs: 10_000 },
    notifyHTTPParam: { method: 'POST', url: 'http://127.0.0.1:9/x', header: {}, body: null },
    retry: { maxAttempts: 5, initialDelayMs: 1_000, factor: 2, maxDelayMs: 600_000, jitter: 0.2 },
    ...{ success: { status: ['2xx'] }, noRetry: { status: [] }, delivery: 'atLeastOnce' },
    ...{ createdAt: expect.any(Number), updatedAt: expect.any(Number) },
  });
  const changes = { app: 'shop', retry: { maxAttempts: 2 }, slotAmount: 1024, status: '1', description: '付款 ⏰' };
  const updated = await put('/topics/order-timeout', changes);
  expect(updated.json.data).toEqual({
    ...created.json.data,
    ...{ slotAmount: 1024, status: 1, description: '付款 ⏰', updatedAt: expect.any(Number) },
    retry: { ...created.json.data.retry, maxAttempts: 2 },
  });
  const read = (await get('/topics/order-timeout?app=shop')).json.data;
  expect(read).toEqual({ ...updated.json.data, waiting: 0, running: 0, failed: 0 });
  expect((await put('/topics/order-timeout?app=shop', {})).status).toBe(200);
});

it('has a name once in its app, whatever the name is made of', async () => {
  const { get, post, put } = await world();
  const topic = '订单/超时 ⏰';
  expect((await post('/topics', topicFields({ topic }))).status).toBe(201);
  expect((await post('/topics', topicFields({ topic, app: 'other' }))).status).toBe(201);
  const taken = await post('/topics', topicFields({ topic }));
  expect(taken).toMatchObject({ status: 409, json: { code: 40900, data: { field: 'topic', value: topic } } });
  expect((await put(`/topics/${encodeURIComponent(topic)}`, { app: 'shop', status: 1 })).json.data.status).toBe(1);
  await post('/topics', topicFields({ topic: 'a' }));
  const names = async (query: string) =>
    (await get(`/topics?${query}`)).json.data.list.map((one: { app: string; topic: string }) => [one.app, one.topic]);
  expect(await names('app=shop')).toEqual([
    ['shop', 'a'],
    ['shop', topic],
  ]);
  expect(await names('page=2&pageSize=2')).toEqual([['shop', topic]]);
  expect((await get('/topics?pageSize=1')).json.data).toMatchObject({ total: 3, page: 1, pageSize: 1 });
});

it('is deleted only with a word about its waiting jobs, and its history stays', async () => {
  const { get, post, del } = await world();
  await post('/topics', topicFields());
  const job = { topic: 'order-timeout', payload: 1, delayMs: 3_600_000 };
  await post('/jobs/batch', { app: 'shop', jobs: Array.from({ length: 600 }, () => job) });
  const refused = await del('/topics/order-timeout?app=shop');
  expect(refused).toMatchObject({ status: 409, json: { code: 40900, data: { field: 'cancelJobs' } } });
  expect(refused.json.message).toContain('600 waiting jobs');
  expect((await del('/topics/order-timeout?app=shop&cancelJobs=false')).status).toBe(409);
  expect((await del('/topics/order-timeout?app=shop&cancelJobs=yes')).json.data.field).toBe('cancelJobs');
  expect((await del('/topics/order-timeout?app=shop&cancelJobs=true')).json.data).toEqual({ canceled: 600 });
  for (const answer of [
    await get('/topics/order-timeout?app=shop'),
    await del('/topics/order-timeout?app=shop'),
    await post('/jobs', { app: 'shop', ...job }),
  ]) {
    expect([answer.status, answer.json.data.field]).toEqual([404, 'topic']);
  }
  const { list } = (await get('/xtimer/getTaskList?app=shop')).json.data;
  expect(list).toHaveLength(20);
  expect(list[0]).toMatchObject({ topic: 'order-timeout', status: 4, reason: 'deleted', jobId: expect.any(String) });
  expect((await post('/topics', topicFields())).status).toBe(201);
  expect((await get('/topics/order-timeout?app=shop')).json.data.waiting).toBe(0);
});

it('names what is wrong about a topic', async () => {
  const { get, post, put, del } = await world();
  const callback = { method: 'POST', url: 'http://127.0.0.1:9/x' };
  const cases: [body: object, field: string, expected: RegExp][] = [
    [{ app: undefined }, 'app', /app name/],
    [{ topic: undefined }, 'topic', /1 to 128/],
    [{ topic: '' }, 'topic', /1 to 128/],
    [{ topic: '..' }, 'topic', /1 to 128/],
    [{ topic: 'a ' }, 'topic', /blanks/],
    [{ topic: 'a\nb' }, 'topic', /control/],
    [{ topic: 'x'.repeat(129) }, 'topic', /1 to 128/],
    [{ notifyHTTPParam: undefined }, 'notifyHTTPParam', /object with method/],
    [{ notifyHTTPParam: { ...callback, url: 'ftp://x/' } }, 'notifyHTTPParam.url', /URL/],
    [{ notifyHTTPParam: { ...callback, url: 'http://10.1.2.3/' } }, 'notifyHTTPParam.url', /URL/],
    [
      { notifyHTTPParam: { ...callback, header: { 'X-Xtimer-Topic': 'x' } } },
      'notifyHTTPParam.header.X-Xtimer-Topic',
      /itself/,
    ],
    [{ slotAmount: 0 }, 'slotAmount', /power of two/],
    [{ slotAmount: 3 }, 'slotAmount', /power of two/],
    [{ slotAmount: 2048 }, 'slotAmount', /power of two/],
    [{ slotAmount: '16' }, 'slotAmount', /power of two/],
    [{ status: 0 }, 'status', /1 \(paused\), 2 \(active\)/],
    [{ status: 3 }, 'status', /1 \(paused\)/],
    [{ retry: { maxAttempts: 0 } }, 'retry.maxAttempts', /1 to 100/],
    [{ timeoutMs: 0 }, 'timeoutMs', /1800000/],
    [{ delivery: 'once' }, 'delivery', /atLeastOnce/],
    [{ success: { status: [] } }, 'success.status', /1 to 50/],
    [{ misfire: {} }, 'misfire', /no field/],
    [{ cron: '* * * * *' }, 'cron', /no field/],
    [{ description: 'x'.repeat(1_001) }, 'description', /1000/],
  ];
  await post('/topics', topicFields());
  const before = (await get('/topics/order-timeout?app=shop')).json.data;
  for (const [fields, field, expected] of cases) {
    const shown = JSON.stringify(fields).slice(0, 100);
    const answer = await post('/topics', topicFields({ topic: 'another', ...fields }));
    expect([answer.status, answer.json.data.field], shown).toEqual([400, field]);
    expect(answer.json.data.expected, shown).toMatch(expected);
    if ('topic' in fields || field === 'notifyHTTPParam') continue;
    const updated = await put('/topics/order-timeout', { app: 'shop', ...fields });
    expect([updated.status, updated.json.data.field], shown).toEqual([400, field]);
  }
  expect((await get('/topics/order-timeout?app=shop')).json.data).toEqual(before);
  expect((await get('/topics')).json.data.total).toBe(1);
  const answers = [
    [await put('/topics/order-timeout', { app: 'shop', topic: 'x' }), 400, 'topic'],
    [await put('/topics/nope', { app: 'shop' }), 404, 'topic'],
    [await get('/topics/order-timeout'), 400, 'app'],
    [await get('/topics/order-timeout?app=other'), 404, 'topic'],
    [await get('/topics?page=0'), 400, 'page'],
    [await del('/topics/order-timeout'), 400, 'app'],
  ] as const;
  for (const [answer, status, field] of answers) {
    expect([answer.status, answer.json.data.field], answer.text).toEqual([status, field]);
  }
  expect((await get('/topics/nope?app=shop')).json.data.expected).toBe('one of order-timeout');
});
