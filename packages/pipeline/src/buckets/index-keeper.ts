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
 * Promises   after a loss each node refills its own buckets once, the nearest tasks first.
 * Leans on   the mark, a random name in the store that vanishes with its content.
 * If we die  the bucket's next owner finds what is missing in the database: when it takes the bucket over,
 *            in the sweep, and at the end of each minute.
 */
export class IndexKeeper {
  private known: string | null = null;
  private down = false;
  /** An addition failed, or the store was away: something may be missing. */
  private incomplete = false;

  constructor(
    private readonly ports: IndexKeeperPorts,
    private readonly options: { horizonMs: number; pageSize: number },
  ) {}

  isDown(): boolean {
    return this.down;
  }

  /** Adds tasks; when the store is away they are found in the database, and the index is filled again later. */
  async add(tasks: readonly DueTask[]): Promise<void> {
    if (tasks.length === 0) return;
    try {
      await this.ports.buckets.add(tasks);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      this.incomplete = true;
    }
  }

  /** Says that the store did not answer. */
  failed(): void {
    this.incomplete = true;
    if (!this.down) this.ports.events.emit('index.down', { down: true });
    this.down = true;
  }

  /** Looks at the mark and refills when it must. Resolves to `false` while the store is out of reach. */
  async check(): Promise<boolean> {
    const { buckets, events } = this.ports;
    let mark: string;
    try {
      mark = (await buckets.mark()) ?? (await buckets.setMark(randomUUID(), null));
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      this.failed();
      return false;
    }
    if (this.down) events.emit('index.down', { down: false });
    this.down = false;
    if (mark !== this.known) await this.refill('emptied');
    else if (this.incomplete) await this.refill('reconnected');
    this.known = mark;
    return true;
  }

  private async refill(reason: 'emptied' | 'reconnected'): Promise<void> {
    const { buckets, clock, events, membership, tasks } = this.ports;
    const startedAt = clock.now();
    this.incomplete = false;
    const own = membership.buckets();
    let count = 0;
    let after: DueTask | null = null;
    while (own.length > 0) {
      const page: DueTask[] = await tasks.notRun({
        buckets: own,
        from: startedAt - 2 * MINUTE_MS,
        to: startedAt + this.options.horizonMs,
        after,
        limit: this.options.pageSize,
      });
      await buckets.add(page);
      count += page.length;
      if (page.length < this.options.pageSize) break;
      after = page.at(-1)!;
    }
    events.emit('index.rebuilt', { reason, tasks: count, tookMs: clock.now() - startedAt });
  }
}
