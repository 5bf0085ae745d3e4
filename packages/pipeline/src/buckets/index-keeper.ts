import { randomUUID } from 'node:crypto';
import { StoreUnavailableError } from '../errors.js';
import type { Events } from '../events.js';
import type { Clock } from '../lifecycle/clock.js';
import type { Membership } from '../lifecycle/membership.js';
import type { TaskStore } from '../timer/ports.js';
import type { DueTask } from '../timer/task.js';
import { MINUTE_MS } from './buckets.js';
import type { TimeBuckets } from './ports.js';

export interface IndexKeeperPorts {
  buckets: TimeBuckets;
  tasks: Pick<TaskStore, 'notRun'>;
  membership: Pick<Membership, 'buckets'>;
  clock: Clock;
  events: Events;
}

/**
 * Keeps the index worth reading: notices when the sorted sets were emptied, replaced or out of reach, and
 * fills the buckets of this node from the database again.
 *
 * Promises   a bucket that lost something is filled again by whoever looks after it, the nearest tasks first.
 * Leans on   one mark a bucket, which vanishes with the bucket's content and is set only after a whole filling.
 * If we die  the mark is not set, and the bucket's next owner fills it.
 */
export class IndexKeeper {
  private down = false;
  private filling: Promise<void> | null = null;
  /** Buckets an addition failed for. */
  private readonly incomplete = new Set<number>();

  constructor(
    private readonly ports: IndexKeeperPorts,
    private readonly options: {
      /** Up to where the bucket is expanded now; what is due later waits in the database. */
      horizonOf: (bucket: number) => number;
      pageSize: number;
    },
  ) {}

  isDown(): boolean {
    return this.down;
  }

  /** Adds tasks; when the store is away they are found in the database, and their buckets are filled again later. */
  async add(tasks: readonly DueTask[]): Promise<void> {
    const near = tasks.filter((task) => task.dueAt < this.options.horizonOf(task.bucket));
    if (near.length === 0) return;
    try {
      await this.ports.buckets.add(near);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      for (const task of near) this.incomplete.add(task.bucket);
    }
  }

  /** Takes tasks out, as well as it can: what stays is refused by the claim and expires. */
  async remove(tasks: readonly DueTask[]): Promise<void> {
    await this.ports.buckets.remove(tasks).catch(() => {});
  }

  /** Says that the store did not answer. */
  failed(): void {
    if (!this.down) this.ports.events.emit('index.down', { down: true });
    this.down = true;
  }

  /**
   * Looks at the marks and begins to fill what is missing. Resolves to `false` while tasks must be read from the
   * database: the store is out of reach, or buckets of ours are being filled, which takes its time.
   */
  async check(): Promise<boolean> {
    const { buckets, events, membership } = this.ports;
    try {
      if (this.incomplete.size > 0) {
        // Whoever looks after these buckets, us or another node, sees that they need filling.
        const begun = [...this.incomplete];
        await buckets.beginFill(begun, randomUUID());
        for (const bucket of begun) this.incomplete.delete(bucket);
      }
      const unfilled = await buckets.unfilled(membership.buckets());
      if (this.down) events.emit('index.down', { down: false });
      this.down = false;
      if (unfilled.length === 0) return true;
      this.filling ??= this.fill(unfilled)
        .catch((error) => events.emit('stage.failed', { stage: 'index', error }))
        .finally(() => {
          this.filling = null;
        });
      return false;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      this.failed();
      return false;
    }
  }

  private async fill(unfilled: number[]): Promise<void> {
    const { buckets, clock, events, tasks } = this.ports;
    const startedAt = clock.now();
    const token = randomUUID();
    await buckets.beginFill(unfilled, token);
    let count = 0;
    let after: DueTask | null = null;
    for (;;) {
      const page: DueTask[] = await tasks.notRun({
        buckets: unfilled,
        from: startedAt - 2 * MINUTE_MS,
        to: Math.max(...unfilled.map(this.options.horizonOf)),
        after,
        limit: this.options.pageSize,
      });
      await buckets.add(page.filter((task) => task.dueAt < this.options.horizonOf(task.bucket)));
      count += page.length;
      if (page.length < this.options.pageSize) break;
      after = page.at(-1)!;
    }
    await buckets.endFill(unfilled, token);
    events.emit('index.filled', { buckets: unfilled, tasks: count, tookMs: clock.now() - startedAt });
  }
}
