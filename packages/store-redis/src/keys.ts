import { MINUTE_MS, type Slice } from '@xtimer/pipeline';

/**
 * Every key xtimer has in Redis. The bucket is the hash tag: all of a bucket lies on one Cluster node,
 * and is lost together with its mark. All of them expire.
 */
export class Keys {
  constructor(private readonly prefix: string) {}

  /** Sorted set: member `timerId_runTimer`, score `dueAt`. */
  readonly tasks = (slice: Slice): string => `${this.prefix}:{b${slice.bucket}}:z:${slice.minute}`;

  /** Hash: who walks the slice. */
  readonly lock = (slice: Slice): string => `${this.prefix}:{b${slice.bucket}}:l:${slice.minute}`;

  /** String: `FILLED`, or the token the bucket is being filled under. None: lost, or never filled. */
  readonly mark = (bucket: number): string => `${this.prefix}:{b${bucket}}:f`;

  /** Holds nothing: on a Cluster it names the master whose clock all nodes follow. */
  readonly clock = (): string => `${this.prefix}:{clock}`;
}

/** Sorted sets stay an hour after their minute, for late takers. Anything added later than that vanishes at once. */
export const sliceExpiresAt = (slice: Slice): number => slice.minute + 61 * MINUTE_MS;

/** How long a lock's epoch outlives its lease, and a done mark its slice. */
export const LOCK_KEEP_MS = 600_000;

/** The mark of a bucket whose content is complete. */
export const FILLED = '1';

/** A mark that nobody renewed for a week means one filling more than needed. */
export const MARK_KEEP_MS = 7 * 24 * 60 * MINUTE_MS;
