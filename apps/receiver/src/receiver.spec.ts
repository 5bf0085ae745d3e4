import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { type ReceiverOptions, startReceiver } from './index.js';

async function setup(options: ReceiverOptions = {}) {
  const receiver = await startReceiver(options);
  onTestFinished(() => receiver.close());
  const get = async (path: string, init?: RequestInit) => {
    const response = await fetch(receiver.url + path, { redirect: 'manual', ...init });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const json = async (path: string) => JSON.parse((await get(path)).text);
  return { receiver, get, json };
}

it('records what arrives, and how late', async () => {
  const { receiver, get } = await setup();
  const coming = receiver.nextCall(({ path }) => path === '/report/%E2%8F%B0');
  const before = Date.now();
  await get('/report/⏰?a=1', {
    method: 'PUT',
    body: '{"⏰":1}',
    headers: { 'X-Xtimer-Run-Timer': String(before - 1000) },
  });
  const call = await coming;
  expect(call).toMatchObject({ seq: 1, method: 'PUT', path: '/report/%E2%8F%B0', query: 'a=1', body: '{"⏰":1}' });
  expect(Math.abs(call.receivedAt - before)).toBeLessThan(5000);
  expect(call.lateness).toBeCloseTo(call.receivedAt - before + 1000, 3);
  expect(receiver.calls).toEqual([call]);
});

it('behaves as the path says', async () => {
  const { get, receiver } = await setup();
  expect(await get('/ok')).toMatchObject({ status: 200, text: '{"ok":true}' });
  expect((await get('/status/503')).status).toBe(503);
  expect((await get('/slow/20')).status).toBe(200);
  expect((await get('/emoji')).text).toContain('⏰');
  expect((await get('/text')).text).toBe('plain text\n');
  expect((await get('/binary')).headers.get('content-type')).toBe('application/octet-stream');
  expect((await get('/large/300000')).text).toHaveLength(300_000);
  expect((await get('/redirect?to=http://a.example/x')).headers.get('location')).toBe('http://a.example/x');
  const busy = await get('/retry-after/20');
  expect([busy.status, busy.headers.get('retry-after')]).toEqual([503, '20']);
  expect(JSON.parse((await get('/echo?x=1', { method: 'POST', body: 'b' })).text)).toMatchObject({
    query: 'x=1',
    body: 'b',
  });
  await expect(get('/close')).rejects.toThrow();
  for (const path of ['/endless', '/drip']) {
    const response = await fetch(receiver.url + path);
    expect((await response.body!.getReader().read()).value!.length).toBeGreaterThan(0);
  }
  for (const path of ['/silent', '/drip-headers']) {
    const abort = new AbortController();
    const pending = fetch(receiver.url + path, { signal: abort.signal });
    await receiver.nextCall((call) => call.path === path);
    abort.abort();
    await expect(pending).rejects.toThrow();
  }
});

it('fails first for each idempotency key', async () => {
  const { get } = await setup();
  const statuses = async (key: string, times: number) => {
    const seen: number[] = [];
    for (let i = 0; i < times; i++)
      seen.push((await get('/fail-first/2/a', { headers: { 'Idempotency-Key': key } })).status);
    return seen;
  };
  expect(await statuses('1_1', 4)).toEqual([500, 500, 200, 200]);
  expect(await statuses('1_2', 3)).toEqual([500, 500, 200]);
});

it('shows and forgets calls, counts, lateness and doubles', async () => {
  const { get, json } = await setup({ keep: 3 });
  const call = (path: string, key: string, attempt: number) =>
    get(path, { headers: { 'Idempotency-Key': key, 'X-Xtimer-Attempt': String(attempt), 'X-Xtimer-Run-Timer': '0' } });
  await call('/a', '1_1', 1);
  await call('/b', '1_2', 1);
  await call('/b', '1_2', 2);
  await call('/b', '1_2', 2);
  expect((await json('/_calls')).map(({ seq }: { seq: number }) => seq)).toEqual([2, 3, 4]);
  expect(await json('/_calls?since=3&path=/b')).toHaveLength(1);
  expect(await json('/_calls?path=/a')).toEqual([]);
  expect(await json('/_stats')).toMatchObject({
    calls: 4,
    byPath: { '/a': 1, '/b': 3 },
    lateness: { p50: expect.any(Number), max: expect.any(Number) },
    doubles: { count: 1, keys: ['1_2 attempt 2'] },
  });
  await get('/_calls', { method: 'DELETE' });
  expect(await json('/_stats')).toEqual({ calls: 0, byPath: {}, lateness: null, doubles: { count: 0, keys: [] } });
  await call('/c', '1_3', 1);
  expect(await json('/_calls')).toMatchObject([{ seq: 5, path: '/c' }]);
  expect((await get('/_other')).status).toBe(404);
});

it('runs from the command line, prints calls, and ends on SIGTERM', async () => {
  // Node 20 can't run TypeScript: this needs the build, like everything that is started as a process.
  const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));
  const child = spawn(process.execPath, [main, '--port', '0', '--print'], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = child.stdout.setEncoding('utf8')[Symbol.asyncIterator]();
  const url = /listening on (\S+)/.exec((await lines.next()).value)![1]!;
  await fetch(`${url}/ok`, { headers: { 'X-Xtimer-Timer-Id': '7', 'X-Xtimer-Run-Timer': String(Date.now()) } });
  expect((await lines.next()).value).toMatch(/^\d\d:\d\d:\d\d\.\d{3} {2}GET \/ok {2}timer 7 {2}-?\d+\.\d ms late\n$/);
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});
