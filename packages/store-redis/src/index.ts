import type { BucketStore } from '@xtimer/pipeline';
import { Keys } from './keys.js';
import { RedisBuckets } from './redis-buckets.js';
import { RedisConnection, type RedisStatus } from './redis-connection.js';
import { RedisLocks } from './redis-locks.js';

export type { RedisStatus } from './redis-connection.js';
export { redisAddress } from './redis-url.js';

export interface RedisOptions {
  /** `redis://`, `rediss://`; several joined by commas: Cluster; `redis+sentinel://host/masterName`: Sentinel. */
  url: string;
  /** Start of every key. */
  prefix?: string;
  /** Longest wait for any call, ms. */
  timeoutMs?: number;
}

export interface RedisStore extends BucketStore {
  /** `host:port`, without credentials. */
  readonly address: string;
  readonly status: RedisStatus;
  /** Resolves once Redis answers; rejects with `StoreUnavailableError` naming address and reason. May be called again. */
  ready(): Promise<void>;
}

/**
 * Opens the time buckets, locks and shared clock in Redis. Returns at once and connects in the background,
 * again and again for as long as it is open. Throws a `TypeError` when `url` cannot be read.
 */
export function openRedis({ url, prefix = 'xtimer', timeoutMs = 1000 }: RedisOptions): RedisStore {
  const keys = new Keys(prefix);
  const redis = new RedisConnection(url, timeoutMs);
  const time = async () => {
    const [[seconds, micros]] = (await redis.run([['sharedTime', keys.clock()]])) as [[string, string]];
    return Number(seconds) * 1000 + Number(micros) / 1000;
  };
  return {
    buckets: new RedisBuckets(redis, keys),
    locks: new RedisLocks(redis, keys),
    timeSource: { time },
    address: redis.address,
    get status() {
      return redis.status;
    },
    ready: async () => {
      await redis.connected();
      await time();
    },
    close: async () => redis.close(),
  };
}
