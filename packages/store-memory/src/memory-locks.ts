import type { AcquireOutcome, Slice, SliceClaim, SliceLocks } from '@xtimer/pipeline';

/** Epochs outlive a lapsed lease, and done marks their slice, by this much; as in Redis. */
const LOCK_KEEP_MS = 600_000;

interface Lock {
  /** `null`: released or done. */
  owner: string | null;
  epoch: number;
  leaseUntil: number;
  done: boolean;
  expiresAt: number;
}

/** Slice locks of one process: the same rules as Redis' Lua files, judged on the given clock. */
export class MemoryLocks implements SliceLocks {
  private readonly locks = new Map<string, Lock>();
  private sweptAt = 0;

  constructor(private readonly now: () => number) {}

  async acquire(slices: readonly Slice[], owner: string, leaseMs: number): Promise<AcquireOutcome[]> {
    const now = this.sweep();
    return slices.map((slice) => {
      const lock = this.lockOf(slice, now);
      if (lock?.done) return { outcome: 'done' };
      if (lock?.owner && lock.owner !== owner && lock.leaseUntil > now) return { outcome: 'held' };
      const epoch = lock?.owner === owner ? lock.epoch : (lock?.epoch ?? 0) + 1;
      const leaseUntil = now + leaseMs;
      this.locks.set(keyOf(slice), {
        owner,
        epoch,
        leaseUntil,
        done: false,
        expiresAt: leaseUntil + LOCK_KEEP_MS,
      });
      return { outcome: 'claimed', claim: { bucket: slice.bucket, minute: slice.minute, epoch } };
    });
  }

  async renew(claims: readonly SliceClaim[], owner: string, leaseMs: number): Promise<boolean[]> {
    const now = this.now();
    return claims.map((claim) => {
      const lock = this.ours(claim, owner, now);
      if (!lock) return false;
      lock.leaseUntil = now + leaseMs;
      lock.expiresAt = lock.leaseUntil + LOCK_KEEP_MS;
      return true;
    });
  }

  async close(claims: readonly SliceClaim[], owner: string): Promise<boolean[]> {
    const now = this.now();
    return claims.map((claim) => {
      const lock = this.ours(claim, owner, now);
      if (!lock) return false;
      Object.assign(lock, { owner: null, done: true, expiresAt: now + LOCK_KEEP_MS });
      return true;
    });
  }

  async release(claims: readonly SliceClaim[], owner: string): Promise<void> {
    const now = this.now();
    for (const claim of claims) {
      const lock = this.ours(claim, owner, now);
      if (lock) lock.owner = null;
    }
  }

  private ours(claim: SliceClaim, owner: string, now: number): Lock | undefined {
    const lock = this.lockOf(claim, now);
    return lock?.owner === owner && lock.epoch === claim.epoch ? lock : undefined;
  }

  private lockOf(slice: Slice, now: number): Lock | undefined {
    const lock = this.locks.get(keyOf(slice));
    return lock && lock.expiresAt > now ? lock : undefined;
  }

  /** Drops expired locks, at most once a second. */
  private sweep(): number {
    const now = this.now();
    if (now >= this.sweptAt + 1000 || now < this.sweptAt) {
      this.sweptAt = now;
      for (const [key, lock] of this.locks) if (lock.expiresAt <= now) this.locks.delete(key);
    }
    return now;
  }
}

const keyOf = (slice: Slice): string => `${slice.bucket}:${slice.minute}`;
