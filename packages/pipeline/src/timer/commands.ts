import type { CancelOutcome, HistoryQuery } from './ports.js';
import type { Task, TaskRef } from './task.js';
import type { NotifyHttpParam, Timer, TimerPolicies, TimerSchedule } from './timer.js';

/** A validated timer definition, defaults filled in. */
export interface NewTimer extends TimerSchedule {
  app: string;
  name: string;
  description: string;
  notifyHttpParam: NotifyHttpParam;
  policies: TimerPolicies;
  enable: boolean;
}

/** Fields to change; absent ones stay. Policies are merged one by one. */
export type TimerChanges = Partial<Omit<NewTimer, 'app' | 'enable' | 'policies'>> & {
  policies?: Partial<TimerPolicies>;
  enable?: boolean;
};

export type TaskFilter = Omit<HistoryQuery, 'before' | 'limit'>;
export type ReplayOutcome = 'accepted' | 'notRetryable' | 'notFound';

export interface MatchCount {
  matched: number;
  accepted: number;
}

/**
 * What users do to timers and tasks. `app: null` is an admin who may touch any app's.
 * Rejects with `CommandError`; `by` is recorded as who did it.
 */
export interface TimerCommands {
  create(input: NewTimer, by: string): Promise<Timer>;
  enable(app: string | null, timerId: number, by: string): Promise<Timer>;
  pause(app: string | null, timerId: number, by: string): Promise<Timer>;
  update(app: string | null, timerId: number, changes: TimerChanges, by: string): Promise<Timer>;
  delete(app: string | null, timerId: number, by: string): Promise<void>;
  /** Runs the timer once now; `body` replaces its body for this run. */
  runNow(app: string | null, timerId: number, body: string | null, by: string): Promise<TaskRef>;
  cancel(app: string | null, refs: readonly TaskRef[], by: string): Promise<CancelOutcome[]>;
  /** Runs the past slots of `[startTime, endTime)` that have no row, paced. */
  backfill(
    app: string | null,
    timerId: number,
    startTime: number,
    endTime: number,
    by: string,
  ): Promise<{ created: number; existing: number }>;
  /** Runs ended tasks once more, each the same task with the same key. `ratePerSecond: null`: at once. */
  replay(
    app: string | null,
    refs: readonly TaskRef[],
    ratePerSecond: number | null,
    by: string,
  ): Promise<ReplayOutcome[]>;
  /** The same for all that match; failed ones unless the filter names a status. `ratePerSecond: null`: the default pace. */
  replayMatching(filter: TaskFilter, ratePerSecond: number | null, by: string): Promise<MatchCount>;
  /** Cancels all waiting tasks that match. */
  cancelMatching(filter: TaskFilter, by: string): Promise<MatchCount>;
  /** `null`: unknown or of another app. */
  findTask(app: string | null, ref: TaskRef): Promise<Task | null>;
}
