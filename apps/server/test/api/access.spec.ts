import { expect, it } from 'vitest';
import { AdminToken } from '../../src/api/access/admin-token.js';
import { setup, TOKEN } from './support.js';

const OPEN = /^\/(healthz|readyz|docs(-json|-yaml|\/.*)?)$/;

it('answers 401 on every route without a token, and with a wrong one', async () => {
  const { routes, send } = await setup();
  const closed = routes.filter(({ method, url }) => method !== 'OPTIONS' && !OPEN.test(url));
  expect(closed.length).toBeGreaterThan(15);
  for (const { method, url } of closed) {
    for (const authorization of ['', 'Bearer wrong', `Basic ${TOKEN}`, `Bearer ${TOKEN}x`]) {
      const answer = await send({ method, url: url.replace(':app', 'shop'), headers: { authorization } });
      expect(answer.status, `${method} ${url} with "${authorization}"`).toBe(401);
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
      if (method !== 'HEAD') expect(answer.json).toMatchObject({ code: 40100, data: { field: 'Authorization' } });
    }
  }
});

it('refuses before it reads the body', async () => {
  const { send } = await setup();
  const headers = { authorization: '', 'content-type': 'application/json' };
  const answer = await send({ method: 'POST', url: '/xtimer/createTimer', headers, body: '{broken' });
  expect(answer.status).toBe(401);
});

it('keeps a cookie from standing in for the token', async () => {
  const { send } = await setup();
  const headers = { authorization: '', cookie: `token=${TOKEN}; authorization=Bearer ${TOKEN}` };
  expect((await send({ method: 'GET', url: '/xtimer/enableTimer?timerId=1', headers })).status).toBe(401);
});

it('leaves health and the API reference open', async () => {
  const { send } = await setup();
  for (const url of ['/healthz', '/readyz', '/docs', '/docs-json', '/docs/swagger-ui.css']) {
    expect((await send({ method: 'GET', url, headers: { authorization: '' } })).status, url).toBe(200);
  }
});

it('agrees on one random token when nodes start together, and keeps only its hash', async () => {
  const { stores } = await setup();
  const { settings } = stores.database;
  const nodes = await Promise.all([1, 2, 3].map(() => AdminToken.settle(null, settings)));
  const shown = nodes.map((node) => node.shownOnce).filter((token) => token !== null);
  expect(shown).toHaveLength(1);
  for (const node of nodes) expect(node.matches(shown[0]!)).toBe(true);
  expect(await settings.get('adminTokenHash')).not.toContain(shown[0]);

  const later = await AdminToken.settle(null, settings);
  expect(later.shownOnce).toBeNull();
  expect(later.matches(shown[0]!)).toBe(true);
  const reset = await AdminToken.settle('an-own-token-of-mine', settings);
  expect(reset.matches(shown[0]!)).toBe(false);
  expect(reset.matches('an-own-token-of-mine')).toBe(true);
});

it('gives the same answer for what does not exist and for what belongs to another app', async () => {
  const { get, post } = await setup();
  const body = {
    app: 'shop',
    name: 'n',
    cron: '0 0 1 1 *',
    notifyHTTPParam: { method: 'GET', url: 'http://127.0.0.1:9/' },
  };
  const { timerId } = (await post('/xtimer/createTimer', body)).json.data;
  for (const path of ['getTimer', 'enableTimer', 'unEnableTimer', 'deleteTimer']) {
    const [foreign, unknown] = await Promise.all([
      get(`/xtimer/${path}?app=other&timerId=${timerId}`),
      get(`/xtimer/${path}?app=other&timerId=${timerId + 1}`),
    ]);
    expect([foreign.status, unknown.status], path).toEqual([404, 404]);
    const words = (text: string) => text.replace(/"datetime":"[^"]*"/, '').replaceAll(/\b\d+\b/g, 'N');
    expect(words(foreign.text)).toBe(words(unknown.text));
  }
  expect((await post('/xtimer/updateTimer', { app: 'other', timerId, name: 'mine' })).status).toBe(404);
  expect((await post('/xtimer/runTimer', { app: 'other', timerId })).status).toBe(404);
  expect((await get(`/xtimer/getTimer?timerId=${timerId}`)).json.data).toMatchObject({
    name: 'n',
    status: 1,
    version: 1,
  });
});
