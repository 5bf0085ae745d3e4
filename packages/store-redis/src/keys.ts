import { MINUTE_MS, type Slice } from '@xtimer/pipeline';

/**
 * Every key xtimer has in Redis. The bucket is the hash tag: all of a bucket lies on one Cluster node.
 * All but the marks expire: a mark that expired would look like an emptied Redis.
 */
export class Keys {
  constructor(private readonly prefix: string) {}

  /** Sorted set: member `timerId_runTimer`, score `dueAt`. */
  readonly tasks = (slice: Slice): string => `${this.prefix}:{b${slice.bucket}}:z:${slice.minute}`;

  /** Hash: who walks the slice. */
  readonly lock = (slice: Slice): string => `${this.prefix}:{b${slice.bucket}}:l:${slice.minute}`;

  /** String: names what the index holds. On a Cluster each master has a copy, under its own `shard`. */
  readonly mark = (shard = 0): string => `${this.prefix}:{m${shard}}:mark`;
}

/** Sorted sets stay an hour after their minute, for late takers. Anything added later than that vanishes at once. */
export const sliceExpiresAt = (slice: Slice): number => slice.minute + 61 * MINUTE_MS;

/** How long a lock's epoch outlives its lease, and a done mark its slice. */
export const LOCK_KEEP_MS = 600_000;
