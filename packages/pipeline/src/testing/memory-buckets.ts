import { type Slice, sliceOf } from '../buckets/buckets.js';
import type { AcquireOutcome, SliceClaim, SliceLocks, TimeBuckets, TimeSource } from '../buckets/ports.js';
import { StoreUnavailableError } from '../errors.js';
import { type DueTask, taskIdOf } from '../timer/task.js';

const keyOf = (slice: Slice): string => `${slice.bucket}:${slice.minute}`;

interface Lock {
  /** `null`: released. */
  owner: string | null;
  epoch: number;
  until: number;
  done: boolean;
}

/** Sorted sets and locks for stage tests: one instance is shared by all nodes of a test's cluster. */
export class FakeBuckets implements TimeBuckets, SliceLocks, TimeSource {
  readonly slices = new Map<string, Map<string, DueTask>>();
  private locks = new Map<string, Lock>();
  private fills = new Map<number, string>();
  private away = false;

  constructor(private readonly now: () => number) {}

  /** While away every call fails as a store that does not answer. */
  setAway(away: boolean): void {
    this.away = away;
  }

  /** FLUSHALL. */
  empty(): void {
    this.slices.clear();
    this.locks.clear();
    this.fills.clear();
  }

  get size(): number {
    return [...this.slices.values()].reduce((sum, slice) => sum + slice.size, 0);
  }

  async add(tasks: readonly DueTask[]): Promise<void> {
    this.enter();
    for (const task of tasks) {
      const key = keyOf(sliceOf(task));
      const slice = this.slices.get(key) ?? new Map();
      this.slices.set(key, slice.set(taskIdOf(task), task));
    }
  }

  async due(slices: readonly Slice[], before: number): Promise<DueTask[]> {
    this.enter();
    return slices
      .flatMap((slice) => [...(this.slices.get(keyOf(slice))?.values() ?? [])])
      .filter((task) => task.dueAt < before)
      .sort((a, b) => a.dueAt - b.dueAt);
  }

  async remove(tasks: readonly DueTask[]): Promise<void> {
    this.enter();
    for (const task of tasks) this.slices.get(keyOf(sliceOf(task)))?.delete(taskIdOf(task));
  }

  async unfilled(buckets: readonly number[]): Promise<number[]> {
    this.enter();
    return buckets.filter((bucket) => this.fills.get(bucket) !== 'complete');
  }

  async beginFill(buckets: readonly number[], token: string): Promise<void> {
    this.enter();
    for (const bucket of buckets) this.fills.set(bucket, token);
  }

  async endFill(buckets: readonly number[], token: string): Promise<boolean[]> {
    this.enter();
    return buckets.map((bucket) => {
      if (this.fills.get(bucket) !== token) return false;
      this.fills.set(bucket, 'complete');
      return true;
    });
  }

  async acquire(slices: readonly Slice[], owner: string, leaseMs: number): Promise<AcquireOutcome[]> {
    this.enter();
    return slices.map((slice) => {
      const lock = this.locks.get(keyOf(slice));
      if (lock?.done) return { outcome: 'done' };
      if (lock?.owner && lock.owner !== owner && lock.until > this.now()) return { outcome: 'held' };
      const epoch = lock?.owner === owner ? lock.epoch : (lock?.epoch ?? 0) + 1;
      this.locks.set(keyOf(slice), { owner, epoch, until: this.now() + leaseMs, done: false });
      return { outcome: 'claimed', claim: { bucket: slice.bucket, minute: slice.minute, epoch } };
    });
  }

  async renew(claims: readonly SliceClaim[], owner: string, leaseMs: number): Promise<boolean[]> {
    this.enter();
    return claims.map((claim) => this.whenOurs(claim, owner, (lock) => (lock.until = this.now() + leaseMs)));
  }

  async close(claims: readonly SliceClaim[], owner: string): Promise<boolean[]> {
    this.enter();
    return claims.map((claim) => this.whenOurs(claim, owner, (lock) => (lock.done = true)));
  }

  async release(claims: readonly SliceClaim[], owner: string): Promise<void> {
    this.enter();
    for (const claim of claims) this.whenOurs(claim, owner, (lock) => (lock.owner = null));
  }

  async time(): Promise<number> {
    this.enter();
    return this.now();
  }

  /** A lease that lapsed but that nobody took is the owner's still. */
  private whenOurs(claim: SliceClaim, owner: string, act: (lock: Lock) => void): boolean {
    const lock = this.locks.get(keyOf(claim));
    if (lock?.owner !== owner || lock.epoch !== claim.epoch || lock.done) return false;
    act(lock);
    return true;
  }

  private enter(): void {
    if (this.away) throw new StoreUnavailableError('fake', 'away');
  }
}
