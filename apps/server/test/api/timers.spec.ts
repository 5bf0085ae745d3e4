import { once } from 'node:events';
import { createServer } from 'node:net';
import { defaultPolicies } from '@xtimer/pipeline';
import { expect, it, onTestFinished } from 'vitest';
import { setup, timer } from './support.js';

it('reads back what was sent, with defaults, four-byte text and moments as epoch ms', async () => {
  const { get, post } = await setup({ XTIMER_TIMEZONE: 'Asia/Shanghai' });
  const sent = timer({
    name: 'обед 👨‍👩‍👧‍👦 𠮷',
    description: '<script>alert(1)</script>',
    notifyHTTPParam: {
      method: 'PUT',
      url: 'http://127.0.0.1:9/😀?t={{taskId}}',
      header: { 'X-Env': 'prod' },
      body: { day: '{{scheduledTime}} 😀' },
    },
    startAt: '2027-01-01T08:00:00+08:00',
    retry: { maxAttempts: 3 },
  });
  const { json: created } = await post('/xtimer/createTimer', sent);
  expect(created).toMatchObject({ code: 0, message: 'ok', data: { timerId: expect.any(Number) } });

  const { data } = (await get(`/xtimer/getTimer?app=shop&timerId=${created.data.timerId}`)).json;
  expect(data).toMatchObject({
    ...defaultPolicies,
    ...{ name: sent.name, description: sent.description, status: 1, version: 1, nextFireAt: null },
    ...{ timezone: 'Asia/Shanghai', cronDialect: 'auto', maxRuns: null, endAt: null },
    notifyHTTPParam: { ...(sent.notifyHTTPParam as object), body: '{"day":"{{scheduledTime}} 😀"}' },
    startAt: Date.UTC(2027, 0, 1),
    retry: { ...defaultPolicies.retry, maxAttempts: 3 },
  });
  expect(data.createdAt).toBeGreaterThan(Date.UTC(2024, 0, 1));
  expect(Object.keys(data)).not.toContain('bucket');
});

it('changes only what is named, inside policies too', async () => {
  const { get, post } = await setup();
  const { timerId } = (await post('/xtimer/createTimer', timer({ retry: { maxAttempts: 3, factor: 7 }, endAt: 9e12 })))
    .json.data;
  const before = (await get(`/xtimer/getTimer?timerId=${timerId}`)).json.data;
  const { json } = await post('/xtimer/updateTimer', { timerId, name: 'later', retry: { factor: 4 }, endAt: null });
  const { updatedAt, version, ...rest } = json.data;
  expect({ ...before, updatedAt, version }).toMatchObject({ cron: rest.cron });
  expect(rest).toEqual({
    ...Object.fromEntries(Object.entries(before).filter(([key]) => key !== 'updatedAt' && key !== 'version')),
    name: 'later',
    endAt: null,
    retry: { ...before.retry, factor: 4 },
  });
  expect((await post('/xtimer/updateTimer', { timerId, startAt: 9e12 })).status).toBe(200);
  expect((await post('/xtimer/updateTimer', { timerId, endAt: 8e12 })).json.data.field).toBe('endAt');
});

it('enables and pauses by GET and POST, query and body, at most once in 3 s', async () => {
  const { get, post } = await setup();
  const { timerId } = (await post('/xtimer/createTimer', timer())).json.data;
  expect((await get(`/xtimer/enableTimer?timerId=${timerId}`)).json.data).toMatchObject({ status: 2 });
  expect((await post('/xtimer/enableTimer', { timerId })).status).toBe(200);
  const refused = await post(`/xtimer/unEnableTimer?timerId=${timerId}`);
  expect(refused).toMatchObject({ status: 429, json: { code: 42900, data: { field: 'timerId', value: timerId } } });
  expect(refused.headers['retry-after']).toBeDefined();
  expect(
    (await post(`/xtimer/enableTimer?timerId=${timerId}`, undefined, { 'content-type': 'application/json' })).status,
  ).toBe(200);
  expect((await post('/xtimer/deleteTimer', { app: 'shop', timerId: String(timerId) })).status).toBe(200);
  expect((await get(`/xtimer/getTimer?timerId=${timerId}`)).status).toBe(404);
});

it('lists by app, name and status, page by page', async () => {
  const { get, post } = await setup();
  for (let at = 0; at < 5; at++) await post('/xtimer/createTimer', timer({ name: `Job ${at}`, enable: at < 2 }));
  await post('/xtimer/createTimer', timer({ app: 'other', name: 'job x' }));
  const page = (await get('/xtimer/getAppTimers?app=shop&name=job&page=2&pageSize=2')).json.data;
  expect(page).toMatchObject({ total: 5, page: 2, pageSize: 2 });
  expect(page.list.map((one: { name: string }) => one.name)).toEqual(['Job 2', 'Job 1']);
  expect((await get('/xtimer/getAppTimers')).json.data.total).toBe(6);
  expect((await get('/xtimer/getAppTimers?status=2')).json.data.total).toBe(2);
});

it('previews a cron, in words too, and says where a bad one is wrong', async () => {
  const { post } = await setup();
  const from = Date.UTC(2027, 0, 1);
  const preview = (await post('/xtimer/previewCron', { cron: '30 2 * * 1', from, count: 2 })).json.data;
  expect(preview).toMatchObject({ valid: true, dialect: 'unix', ends: false });
  expect(preview.next).toEqual([Date.UTC(2027, 0, 4, 2, 30), Date.UTC(2027, 0, 11, 2, 30)]);
  expect(preview.description).toMatch(/Monday/);
  const last = (await post('/xtimer/previewCron', { cron: '0 0 0 1 1 ? 2028', from })).json.data;
  expect(last).toMatchObject({ next: [Date.UTC(2028, 0, 1)], ends: true });
  const bad = await post('/xtimer/previewCron', { cron: '0 25 * * *' });
  expect(bad).toMatchObject({
    status: 400,
    json: { data: { field: 'cron', value: '25', part: 'hours', position: 2 } },
  });
});

it('tries a callback without storing anything', async () => {
  const { get, post } = await setup();
  const notifyHTTPParam = { method: 'GET', url: 'http://127.0.0.1:9/' };
  const tried = await post('/xtimer/testCallback', { notifyHTTPParam });
  expect(tried.json.data).toMatchObject({
    success: false,
    httpStatus: null,
    error: expect.stringMatching(/^CALLBACK_/),
  });
  const blocked = await post('/xtimer/testCallback', {
    notifyHTTPParam: { ...notifyHTTPParam, url: 'http://10.0.0.1/' },
  });
  expect(blocked.json.data.field).toBe('notifyHTTPParam.url');
  expect((await get('/xtimer/getTaskList')).json.data.list).toEqual([]);
});

it('lets no test call hold up a clean stop', async () => {
  const { app, post } = await setup();
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const { port } = silent.address() as { port: number };
  const notifyHTTPParam = { method: 'GET', url: `http://127.0.0.1:${port}/` };
  const tried = post('/xtimer/testCallback', { notifyHTTPParam, timeoutMs: 1_800_000 });
  await once(silent, 'connection');
  await app.close();
  expect((await tried).json.data.error).toMatch(/^CALLBACK_ABORTED/);
});

it('gives an app a new signing secret', async () => {
  const { post } = await setup();
  await post('/xtimer/createTimer', timer());
  const first = (await post('/apps/shop/rotateSecret')).json.data.secret;
  const second = (await post('/apps/shop/rotateSecret')).json.data.secret;
  expect(first).toMatch(/^whsec_/);
  expect(second).not.toBe(first);
});

it('describes every route for /docs from the schemas', async () => {
  const { get, routes } = await setup();
  const document = (await get('/docs-json')).json;
  const ours = routes.filter(({ method, url }) => /^\/(xtimer|apps)/.test(url) && method !== 'HEAD');
  for (const { method, url } of ours) {
    const operation = document.paths[url.replace(':app', '{app}')]?.[method.toLowerCase()];
    expect(operation?.summary, `${method} ${url}`).toBeTruthy();
    expect(operation.responses['200'].content['application/json'].schema.properties.code, url).toBeTruthy();
  }
  const create = document.paths['/xtimer/createTimer'].post.requestBody.content['application/json'].schema;
  expect(create.required).toContain('cron');
  const retry = create.properties.retry.properties;
  expect(
    Object.fromEntries(Object.entries(retry).map(([name, schema]) => [name, (schema as { default: unknown }).default])),
  ).toEqual(defaultPolicies.retry);
  const list = document.paths['/xtimer/getTaskList'].get.parameters.map(
    (parameter: { name: string }) => parameter.name,
  );
  expect(list).toContain('cursor');
});
