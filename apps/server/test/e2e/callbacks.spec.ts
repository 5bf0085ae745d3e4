import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Api, callsOf, openWorlds, until } from './support.js';

const worlds = await openWorlds();
const NEVER = '0 0 3 1 1 ? 2099';
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'];
/** Four-byte characters, a family with joiners, rare Chinese, a combining accent. */
const TEXT = '⏰ 👨‍👩‍👧‍👦 𠮷𠀋 e\u0301 "\\';

describe.each(worlds)('$name: callbacks', ({ missing, receiver, start }) => {
  describe.skipIf(missing).concurrent('', () => {
    let api: Api;
    beforeAll(async () => {
      api = new Api(await start());
    });
    afterAll(async () => {
      expect(await api.server.stop()).toMatchObject({ code: 0, stderr: '' });
    });

    /** The first attempt is what is looked at here. */
    const create = (notifyHTTPParam: object, more = {}) =>
      api.create({ cron: NEVER, notifyHTTPParam, retry: { maxAttempts: 1 }, ...more });
    const run = async (notifyHTTPParam: object, more = {}) => {
      const timerId = await create(notifyHTTPParam, more);
      const { taskId } = await api.post<{ taskId: string }>('/xtimer/runTimer', { timerId });
      const task = await api.ended(taskId);
      return { timerId, task, call: callsOf(receiver, timerId)[0] };
    };

    it.each(METHODS)('sends %s with header, body and placeholders filled in', async (method) => {
      const { timerId, task, call } = await run({
        method,
        url: `${receiver.url}/echo/{{timerId}}?run={{runTimer}}&task={{taskId}}`,
        header: { 'X-Env': 'prod {{attempt}}', 'Content-Type': 'application/json' },
        body: '{"at":"{{scheduledTime}}","task":"{{taskId}}","other":"{{unknown}}","n":{{attempt}}}',
      });
      const { taskId, runTimer } = task;
      expect(task).toMatchObject({ status: 2, httpStatus: 200, error: null });
      expect(call).toMatchObject({
        ...{ method, path: `/echo/${timerId}`, query: `run=${runTimer}&task=${taskId}` },
        body: `{"at":"${new Date(runTimer).toISOString()}","task":"${taskId}","other":"{{unknown}}","n":1}`,
        headers: {
          ...{ 'x-env': 'prod 1', 'content-type': 'application/json', 'x-xtimer-app': 'e2e' },
          ...{ 'x-xtimer-timer-id': `${timerId}`, 'x-xtimer-task-id': taskId, 'x-xtimer-run-timer': `${runTimer}` },
          ...{ 'x-xtimer-attempt': '1', 'idempotency-key': expect.stringMatching(/./) },
        },
      });
      if (method === 'HEAD') expect(task.output).toBeNull();
      else expect(JSON.parse(task.output!)).toMatchObject({ method, body: call!.body });
    });

    it('lets the status decide, not the body', async () => {
      const get = (path: string, more = {}) => run({ method: 'GET', url: receiver.url + path }, more);
      expect((await get('/status/500')).task).toMatchObject({
        ...{ status: 3, httpStatus: 500, output: '{"status":500}', attempt: 1 },
        error: expect.stringContaining('500'),
      });
      expect((await get('/text')).task).toMatchObject({ status: 2, output: 'plain text\n', error: null });
      expect((await get('/redirect?to=/ok')).task).toMatchObject({ status: 3, httpStatus: 302 });
      expect((await get('/status/404', { success: { status: ['2xx', '404'] } })).task.status).toBe(2);
      expect((await get('/binary')).task.output).toContain('AP/+AYA=');
    });

    it('ends a call that takes too long, and tells where it stood', async () => {
      for (const path of ['/silent', '/drip']) {
        const { task } = await run({ method: 'GET', url: receiver.url + path }, { timeoutMs: 400 });
        expect(task).toMatchObject({ status: 3, error: expect.stringMatching(/^CALLBACK_TIMEOUT: .*400 ms/) });
        expect(task.costTime).toBeGreaterThanOrEqual(399);
      }
      const refused = await run({ method: 'GET', url: 'http://127.0.0.1:9/' });
      expect(refused.task).toMatchObject({ status: 3, httpStatus: null, error: expect.stringMatching(/^CALLBACK_/) });
    });

    it('keeps the first 4 KiB of a large answer and marks the cut', async () => {
      for (const path of ['/large/300000', '/endless']) {
        const { task } = await run({ method: 'GET', url: receiver.url + path });
        expect(task).toMatchObject({ status: 2, output: expect.stringMatching(/truncated/) });
        expect(Buffer.byteLength(task.output!)).toBeLessThanOrEqual(4096);
        expect(Buffer.byteLength(task.output!)).toBeGreaterThan(4000);
      }
    });

    it('carries emoji in name, description, path, header, body and output', async () => {
      const { timerId, task, call } = await run(
        {
          method: 'POST',
          url: `${receiver.url}/echo/${encodeURI(TEXT)}/⏰?q=𠮷`,
          header: { 'X-Name': TEXT },
          body: TEXT,
        },
        { name: TEXT, description: TEXT },
      );
      expect(decodeURIComponent(call!.path)).toBe(`/echo/${TEXT}/⏰`);
      expect(call!.body).toBe(TEXT);
      expect(Buffer.from(String(call!.headers['x-name']), 'latin1').toString()).toBe(TEXT);
      expect(task).toMatchObject({ status: 2, name: TEXT });
      expect(JSON.parse(task.output!)).toMatchObject({ body: TEXT, query: 'q=%F0%A0%AE%B7' });
      const stored = await api.timer(timerId);
      expect(stored).toMatchObject({
        name: TEXT,
        description: TEXT,
        notifyHTTPParam: { header: { 'X-Name': TEXT }, body: TEXT },
      });
      const { list } = await api.get<{ list: object[] }>('/xtimer/getAppTimers', { app: 'e2e', name: '👨‍👩‍👧‍👦' });
      expect(list).toContainEqual(stored);
      expect((await run({ method: 'GET', url: `${receiver.url}/emoji` })).task.output).toContain('👨‍👩‍👧‍👦 𠮷');

      // The error quotes what it could not reach, and is stored.
      const lost = await run({ method: 'GET', url: 'http://⏰-nowhere.invalid/𠮷' });
      expect(lost.task).toMatchObject({ status: 3, error: expect.stringMatching(/^CALLBACK_/) });
    });

    it("signs with the app's secret, by the old one too after a rotation", async () => {
      const app = 'signed';
      await create({ method: 'GET', url: `${receiver.url}/ok` }, { app });
      const rotate = async () => (await api.post<{ secret: string }>(`/apps/${app}/rotateSecret`, undefined)).secret;
      const secrets = [await rotate(), await rotate()];
      const { call } = await run({ method: 'POST', url: `${receiver.url}/ok`, body: `{"text":"${'⏰'}"}` }, { app });
      const headers = call!.headers as Record<string, string>;
      expect(headers['webhook-id']).toBe(headers['idempotency-key']);
      for (const secret of secrets) expect(new Webhook(secret).verify(call!.body, headers)).toEqual({ text: '⏰' });
      expect(() => new Webhook(secrets[0]!).verify(`${call!.body} `, headers)).toThrow();
    });

    it('fails no run on connections that the target has just closed', async () => {
      const atOnce = await impatientTarget(0);
      const afterASecond = await impatientTarget(1000);
      const timers = await Promise.all(
        [atOnce, afterASecond].flatMap(({ url }) =>
          ['* * * * * ?', '*/2 * * * * ?'].map((cron) =>
            api.create({
              cron,
              notifyHTTPParam: { method: 'POST', url },
              enable: true,
              app: 'kept',
              retry: { maxAttempts: 1 },
            }),
          ),
        ),
      );
      await until('five runs of each', async () => {
        const rows = await api.tasks({ timerId: timers[1]!, status: 2 });
        return rows.length >= 5;
      });
      await Promise.all(timers.map((timerId) => api.pause(timerId)));
      await until('all have ended', async () => (await api.tasks({ app: 'kept', status: 1 })).length === 0);
      expect(await api.tasks({ app: 'kept', status: 3 })).toEqual([]);
      const succeeded = await api.tasks({ app: 'kept', status: 2 });
      const keys = [...atOnce.keys, ...afterASecond.keys];
      expect(keys.length).toBe(new Set(keys).size);
      expect(keys.length).toBe(succeeded.length);
    });
  });

  it.skipIf(missing)('goes nowhere the guard does not let it, whatever was saved before', async () => {
    const before = new Api(await start());
    const notifyHTTPParam = { method: 'GET', url: `${receiver.url}/guarded` };
    const timerId = await before.create({ cron: NEVER, notifyHTTPParam });
    const named = await before.create({ cron: NEVER, notifyHTTPParam: { method: 'GET', url: 'http://localhost:1/' } });
    await before.server.stop();

    const api = new Api(await start({ XTIMER_CALLBACK_ALLOW: '10.9.8.7' }));
    const refused = await api.server.api('/xtimer/createTimer', {
      method: 'POST',
      body: { app: 'e2e', name: 'x', cron: NEVER, notifyHTTPParam },
    });
    expect(refused).toMatchObject({ status: 400, data: { field: 'notifyHTTPParam.url' } });
    for (const id of [timerId, named]) {
      const { taskId } = await api.post<{ taskId: string }>('/xtimer/runTimer', { timerId: id });
      expect(await api.ended(taskId)).toMatchObject({
        ...{ status: 3, httpStatus: null, attempt: 1 },
        error: expect.stringMatching(/^CALLBACK_BLOCKED/),
      });
    }
    expect(callsOf(receiver, timerId)).toEqual([]);
  });
});

/** Cuts each connection this long after its answer, telling nobody. */
async function impatientTarget(patienceMs: number): Promise<{ url: string; keys: string[] }> {
  const keys: string[] = [];
  const server: Server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    keys.push(String(request.headers['idempotency-key']));
    request.resume();
    response.setHeader('connection', 'keep-alive');
    response.on('finish', () => setTimeout(() => request.socket.destroy(), patienceMs));
    response.end('ok');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, keys };
}
