import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { call } from '../src/call.js';
import { createClient, XtimerError } from '../src/index.js';
import { settle } from '../src/options.js';
import { del, put } from '../src/route.js';

const TOKEN = 'a-token-for-tests-only';

interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

type Answer = (response: ServerResponse) => void;

/** A server that gives these answers in turn, the last one ever after. */
async function setup(...answers: Answer[]) {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    seen.push({ method: request.method!, url: request.url!, headers: request.headers, body });
    answers[Math.min(seen.length, answers.length) - 1]!(response);
    server.emit('asked');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { server, url, seen, client: createClient({ url, token: TOKEN }), asked: () => once(server, 'asked') };
}

const json =
  (status: number, content: unknown, headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'r-1', ...headers });
    response.end(JSON.stringify(content));
  };
const ok = (data: unknown) => json(200, { code: 0, message: 'ok', datetime: '2026-10-22 17:30:00', data });
const refusal = (code: number, data: object = {}, headers?: Record<string, string>) =>
  json(Math.floor(code / 100), { code, message: `refused ${code}`, datetime: '2026-10-22 17:30:00', data }, headers);
const html =
  (status: number): Answer =>
  (response) =>
    response.writeHead(status, { 'content-type': 'text/html' }).end('<p>');
const hangUp: Answer = (response) => void response.destroy();
const silent: Answer = () => {};

const errorOf = (asked: Promise<unknown>): Promise<XtimerError> =>
  asked.then(
    () => expect.unreachable('it should have failed'),
    (error) => error,
  );

it('sends input, token and content type where the API reads them', async () => {
  const { client, seen } = await setup(ok({ list: [] }));
  await client.tasks.list({ app: 'a&b', pageSize: 5, status: undefined, startTime: '2026-10-22T17:30:00+08:00' });
  await client.timers.enable({ timerId: 7 });
  await client.apps.rotateSecret({ app: 'x/../y' });
  const [list, enable, rotate] = seen;
  expect(list).toMatchObject({ method: 'GET', body: '', headers: { authorization: `Bearer ${TOKEN}` } });
  expect(list!.url).toBe('/xtimer/getTaskList?app=a%26b&pageSize=5&startTime=2026-10-22T17%3A30%3A00%2B08%3A00');
  expect(enable).toMatchObject({ method: 'POST', url: '/xtimer/enableTimer', body: '{"timerId":7}' });
  expect(enable!.headers['content-type']).toBe('application/json');
  expect(rotate).toMatchObject({ method: 'POST', url: '/apps/x%2F..%2Fy/rotateSecret', body: '' });
  for (const app of ['..', '.', '', '\ud800']) {
    expect(await errorOf(client.apps.rotateSecret({ app }))).toMatchObject({ field: 'app', value: app });
  }
  expect(seen).toHaveLength(3);
});

it('is ready for routes with other methods, and for an xtimer under a path', async () => {
  const { url, seen } = await setup(ok({}));
  const settings = settle({ url: `${url}/timers/` });
  await call(settings, put<{ topic: string; status: number }, object>('/topics/:topic'), { topic: 'a b', status: 1 });
  await call(settings, del<{ topic: string; app: string }, object>('/topics/:topic'), { topic: 'a', app: 'shop' });
  expect(seen).toMatchObject([
    { method: 'PUT', url: '/timers/topics/a%20b', body: '{"status":1}' },
    { method: 'DELETE', url: '/timers/topics/a?app=shop', body: '' },
  ]);
  expect(seen[0]!.headers.authorization).toBeUndefined();
});

it('repeats a safe call through a dropped connection, a proxy page and a limit', async () => {
  const { client, seen, url } = await setup(
    hangUp,
    html(502),
    refusal(42900, {}, { 'retry-after': '0' }),
    ok({ timerId: 1 }),
  );
  expect(await client.timers.get({ timerId: 1 }, { retries: 3 })).toEqual({ timerId: 1 });
  expect(seen).toHaveLength(4);

  const down = await setup(refusal(50300));
  expect(await errorOf(down.client.cron.preview({ cron: '* * * * *' }))).toMatchObject({ code: 50300, status: 503 });
  expect(down.seen).toHaveLength(3);
  const impatient = createClient({ url: down.url, token: TOKEN, retries: 0 });
  await errorOf(impatient.timers.get({ timerId: 1 }));
  expect(down.seen).toHaveLength(4);
  expect(url).not.toBe(down.url);
});

it('sends a change once, whatever comes back', async () => {
  for (const answer of [hangUp, html(502), refusal(50300), refusal(42900, {}, { 'retry-after': '0' })]) {
    const { client, seen } = await setup(answer);
    expect(await errorOf(client.timers.run({ timerId: 1 }))).toBeInstanceOf(XtimerError);
    expect(seen).toHaveLength(1);
  }
  const { client } = await setup(hangUp);
  const failure = await errorOf(client.timers.run({ timerId: 1 }));
  expect(failure).toMatchObject({ code: 'NETWORK', status: null, requestId: null });
  expect(failure.message).toMatch(/^POST \/xtimer\/runTimer at http:.* failed: .*; it may have been carried out$/);
});

it('repeats a change that found no connection', async () => {
  const { server, url, seen } = await setup(ok({ taskId: '1_1' }));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  let tries = 0;
  const client = createClient({
    url,
    fetch: async (input, init) => {
      tries++;
      if (tries === 3) await once(server.listen(port, '127.0.0.1'), 'listening');
      return fetch(input, init);
    },
  });
  expect(await client.timers.run({ timerId: 1 })).toEqual({ taskId: '1_1' });
  expect([tries, seen.length]).toEqual([3, 1]);

  await new Promise((closed) => {
    server.close(closed);
    server.closeAllConnections();
  });
  tries = 10;
  const failure = await errorOf(client.timers.run({ timerId: 1 }));
  expect(failure).toMatchObject({ code: 'NETWORK', message: expect.stringMatching(/failed: .*ECONNREFUSED [\d.:]+$/) });
  expect(tries).toBe(13);
});

it('does not wait for a try that would come after the timeout', async () => {
  const { client, seen } = await setup(refusal(50300, {}, { 'retry-after': '3600' }));
  expect(await errorOf(client.timers.get({ timerId: 1 }))).toMatchObject({ code: 50300, retryAfterMs: 3_600_000 });
  expect(seen).toHaveLength(1);
});

it('hands on what a refusal says', async () => {
  const data = {
    field: 'retry.maxAttempts',
    value: 0,
    expected: 'a whole number',
    problems: [{ field: 'a' }, { field: 'b' }],
  };
  const { client } = await setup(refusal(40000, data));
  const failure = await errorOf(client.timers.get({ timerId: 1 }));
  expect(failure).toBeInstanceOf(XtimerError);
  expect(failure).toMatchObject({
    ...{
      name: 'XtimerError',
      code: 40000,
      status: 400,
      message: 'refused 40000',
      requestId: 'r-1',
      retryAfterMs: null,
    },
    ...{ field: 'retry.maxAttempts', value: 0, expected: 'a whole number', data: { problems: [{}, {}] } },
  });
});

it('tells what is not an answer of xtimer', async () => {
  const answers: [Answer, RegExp][] = [
    [html(200), /answered 200 with text\/html, not as xtimer does/],
    [json(200, null), /answered 200 with application\/json/],
    [json(200, { code: 40000, message: 'no' }), /answered 200/],
    [json(404, { error: 'nope' }), /answered 404/],
    [(response) => response.writeHead(204).end(), /answered 204 with no content type/],
    [
      (response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
      /a redirect, which is not followed/,
    ],
  ];
  for (const [answer, message] of answers) {
    const { client, seen } = await setup(answer);
    const failure = await errorOf(client.timers.get({ timerId: 1 }));
    expect(failure).toMatchObject({ code: 'BAD_ANSWER', message: expect.stringMatching(message) });
    expect(seen).toHaveLength(1);
  }
});

it('ends a call at its timeout, also within the body', async () => {
  const stalls: Answer = (response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{');
  for (const answer of [silent, stalls]) {
    const { client, seen } = await setup(answer);
    const failure = await errorOf(client.timers.get({ timerId: 1 }, { timeoutMs: 100 }));
    expect(failure).toMatchObject({ code: 'TIMEOUT', status: null, message: expect.stringMatching(/within 100 ms$/) });
    expect(seen).toHaveLength(1);
  }
  const { client } = await setup(silent);
  const failure = await errorOf(client.timers.delete({ timerId: 1 }, { timeoutMs: 100 }));
  expect(failure.message).toMatch(/within 100 ms; it may have been carried out$/);
});

it('gives a tested callback its own time on top', async () => {
  const { client } = await setup(silent);
  const short = createClient({ url: 'http://127.0.0.1:1', timeoutMs: 50, fetch: (_, init) => abortOf(init!.signal!) });
  const notifyHTTPParam = { method: 'GET', url: 'http://127.0.0.1/' } as const;
  expect((await errorOf(short.callbacks.test({ notifyHTTPParam, timeoutMs: 70 }))).message).toMatch(/within 120 ms/);
  expect((await errorOf(client.callbacks.test({ notifyHTTPParam }, { timeoutMs: 60 }))).message).toMatch(
    /within 60 ms/,
  );
});

const abortOf = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

it("rejects with the reason of the caller's signal, in a call and between tries", async () => {
  const reason = new Error('enough');
  const inCall = new AbortController();
  const waiting = await setup(silent);
  const asked = waiting.client.timers.get({ timerId: 1 }, { signal: inCall.signal });
  await waiting.asked();
  inCall.abort(reason);
  expect(await errorOf(asked)).toBe(reason);
  expect(await errorOf(waiting.client.timers.get({ timerId: 1 }, { signal: inCall.signal }))).toBe(reason);
  expect(waiting.seen).toHaveLength(1);

  const between = new AbortController();
  const failing = await setup(refusal(50300, {}, { 'retry-after': '100' }));
  const repeated = failing.client.timers.get({ timerId: 1 }, { signal: between.signal, timeoutMs: 200_000 });
  await failing.asked();
  // The answer is read by the time the next one is: the call is now in its wait.
  await errorOf(failing.client.timers.get({ timerId: 1 }, { retries: 0 }));
  between.abort(reason);
  expect(await errorOf(repeated)).toBe(reason);
  expect(failing.seen).toHaveLength(2);
});

it('walks a list page by page, and only as far as it is read', async () => {
  const { client, seen } = await setup(
    ok({ list: [1, 2], nextCursor: 'c/1' }),
    ok({ list: [], nextCursor: 'c2' }),
    ok({ list: [3], nextCursor: null }),
  );
  const all: unknown[] = [];
  for await (const task of client.tasks.each({ app: 'shop', pageSize: 2 })) {
    if (all.length === 1) expect(seen).toHaveLength(1);
    all.push(task);
  }
  expect(all).toEqual([1, 2, 3]);
  expect(seen.map(({ url }) => url.split('?')[1])).toEqual([
    'pageSize=2&app=shop',
    'pageSize=2&app=shop&cursor=c%2F1',
    'pageSize=2&app=shop&cursor=c2',
  ]);
});

it('refuses options it can not work with, without showing what may be secret', () => {
  const at = 'http://127.0.0.1:1';
  const mistakes: [Parameters<typeof createClient>[0], string][] = [
    [{ url: 'localhost:8080' }, 'url'],
    [{ url: '' }, 'url'],
    [{ url: 'http://u:hidden@127.0.0.1' }, 'url'],
    [{ url: `${at}/?token=hidden` }, 'url'],
    [{ url: at, token: 'hidden\n' }, 'token'],
    [{ url: at, token: '' }, 'token'],
    [{ url: at, retries: -1 }, 'retries'],
    [{ url: at, timeoutMs: Number.NaN }, 'timeoutMs'],
  ];
  for (const [options, field] of mistakes) {
    let failure: unknown;
    try {
      createClient(options);
    } catch (error) {
      failure = error;
    }
    expect(failure, JSON.stringify(options)).toMatchObject({ code: 'BAD_OPTION', field });
    expect(`${failure} ${JSON.stringify(failure)}`).not.toContain('hidden');
  }
});
