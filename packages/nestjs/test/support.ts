import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { INestApplication, LoggerService, ModuleMetadata, NestApplicationOptions } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Webhook } from 'standardwebhooks';
import { onTestFinished } from 'vitest';
import { XtimerModule, type XtimerOptions } from '../src/index.js';

export const SECRET = `whsec_${Buffer.from('a secret of at least 24 bytes').toString('base64')}`;

const hasExpress = existsSync(new URL('../../../node_modules/@nestjs/platform-express', import.meta.url));
if (!hasExpress) console.warn('! the Express adapter is not covered: @nestjs/platform-express is not installed');

export const adapters = ['fastify', ...(hasExpress ? ['express'] : [])] as ('fastify' | 'express')[];

/** Nobody answers there. */
export const NOWHERE = 'http://127.0.0.1:9';

export const optionsOf = (more: Partial<XtimerOptions> = {}): XtimerOptions => ({
  ...{ url: NOWHERE, token: 'a-token-for-tests-only', app: 'shop', secret: SECRET, baseUrl: 'http://127.0.0.1:1' },
  ...more,
});

class Lines implements LoggerService {
  readonly all: string[] = [];
  log = (message: unknown) => void this.all.push(String(message));
  warn = this.log;
  error = this.log;
}

export interface TestApp {
  app: INestApplication;
  url: string;
  lines: string[];
}

/** Starts a Nest app that listens; it is closed when the test ends. */
export async function startApp(
  metadata: ModuleMetadata,
  {
    adapter = 'fastify',
    prepare,
    options = {},
    port = 0,
  }: {
    adapter?: 'fastify' | 'express';
    prepare?: (app: INestApplication) => void;
    options?: NestApplicationOptions;
    port?: number;
  } = {},
): Promise<TestApp> {
  const logger = new Lines();
  const module = await Test.createTestingModule(metadata).setLogger(logger).compile();
  const app = module.createNestApplication(await adapterOf(adapter), options);
  onTestFinished(async () => {
    // fetch keeps its connections, and Express would wait for them.
    app.getHttpServer().closeAllConnections();
    await app.close();
  });
  prepare?.(app);
  await app.listen(port, '127.0.0.1');
  return { app, url: await app.getUrl(), lines: logger.all };
}

async function adapterOf(name: 'fastify' | 'express') {
  if (name === 'fastify') return new (await import('@nestjs/platform-fastify')).FastifyAdapter();
  return new (await import('@nestjs/platform-express')).ExpressAdapter();
}

export const withModule = (options: XtimerOptions, providers: ModuleMetadata['providers']): ModuleMetadata => ({
  imports: [XtimerModule.forRoot(options)],
  ...(providers && { providers }),
});

export interface Sent {
  body?: string;
  taskId?: string;
  secret?: string;
  at?: number;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  path?: string;
}

/** A callback as xtimer sends it. */
export async function send(
  url: string,
  target: string,
  {
    body = '',
    taskId = '4294967297_1793000000000',
    secret = SECRET,
    at = Date.now(),
    headers,
    signal,
    path = '/_xtimer/callback',
  }: Sent = {},
) {
  const response = await fetch(`${url}${path}/${target}`, {
    method: 'POST',
    body: body === '' ? null : body,
    headers: {
      ...(body !== '' && { 'content-type': /^[{[]/.test(body) ? 'application/json' : 'text/plain; charset=utf-8' }),
      'idempotency-key': taskId,
      'x-xtimer-task-id': taskId,
      'x-xtimer-job-id': 'order-1',
      'x-xtimer-run-timer': taskId.split('_')[1]!,
      'x-xtimer-attempt': '2',
      'webhook-id': taskId,
      'webhook-timestamp': String(Math.floor(at / 1000)),
      'webhook-signature': new Webhook(secret).sign(taskId, new Date(at), body),
      ...headers,
    },
    ...(signal && { signal }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, data: text === '' ? null : JSON.parse(text) };
}

/** Nobody listens there just now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** The limit only ends a test that has failed. */
export async function until<T>(look: () => Promise<T | false> | T | false, limitMs = 20_000): Promise<T> {
  for (const end = Date.now() + limitMs; Date.now() < end; await sleep(50)) {
    const found = await look();
    if (found !== false) return found;
  }
  throw new Error(`not within ${limitMs} ms`);
}
