import type { Reason, TaskOrigin, TaskStatus, TimerStatus } from '../status.js';
import type { ClaimedTask, DueTask, PlannedTask, Task, TaskAttempt, TaskRef, TaskResult } from './task.js';
import type { Definition, Timer } from './timer.js';

/**
 * The database: the authority. Two ports, `TimerStore` and `TaskStore`, each with one contract test that
 * runs against every engine. Every call rejects with `StoreUnavailableError` when the database does not
 * answer within its time limit; nothing hangs.
 */
export interface TimerStore {
  /** Stores a new timer; `timerId` and `bucket` (`timerId % bucketsNum`) are given by the store. */
  create(timer: Omit<Timer, 'timerId' | 'bucket' | 'version' | 'revision'>): Promise<Timer>;
  /** `null`: unknown, of another app, or deleted (unless `withDeleted`). `app: null` means any app. */
  find(timerId: number, app: string | null, options?: { withDeleted?: boolean }): Promise<Timer | null>;
  /**
   * Writes the named fields if the row still has `timer.revision`, and raises `revision`; raises `version`
   * too when `obsoletesPlanned`. Resolves to the timer as it now is, `null` when somebody was faster.
   */
  save(
    timer: Timer,
    changes: Partial<Omit<Timer, 'timerId' | 'bucket' | 'version' | 'revision'>>,
    options: { obsoletesPlanned: boolean },
  ): Promise<Timer | null>;
  list(query: TimerListQuery): Promise<{ list: Timer[]; total: number }>;

  /**
   * Active timers of the bucket with `nextFireAt < horizon`, by (`nextFireAt`, `timerId`), after the cursor.
   * Uses the index: a million timers due later cost nothing.
   */
  dueForPlanning(
    bucket: number,
    horizon: number,
    after: { nextFireAt: number; timerId: number } | null,
    limit: number,
  ): Promise<Timer[]>;
  /** Moves `nextFireAt` and `plannedRuns` on by compare-and-set on (`version`, `nextFireAt`). One answer per move, in order. */
  advance(moves: readonly PlanAdvance[]): Promise<boolean[]>;
  /**
   * Counts dead letters in a row: one more, or none after a success. Resolves to the count. Changes neither
   * `revision` nor `version`.
   */
  countFailure(timerId: number, failed: boolean): Promise<number>;
  /** Definitions of timers and topics by id (`definitionIdOf`), deleted ones included; unknown ids are left out. */
  definitions(timerIds: readonly number[]): Promise<Definition[]>;
}

export interface PlanAdvance {
  timerId: number;
  version: number;
  /** What `nextFireAt` must still be. */
  from: number | null;
  to: number | null;
  /** Added to `plannedRuns`. */
  planned: number;
}

export interface TimerListQuery {
  /** `null`: all apps. */
  app: string | null;
  /** Part of the name, case-insensitive. */
  name?: string;
  status?: TimerStatus;
  /** From 1. Newest timers first. */
  page: number;
  pageSize: number;
}

export interface TaskStore {
  /**
   * Writes planned tasks in one multi-row statement. A row that is there stays, with two exceptions: a
   * `notRun` row of an older version takes over the new version, and a row that was canceled because the
   * timer was edited or paused becomes planned again, if the version here is newer.
   */
  plan(tasks: readonly PlannedTask[]): Promise<void>;

  /**
   * Compare-and-set `notRun → running`, one statement for all (DESIGN section 2, rule 2). Refuses tasks whose
   * timer is not active or has moved on to another version; a retry (`attempt > 0`) only needs the timer
   * active; manual and backfill tasks only need it not deleted. Records the claim under the node, so that
   * recovery finds what a dead node held. A replayed task only needs the timer not deleted. Tasks of
   * `exclusive` timers are refused while another task of their timer runs anywhere in the cluster; of several in
   * one call the earliest wins. Jobs need their topic active. Resolves to the tasks now ours, in the order of `tasks`.
   */
  claim(tasks: readonly DueTask[], claim: ClaimRight): Promise<ClaimedTask[]>;
  /**
   * Writes results in one statement, each only if its claim still holds the row; failed attempts are kept
   * in `timer_task_attempt`, waiting retries in the retry index. Resolves to the refs written.
   */
  finish(results: readonly TaskResult[]): Promise<TaskRef[]>;
  /**
   * Ends a claim whose calls were not made: its running tasks among `refs` become not run again, the attempt
   * uncounted. A claim statement still on its way to a slow database can't take effect any more afterwards.
   */
  unclaim(claimId: number, refs: readonly TaskRef[]): Promise<void>;
  /**
   * What the claim refused and nobody will call: `notRun` rows among `refs` whose timer is paused, deleted
   * or edited become canceled with that reason. Jobs of a paused topic are held back instead: their `dueAt` becomes
   * `PARKED_AT`, until `JobStore.unpark`. Resolves to the number changed.
   */
  cancelObsolete(refs: readonly TaskRef[], now: number): Promise<number>;

  /**
   * `notRun` tasks of the buckets with `from <= dueAt < to`, in (`runTimer`, `timerId`) order, retries
   * included. `after` continues a page. Never scans history: reads the (`runTimer`) range and the retry index.
   */
  notRun(query: NotRunQuery): Promise<DueTask[]>;

  /**
   * Cancels `notRun` tasks of a timer: those planned from an older version than `beforeVersion`, or all when it is
   * `null`. Retries already under way (`attempt > 0`) only when `withRetries`. Resolves to the tasks canceled.
   */
  cancelPlanned(
    timerId: number,
    options: {
      beforeVersion: number | null;
      withRetries: boolean;
      reason: Reason;
      now: number;
      /** Only slots before this instant. Absent: all. */
      before?: number;
    },
  ): Promise<DueTask[]>;
  /** Cancels one task if it is still `notRun`; the answer is what really happened. */
  cancel(ref: TaskRef, now: number): Promise<{ outcome: CancelOutcome; task: DueTask | null }>;
  /** Latest `dueAt` of this timer's claimed tasks that are not due yet (they were claimed a moment ahead); `null`: none. */
  claimedAhead(timerId: number, now: number): Promise<number | null>;

  /** `notRun` first attempts of the timer's cron with `since <= runTimer < before`, ascending. */
  overdue(timerId: number, since: number, before: number, limit: number): Promise<TaskRef[]>;
  /**
   * Carries a misfire decision out in one transaction: kept slots wait for their new `dueAt`, the others become one
   * skipped row at `skip.from` with `skippedCount` and `skippedUntil`. Resolves to the kept tasks that now wait.
   */
  misfire(misfire: Misfire): Promise<DueTask[]>;
  /** `notRun` → skipped, for this reason. Resolves to the number changed. */
  skip(refs: readonly TaskRef[], reason: Reason, now: number): Promise<number>;
  /**
   * Failed, canceled and skipped tasks wait again, at their new `dueAt`, with `replayCount` one higher; attempts
   * count on. Resolves to those it changed; the others (not run, running, succeeded, unknown) stay.
   */
  replay(tasks: readonly (TaskRef & { dueAt: number })[]): Promise<DueTask[]>;
  /** Which of the refs have a row. */
  existing(refs: readonly TaskRef[]): Promise<TaskRef[]>;
  /** Planned slots of the timer's cron that have not run yet: what `maxRuns` gets back when they are canceled. */
  countPlanned(timerId: number, now: number): Promise<number>;
  /** The task that keeps an exclusive timer busy; `null`: none, or the timer isn't exclusive. */
  running(timerId: number): Promise<TaskRef | null>;
  /**
   * Deletes up to `limit` ended tasks with `runTimer < before` and their attempts: of one app, or of all apps but
   * those in `exceptApps`. Resolves to the number deleted; fewer than `limit` means there are no more.
   */
  purge(before: number, apps: { only: string } | { except: readonly string[] }, limit: number): Promise<number>;

  find(ref: TaskRef): Promise<Task | null>;
  attempts(ref: TaskRef): Promise<TaskAttempt[]>;
  /** Newest `runTimer` first. Uses an index for every filter; never counts. */
  history(query: HistoryQuery): Promise<Task[]>;
  /**
   * How many tasks match; `null` when the range of the query (its timer or app, within its times) holds more than
   * `most` tasks, matching or not: no more than that are ever looked at.
   */
  count(query: Omit<HistoryQuery, 'before' | 'limit'>, most: number): Promise<number | null>;

  /** Per bucket, up to where every task is proven to have left `notRun`, epoch ms; absent: never recorded. */
  completeUntil(buckets: readonly number[]): Promise<Map<number, number>>;
  /** Moves it on, never back. */
  setCompleteUntil(progress: ReadonlyMap<number, number>): Promise<void>;

  /** Says that the node lives until `now + leaseMs`, registers it when new, and reads who else does. One round trip. */
  heartbeat(node: NodeInfo, now: number, leaseMs: number): Promise<NodeRecord[]>;
  /** Removes the node from the registry: a clean stop. */
  leave(nodeId: string): Promise<void>;
  /**
   * Takes back up to `limit` claims of nodes whose lease ended before `now`: their running tasks become
   * `notRun` again with `dueAt = now` (or failed with "outcome unknown" for `atMostOnce`, or failed when the
   * attempts are used up). Results of the old claim no longer match. Resolves to what must be called again.
   */
  recoverDead(now: number, limit: number): Promise<DueTask[]>;
}

export interface ClaimRight {
  /** Random, below 2^53; fences results. */
  claimId: number;
  nodeId: string;
  now: number;
  /** Rows due later than this are refused: what handed them out was out of date. */
  dueBy: number;
  /** Timers that allow one running task at a time. Absent: none. */
  exclusive?: ReadonlySet<number>;
}

/** A timer's missed slots: which still run, and which are left out. */
export interface Misfire {
  timerId: number;
  app: string;
  bucket: number;
  version: number;
  /**
   * Slots that run all the same, at `dueAt`. They may have a row that has not run, or none yet; one that has left
   * `notRun` meanwhile stays as it is.
   */
  keep: readonly { runTimer: number; dueAt: number }[];
  /** First and last missed slot left out; `null` when all run. Rows in between that have not run, once, are taken out. */
  skip: { from: number; until: number } | null;
  /** Slots left out that never had a row: they are counted with those that had. */
  unplanned: number;
  now: number;
}

export type CancelOutcome = 'canceled' | 'running' | 'ended' | 'notFound';

export interface NotRunQuery {
  buckets: readonly number[];
  from: number;
  to: number;
  after: TaskRef | null;
  limit: number;
  /** Leaves out slots of a cron that wait for their first attempt: the migrator itself brings those. */
  exceptCron?: boolean;
}

export interface HistoryQuery {
  /** `null`: all apps. */
  app: string | null;
  timerId?: number;
  /** Jobs of this topic. */
  topicId?: number;
  status?: TaskStatus;
  origin?: TaskOrigin;
  /** Inclusive, on `runTimer`. */
  startTime?: number;
  /** Exclusive, on `runTimer`. */
  endTime?: number;
  /** Continue below this task. */
  before: TaskRef | null;
  limit: number;
}

export interface NodeInfo {
  nodeId: string;
  host: string;
  version: string;
  roles: readonly string[];
  /** A node refuses to run with another number than the cluster's. */
  bucketsNum: number;
  startedAt: number;
}

export interface NodeRecord extends NodeInfo {
  heartbeatAt: number;
  leaseUntil: number;
}
