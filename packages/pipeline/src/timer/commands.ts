import type { CancelOutcome } from './ports.js';
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
  /** `null`: unknown or of another app. */
  findTask(app: string | null, ref: TaskRef): Promise<Task | null>;
}
