import type { TimeSource } from '@xtimer/pipeline';

/** How long a silent first source is not asked again, ms: less than the time between two synchronizations. */
const LEAVE_ALONE_MS = 4_000;

/**
 * The cluster's clock: that of the bucket store, and the database's while that store does not answer, so that all
 * nodes keep following one clock. Waiting for the silent store would spoil the measurement, so the further samples
 * of a synchronization go straight to the database.
 */
export function sharedTime(bucketStore: TimeSource, database: TimeSource): TimeSource {
  let silentUntil = Number.NEGATIVE_INFINITY;
  return {
    async time() {
      if (performance.now() >= silentUntil) {
        try {
          return await bucketStore.time();
        } catch {
          silentUntil = performance.now() + LEAVE_ALONE_MS;
        }
      }
      return database.time();
    },
  };
}
