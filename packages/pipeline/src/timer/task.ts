import { type Reason, type TaskOrigin, TaskStatus } from '../status.js';

/** A task's identity: `(timerId, runTimer)`. `taskId` and the sorted-set member are `timerId_runTimer`. */
export interface TaskRef {
  timerId: number;
  /** The planned instant, epoch ms. */
  runTimer: number;
}

export const taskIdOf = (ref: TaskRef): string => `${ref.timerId}_${ref.runTimer}`;

/** `null` when the text is no task id. */
export function parseTaskId(taskId: string): TaskRef | null {
  const match = /^(\d{1,16})_(\d{1,16})$/.exec(taskId);
  const ref = match && { timerId: Number(match[1]), runTimer: Number(match[2]) };
  return ref && Number.isSafeInteger(ref.timerId) && Number.isSafeInteger(ref.runTimer) ? ref : null;
}

/** A task as the migrator writes it. */
export interface PlannedTask extends TaskRef {
  app: string;
  bucket: number;
  version: number;
  origin: TaskOrigin;
  /** When the first attempt is due, epoch ms; later than `runTimer` for paced catch-up. */
  dueAt: number;
  /** Replaces the timer's body (runTimer's override, a job's payload). `null`: the timer's own. */
  payload: string | null;
}

/** A task that waits to be called, as the sorted sets and the database scans hand it out. */
export interface DueTask extends TaskRef {
  bucket: number;
  dueAt: number;
}

/** A task this node has the right to call. */
export interface ClaimedTask extends DueTask {
  claimId: number;
  app: string;
  /** The number of the attempt now to be made, from 1. */
  attempt: number;
  origin: TaskOrigin;
  payload: string | null;
  /** The job's id, as its callers know it; `null` for a timer's task. */
  jobId: string | null;
  /** The job's own limit of attempts; `null`: as the policy says. */
  maxAttempts: number | null;
  /** The timer's or topic's revision at the moment of the claim. */
  revision: number;
}

/** How a claimed task ended, or that it waits for another attempt. Written only while `claimId` still holds the row. */
export interface TaskResult extends TaskRef {
  claimId: number;
  bucket: number;
  attempt: number;
  /** `notRun`: another attempt follows at `dueAt`. */
  status: TaskStatus;
  dueAt: number;
  /** When the request was sent, epoch ms. */
  startedAt: number;
  finishedAt: number;
  /** ms from send to last byte. */
  costTime: number;
  /** First send minus planned, ms; `null` for attempts after the first. */
  lateness: number | null;
  /** `null`: no answer came. */
  httpStatus: number | null;
  output: string | null;
  /** `CODE: message`; `null` on success. */
  error: string | null;
  reason: Reason | null;
}

/** A task as history shows it. */
export interface Task extends TaskRef {
  app: string;
  bucket: number;
  status: TaskStatus;
  origin: TaskOrigin;
  version: number;
  dueAt: number;
  attempt: number;
  costTime: number | null;
  lateness: number | null;
  httpStatus: number | null;
  output: string | null;
  error: string | null;
  reason: string | null;
  skippedCount: number | null;
  skippedUntil: number | null;
  replayCount: number;
  startedAt: number | null;
  finishedAt: number | null;
  payload: string | null;
}

/** The state of a task that nobody has called yet. */
export const neverRun = {
  status: TaskStatus.notRun,
  attempt: 0,
  costTime: null,
  lateness: null,
  httpStatus: null,
  output: null,
  error: null,
  reason: null,
  skippedCount: null,
  skippedUntil: null,
  replayCount: 0,
  startedAt: null,
  finishedAt: null,
} as const satisfies Partial<Task>;

/** One failed attempt. */
export interface TaskAttempt {
  attempt: number;
  startedAt: number;
  costTime: number;
  httpStatus: number | null;
  error: string | null;
  output: string | null;
}
