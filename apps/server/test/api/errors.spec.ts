import { expect, it } from 'vitest';
import { setup, timer } from './support.js';

const json = { 'content-type': 'application/json' };

it('names field, value and what is right for each kind of bad timer', async () => {
  const { post, get } = await setup();
  const callback = { method: 'POST', url: 'http://127.0.0.1:9/x' };
  const withCallback = (fields: object) => timer({ notifyHTTPParam: { ...callback, ...fields } });
  const withHeader = (header: unknown) => withCallback({ header });
  const cases: [body: object, field: string, expected: RegExp][] = [
    [timer({ name: undefined }), 'name', /1 to 128/],
    [timer({ name: '  ' }), 'name', /blank/],
    [timer({ name: 'x'.repeat(129) }), 'name', /1 to 128/],
    [timer({ app: 'a b' }), 'app', /app name/],
    [timer({ colour: 'red' }), 'colour', /no field/],
    [timer({ retry: { max: 3 } }), 'retry.max', /no field/],
    [timer({ timeoutMs: 0 }), 'timeoutMs', /1 to 1800000/],
    [timer({ timeoutMs: 1_800_001 }), 'timeoutMs', /1 to 1800000/],
    [timer({ timeoutMs: '5' }), 'timeoutMs', /whole number/],
    [timer({ retry: { maxAttempts: 0 } }), 'retry.maxAttempts', /1 to 100/],
    [timer({ retry: { jitter: 1.5 } }), 'retry.jitter', /0 to 1/],
    [timer({ retry: 5 }), 'retry', /object with maxAttempts/],
    [timer({ success: { status: ['2xx', '700'] } }), 'success.status[1]', /2xx/],
    [timer({ noRetry: { status: ['410-400'] } }), 'noRetry.status[0]', /400-407/],
    [timer({ misfire: { policy: 'never' } }), 'misfire.policy', /fireOnce, fireAll, skip/],
    [timer({ overlap: 'maybe' }), 'overlap', /allow, skip, queue/],
    [timer({ spreadMs: 3_600_001 }), 'spreadMs', /3600000/],
    [timer({ dst: { gap: 'first' } }), 'dst.gap', /after, skip, shift/],
    [timer({ timezone: 'Mars/Olympus' }), 'timezone', /IANA/],
    [timer({ startAt: '2027-01-01T00:00:00' }), 'startAt', /ISO 8601/],
    [timer({ startAt: -1 }), 'startAt', /epoch/],
    [timer({ startAt: 2_000, endAt: 1_000 }), 'endAt', /after startAt/],
    [timer({ enable: 'yes' }), 'enable', /true or false/],
    [timer({ notifyHTTPParam: 'x' }), 'notifyHTTPParam', /object with method and url/],
    [withCallback({ method: 'FETCH' }), 'notifyHTTPParam.method', /GET, POST/],
    [withCallback({ body: 7 }), 'notifyHTTPParam.body', /string/],
    ...[
      'ftp://a.example/',
      'file:///etc/passwd',
      'javascript:alert(1)',
      'x',
      '',
      ' http://a.example/',
      'http://a.example/\n',
    ]
      .concat([
        'http://user:pw@127.0.0.1/',
        'http://10.1.2.3/',
        'http://0xa.1/',
        'http://169.254.169.254/',
        'http://[fd00::1]/',
      ])
      .map((url): [object, string, RegExp] => [withCallback({ url }), 'notifyHTTPParam.url', /URL/]),
    [withHeader({ 'X-A': 'a\r\nX-B: b' }), 'notifyHTTPParam.header.X-A', /line breaks/],
    [withHeader({ 头: 'x' }), 'notifyHTTPParam.header["头"]', /header name/],
    [withHeader({ '': 'x' }), 'notifyHTTPParam.header[""]', /header name/],
    [withHeader({ 'X-A': 5 }), 'notifyHTTPParam.header.X-A', /string/],
    [withHeader({ 'X-A': null }), 'notifyHTTPParam.header.X-A', /string/],
    [withHeader({ 'X-A': ['a'] }), 'notifyHTTPParam.header.X-A', /string/],
    [withHeader('{"X-A":"a"}'), 'notifyHTTPParam.header', /object/],
    [withHeader({ Host: 'x' }), 'notifyHTTPParam.header.Host', /itself/],
    [withHeader({ 'x-xtimer-task-id': 'x' }), 'notifyHTTPParam.header.x-xtimer-task-id', /itself/],
    ...['*/0 * * * *', '*/00 * * * *', '1/00 * * * *', '*/-1 * * * *', '60 * * * *', '* * *']
      .concat(['0 0 12 * * MON-', '0 0 0 ? * ?', '', 'x'.repeat(10_000)])
      .map((cron): [object, string, RegExp] => [timer({ cron }), 'cron', /./]),
  ];
  const { timerId } = (await post('/xtimer/createTimer', timer())).json.data;
  const before = (await get(`/xtimer/getTimer?timerId=${timerId}`)).json.data;

  for (const [body, field, expected] of cases) {
    const shown = JSON.stringify(body).slice(0, 200);
    const startedAt = performance.now();
    const created = await post('/xtimer/createTimer', body);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    expect(created.status, shown).toBe(400);
    expect(created.json, shown).toMatchObject({
      code: 40000,
      data: { field, expected: expect.stringMatching(expected) },
    });
    expect(created.json.message, shown).toMatch(/\w/);
    expect(created.text).not.toMatch(/\bat .*\.(js|ts):\d/);
    expect(created.text.length, shown).toBeLessThan(2_000);

    const { app, ...changes } = body as Record<string, unknown>;
    if (field === 'app' || changes.name === undefined) continue;
    const updated = await post('/xtimer/updateTimer', { timerId, ...changes });
    expect([updated.status, updated.json.data.field], shown).toEqual([400, field]);
  }
  expect((await get(`/xtimer/getTimer?timerId=${timerId}`)).json.data).toEqual(before);
  expect((await get('/xtimer/getAppTimers')).json.data.total).toBe(1);
});

it('lists all mistakes of one request', async () => {
  const { post } = await setup();
  const { json: answer } = await post('/xtimer/createTimer', timer({ timeoutMs: 0, overlap: 'x', colour: 1 }));
  const fields = answer.data.problems.map((problem: { field: string }) => problem.field);
  expect(fields.sort()).toEqual(['colour', 'overlap', 'timeoutMs']);
});

it('refuses ids that a number cannot hold and takes both spellings of the others', async () => {
  const { get, post } = await setup();
  const { timerId } = (await post('/xtimer/createTimer', timer())).json.data;
  for (const id of ['9007199254740993', '9'.repeat(30), '0', '-1', '1.5', 'abc', '', '1e3']) {
    const answer = await get(`/xtimer/getTimer?timerId=${id}`);
    expect([answer.status, answer.json.data.field], id).toEqual([400, 'timerId']);
  }
  for (const id of [timerId, String(timerId)]) {
    expect((await post('/xtimer/updateTimer', { timerId: id, name: 'n' })).status).toBe(200);
  }
  expect((await get('/xtimer/getTimer?timerId=9007199254740991')).status).toBe(404);
});

it('refuses bad pages, ranges and cursors', async () => {
  const { get } = await setup();
  const cases: [string, string][] = [
    ['pageSize=0', 'pageSize'],
    ['pageSize=-1', 'pageSize'],
    ['pageSize=1000000000', 'pageSize'],
    ['pageSize=ten', 'pageSize'],
    ['status=9', 'status'],
    ['startTime=2000&endTime=1000', 'endTime'],
    ['startTime=yesterday', 'startTime'],
    ['cursor=AAAA', 'cursor'],
    ['cursor=%F0%9F%98%80', 'cursor'],
    ['order=asc', 'order'],
    ['app=a&app=b', 'app'],
  ];
  for (const [query, field] of cases) {
    const answer = await get(`/xtimer/getTaskList?${query}`);
    expect([answer.status, answer.json.data.field], query).toEqual([400, field]);
  }
  expect((await get('/xtimer/getAppTimers?page=0')).json.data.field).toBe('page');
});

it('answers in the envelope whatever is wrong with the request itself', async () => {
  const { send } = await setup();
  const create = { method: 'POST', url: '/xtimer/createTimer' };
  const cases: [Parameters<typeof send>[0], number, number][] = [
    [{ ...create, headers: json, body: '{broken' }, 400, 40001],
    [{ ...create, headers: json, body: '{"__proto__":{"x":1}}' }, 400, 40001],
    [{ ...create, headers: json, body: '' }, 400, 40000],
    [{ ...create, headers: json, body: 'null' }, 400, 40000],
    [{ ...create, headers: json, body: '[]' }, 400, 40000],
    [{ ...create, headers: json, body: '"x"' }, 400, 40000],
    [{ ...create }, 400, 40000],
    [{ ...create, headers: { 'content-type': 'text/xml' }, body: '<a/>' }, 415, 41500],
    [{ ...create, headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'a=b' }, 415, 41500],
    [{ ...create, headers: json, body: `"${'x'.repeat(1024 * 1024)}"` }, 413, 41300],
    [{ method: 'GET', url: '/nothing/here' }, 404, 40401],
    [{ method: 'POST', url: '/nothing' }, 404, 40401],
    [{ method: 'GET', url: '/xtimer/createTimer' }, 405, 40500],
    [{ method: 'DELETE', url: '/apps/shop/rotateSecret' }, 405, 40500],
    [{ method: 'GET', url: '/%zz' }, 400, 40001],
    [{ method: 'GET', url: '/apps/nope' }, 404, 40400],
    [{ method: 'POST', url: '/apps/%20/rotateSecret' }, 400, 40000],
  ];
  for (const [request, status, code] of cases) {
    const answer = await send(request);
    const shown = JSON.stringify(request).slice(0, 120);
    expect(answer.status, shown).toBe(status);
    expect(answer.json, shown).toMatchObject({ code, message: expect.stringMatching(/\w/), data: expect.any(Object) });
    expect(answer.json.datetime).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
  }
  expect((await send({ method: 'PATCH', url: '/xtimer/enableTimer' })).headers.allow).toBe('GET, HEAD, POST');
});

it('answers 503 within 5 s when the database is gone', async () => {
  const { get, stores } = await setup();
  await stores.database.close();
  const startedAt = performance.now();
  const answer = await get('/xtimer/getTimer?timerId=1');
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  expect(answer).toMatchObject({ status: 503, json: { code: 50300 } });
  expect((await get('/readyz')).status).toBe(503);
  expect((await get('/healthz')).status).toBe(200);
});
