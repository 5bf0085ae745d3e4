import type { AcquireOutcome, Slice, SliceClaim, SliceLocks } from '@xtimer/pipeline';
import { type Keys, LOCK_KEEP_MS } from './keys.js';
import type { RedisConnection } from './redis-connection.js';

/** Slice locks: each answer is decided by one Lua file, on Redis' own clock. */
export class RedisLocks implements SliceLocks {
  constructor(
    private readonly redis: RedisConnection,
    private readonly keys: Keys,
  ) {}

  async acquire(slices: readonly Slice[], owner: string, leaseMs: number): Promise<AcquireOutcome[]> {
    const replies = await this.redis.run(
      slices.map((slice) => ['claimSlice', this.keys.lock(slice), owner, leaseMs, LOCK_KEEP_MS]),
    );
    return slices.map(({ bucket, minute }, index) => {
      const epoch = replies[index] as number;
      if (epoch > 0) return { outcome: 'claimed', claim: { bucket, minute, epoch } };
      return { outcome: epoch < 0 ? 'done' : 'held' };
    });
  }

  async renew(claims: readonly SliceClaim[], owner: string, leaseMs: number): Promise<boolean[]> {
    const replies = await this.redis.run(
      claims.map((claim) => ['renewSlice', this.keys.lock(claim), owner, claim.epoch, leaseMs, LOCK_KEEP_MS]),
    );
    return replies.map((reply) => reply === 1);
  }

  async close(claims: readonly SliceClaim[], owner: string): Promise<boolean[]> {
    const replies = await this.redis.run(
      claims.map((claim) => ['closeSlice', this.keys.lock(claim), owner, claim.epoch, LOCK_KEEP_MS]),
    );
    return replies.map((reply) => reply === 1);
  }

  async release(claims: readonly SliceClaim[], owner: string): Promise<void> {
    await this.redis.run(claims.map((claim) => ['releaseSlice', this.keys.lock(claim), owner, claim.epoch]));
  }
}
