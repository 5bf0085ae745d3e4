import type { DueTask, PlannedTask, Task, TaskRef } from '@xtimer/pipeline';
import { TaskStatus, taskIdOf } from '@xtimer/pipeline';

export interface DueRow {
  run_timer: number;
  timer_id: number;
  bucket: number;
  due_at: number;
}

export const dueTaskOf = (row: DueRow): DueTask => ({
  timerId: row.timer_id,
  runTimer: row.run_timer,
  bucket: row.bucket,
  dueAt: row.due_at,
});

/** As `queries/…/plan-tasks.sql` lists them. */
export const plannedRow = (task: PlannedTask): unknown[] => [
  task.runTimer,
  task.timerId,
  task.app,
  task.bucket,
  task.origin,
  task.version,
  Math.ceil(task.dueAt),
  storable(task.payload),
  TaskStatus.notRun,
  0,
];

export const TASK_COLUMNS = `t.run_timer, t.timer_id, t.app, t.bucket, t.status, t.origin, t.version, t.due_at, t.attempt,
  t.cost_time, t.lateness, t.http_status, t.output, t.error, t.reason, t.skipped_count, t.skipped_until,
  COALESCE(t.replay_count, 0) AS replay_count, t.started_at, t.finished_at, t.payload`;

export interface TaskRow extends DueRow {
  app: string;
  status: Task['status'];
  origin: Task['origin'];
  version: number;
  attempt: number;
  cost_time: number | null;
  lateness: number | null;
  http_status: number | null;
  output: string | null;
  error: string | null;
  reason: string | null;
  skipped_count: number | null;
  skipped_until: number | null;
  replay_count: number;
  started_at: number | null;
  finished_at: number | null;
  payload: string | null;
}

export const taskOf = (row: TaskRow): Task => ({
  ...dueTaskOf(row),
  app: row.app,
  status: row.status,
  origin: row.origin,
  version: row.version,
  attempt: row.attempt,
  costTime: row.cost_time,
  lateness: row.lateness,
  httpStatus: row.http_status,
  output: row.output,
  error: row.error,
  reason: row.reason,
  skippedCount: row.skipped_count,
  skippedUntil: row.skipped_until,
  replayCount: row.replay_count,
  startedAt: row.started_at,
  finishedAt: row.finished_at,
  payload: row.payload,
});

/** The first of each identity, in order. */
export function unique<T extends TaskRef>(tasks: readonly T[]): T[] {
  const seen = new Map<string, T>();
  for (const task of tasks) {
    const id = taskIdOf(task);
    if (!seen.has(id)) seen.set(id, task);
  }
  return [...seen.values()];
}

/** Characters of free text in one statement: far below any server's packet limit, escaped and in bytes too. */
const TEXT_PER_BATCH = 1_000_000;

export function* batches<T>(items: readonly T[], size: number, text: (item: T) => string | null = () => null) {
  let batch: T[] = [];
  let length = 0;
  for (const item of items) {
    const more = text(item)?.length ?? 0;
    if (batch.length === size || (batch.length > 0 && length + more > TEXT_PER_BATCH)) {
      yield batch;
      batch = [];
      length = 0;
    }
    batch.push(item);
    length += more;
  }
  if (batch.length > 0) yield batch;
}

/**
 * Text as every engine keeps it: SQLite's driver ends it at a NUL, MySQL refuses half a character. Both become
 * U+FFFD.
 */
export const storable = (text: string | null): string | null =>
  text === null ? null : text.replace(/\p{Surrogate}|\0/gu, '\ufffd');

/** A field of a timer or topic. Moments may come with a fraction; SQLite would keep it. */
export function stored(value: unknown): unknown {
  if (typeof value === 'number') return Math.floor(value);
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}
