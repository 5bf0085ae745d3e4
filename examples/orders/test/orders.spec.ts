import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { type Client, createClient } from '@xtimer/client';
import { startServer, type TestServer } from '@xtimer/testkit';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { configOf } from '../src/config.js';
import { shopModule } from '../src/shop.module.js';
import { Warehouse } from '../src/warehouse.js';

/** The shop in this process, xtimer embedded in another; between them only HTTP. */

const PAY_WITHIN_MS = 1_000;

let server: TestServer;
let client: Client;
let secret: string;
let shop: Awaited<ReturnType<typeof startShop>>;

beforeAll(async () => {
  server = await startServer();
  client = createClient(server);
  // An app is there, and has a secret, once it has something.
  const notifyHTTPParam = { method: 'POST' as const, url: 'http://127.0.0.1:1' };
  await client.topics.create({ app: 'shop', topic: 'order-timeout', notifyHTTPParam });
  secret = (await client.apps.rotateSecret({ app: 'shop' })).secret;
  shop = await startShop();
});
afterAll(async () => {
  await server?.stop();
  await shop?.close();
});

async function startShop() {
  const port = await freePort();
  const config = configOf({
    PORT: String(port),
    PAY_WITHIN_MS: String(PAY_WITHIN_MS),
    SHOP_XTIMER_URL: server.url,
    SHOP_XTIMER_TOKEN: server.token,
    SHOP_XTIMER_SECRET: secret,
  });
  const app = await NestFactory.create(shopModule(config), new FastifyAdapter(), { logger: false });
  await app.listen(port, '127.0.0.1');
  const url = `http://127.0.0.1:${port}`;
  return { url, warehouse: app.get(Warehouse), close: () => app.close() };
}

async function freePort(): Promise<number> {
  const placeholder = createServer().listen(0, '127.0.0.1');
  await once(placeholder, 'listening');
  const { port } = placeholder.address() as AddressInfo;
  placeholder.close();
  await once(placeholder, 'close');
  return port;
}

// biome-ignore lint/suspicious/noExplicitAny: the shop's answers have many shapes
async function call(method: string, path: string, body?: object): Promise<any> {
  const response = await fetch(shop.url + path, {
    method,
    ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  expect(response.ok, `${method} ${path}: ${response.status}`).toBe(true);
  return response.json();
}

const place = (item: string) => call('POST', '/orders', { item });
const order = (orderId: string) => call('GET', `/orders/${orderId}`);
const job = (jobId: string) => client.jobs.get({ app: 'shop', topic: 'order-timeout', jobId });

/** The order's job once it has ended. */
async function ended(orderId: string) {
  for (const end = Date.now() + 30_000; Date.now() < end; await sleep(50)) {
    const found = await job(orderId);
    if (found.status >= 2) return found;
  }
  throw new Error(`the job of ${orderId} has not ended: ${JSON.stringify(await job(orderId))}`);
}

describe.concurrent('the shop', () => {
  it('cancels an order that is not paid in time, and releases its item', async () => {
    const placed = await place('book');
    expect(placed).toMatchObject({ item: 'book', status: 'unpaid' });
    expect(await ended(placed.orderId)).toMatchObject({
      ...{ status: 2, attempt: 1, httpStatus: 200, output: '{"canceled":true}' },
      payload: { orderId: placed.orderId },
    });
    const { lateness, actionTime, createdAt } = await job(placed.orderId);
    expect(actionTime - createdAt).toBeGreaterThanOrEqual(PAY_WITHIN_MS - 5);
    expect(lateness).toBeGreaterThanOrEqual(0);
    expect(await order(placed.orderId)).toMatchObject({ status: 'canceled' });
    expect(shop.warehouse.released).toContain(placed.orderId);
  });

  it('leaves a paid order alone', async () => {
    const paid = await place('book');
    const answer = await call('POST', `/orders/${paid.orderId}/pay`);
    expect(answer).toMatchObject({ timeout: 'canceled', order: { status: 'paid' } });
    // Its time has passed when the one placed after it has been canceled.
    const later = await place('book');
    await ended(later.orderId);
    expect(await job(paid.orderId)).toMatchObject({ status: 4, attempt: 0 });
    expect(await order(paid.orderId)).toMatchObject({ status: 'paid' });
    expect(shop.warehouse.released).not.toContain(paid.orderId);

    const tooLate = await call('POST', `/orders/${later.orderId}/pay`);
    expect(tooLate).toMatchObject({ timeout: 'ended', order: { status: 'canceled' } });
  });

  it('tries again what fails twice, until it works', async () => {
    const { orderId } = await place('teapot');
    const { taskId, ...done } = await ended(orderId);
    expect(done).toMatchObject({ status: 2, attempt: 3, output: '{"canceled":true}' });
    const { attempts } = await client.tasks.get({ taskId });
    expect(attempts).toMatchObject([
      { attempt: 1, httpStatus: 500, output: '{"error":"Error: the warehouse does not answer"}' },
      { attempt: 2, httpStatus: 500 },
    ]);
    expect(await order(orderId)).toMatchObject({ status: 'canceled' });
    expect(shop.warehouse.released.filter((released) => released === orderId)).toHaveLength(1);
  });

  it('keeps what never works as a dead letter, rolled back, until it is replayed', async () => {
    const { orderId } = await place('unicorn');
    const dead = await ended(orderId);
    expect(dead).toMatchObject({ status: 3, attempt: 3, httpStatus: 500 });
    expect(await order(orderId)).toMatchObject({ status: 'unpaid' });
    const { list } = await client.tasks.list({ app: 'shop', topic: 'order-timeout', status: 3 });
    expect(list).toMatchObject([{ taskId: dead.taskId, jobId: orderId }]);

    shop.warehouse.knows.add('unicorn');
    expect(await client.tasks.retry({ taskId: dead.taskId })).toMatchObject({ results: [{ outcome: 'accepted' }] });
    for (let status = ''; status !== 'canceled'; await sleep(50)) ({ status } = await order(orderId));
    expect(await ended(orderId)).toMatchObject({ status: 2, attempt: 4, taskId: dead.taskId });
  });

  it('has an effect once, also when its call comes twice', async () => {
    const { orderId } = await place('book');
    const { taskId } = await ended(orderId);
    const at = new Date();
    const body = JSON.stringify({ orderId });
    const repeat = (signature: string) =>
      fetch(`${shop.url}/_xtimer/callback/topics/order-timeout`, {
        method: 'POST',
        body,
        headers: {
          ...{ 'content-type': 'application/json', 'webhook-id': taskId, 'webhook-signature': signature },
          ...{ 'webhook-timestamp': String(Math.floor(at.getTime() / 1000)), 'x-xtimer-attempt': '2' },
        },
      });
    const again = await repeat(new Webhook(secret).sign(taskId, at, body));
    expect([again.status, await again.json()]).toEqual([200, { duplicate: true }]);
    expect((await repeat('v1,AAAA')).status).toBe(401);
  });

  it('has a nightly report, registered with its zone', async () => {
    const { list } = await client.timers.list({ app: 'shop' });
    expect(list).toMatchObject([
      { name: 'nightly report', cron: '0 30 2 * * ?', timezone: 'Asia/Shanghai', status: 2 },
    ]);
    const { taskId } = await client.timers.run({ app: 'shop', timerId: list[0]!.timerId });
    const written = async () =>
      (await call('GET', '/reports')).some((report: { taskId: string }) => report.taskId === taskId);
    while (!(await written())) await sleep(50);
  });
});
