import 'reflect-metadata';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Pipeline } from '@xtimer/pipeline';
import { onTestFinished } from 'vitest';
import { AdminToken } from '../../src/api/access/admin-token.js';
import { appModule } from '../../src/app.module.js';
import { PipelineModule } from '../../src/pipeline/pipeline.module.js';
import { type Config, loadConfig } from '../../src/platform/config/config.js';
import { createHttpApp, type Route } from '../../src/platform/http.js';
import { createLog } from '../../src/platform/log.js';
import { openStores, type Stores } from '../../src/platform/stores.js';

export const TOKEN = 'a-token-for-tests-only';

export interface Answer {
  status: number;
  headers: Record<string, unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  json: any;
  text: string;
}

export interface World {
  app: NestFastifyApplication;
  config: Config;
  stores: Stores;
  routes: readonly Route[];
  get(url: string, headers?: Record<string, string>): Promise<Answer>;
  post(url: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  send(request: { method: string; url: string; headers?: Record<string, string>; body?: string }): Promise<Answer>;
}

/** A whole embedded node with a database of its own, spoken to without a socket. Ends with the test. */
export async function setup(env: Record<string, string> = {}): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'xtimer-api-'));
  const { config } = loadConfig({
    XTIMER_DATABASE_URL: `sqlite:${join(folder, 'test.db')}`,
    XTIMER_ADMIN_TOKEN: TOKEN,
    XTIMER_LOG_LEVEL: 'silent',
    ...env,
  });
  const log = createLog(config.logLevel);
  const stores = await openStores(config, log);
  const admin = await AdminToken.settle(config.adminToken, stores.database.settings);
  const { app, routes } = await createHttpApp(appModule(config, log, stores, PipelineModule), admin, log);
  await app.init();
  onTestFinished(async () => {
    await app.close();
    await rm(folder, { recursive: true, force: true });
  });

  const send: World['send'] = async ({ method, url, headers = {}, body }) => {
    const response = await app.inject({
      method: method as 'GET',
      url,
      headers: { authorization: `Bearer ${TOKEN}`, ...headers },
      ...(body !== undefined && { payload: body }),
    });
    const isJson = String(response.headers['content-type']).startsWith('application/json');
    return {
      status: response.statusCode,
      headers: response.headers,
      json: isJson && response.body !== '' ? JSON.parse(response.body) : undefined,
      text: response.body,
    };
  };
  return {
    ...{ app, config, stores, routes, send },
    get: (url, headers) => send({ method: 'GET', url, headers }),
    post: (url, body, headers) =>
      send({
        method: 'POST',
        url,
        headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
        body: body === undefined ? undefined : JSON.stringify(body),
      }),
  };
}

/** A receiver on loopback that answers as told, and what it was called with. */
export async function receiver(status = 200) {
  const told = { status, keys: [] as string[] };
  const server = createServer((request, response) => {
    told.keys.push(String(request.headers['idempotency-key']));
    response.writeHead(told.status).end('heard');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { told, notifyHTTPParam: { method: 'POST', url: `http://127.0.0.1:${port}/x` } };
}

/** Resolves once `count` attempts have been recorded from now on. */
export function recorded({ app }: World, count: number): Promise<void> {
  let left = count;
  return new Promise((resolve) => {
    const off = app.get(Pipeline).events.on('task.finished', () => {
      if (--left > 0) return;
      off();
      resolve();
    });
  });
}

/** A timer that fires far in the future: nothing happens by itself during a test. */
export const timer = (fields: Record<string, unknown> = {}): Record<string, unknown> => ({
  app: 'shop',
  name: 'nightly',
  cron: '0 0 3 1 1 ? 2099',
  notifyHTTPParam: { method: 'POST', url: 'http://127.0.0.1:9/x' },
  ...fields,
});
