import type { MisfirePolicy } from '../timer/timer.js';

/** What becomes of a timer's missed slots. */
export interface MisfireDecision {
  /** Slots that run all the same, ascending. */
  keep: number[];
  /** The first and the last slot left out; `null` when all run. */
  skip: { from: number; until: number } | null;
  skippedCount: number;
}

/**
 * Applies the misfire rule (DESIGN section 4): `fireOnce` runs the newest missed slot, `fireAll` the newest
 * `maxCatchUp` in time order, `skip` none. `missed` is ascending.
 */
export function decideMisfire(policy: MisfirePolicy, missed: readonly number[]): MisfireDecision {
  const kept = { fireOnce: 1, fireAll: policy.maxCatchUp, skip: 0 }[policy.policy];
  const skippedCount = Math.max(0, missed.length - kept);
  return {
    keep: missed.slice(skippedCount),
    skip: skippedCount > 0 ? { from: missed[0]!, until: missed[skippedCount - 1]! } : null,
    skippedCount,
  };
}
