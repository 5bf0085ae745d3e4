/** Shards and minutes: where a task waits. */

export const MINUTE_MS = 60_000;

/** Start of the minute an instant lies in, epoch ms. */
export const minuteOf = (at: number): number => Math.floor(at / MINUTE_MS) * MINUTE_MS;

export const bucketOf = (timerId: number, bucketsNum: number): number => timerId % bucketsNum;

/** One minute of one bucket: the unit that is locked and walked. */
export interface Slice {
  bucket: number;
  /** Start of the minute, epoch ms. */
  minute: number;
}

export const sliceOf = (entry: { bucket: number; dueAt: number }): Slice => ({
  bucket: entry.bucket,
  minute: minuteOf(entry.dueAt),
});
