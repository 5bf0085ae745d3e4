import type { BucketStore } from '@xtimer/pipeline';
import { MemoryBuckets } from './memory-buckets.js';
import { MemoryLocks } from './memory-locks.js';

/**
 * Time buckets and locks inside this process (embedded mode). Lost when it ends, and rebuilt from the
 * database at start: every bucket is unfilled until then. `now` (epoch ms) judges leases and expiry.
 */
export function openMemory({ now }: { now: () => number }): BucketStore {
  return {
    buckets: new MemoryBuckets(now),
    locks: new MemoryLocks(now),
    timeSource: { time: async () => now() },
    close: async () => {},
  };
}
