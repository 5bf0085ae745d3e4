/** Every bucket is kept expanded for at least one step and at most two. */
export const STEP_MS = 60 * 60_000;

/**
 * Up to where a bucket's timers are expanded now. It moves on by a step once an hour, for each bucket at its
 * own minute, so that the work is spread over the hour.
 */
export function horizonOf(bucket: number, bucketsNum: number, now: number): number {
  const offset = Math.floor((bucket * STEP_MS) / bucketsNum);
  return Math.floor((now - offset) / STEP_MS) * STEP_MS + offset + 2 * STEP_MS;
}
