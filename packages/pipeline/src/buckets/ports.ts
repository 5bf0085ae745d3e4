import type { DueTask } from '../timer/task.js';
import type { Slice } from './buckets.js';

/**
 * The sorted sets: an index of what is due, by minute and bucket. Everything in it may vanish at any
 * moment and is rebuilt from the database (DESIGN section 2, rule 1).
 *
 * Every call rejects with `StoreUnavailableError` when the store does not answer within its time limit.
 */
export interface TimeBuckets {
  /** Puts each task into the slice of its `dueAt`. Adding one that is there moves it. Slices expire by themselves. */
  add(tasks: readonly DueTask[]): Promise<void>;
  /** Tasks of the slices with `dueAt < before`, in due order. One round trip for all slices. */
  due(slices: readonly Slice[], before: number): Promise<DueTask[]>;
  /** Takes tasks out of the slice of their `dueAt`. Absent ones are no error. */
  remove(tasks: readonly DueTask[]): Promise<void>;
  /** Those of the buckets whose content is not known to be complete: emptied, replaced, never filled, or being filled. */
  unfilled(buckets: readonly number[]): Promise<number[]>;
  /** Says that the buckets are incomplete, and are being filled under this token. */
  beginFill(buckets: readonly number[], token: string): Promise<void>;
  /** Says that the buckets are complete, if nothing was lost and nobody else began meanwhile. One answer per bucket. */
  endFill(buckets: readonly number[], token: string): Promise<boolean[]>;
}

/** The right to walk one slice, fenced by an epoch that grows with each owner. */
export interface SliceClaim extends Slice {
  epoch: number;
}

export type AcquireOutcome =
  | { outcome: 'claimed'; claim: SliceClaim }
  /** Somebody else holds it. */
  | { outcome: 'held' }
  /** Proven complete: nothing left to do. */
  | { outcome: 'done' };

/** Per-minute bucket locks: short leases with an owner token, then a "done" mark. Same errors as `TimeBuckets`. */
export interface SliceLocks {
  /** One answer per slice, in order. A slice this owner holds already is `claimed` again with the same epoch. */
  acquire(slices: readonly Slice[], owner: string, leaseMs: number): Promise<AcquireOutcome[]>;
  /** `false`: the claim was lost, somebody else may walk the slice. */
  renew(claims: readonly SliceClaim[], owner: string, leaseMs: number): Promise<boolean[]>;
  /** Turns the claim into the done mark. `false`: no longer ours. */
  close(claims: readonly SliceClaim[], owner: string): Promise<boolean[]>;
  /** Gives the slices back for others to take at once. */
  release(claims: readonly SliceClaim[], owner: string): Promise<void>;
}

/** The stores' shared clock, epoch ms. */
export interface TimeSource {
  time(): Promise<number>;
}

/** One opened store of all three: Redis, or this process itself. */
export interface BucketStore {
  buckets: TimeBuckets;
  locks: SliceLocks;
  timeSource: TimeSource;
  /** Ends the connection; nothing is called after it. Repeatable. */
  close(): Promise<void>;
}
