import { MINUTE_MS, minuteOf, type Slice } from '../buckets/buckets.js';

export const sliceKey = (slice: Slice): string => `${slice.bucket}:${slice.minute}`;

export interface SliceTiming {
  /** A node takes the coming minute of its own buckets this long before it starts, ms, so that no second 0 is late. */
  aheadMs: number;
  /** Others leave a slice to the node it belongs to for this long, ms. */
  graceMs: number;
}

/**
 * The slices this node should try to lock now: the previous and the current minute of its own buckets and,
 * shortly before it starts, the next; of other nodes' buckets only what they left alone for a while.
 */
export function wantedSlices(now: number, own: readonly number[], bucketsNum: number, timing: SliceTiming): Slice[] {
  const current = minuteOf(now);
  const mine = new Set(own);
  const wanted: Slice[] = [];
  for (let bucket = 0; bucket < bucketsNum; bucket++) {
    if (mine.has(bucket)) {
      wanted.push({ bucket, minute: current - MINUTE_MS }, { bucket, minute: current });
      if (now >= current + MINUTE_MS - timing.aheadMs) wanted.push({ bucket, minute: current + MINUTE_MS });
    } else {
      if (now >= current + timing.graceMs) wanted.push({ bucket, minute: current });
      wanted.push({ bucket, minute: current - MINUTE_MS });
    }
  }
  return wanted;
}
