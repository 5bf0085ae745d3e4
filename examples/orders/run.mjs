/**
 * `npm run example`: an embedded xtimer with a throw-away database and the shop, walked through from order to report;
 * both go on until Ctrl-C. With `-- --once` they end by themselves, with exit code 0 only if all went as told.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { apiClient } from '../../scripts/lib/api.mjs';
import { end, freePort, onInterrupt, start, until } from '../../scripts/lib/processes.mjs';
import { inRoot, prepare, say } from '../../scripts/lib/repo.mjs';

const PAY_WITHIN_MS = 2_000;
const [NOT_PAID, PAID] = ['book', 'coat'];
const once = process.argv.includes('--once');

await prepare();
// What is set for a real server must not reach this one.
for (const name of Object.keys(process.env)) if (name.startsWith('XTIMER_')) delete process.env[name];

const folder = mkdtempSync(path.join(tmpdir(), 'xtimer-example-'));
let server;
let shop;
let stopping = false;
const cleanUp = async () => {
  stopping = true;
  // The server first: its calls in flight still find the shop.
  if (server) await end(server);
  if (shop) await end(shop);
  rmSync(folder, { recursive: true, force: true });
};
onInterrupt(cleanUp, { exitCode: once ? undefined : 0 });

try {
  const world = await bringUp();
  await walk(world);
  say('\n✓ all went as told');
  if (!once) {
    say('\nCtrl-C ends it.');
    await Promise.race([server.ended, shop.ended]);
    if (!stopping) throw new Error('one of the processes ended');
  }
} catch (error) {
  console.error(`✗ ${error.message}`);
  process.exitCode = 1;
} finally {
  await cleanUp();
}

async function bringUp() {
  const token = randomBytes(18).toString('base64url');
  const url = `http://127.0.0.1:${await freePort(8082)}`;
  const env = {
    XTIMER_PORT: new URL(url).port,
    XTIMER_DATABASE_URL: `sqlite:${path.join(folder, 'example.db')}`,
    XTIMER_ADMIN_TOKEN: token,
    XTIMER_LOG_LEVEL: 'warn',
  };
  server = start(process.execPath, [inRoot('apps/server/dist/main.js')], { cwd: folder, env, quiet: true });
  await until(async () => (await fetch(`${url}/readyz`)).ok, { what: 'xtimer', child: server });
  const api = apiClient(url, token);

  // An app is there, and has a secret, once it has something. The shop says itself what the topic is.
  const notifyHTTPParam = { method: 'POST', url: 'http://127.0.0.1:1' };
  await api.post('/topics', { app: 'shop', topic: 'order-timeout', notifyHTTPParam });
  const { secret } = await api.post('/apps/shop/rotateSecret');

  const shopUrl = `http://127.0.0.1:${await freePort(3000)}`;
  const shopEnv = {
    PORT: new URL(shopUrl).port,
    PAY_WITHIN_MS: String(PAY_WITHIN_MS),
    SHOP_XTIMER_URL: url,
    SHOP_XTIMER_TOKEN: token,
    SHOP_XTIMER_SECRET: secret,
  };
  const main = [inRoot('examples/orders/dist/main.js')];
  shop = start(process.execPath, main, { cwd: folder, env: shopEnv, quiet: true });
  await until(() => shop.output.includes('the shop listens'), { what: 'the shop', child: shop });
  say(
    `\nconsole  ${url}\ntoken    ${token}\nshop     ${shopUrl}   (an order has ${PAY_WITHIN_MS / 1000} s to be paid)\n`,
  );
  return { api, shopApi: shopClient(shopUrl) };
}

function shopClient(base) {
  return async (method, path, body) => {
    const headers = body && { 'content-type': 'application/json' };
    const response = await fetch(base + path, { method, headers, body: body && JSON.stringify(body) });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
}

async function walk({ api, shopApi }) {
  const place = (item) => shopApi('POST', '/orders', { item });
  const job = (orderId) => api.get(`/jobs/${orderId}`, { app: 'shop', topic: 'order-timeout' });
  const ended = async (orderId) => {
    const over = async () => (await job(orderId)).status >= 2;
    await until(over, { what: `the timeout of order ${orderId}`, child: shop });
    return job(orderId);
  };

  const [unpaid, paid, teapot, unicorn] = await Promise.all([NOT_PAID, PAID, 'teapot', 'unicorn'].map(place));
  say(`${NOT_PAID}, ${PAID}, teapot and unicorn are ordered; nothing is paid`);

  const { timeout, order } = await shopApi('POST', `/orders/${paid.orderId}/pay`);
  say(`${PAID}: paid in time; its timeout is ${timeout}`);
  expect(timeout === 'canceled' && order.status === 'paid', `${PAID}: ${timeout}, ${order.status}`);

  const told = async (item, { orderId }, { status, attempt, order }, line) => {
    const end = await ended(orderId);
    const now = await shopApi('GET', `/orders/${orderId}`);
    say(`${item}: ${line(end)}; the order is ${now.status}`);
    const found = `status ${end.status} after ${end.attempt} attempts, order ${now.status}`;
    expect(end.status === status && end.attempt === attempt && now.status === order, `${item}: ${found}`);
    return end;
  };
  const late = ({ lateness }) => `called ${lateness} ms after its time`;
  await told(NOT_PAID, unpaid, { status: 2, attempt: 1, order: 'canceled' }, late);
  await told('teapot', teapot, { status: 2, attempt: 3, order: 'canceled' }, () => 'failed twice, then worked');
  const dead = (end) => `a dead letter after ${end.attempt} attempts: ${end.output}`;
  await told('unicorn', unicorn, { status: 3, attempt: 3, order: 'unpaid' }, dead);
  await told(PAID, paid, { status: 4, attempt: 0, order: 'paid' }, () => 'never called');

  const { list } = await api.get('/xtimer/getAppTimers', { app: 'shop' });
  expect(list.length === 1 && list[0].nextFireAt > Date.now(), `${list.length} timers`);
  const { taskId } = await api.post('/xtimer/runTimer', { app: 'shop', timerId: list[0].timerId });
  const written = async () => (await shopApi('GET', '/reports')).some((report) => report.taskId === taskId);
  await until(written, { what: 'the report', child: shop });
  const [{ canceledOrders }] = await shopApi('GET', '/reports');
  say(
    `nightly report: ${canceledOrders} orders canceled (run by hand; next ${new Date(list[0].nextFireAt).toISOString()})`,
  );
  expect(canceledOrders === 2, `the report counts ${canceledOrders} canceled orders instead of 2`);
}

function expect(asTold, what) {
  if (!asTold) throw new Error(`not as told: ${what}`);
}
