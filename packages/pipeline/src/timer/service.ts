import { CommandError } from '../errors.js';
import type { Clock } from '../lifecycle/clock.js';
import type { Migrator } from '../migrator/migrator.js';
import { firesBetween, firstFireAfter, spreadOffset } from '../migrator/plan.js';
import { Reason, TaskOrigin, TaskStatus, TimerStatus } from '../status.js';
import type { NewTimer, ReplayOutcome, TaskFilter, TimerChanges, TimerCommands } from './commands.js';
import type { CancelOutcome, TaskStore, TimerStore } from './ports.js';
import { type DueTask, type Task, type TaskRef, taskIdOf } from './task.js';
import type { Timer } from './timer.js';

export interface TimerServicePorts {
  timers: TimerStore;
  tasks: TaskStore;
  buckets: { remove(tasks: readonly DueTask[]): Promise<void> };
  migrator: Pick<Migrator, 'planNow'>;
  clock: Clock;
  /** Puts tasks into the sorted sets and, as they are due, to the executor. */
  place: (tasks: readonly DueTask[]) => Promise<void>;
}

/** Slots due sooner than this are canceled before a pause or an edit is answered, ms. */
const NEAR_MS = 60_000;

export const defaultTimerServiceOptions = {
  /** At most one enabling or pausing of a timer in this time, ms (DESIGN section 7). */
  toggleEveryMs: 3_000,
  /** A new timer is expanded this far before the answer, ms; the migrator's next pass does the rest. */
  planAtOnceMs: 5 * 60_000,
  /** An answer waits this long for the cancellation of slots due later, ms; it goes on without it. */
  tidyWaitMs: 500,
  /** A claimed task leaves its node this long after its instant at the latest, ms, unless its host has no call free. */
  sentWithinMs: 25,
  /** Slots in one backfill (DESIGN, Settled details), and how many of them start in a second. */
  backfillSlots: 1_000,
  backfillPerSecond: 10,
  /** A replay by filter starts this many tasks a second unless the caller says otherwise. */
  replayPerSecond: 50,
  /** Tasks one call by filter touches at most. */
  matchLimit: 100_000,
};

/**
 * What users do to timers, with effect at once on every node.
 *
 * Promises   after the answer to a pause, an edit or a deletion nothing obsolete is sent any more; enabling and
 *            editing never make a past instant due.
 * Leans on   the timer row: its status and version are checked by every claim. Cancelling planned tasks
 *            afterwards is tidying, and the migrator plans what a crash left undone.
 */
export class TimerService implements TimerCommands {
  private tidying: Promise<void> = Promise.resolve();

  constructor(
    private readonly ports: TimerServicePorts,
    private readonly options = defaultTimerServiceOptions,
  ) {}

  async create(input: NewTimer, by: string): Promise<Timer> {
    const { clock, migrator, timers } = this.ports;
    const now = clock.now();
    const { enable, ...definition } = input;
    // With a spread the id decides the first fire, and is not known yet.
    const active = enable && input.policies.spreadMs === 0;
    const timer = await timers.create({
      ...definition,
      status: active ? TimerStatus.active : TimerStatus.inactive,
      statusReason: null,
      nextFireAt: active ? firstFireAfter({ ...input, timerId: 0, plannedRuns: 0 }, now) : null,
      plannedRuns: 0,
      toggledAt: null,
      createdAt: Math.floor(now),
      updatedAt: Math.floor(now),
      createdBy: by,
      updatedBy: by,
    });
    if (active) await migrator.planNow(timer, now + this.options.planAtOnceMs);
    else if (enable) return (await this.activate(timer, { updatedBy: by })) ?? timer;
    return timer;
  }

  async enable(app: string | null, timerId: number, by: string): Promise<Timer> {
    return this.changing(app, timerId, async (timer) => {
      if (timer.status === TimerStatus.active) return timer;
      const now = this.toggleAllowed(timer, 'enabled');
      return this.activate(timer, { toggledAt: now, updatedBy: by });
    });
  }

  async pause(app: string | null, timerId: number, by: string): Promise<Timer> {
    return this.changing(app, timerId, async (timer) => {
      if (timer.status === TimerStatus.inactive) return timer;
      const now = this.toggleAllowed(timer, 'paused');
      return this.deactivate(timer, { statusReason: null, toggledAt: now, ...this.stamp(by) });
    });
  }

  /** Pauses a timer for a reason of the platform's own, which stays on the timer until somebody enables it. */
  async pauseByPlatform(timerId: number, statusReason: string): Promise<void> {
    await this.changing(null, timerId, async (timer) => {
      if (timer.status === TimerStatus.inactive) return timer;
      return this.deactivate(timer, { statusReason, ...this.stamp('xtimer') });
    });
  }

  async update(app: string | null, timerId: number, changes: TimerChanges, by: string): Promise<Timer> {
    const { enable, policies, ...fields } = withoutUndefined(changes);
    let timer = await this.changing(app, timerId, async (timer) => {
      const edited = { ...timer, ...fields, policies: { ...timer.policies, ...withoutUndefined(policies ?? {}) } };
      if (scheduleOf(edited) === scheduleOf(timer)) {
        const saved = await this.ports.timers.save(
          timer,
          { ...fields, policies: edited.policies, ...this.stamp(by) },
          { obsoletesPlanned: false },
        );
        if (saved) await this.untilSent(timerId);
        return saved;
      }
      return this.reschedule(timer, edited, by);
    });
    if (enable === true) timer = await this.enable(app, timerId, by);
    if (enable === false) timer = await this.pause(app, timerId, by);
    return timer;
  }

  async delete(app: string | null, timerId: number, by: string): Promise<void> {
    await this.changing(app, timerId, async (timer) => {
      const deleted = await this.ports.timers.save(
        timer,
        { status: TimerStatus.deleted, nextFireAt: null, ...this.stamp(by) },
        { obsoletesPlanned: true },
      );
      if (deleted) await this.takeBack(deleted, null, Reason.deleted);
      return deleted;
    });
  }

  async runNow(app: string | null, timerId: number, body: string | null, _by: string): Promise<TaskRef> {
    const { clock, tasks } = this.ports;
    const timer = await this.find(app, timerId);
    const running = timer.policies.overlap === 'skip' ? await tasks.running(timerId) : null;
    if (running) {
      throw new CommandError(
        'CONFLICT',
        `task ${taskIdOf(running)} is still running and the timer says overlap: skip`,
        {
          field: 'timerId',
          value: timerId,
          expected: 'no running task of this timer, or overlap: queue or allow',
        },
      );
    }
    // A slot of the cron never lies on this millisecond, so the two can't be taken for one another.
    let runTimer = Math.floor(clock.now());
    const slotMs = spreadOffset(timerId, timer.policies.spreadMs) % 1000;
    while (runTimer % 1000 === slotMs || (await tasks.find({ timerId, runTimer }))) runTimer++;
    const task = {
      timerId,
      runTimer,
      app: timer.app,
      bucket: timer.bucket,
      version: timer.version,
      origin: TaskOrigin.manual,
      dueAt: runTimer,
      payload: body,
    };
    await tasks.plan([task]);
    await this.ports.place([task]);
    return { timerId, runTimer };
  }

  async backfill(app: string | null, timerId: number, startTime: number, endTime: number, _by: string) {
    const { clock, place, tasks } = this.ports;
    const timer = await this.find(app, timerId);
    const now = Math.floor(clock.now());
    if (endTime > now) {
      throw new CommandError('INVALID', `endTime ${endTime} is not past: slots to come are planned by themselves`, {
        field: 'endTime',
        value: endTime,
        expected: `at most ${now}, now`,
      });
    }
    const most = this.options.backfillSlots;
    const slots = firesBetween(timer, startTime, endTime, most + 1);
    if (slots.length > most) {
      throw new CommandError('INVALID', `the range holds more than ${most} slots: ask for a shorter one`, {
        field: 'endTime',
        value: endTime,
        expected: `at most ${most} slots in a call, so at most ${slots[most]}`,
      });
    }
    const refs = slots.map((runTimer) => ({ timerId, runTimer }));
    const existing = new Set((await tasks.existing(refs)).map((ref) => ref.runTimer));
    const missing = slots.filter((slot) => !existing.has(slot));
    const { app: owner, bucket, version } = timer;
    const created = missing.map((runTimer, i) => ({
      timerId,
      runTimer,
      app: owner,
      bucket,
      version,
      origin: TaskOrigin.backfill,
      dueAt: now + Math.round((i * 1000) / this.options.backfillPerSecond),
      payload: null,
    }));
    await tasks.plan(created);
    await place(created);
    return { created: created.length, existing: existing.size };
  }

  async replay(
    app: string | null,
    refs: readonly TaskRef[],
    ratePerSecond: number | null,
    _by: string,
  ): Promise<ReplayOutcome[]> {
    const known = new Map<string, Task>();
    for (const ref of refs) {
      const task = await this.findTask(app, ref);
      if (task) known.set(taskIdOf(ref), task);
    }
    const accepted = await this.replayPaced([...known.values()], 0, ratePerSecond);
    const changed = new Set(accepted.map(taskIdOf));
    return refs.map((ref) => {
      const id = taskIdOf(ref);
      // A second mention of the same task replays nothing more.
      if (changed.delete(id)) return 'accepted';
      return known.has(id) ? 'notRetryable' : 'notFound';
    });
  }

  async replayMatching(filter: TaskFilter, ratePerSecond: number | null, _by: string) {
    return this.eachMatching({ status: TaskStatus.failed, ...filter }, async (page, before) => {
      return (await this.replayPaced(page, before, ratePerSecond ?? this.options.replayPerSecond)).length;
    });
  }

  async cancelMatching(filter: TaskFilter, by: string) {
    return this.eachMatching({ status: TaskStatus.notRun, ...filter }, async (page) => {
      const outcomes = await this.cancel(filter.app, page, by);
      return outcomes.filter((outcome) => outcome === 'canceled').length;
    });
  }

  async cancel(app: string | null, refs: readonly TaskRef[], _by: string): Promise<CancelOutcome[]> {
    const outcomes: CancelOutcome[] = [];
    for (const ref of refs) {
      if (!(await this.findTask(app, ref))) {
        outcomes.push('notFound');
        continue;
      }
      const { outcome, task } = await this.ports.tasks.cancel(ref, Math.floor(this.ports.clock.now()));
      if (task) this.ports.buckets.remove([task]).catch(() => {});
      outcomes.push(outcome);
    }
    return outcomes;
  }

  async findTask(app: string | null, ref: TaskRef): Promise<Task | null> {
    const task = await this.ports.tasks.find(ref);
    return task && (app === null || task.app === app) ? task : null;
  }

  private async replayPaced(tasks: readonly TaskRef[], offset: number, ratePerSecond: number | null) {
    const now = Math.floor(this.ports.clock.now());
    const paced = tasks.map(({ timerId, runTimer }, i) => ({
      timerId,
      runTimer,
      dueAt: now + (ratePerSecond === null ? 0 : Math.round(((offset + i) * 1000) / ratePerSecond)),
    }));
    const waiting = await this.ports.tasks.replay(paced);
    await this.ports.place(waiting);
    return waiting;
  }

  /** Walks the tasks that match, newest first, a page at a time. */
  private async eachMatching(
    filter: TaskFilter,
    act: (page: Task[], before: number) => Promise<number>,
  ): Promise<{ matched: number; accepted: number }> {
    const total = { matched: 0, accepted: 0 };
    let before: TaskRef | null = null;
    while (total.matched < this.options.matchLimit) {
      const page: Task[] = await this.ports.tasks.history({ ...filter, before, limit: 500 });
      total.accepted += await act(page, total.matched);
      total.matched += page.length;
      if (page.length < 500) break;
      before = page.at(-1)!;
    }
    return total;
  }

  /** Makes the timer active and plans from now on: a slot that passed before is not due. */
  private async activate(timer: Timer, changes: { toggledAt?: number; updatedBy: string }): Promise<Timer | null> {
    const { clock, migrator, timers } = this.ports;
    const now = clock.now();
    const active = await timers.save(
      timer,
      {
        ...changes,
        status: TimerStatus.active,
        statusReason: null,
        nextFireAt: firstFireAfter(timer, now),
        updatedAt: Math.floor(now),
      },
      { obsoletesPlanned: true },
    );
    if (active) await migrator.planNow(active, now + this.options.planAtOnceMs);
    return active;
  }

  private async deactivate(timer: Timer, changes: Partial<Timer>): Promise<Timer | null> {
    const paused = await this.ports.timers.save(
      timer,
      { ...changes, status: TimerStatus.inactive, nextFireAt: null },
      { obsoletesPlanned: true },
    );
    if (!paused) return null;
    const counted = await this.giveRunsBack(paused, null);
    await this.takeBack(paused, null, Reason.paused);
    return counted;
  }

  /**
   * Planned slots that can't run any more count towards `maxRuns` no longer, and the first fire is set accordingly.
   * Called once the version has moved on: from then on none of them starts.
   */
  private async giveRunsBack(timer: Timer, nextFireFrom: number | null): Promise<Timer> {
    const { clock, tasks, timers } = this.ports;
    let current = timer;
    for (;;) {
      const planned = await tasks.countPlanned(timer.timerId, Math.floor(clock.now()));
      const plannedRuns = current.plannedRuns - planned;
      const nextFireAt = nextFireFrom === null ? null : firstFireAfter({ ...current, plannedRuns }, nextFireFrom);
      if (plannedRuns === current.plannedRuns && nextFireAt === current.nextFireAt) return current;
      const saved = await timers.save(current, { plannedRuns, nextFireAt }, { obsoletesPlanned: false });
      if (saved) return saved;
      const found = await timers.find(timer.timerId, null);
      // Somebody who moved the version on gives the runs back himself.
      if (found?.version !== timer.version) return current;
      current = found;
    }
  }

  /** The edited schedule from now on; slots that stay keep their tasks, the others are canceled. */
  private async reschedule(timer: Timer, edited: Timer, by: string): Promise<Timer | null> {
    const { clock, migrator, timers } = this.ports;
    const { cron, cronDialect, timezone, startAt, endAt, maxRuns, name, description, notifyHttpParam, policies } =
      edited;
    const now = clock.now();
    const active = timer.status === TimerStatus.active;
    // Where runs are counted, the planned ones are given back before the first fire can be known.
    const counted = timer.maxRuns !== null || maxRuns !== null;
    const nextFireAt = active && !counted ? firstFireAfter(edited, now) : null;
    let saved = await timers.save(
      timer,
      {
        cron,
        cronDialect,
        timezone,
        startAt,
        endAt,
        maxRuns,
        name,
        description,
        notifyHttpParam,
        policies,
        nextFireAt,
        ...this.stamp(by),
      },
      { obsoletesPlanned: true },
    );
    if (!saved) return null;
    if (counted) saved = await this.giveRunsBack(saved, active ? now : null);
    await migrator.planNow(saved);
    await this.takeBack(saved, saved.version, Reason.edited);
    return saved;
  }

  /**
   * Cancels what was planned and is no longer wanted. Tasks already claimed (a moment before they are due) can't
   * be taken back: the answer waits until they are sent, so that nothing is sent after it.
   */
  private async takeBack(timer: Timer, beforeVersion: number | null, reason: Reason): Promise<void> {
    const { buckets, clock, tasks } = this.ports;
    const now = Math.floor(clock.now());
    const options = { withRetries: reason !== Reason.edited, reason, now };
    const near = await tasks.cancelPlanned(timer.timerId, { ...options, beforeVersion, before: now + NEAR_MS });
    buckets.remove(near).catch(() => {});
    const later = this.tidyLater(timer.timerId, { ...options, beforeVersion: beforeVersion ?? timer.version });
    await Promise.race([later, clock.sleepUntil(now + this.options.tidyWaitMs)]);
    await this.untilSent(timer.timerId);
  }

  /** Waits for what was claimed, with the timer as it was, a moment before it is due. */
  private async untilSent(timerId: number): Promise<void> {
    const { clock, tasks } = this.ports;
    const claimedUntil = await tasks.claimedAhead(timerId, Math.floor(clock.now()));
    if (claimedUntil !== null) await clock.sleepUntil(claimedUntil + this.options.sentWithinMs);
  }

  /**
   * The thousands of slots of a busy timer that are due later: one timer at a time, so that pausing hundreds at once does
   * not stop the database. No claim takes them meanwhile; what a crash leaves is canceled when it is due.
   */
  private tidyLater(timerId: number, options: Parameters<TaskStore['cancelPlanned']>[1]): Promise<void> {
    const { buckets, tasks } = this.ports;
    this.tidying = this.tidying.then(async () => {
      try {
        await buckets.remove(await tasks.cancelPlanned(timerId, options));
      } catch {
        // As after a crash.
      }
    });
    return this.tidying;
  }

  private toggleAllowed(timer: Timer, what: string): number {
    const now = Math.floor(this.ports.clock.now());
    const wait = timer.toggledAt === null ? 0 : timer.toggledAt + this.options.toggleEveryMs - now;
    if (wait > 0) {
      throw new CommandError(
        'TOO_MANY_CHANGES',
        `timer ${timer.timerId} was enabled or paused less than ${this.options.toggleEveryMs / 1000} s ago: it can be ${what} in ${wait} ms`,
        {
          field: 'timerId',
          value: timer.timerId,
          expected: `at most one change in ${this.options.toggleEveryMs / 1000} s`,
        },
      );
    }
    return now;
  }

  /** Reads, changes by compare-and-set, and starts over when somebody was faster. */
  private async changing(
    app: string | null,
    timerId: number,
    change: (timer: Timer) => Promise<Timer | null>,
  ): Promise<Timer> {
    for (let attempt = 0; attempt < 10; attempt++) {
      const changed = await change(await this.find(app, timerId));
      if (changed) return changed;
    }
    throw new CommandError('CONFLICT', `timer ${timerId} is being changed by others all the time: try again`, {
      field: 'timerId',
      value: timerId,
    });
  }

  private async find(app: string | null, timerId: number): Promise<Timer> {
    const timer = await this.ports.timers.find(timerId, app);
    if (timer) return timer;
    const where = app === null ? '' : ` in app "${app}"`;
    throw new CommandError('NOT_FOUND', `there is no timer ${timerId}${where}`, { field: 'timerId', value: timerId });
  }

  private stamp(by: string): { updatedAt: number; updatedBy: string } {
    return { updatedAt: Math.floor(this.ports.clock.now()), updatedBy: by };
  }
}

/** What decides the fires, as one comparable text. */
function scheduleOf(timer: Timer): string {
  const { cron, cronDialect, timezone, startAt, endAt, maxRuns, policies } = timer;
  return JSON.stringify([cron, cronDialect, timezone, startAt, endAt, maxRuns, policies.dst, policies.spreadMs]);
}

function withoutUndefined<T extends object>(changes: T): T {
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)) as T;
}
