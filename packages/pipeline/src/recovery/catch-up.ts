import type { Events } from '../events.js';
import type { Clock } from '../lifecycle/clock.js';
import { firesBetween, firstFireAfter, runsLeft } from '../migrator/plan.js';
import { TimerStatus } from '../status.js';
import type { TaskStore, TimerStore } from '../timer/ports.js';
import type { DueTask } from '../timer/task.js';
import type { Timer } from '../timer/timer.js';
import { decideMisfire } from './misfire.js';

export interface CatchUpPorts {
  timers: Pick<TimerStore, 'find' | 'advance'>;
  tasks: Pick<TaskStore, 'overdue' | 'misfire'>;
  clock: Clock;
  events: Events;
  /** Puts tasks into the sorted sets and, as they are due, to the executor. */
  place: (tasks: readonly DueTask[]) => Promise<void>;
}

export interface CatchUpOptions {
  /** Catch-up runs start this far apart on a node, ms: after an outage the targets have caught enough already. */
  paceMs: number;
  /** Missed slots looked at, the oldest first: more than eleven days of a slot every second. What is beyond is left out uncounted. */
  slotLimit: number;
}

export const defaultCatchUpOptions: CatchUpOptions = { paceMs: 20, slotLimit: 1_000_000 };

/**
 * Catch-up: decides, timer by timer, what becomes of slots that were missed by more than the timer's grace.
 *
 * Promises   slots missed run or are counted in one skipped row, as the timer's misfire rule says; nothing that
 *            is due in the future is touched; runs are paced.
 * Leans on   rows that have not run (also those planned before the outage) and `nextFireAt` (slots that nobody
 *            got round to planning); both move by compare-and-set.
 * If we die  before the rows are written nothing has happened; after it `nextFireAt` may stay behind: the next
 *            settling finds the same slots, and rows that exist stay as they are.
 */
export class CatchUp {
  private readonly underWay = new Map<number, Promise<void>>();
  private nextStart = 0;

  constructor(
    private readonly ports: CatchUpPorts,
    private readonly options: CatchUpOptions = defaultCatchUpOptions,
  ) {}

  /** Settles a timer's missed slots from `since` on. While one settling is under way others wait for it. */
  settle(timerId: number, since: number): Promise<void> {
    const running = this.underWay.get(timerId);
    if (running) return running;
    const settling = this.settleOnce(timerId, since).finally(() => this.underWay.delete(timerId));
    this.underWay.set(timerId, settling);
    return settling;
  }

  private async settleOnce(timerId: number, since: number): Promise<void> {
    const { clock, events, place, tasks, timers } = this.ports;
    const timer = await timers.find(timerId, null);
    if (!timer || timer.status !== TimerStatus.active) return;
    const now = Math.floor(clock.now());
    const planned = (await tasks.overdue(timerId, since, now, this.options.slotLimit)).map((task) => task.runTimer);
    const unplanned = this.unplannedSlots(timer, now);
    const decision = decideMisfire(timer.policies.misfire, [...planned, ...unplanned]);
    const skipped = (slot: number) => decision.skip !== null && slot <= decision.skip.until;
    const waiting = await tasks.misfire({
      timerId,
      app: timer.app,
      bucket: timer.bucket,
      version: timer.version,
      keep: decision.keep.map((runTimer) => ({ runTimer, dueAt: this.nextStartAt(now) })),
      skip: decision.skip,
      unplanned: unplanned.filter(skipped).length,
      now,
    });
    if (unplanned.length > 0) await this.moveOn(timer, unplanned, now);
    events.emit('timer.caughtUp', { timerId, kept: decision.keep.length, skipped: decision.skippedCount });
    await place(waiting);
  }

  /** Slots before now that have no row: the migrator was down as well. */
  private unplannedSlots(timer: Timer, now: number): number[] {
    if (timer.nextFireAt === null || timer.nextFireAt >= now) return [];
    const slots: number[] = [];
    const most = Math.min(this.options.slotLimit, runsLeft(timer));
    let from = timer.nextFireAt;
    while (slots.length < most) {
      const more = firesBetween(timer, from, now, most - slots.length);
      if (more.length === 0) break;
      slots.push(...more);
      from = more.at(-1)! + 1;
    }
    return slots;
  }

  private async moveOn(timer: Timer, unplanned: readonly number[], now: number): Promise<void> {
    const planned = timer.plannedRuns + unplanned.length;
    await this.ports.timers.advance([
      {
        timerId: timer.timerId,
        version: timer.version,
        from: timer.nextFireAt,
        to: firstFireAfter({ ...timer, plannedRuns: planned }, now),
        planned: unplanned.length,
      },
    ]);
  }

  private nextStartAt(now: number): number {
    this.nextStart = Math.max(now, this.nextStart + this.options.paceMs);
    return this.nextStart;
  }
}
