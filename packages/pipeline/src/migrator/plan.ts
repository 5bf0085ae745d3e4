import { hash32 } from '../buckets/assign.js';
import { compile } from '../recurrence/recurrence.js';
import { TaskOrigin } from '../status.js';
import type { PlannedTask } from '../timer/task.js';
import type { Timer, TimerPolicies, TimerSchedule } from '../timer/timer.js';

/** What the fires of a timer depend on. */
export type Planned = Pick<Timer, 'timerId' | 'plannedRuns' | keyof TimerSchedule> & { policies: TimerPolicies };

/** The timer's own fixed offset within its spread width, ms: the same on every node and for ever. */
export function spreadOffset(timerId: number, spreadMs: number): number {
  return spreadMs > 0 ? hash32(`spread|${timerId}`) % spreadMs : 0;
}

/** The first fire strictly after `after`, within the timer's validity; `null` when there is none. */
export function firstFireAfter(timer: Planned, after: number): number | null {
  if (timer.maxRuns !== null && timer.plannedRuns >= timer.maxRuns) return null;
  const offset = spreadOffset(timer.timerId, timer.policies.spreadMs);
  const from = Math.max(after, (timer.startAt ?? Number.NEGATIVE_INFINITY) - 1);
  const slot = recurrenceOf(timer).next(from - offset);
  if (slot === null) return null;
  const fire = slot + offset;
  return timer.endAt !== null && fire >= timer.endAt ? null : fire;
}

/** The timer's fires with `from <= fire < to`, within its validity and its remaining runs. */
export function firesBetween(timer: Planned, from: number, to: number, runsLeft: number): number[] {
  const offset = spreadOffset(timer.timerId, timer.policies.spreadMs);
  const start = Math.max(from, timer.startAt ?? from);
  const end = Math.min(to, timer.endAt ?? to);
  if (start >= end || runsLeft <= 0) return [];
  const slots = recurrenceOf(timer).between(start - offset, end - offset, Math.min(runsLeft, MOST_FIRES));
  return offset === 0 ? slots : slots.map((slot) => slot + offset);
}

/** Fires in one window: a fire every second over the two hours of the horizon, twice over. */
const MOST_FIRES = 14_400;

export const runsLeft = (timer: Planned): number =>
  timer.maxRuns === null ? Number.POSITIVE_INFINITY : Math.max(0, timer.maxRuns - timer.plannedRuns);

export const plannedTask = (timer: Timer, runTimer: number): PlannedTask => ({
  timerId: timer.timerId,
  runTimer,
  app: timer.app,
  bucket: timer.bucket,
  version: timer.version,
  origin: TaskOrigin.cron,
  dueAt: runTimer,
  payload: null,
});

function recurrenceOf(timer: Planned) {
  return compile(timer.cron, {
    cronDialect: timer.cronDialect,
    timezone: timer.timezone,
    dst: timer.policies.dst,
  });
}
