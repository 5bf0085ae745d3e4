/**
 * The fixed vocabulary: what a timer and a task can be. Written here once; the API, the database
 * and the console import it (DESIGN section 1). No imports, so that a browser can load it.
 */

/** A timer's or a topic's state. A deleted timer's row is kept as long as history may name it. */
export const TimerStatus = { deleted: 0, inactive: 1, active: 2 } as const;
export type TimerStatus = (typeof TimerStatus)[keyof typeof TimerStatus];

export const TaskStatus = {
  /** Planned, or waiting for its next attempt. */
  notRun: 0,
  /** Claimed by a node; its callback is on its way. */
  running: 1,
  succeeded: 2,
  /** Attempts used up: the dead letter. */
  failed: 3,
  canceled: 4,
  /** Left out by a misfire, overlap or pause rule; `reason` says which. */
  skipped: 5,
} as const;
export type TaskStatus = (typeof TaskStatus)[keyof typeof TaskStatus];

export const isFinal = (status: TaskStatus): boolean => status >= TaskStatus.succeeded;

/** What made the task. */
export const TaskOrigin = { cron: 1, job: 2, manual: 3, backfill: 4 } as const;
export type TaskOriginName = keyof typeof TaskOrigin;
export type TaskOrigin = (typeof TaskOrigin)[TaskOriginName];

/** Why a task was canceled or skipped: stored on the row as it is written here. */
export const Reason = {
  /** The definition changed and no longer has this slot. */
  edited: 'edited',
  paused: 'paused',
  deleted: 'deleted',
  /** Somebody canceled this one task. */
  canceled: 'canceled',
  /** It was overdue by more than the timer's grace and its misfire rule left it out. */
  misfire: 'misfire',
  /** The previous task was still running and the timer says `overlap: skip`. */
  overlap: 'overlap',
} as const;
export type Reason = (typeof Reason)[keyof typeof Reason];
