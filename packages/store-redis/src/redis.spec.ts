import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { type DueTask, MINUTE_MS, minuteOf, StoreUnavailableError } from '@xtimer/pipeline';
import { bucketsContract, hasRedisServer, type RedisServer, startRedis, startRedisCluster } from '@xtimer/testkit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { openRedis, type RedisStore, redisAddress } from './index.js';

const given = process.env.XTIMER_TEST_REDIS_URL;
const available = hasRedisServer('store-redis');
const WEEK_MS = 7 * 24 * 60 * MINUTE_MS;
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** A store with keys of its own on a shared server, so that each test finds it empty. */
async function freshStore(url: string) {
  const store = openRedis({ url, prefix: `xt-${randomUUID().slice(0, 8)}`, timeoutMs: 5000 });
  await store.ready();
  return { store, now: Date.now, pass: sleep, end: () => store.close() };
}

describe.skipIf(!available && !given)('one Redis', () => {
  let server: RedisServer | null = null;
  beforeAll(async () => {
    if (!given) server = await startRedis();
  });
  afterAll(() => server?.stop());
  bucketsContract(`Redis${given ? ' (given)' : ''}`, () => freshStore(given ?? server!.url));
});

describe.skipIf(!available)('a Redis Cluster of three masters', () => {
  let cluster: Awaited<ReturnType<typeof startRedisCluster>>;
  beforeAll(async () => {
    cluster = await startRedisCluster();
  });
  afterAll(() => cluster?.stop());
  bucketsContract('Redis Cluster', () => freshStore(cluster.url));

  it('spreads buckets over all masters', async () => {
    const { store, end } = await freshStore(cluster.url);
    await store.buckets.add(tasksOf(64));
    const held = await Promise.all(
      cluster.nodes.map(async ({ url }) => {
        const client = new Redis(url);
        const keys = (await client.keys('*:z:*')).length;
        client.disconnect();
        return keys;
      }),
    );
    expect(Math.min(...held)).toBeGreaterThan(0);
    await end();
  });

  it('loses the marks of just the buckets whose master is emptied', async () => {
    const { store, end } = await freshStore(cluster.url);
    const buckets = Array.from({ length: 64 }, (_, bucket) => bucket);
    await fill(store, buckets);
    for (const { url } of cluster.nodes) {
      await store.buckets.add(tasksOf(64));
      await flush(url);
      const held = await store.buckets.due(slicesOf(64), Number.MAX_SAFE_INTEGER);
      const lost = buckets.filter((bucket) => !held.some((task) => task.bucket === bucket));
      expect(lost.length).toBeGreaterThan(0);
      expect(lost.length).toBeLessThan(64);
      expect(await store.buckets.unfilled(buckets)).toEqual(lost);
      await fill(store, lost);
      expect(await store.buckets.unfilled(buckets)).toEqual([]);
    }
    await end();
  });

  it('does not call filled what one master lost meanwhile', async () => {
    const { store, end } = await freshStore(cluster.url);
    const buckets = Array.from({ length: 64 }, (_, bucket) => bucket);
    await store.buckets.beginFill(buckets, 'a');
    await flush(cluster.nodes[0]!.url);
    const ended = await store.buckets.endFill(buckets, 'a');
    expect(new Set(ended).size).toBe(2);
    expect(await store.buckets.unfilled(buckets)).toEqual(buckets.filter((bucket) => !ended[bucket]));
    await end();
  });

  it('follows a slot that moved to another master', async () => {
    const { store, end } = await freshStore(cluster.url);
    const [task] = tasksOf(1);
    await store.buckets.add([task!]);
    const clients = cluster.nodes.map(({ url }) => new Redis(url));
    const slot = (await clients[0]!.cluster('KEYSLOT', '{b0}')) as number;
    const ids = await Promise.all(clients.map((client) => client.cluster('MYID') as Promise<string>));
    const counts = await Promise.all(
      clients.map((client) => client.cluster('COUNTKEYSINSLOT', slot) as Promise<number>),
    );
    const from = counts.findIndex((count) => count > 0);
    const to = (from + 1) % 3;
    const keys = (await clients[from]!.cluster('GETKEYSINSLOT', slot, 1000)) as string[];
    await clients[to]!.cluster('SETSLOT', slot, 'IMPORTING', ids[from]!);
    await clients[from]!.cluster('SETSLOT', slot, 'MIGRATING', ids[to]!);
    await clients[from]!.call('MIGRATE', '127.0.0.1', cluster.nodes[to]!.port, '', 0, 5000, 'KEYS', ...keys);
    for (const client of clients) await client.cluster('SETSLOT', slot, 'NODE', ids[to]!);
    const slices = tasksOf(64).map(({ bucket, dueAt }) => ({ bucket, minute: minuteOf(dueAt) }));
    expect(await store.buckets.due(slices, Number.MAX_SAFE_INTEGER)).toEqual([task]);
    await store.buckets.add(tasksOf(64));
    expect(await store.buckets.due(slices, Number.MAX_SAFE_INTEGER)).toHaveLength(64);
    for (const client of clients) client.disconnect();
    await end();
  });

  // The last one here: it breaks the cluster.
  it('fails within its time while a master is frozen, and works again soon after', async () => {
    const store = openRedis({ url: cluster.url, prefix: 'frozen', timeoutMs: 300 });
    await store.ready();
    cluster.nodes[1]!.freeze();
    const startedAt = performance.now();
    await expect(store.buckets.add(tasksOf(64))).rejects.toThrow(StoreUnavailableError);
    expect(performance.now() - startedAt).toBeLessThan(1500);
    cluster.nodes[1]!.thaw();
    await answersAgain(() => store.buckets.add(tasksOf(64)));
    await store.close();
  });
});

describe.skipIf(!available)('Redis in trouble', () => {
  const open: RedisStore[] = [];
  const servers: RedisServer[] = [];
  const openAt = (url: string) => {
    const store = openRedis({ url, timeoutMs: 400 });
    open.push(store);
    return store;
  };
  const start = async (options?: Parameters<typeof startRedis>[0]) => {
    const server = await startRedis(options);
    servers.push(server);
    return server;
  };
  afterEach(async () => {
    for (const store of open.splice(0)) await store.close();
    for (const server of servers.splice(0)) await server.stop();
  });

  it('frozen: calls fail within their time, then at once; after it thaws they work again', async () => {
    const server = await start();
    const store = openAt(server.url);
    await store.ready();
    server.freeze();
    const startedAt = performance.now();
    const calls = [store.buckets.unfilled([0]), store.buckets.add(tasksOf(3)), store.timeSource.time()];
    for (const call of await Promise.allSettled(calls)) {
      expect(call).toMatchObject({ status: 'rejected', reason: { code: 'STORE_UNAVAILABLE' } });
    }
    expect(performance.now() - startedAt).toBeLessThan(1500);
    await vi.waitFor(() => expect(store.status).toBe('connecting'));
    await expect(store.buckets.unfilled([0])).rejects.toThrow(/127\.0\.0\.1:\d+ is not connected/);
    await expect(store.ready()).rejects.toThrow(StoreUnavailableError);
    server.thaw();
    await answersAgain(() => store.buckets.add(tasksOf(3)));
  });

  it('killed and started empty: calls fail at once meanwhile, then its buckets are unfilled and all works', async () => {
    const server = await start();
    const store = openAt(server.url);
    await store.ready();
    await fill(store, [0, 1]);
    const [slice] = slicesOf(1);
    await store.locks.acquire([slice!], 'a', 60_000);
    await server.stop();
    await vi.waitFor(() => expect(store.status).toBe('connecting'));
    await expect(store.locks.acquire([slice!], 'a', 60_000)).rejects.toThrow(StoreUnavailableError);
    await expect(store.ready()).rejects.toThrow(`127.0.0.1:${server.port} is not reachable: connect ECONNREFUSED`);
    await start({ port: server.port });
    await answersAgain(() => store.buckets.unfilled([0]));
    expect(await store.buckets.unfilled([0, 1])).toEqual([0, 1]);
    expect(await store.locks.acquire([slice!], 'b', 60_000)).toMatchObject([{ outcome: 'claimed' }]);
  });

  it('killed with calls under way: they fail', async () => {
    const server = await start();
    const store = openAt(server.url);
    await store.ready();
    server.freeze();
    const call = store.buckets.unfilled([0]);
    await Promise.all([expect(call).rejects.toThrow('broke the connection'), server.stop()]);
  });

  it('not there at first: ready() tells, and later resolves', async () => {
    const server = await start();
    await server.stop();
    const store = openAt(server.url);
    await expect(store.buckets.unfilled([0])).rejects.toThrow(StoreUnavailableError);
    await expect(store.ready()).rejects.toThrow('ECONNREFUSED');
    await start({ port: server.port });
    await answersAgain(() => store.ready());
    expect(store.status).toBe('ready');
  });

  it('a read-only replica is unavailable, and is used once it is a master', async () => {
    const server = await start({ args: ['--replicaof', '127.0.0.1 1'] });
    const store = openAt(server.url);
    await answersAgain(() => store.ready());
    await expect(store.buckets.add(tasksOf(2))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    // Connects anew, because the name may lead to the new master by now.
    await vi.waitFor(() => expect(store.status).toBe('connecting'), { interval: 2 });
    await answersAgain(() => store.ready());
    await expect(store.locks.acquire(slicesOf(2), 'a', 1000)).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('READONLY'),
    });
    const admin = new Redis(server.url);
    await admin.replicaof('NO', 'ONE');
    admin.disconnect();
    await answersAgain(() => store.buckets.add(tasksOf(2)));
  });

  it('out of memory is unavailable', async () => {
    const server = await start({ args: ['--maxmemory', '1mb', '--maxmemory-policy', 'noeviction'] });
    const store = openAt(server.url);
    await store.ready();
    const fill = async () => {
      for (let round = 0; round < 50; round++) await store.buckets.add(tasksOf(1000, round * 1000));
    };
    await expect(fill()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining('OOM') });
  });

  it('scripts flushed: loaded again by themselves', async () => {
    const server = await start();
    const store = openAt(server.url);
    await store.ready();
    const slices = slicesOf(8);
    await store.locks.acquire(slices, 'a', 60_000);
    const admin = new Redis(server.url);
    await admin.script('FLUSH');
    admin.disconnect();
    const answers = await store.locks.acquire(slices, 'b', 60_000);
    expect(answers).toEqual(slices.map(() => ({ outcome: 'held' })));
    expect(await store.timeSource.time()).toBeGreaterThan(0);
  });

  it('a missing or wrong password is told without the password', async () => {
    const server = await start({ args: ['--requirepass', 'correct-horse'] });
    const none = openAt(server.url);
    await expect(none.ready()).rejects.toThrow(/NOAUTH.*password into the Redis URL/);
    const wrong = openAt(`redis://:tr0ub4dor@127.0.0.1:${server.port}`);
    const error = await wrong.ready().then(
      () => null,
      (reason: StoreUnavailableError) => reason,
    );
    expect(error?.message).toMatch(/127\.0\.0\.1:\d+ is not reachable: WRONGPASS/);
    expect(everythingIn(error)).not.toContain('tr0ub4dor');
    const later = await wrong.buckets.unfilled([0]).then(
      () => null,
      (reason: Error) => reason,
    );
    expect(later).toBeInstanceOf(StoreUnavailableError);
    expect(everythingIn(later)).not.toContain('tr0ub4dor');
    const right = openAt(`redis://:correct-horse@127.0.0.1:${server.port}`);
    await right.ready();
  });

  it('closed: calls fail, closing again is fine', async () => {
    const server = await start();
    const store = openAt(server.url);
    await store.ready();
    await store.close();
    await store.close();
    expect(store.status).toBe('closed');
    await expect(store.buckets.unfilled([0])).rejects.toThrow('is closed');
    await expect(store.ready()).rejects.toThrow('is closed');
  });

  it('emptied while it is being filled: the filling does not count', async () => {
    const server = await start();
    const store = openAt(server.url);
    await store.ready();
    await store.buckets.beginFill([1, 2], 'a');
    await flush(server.url);
    await store.buckets.beginFill([2], 'b');
    expect(await store.buckets.endFill([1, 2], 'a')).toEqual([false, false]);
    expect(await store.buckets.unfilled([1, 2])).toEqual([1, 2]);
    expect(await store.buckets.endFill([2], 'b')).toEqual([true]);
  });

  it('keeps a mark for a week after the filling ended, then the bucket is unfilled', async () => {
    const server = await start();
    const store = openAt(server.url);
    await store.ready();
    const admin = new Redis(server.url);
    await store.buckets.beginFill([1], 'a');
    await admin.pexpire('xtimer:{b1}:f', 60_000);
    expect(await store.buckets.endFill([1], 'a')).toEqual([true]);
    expect(await admin.pttl('xtimer:{b1}:f')).toBeGreaterThan(WEEK_MS - 60_000);
    await admin.pexpire('xtimer:{b1}:f', 1);
    await vi.waitFor(async () => expect(await store.buckets.unfilled([1])).toEqual([1]));
    admin.disconnect();
  });

  it('gives every key a time to live, also after the server was emptied', async () => {
    const server = await start();
    const store = openAt(server.url);
    await store.ready();
    const admin = new Redis(server.url);
    for (const _ of [1, 2]) {
      await store.buckets.add(tasksOf(4));
      const [a, b, c] = await store.locks.acquire(slicesOf(4), 'a', 30_000);
      if (a?.outcome !== 'claimed' || b?.outcome !== 'claimed' || c?.outcome !== 'claimed')
        throw new Error('not claimed');
      await store.locks.close([a.claim], 'a');
      await store.locks.release([b.claim], 'a');
      await store.locks.renew([c.claim], 'a', 60_000);
      await fill(store, [0]);
      await store.buckets.beginFill([1], 'a');
      const keys = await admin.keys('*');
      expect(keys).toHaveLength(4 + 4 + 2);
      for (const key of keys) {
        const ttl = await admin.pttl(key);
        if (key.endsWith(':f')) {
          expect(ttl).toBeGreaterThan(WEEK_MS - 60_000);
          expect(ttl).toBeLessThanOrEqual(WEEK_MS);
        } else if (key.includes(':z:')) {
          const expiresAt = Number(key.split(':').at(-1)) + 61 * MINUTE_MS;
          expect(await admin.pexpiretime(key)).toBe(expiresAt);
        } else {
          expect(ttl).toBeGreaterThan(590_000);
          expect(ttl).toBeLessThanOrEqual(660_000);
        }
      }
      await admin.flushall();
    }
    admin.disconnect();
  });
});

describe('redisAddress', () => {
  it.each([
    ['redis://user:secret@cache.example:7000/3', 'cache.example:7000'],
    ['rediss://:secret@cache.example', 'cache.example:6379'],
    ['redis://:secret@a.example:1,redis://b.example:2,c.example', 'a.example:1,b.example:2,c.example:6379'],
    ['redis+sentinel://:secret@s1.example,s2.example:7/mymaster', 's1.example:26379,s2.example:7'],
    ['redis://:secret@[::1]:7000', '[::1]:7000'],
  ])('%s', (url, address) => expect(redisAddress(url)).toBe(address));

  it.each([
    'redis://:sec ret@host:port',
    'http://:secret@host',
    'secret',
    'redis://:secret%@host',
    'redis://:a,secret@host',
    'redis+sentinel://:secret@host',
    'redis://:secret@host/name',
    'redis://:secret@a/1,b',
    'redis://:secret@a,rediss://b',
  ])('shows nothing of what it cannot read: %s', (url) => {
    expect(redisAddress(url)).toBe('(not a Redis URL)');
    const refused = (() => {
      try {
        openRedis({ url });
      } catch (error) {
        return error;
      }
    })();
    expect(refused).toBeInstanceOf(TypeError);
    expect(everythingIn(refused)).not.toContain('secret');
  });
});

/** One task in each of so many buckets, due in five minutes. */
function tasksOf(count: number, from = 0): DueTask[] {
  const minute = minuteOf(Date.now()) + 5 * MINUTE_MS;
  return Array.from({ length: count }, (_, at) => ({
    timerId: from + at + 1,
    runTimer: minute + at,
    bucket: from + at,
    dueAt: minute + at,
  }));
}

const slicesOf = (count: number) => tasksOf(count).map(({ bucket, dueAt }) => ({ bucket, minute: minuteOf(dueAt) }));

async function fill(store: RedisStore, buckets: number[]): Promise<void> {
  const token = randomUUID();
  await store.buckets.beginFill(buckets, token);
  expect(await store.buckets.endFill(buckets, token)).toEqual(buckets.map(() => true));
}

async function flush(url: string): Promise<void> {
  const client = new Redis(url);
  await client.flushall();
  client.disconnect();
}

const answersAgain = (call: () => Promise<unknown>) => vi.waitFor(call, { timeout: 10_000, interval: 20 });

/** Message, stack, cause and every property, as a careless logger would print them. */
const everythingIn = (error: unknown): string => inspect(error, { depth: 10, showHidden: true });
