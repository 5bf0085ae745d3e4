import type { Slice } from '../buckets/buckets.js';
import type { IndexKeeper } from '../buckets/index-keeper.js';
import type { TimeBuckets } from '../buckets/ports.js';
import { StoreUnavailableError } from '../errors.js';
import type { Clock } from '../lifecycle/clock.js';
import type { Membership } from '../lifecycle/membership.js';
import type { TaskStore } from '../timer/ports.js';
import type { DueTask } from '../timer/task.js';

export interface TriggerPorts {
  buckets: TimeBuckets;
  index: IndexKeeper;
  tasks: Pick<TaskStore, 'notRun'>;
  membership: Pick<Membership, 'buckets'>;
  clock: Clock;
  /** The slices this node holds. */
  held: () => readonly Slice[];
  /** Where due tasks go: the executor, which releases each at its own millisecond. */
  submit: (tasks: readonly DueTask[]) => void;
}

export interface TriggerOptions {
  /** Each pass reads up to this far ahead, ms: more than the beat of a second, so that a late pass makes nothing late. */
  readAheadMs: number;
  /** The sweep looks for tasks overdue by at least this, ms: younger ones are on their way. */
  sweepDelayMs: number;
  /** How far back the sweep and the database reading look, ms. Older tasks are found at the end of their minute. */
  lookBackMs: number;
  sweepEveryMs: number;
  pageSize: number;
}

export const defaultTriggerOptions: TriggerOptions = {
  readAheadMs: 2_000,
  sweepDelayMs: 1_000,
  lookBackMs: 15_000,
  sweepEveryMs: 3_000,
  pageSize: 1_000,
};

/**
 * Trigger: once a second reads the coming slice of the sorted sets and hands each due task to the executor.
 *
 * Promises   every task of a held slice is handed over before it is due, also when it was added late; while the
 *            sorted sets are out of reach or being filled tasks are read from the database.
 * Leans on   the executor: it knows what it was given already, waits for each task's millisecond, and its claim
 *            turns away what was called. So tasks may be handed over again and again until they are claimed.
 * If we die  whoever takes the slice's lock reads the same members.
 */
export class Trigger {
  private lastSweep = 0;

  constructor(
    private readonly ports: TriggerPorts,
    private readonly options: TriggerOptions = defaultTriggerOptions,
  ) {}

  async pass(): Promise<void> {
    const { clock, index } = this.ports;
    const now = clock.now();
    const complete = await index.check();
    const read = !index.isDown() && (await this.readSlices(now + this.options.readAheadMs));
    if (complete && read) {
      // Members that never reached the sorted sets are found in the database within a few seconds.
      if (now - this.lastSweep >= this.options.sweepEveryMs) {
        this.lastSweep = now;
        await this.readDatabase(now - this.options.lookBackMs, now - this.options.sweepDelayMs);
      }
    } else await this.readDatabase(now - this.options.lookBackMs, now + this.options.readAheadMs);
  }

  /** `false`: the sorted sets did not answer. */
  private async readSlices(before: number): Promise<boolean> {
    try {
      this.ports.submit(await this.ports.buckets.due(this.ports.held(), before));
      return true;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      this.ports.index.failed();
      return false;
    }
  }

  private async readDatabase(from: number, to: number): Promise<void> {
    const buckets = this.ports.membership.buckets();
    if (buckets.length === 0) return;
    let after: DueTask | null = null;
    for (;;) {
      const page: DueTask[] = await this.ports.tasks.notRun({
        buckets,
        from,
        to,
        after,
        limit: this.options.pageSize,
      });
      this.ports.submit(page);
      if (page.length < this.options.pageSize) return;
      after = page.at(-1)!;
    }
  }
}
