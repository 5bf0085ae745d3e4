import { MINUTE_MS, minuteOf } from '../buckets/buckets.js';
import type { SliceClaim, SliceLocks } from '../buckets/ports.js';
import type { Events } from '../events.js';
import type { Clock } from '../lifecycle/clock.js';
import type { Membership } from '../lifecycle/membership.js';
import type { TaskStore } from '../timer/ports.js';
import type { DueTask } from '../timer/task.js';
import { type SliceTiming, sliceKey, wantedSlices } from './slices.js';

export interface SchedulerPorts {
  locks: SliceLocks;
  tasks: TaskStore;
  membership: Pick<Membership, 'buckets'>;
  clock: Clock;
  events: Events;
  /** Where replayed tasks go: the executor. */
  submit: (tasks: readonly DueTask[]) => void;
}

export interface SchedulerOptions extends SliceTiming {
  nodeId: string;
  bucketsNum: number;
  /** A dead owner's slices are free after this, ms; with a pass every half second others have them within 3 s. */
  leaseMs: number;
  /** A minute is checked against the database this long after its end, ms. */
  closeAfterMs: number;
  /** How far ahead replays look, ms. */
  readAheadMs: number;
  pageSize: number;
}

export const defaultSchedulerOptions = {
  aheadMs: 3_000,
  graceMs: 1_500,
  leaseMs: 2_000,
  closeAfterMs: 1_500,
  readAheadMs: 2_000,
  pageSize: 1_000,
};

/**
 * Scheduler: takes the lock of each (minute, bucket), and answers for the minute until it is complete.
 *
 * Promises   a slice is walked by one owner at a time while the lock store is well; a minute counts as done only
 *            when the database holds no task of it that has not run; a bucket that changes hands is replayed
 *            from where it was last proven complete.
 * Leans on   the executor's claim: two owners at once (a lost lease, a dead lock store) double nothing.
 * If we die  our locks lapse within `leaseMs`, somebody else takes and replays them.
 */
export class Scheduler {
  private readonly claims = new Map<string, SliceClaim>();
  /** Slices known to be done, so that we don't ask again. */
  private done = new Set<string>();
  /** Slices we gave to another node, and when: for the grace we don't step in for it. */
  private readonly given = new Map<string, number>();
  /** Our buckets at the last pass. */
  private own = new Set<number>();
  /**
   * Buckets whose past we have read from the database and followed without a gap since, each with the moment up to
   * where it is proven complete.
   */
  private readonly followed = new Map<number, number>();

  constructor(
    private readonly ports: SchedulerPorts,
    private readonly options: SchedulerOptions,
  ) {}

  /** The slices this node holds now. */
  held(): SliceClaim[] {
    return [...this.claims.values()];
  }

  async pass(): Promise<void> {
    await this.renew();
    await this.giveToNewcomers();
    await this.take();
    await this.replayNewBuckets();
    await this.closeComplete();
  }

  /** Hands everything over at once: a clean stop. */
  async release(): Promise<void> {
    const claims = this.held();
    this.claims.clear();
    await this.ports.locks.release(claims, this.options.nodeId);
  }

  private async renew(): Promise<void> {
    const claims = this.held();
    if (claims.length === 0) return;
    const kept = await this.ports.locks.renew(claims, this.options.nodeId, this.options.leaseMs);
    claims.forEach((claim, i) => {
      if (!kept[i]) this.drop(claim);
    });
  }

  /** When buckets move to another node, their slices go over at once, not with the next minute. */
  private async giveToNewcomers(): Promise<void> {
    const own = new Set(this.ports.membership.buckets());
    const moved = this.held().filter((claim) => this.own.has(claim.bucket) && !own.has(claim.bucket));
    this.own = own;
    for (const claim of moved) {
      this.claims.delete(sliceKey(claim));
      this.given.set(sliceKey(claim), this.ports.clock.now());
    }
    if (moved.length > 0) await this.ports.locks.release(moved, this.options.nodeId);
  }

  private async take(): Promise<void> {
    const { clock, events, locks, membership } = this.ports;
    const now = clock.now();
    for (const [key, at] of this.given) if (now >= at + this.options.graceMs) this.given.delete(key);
    const known = (key: string) => this.claims.has(key) || this.done.has(key) || this.given.has(key);
    const wanted = wantedSlices(now, membership.buckets(), this.options.bucketsNum, this.options).filter(
      (slice) => !known(sliceKey(slice)),
    );
    const oldest = minuteOf(now) - MINUTE_MS;
    this.done = new Set([...this.done].filter((key) => Number(key.split(':')[1]) >= oldest));
    if (wanted.length === 0) return;

    const outcomes = await locks.acquire(wanted, this.options.nodeId, this.options.leaseMs);
    outcomes.forEach((answer, i) => {
      const key = sliceKey(wanted[i]!);
      if (answer.outcome === 'claimed') {
        this.claims.set(key, answer.claim);
        events.emit('slice.claimed', answer.claim);
      } else if (answer.outcome === 'done') this.done.add(key);
    });
  }

  /** Reads what a bucket's past owners may have left, once, when its slices become ours. */
  private async replayNewBuckets(): Promise<void> {
    const { clock, tasks } = this.ports;
    const now = clock.now();
    const held = new Set(this.held().map((claim) => claim.bucket));
    for (const bucket of this.followed.keys()) if (!held.has(bucket)) this.followed.delete(bucket);
    const fresh = [...held].filter((bucket) => !this.followed.has(bucket));
    if (fresh.length === 0) return;
    const complete = await tasks.completeUntil(fresh);
    const completeUntil = (bucket: number) => Math.min(complete.get(bucket) ?? 0, minuteOf(now) - MINUTE_MS);
    for (const [from, buckets] of groupBy(fresh, completeUntil)) {
      await this.readAndSubmit(buckets, from, now + this.options.readAheadMs);
      for (const bucket of buckets) this.followed.set(bucket, from);
    }
  }

  /**
   * At the end of a minute the database says whether it is complete; what is left goes to the executor again, also
   * of older minutes that another node may still hold, or have died with: the mark never moves over them.
   */
  private async closeComplete(): Promise<void> {
    const { clock, events, locks, tasks } = this.ports;
    const now = clock.now();
    const ended = this.held().filter((claim) => now >= claim.minute + MINUTE_MS + this.options.closeAfterMs);
    const complete: SliceClaim[] = [];
    const clean = new Set<SliceClaim>();
    for (const [minute, claims] of groupBy(ended, (claim) => claim.minute)) {
      const followedFrom = (claim: SliceClaim) => Math.min(this.followed.get(claim.bucket) ?? minute, minute);
      for (const [from, group] of groupBy(claims, followedFrom)) {
        const buckets = group.map((claim) => claim.bucket);
        const latestLeft = await this.readAndSubmit(buckets, from, minute + MINUTE_MS);
        for (const claim of group) {
          const latest = latestLeft.get(claim.bucket);
          if (latest === undefined) clean.add(claim);
          if (latest === undefined || latest < minute) complete.push(claim);
        }
      }
    }
    if (complete.length === 0) return;
    const closed = await locks.close(complete, this.options.nodeId);
    const progress = new Map<number, number>();
    for (const [i, claim] of complete.entries()) {
      if (!closed[i]) {
        this.drop(claim);
        continue;
      }
      this.claims.delete(sliceKey(claim));
      this.done.add(sliceKey(claim));
      if (this.followed.has(claim.bucket) && clean.has(claim) && !this.hasOlder(claim)) {
        progress.set(claim.bucket, Math.max(progress.get(claim.bucket) ?? 0, claim.minute + MINUTE_MS));
      }
      events.emit('slice.closed', claim);
    }
    if (progress.size === 0) return;
    await tasks.setCompleteUntil(progress);
    for (const [bucket, until] of progress) this.followed.set(bucket, until);
  }

  private hasOlder(claim: SliceClaim): boolean {
    return this.held().some((other) => other.bucket === claim.bucket && other.minute < claim.minute);
  }

  /** Resolves to the buckets in which something was found, each with its latest `dueAt`. */
  private async readAndSubmit(buckets: number[], from: number, to: number): Promise<Map<number, number>> {
    const found = new Map<number, number>();
    let after: DueTask | null = null;
    for (;;) {
      const page: DueTask[] = await this.ports.tasks.notRun({ buckets, from, to, after, limit: this.options.pageSize });
      for (const task of page) found.set(task.bucket, Math.max(task.dueAt, found.get(task.bucket) ?? 0));
      this.ports.submit(page);
      if (page.length < this.options.pageSize) return found;
      after = page.at(-1)!;
    }
  }

  private drop(claim: SliceClaim): void {
    this.claims.delete(sliceKey(claim));
    this.followed.delete(claim.bucket);
    this.ports.events.emit('slice.lost', claim);
  }
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => number): Map<number, T[]> {
  const groups = new Map<number, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}
