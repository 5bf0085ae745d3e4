import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TaskDetail, TaskView, TimerView } from '@xtimer/contracts';
import { type ReceivedCall, type Receiver, startReceiver } from '@xtimer/receiver';
import { hasRedisServer, startMariaDb, startRedis, startServer, type TestServer } from '@xtimer/testkit';
import { afterAll, expect, vi } from 'vitest';

// On two busy cores a start alone may take twenty seconds; nothing here waits longer than it must.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

/** Where a server keeps things; `env` leads a server there. */
export interface World {
  name: 'embedded' | 'clustered';
  /** The stores can't be had here; said on the console. */
  missing: boolean;
  env: Record<string, string>;
  /** The target of this world alone: timer ids start from 1 in each. */
  receiver: Receiver;
  /** Starts a server on these stores; whatever still runs at the end of the file is ended then. */
  start(env?: Record<string, string>): Promise<TestServer>;
}

/** Opened while the file loads, so that `describe` knows what is here; closed after its last test. */
export async function openWorld(name: World['name']): Promise<World> {
  const { env, close } = name === 'embedded' ? await embedded() : await clustered();
  const servers: TestServer[] = [];
  const receiver = await startReceiver({ keep: 100_000 });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop('SIGKILL')));
    await Promise.all([close(), receiver.close()]);
  });
  return {
    name,
    receiver,
    missing: env === null,
    env: env ?? {},
    async start(more) {
      const server = await startServer({ env: { ...env, ...more } });
      servers.push(server);
      return server;
    },
  };
}

export const openWorlds = async (): Promise<World[]> => [await openWorld('embedded'), await openWorld('clustered')];

interface Stores {
  env: Record<string, string> | null;
  close(): Promise<unknown>;
}

async function embedded(): Promise<Stores> {
  const folder = await mkdtemp(join(tmpdir(), 'xtimer-e2e-'));
  return {
    env: { XTIMER_DATABASE_URL: `sqlite:${join(folder, 'xtimer.db')}` },
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The keys of all clusters have the same names, so the Redis is private. */
async function clustered(): Promise<Stores> {
  const mysql = hasRedisServer('end to end') ? await startMariaDb() : null;
  if (!mysql) return { env: null, close: async () => {} };
  const redis = await startRedis();
  return {
    env: {
      XTIMER_DATABASE_URL: mysql.url,
      XTIMER_REDIS_URL: redis.url,
      XTIMER_CALLBACK_ALLOW: '127.0.0.0/8',
    },
    close: () => Promise.all([redis.stop(), mysql.stop()]),
  };
}

/** Polls until `look` returns something. The limit only ends a test that has failed: generous for two busy cores. */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  limitMs = 60_000,
): Promise<Exclude<T, false | null | undefined>> {
  for (const end = Date.now() + limitMs; ; await sleep(50)) {
    const found = await look();
    if (found !== false && found !== null && found !== undefined) return found as never;
    if (Date.now() > end) throw new Error(`${what}: not within ${limitMs} ms`);
  }
}

/** An API client that throws on refusals, for the calls a test takes for granted. */
export class Api {
  constructor(readonly server: TestServer) {}

  async post<T>(path: string, body: unknown): Promise<T> {
    return good(path, await this.server.api<T>(path, { method: 'POST', body }));
  }

  async get<T>(path: string, query: Record<string, string | number> = {}): Promise<T> {
    const search = new URLSearchParams(query as Record<string, string>);
    return good(path, await this.server.api<T>(`${path}?${search}`));
  }

  async create(timer: Record<string, unknown>): Promise<number> {
    return (await this.post<{ timerId: number }>('/xtimer/createTimer', { app: 'e2e', name: 'e2e', ...timer })).timerId;
  }

  timer = (timerId: number) => this.get<TimerView>('/xtimer/getTimer', { timerId });
  task = (taskId: string) => this.get<TaskDetail>('/xtimer/getTask', { taskId });
  enable = (timerId: number) => this.post<TimerView>('/xtimer/enableTimer', { timerId });
  pause = (timerId: number) => this.post<TimerView>('/xtimer/unEnableTimer', { timerId });
  update = (timerId: number, changes: object) => this.post<TimerView>('/xtimer/updateTimer', { timerId, ...changes });

  /** All pages, newest first. */
  async tasks(query: Record<string, string | number>): Promise<TaskView[]> {
    const all: TaskView[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: { list: TaskView[]; nextCursor: string | null } = await this.get('/xtimer/getTaskList', {
        pageSize: 200,
        ...query,
        ...(cursor && { cursor }),
      });
      all.push(...page.list);
      cursor = page.nextCursor;
    }
    return all;
  }

  /** The task once it has ended. */
  ended = (taskId: string) =>
    until(`task ${taskId} ends`, async () => {
      const task = await this.task(taskId);
      return task.status >= 2 && task;
    });
}

function good<T>(path: string, answer: { status: number; message: string; data: T }): T {
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${answer.message}`);
  return answer.data;
}

/**
 * The longest time this process, the receiver, did not get to look up, ms. On a loaded machine that much of a
 * lateness is the test's own; subtracting it keeps the promise's number as it is.
 */
export function stallMeter(): () => number {
  let worst = 0;
  let before = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    worst = Math.max(worst, now - before - 20);
    before = now;
  }, 20);
  return () => {
    clearInterval(timer);
    return worst;
  };
}

export const latest = (calls: readonly ReceivedCall[]): number => Math.max(...calls.map(({ lateness }) => lateness!));

/** What arrived for one timer, oldest first. */
export const callsOf = (receiver: Receiver, timerId: number): ReceivedCall[] =>
  receiver.calls.filter(({ headers }) => headers['x-xtimer-timer-id'] === String(timerId));

export const runOf = (call: ReceivedCall): number => Number(call.headers['x-xtimer-run-timer']);

/** Each multiple of `stepMs` with `from <= instant < to`. */
export function multiples(stepMs: number, from: number, to: number): number[] {
  const first = Math.ceil(from / stepMs) * stepMs;
  return Array.from({ length: Math.max(0, Math.ceil((to - first) / stepMs)) }, (_, i) => first + i * stepMs);
}

/** Resolves when the wall clock has reached it. */
export const at = (instant: number): Promise<void> => sleep(Math.max(0, instant - Date.now()));

/** Exactly these planned instants were called, each once, none early. */
export function expectOnceEach(calls: readonly ReceivedCall[], planned: readonly number[]): void {
  expect(calls.map(runOf).sort((a, b) => a - b)).toEqual([...planned]);
  expect(Math.min(...calls.map(({ lateness }) => lateness!))).toBeGreaterThanOrEqual(0);
}
