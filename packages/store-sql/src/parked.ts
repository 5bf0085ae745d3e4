import { type DueTask, PARKED_AT, Reason, type TaskRef, TimerStatus, TOPIC_SPAN } from '@xtimer/pipeline';
import type { Dialect } from './dialect.js';
import { type DueRow, dueTaskOf } from './task-rows.js';
import { affected, rows, type Work } from './work.js';

/** First and last `timer_id` of a topic's jobs. */
export const spanOf = (topicId: number): [number, number] => [topicId * TOPIC_SPAN, (topicId + 1) * TOPIC_SPAN - 1];

/**
 * Waiting jobs of paused topics are held back, those of deleted topics are canceled. Resolves to the number canceled.
 *
 * Must be one transaction. It locks the topics too: a job is held back before its topic is resumed, and then let go,
 * or finds the topic active.
 */
export function* holdBack(dialect: Dialect, refs: readonly TaskRef[], now: number): Work<number> {
  const found = yield* rows<DueRow & { topic_status: TimerStatus }>(
    `SELECT t.run_timer, t.timer_id, t.bucket, t.due_at, o.status AS topic_status
     FROM timer_task t${dialect.force('PRIMARY')} ${dialect.joinInOrder} topic o ON o.topic_id = ${dialect.topicOf('t')}
     WHERE ${dialect.inKeys('t')} AND t.status = 0 AND o.status <> 2 ${dialect.forUpdate}`,
    dialect.keys(refs),
  );
  const paused = found.filter((row) => row.topic_status === TimerStatus.inactive).map(dueTaskOf);
  yield* moveDue(
    dialect,
    paused,
    paused.map(() => PARKED_AT),
  );
  const deleted = found.filter((row) => row.topic_status === TimerStatus.deleted).map(dueTaskOf);
  yield* cancelJobs(dialect, deleted, now);
  return deleted.length;
}

/** Lets up to `limit` jobs of the topic go. Resolves to those, and to how many entries of the index it looked at. */
export function* letGo(dialect: Dialect, topicId: number, limit: number, dueAt: (index: number) => number) {
  const entries = yield* rows<{ run_timer: number; timer_id: number }>(
    `SELECT r.run_timer, r.timer_id FROM task_retry r${dialect.force('task_retry_due')}
     WHERE r.due_at = ? AND r.timer_id BETWEEN ? AND ? ORDER BY r.timer_id LIMIT ?`,
    PARKED_AT,
    ...spanOf(topicId),
    limit,
  );
  if (entries.length === 0) return { looked: 0, free: [] };
  const refs = entries.map((row) => ({ runTimer: row.run_timer, timerId: row.timer_id }));
  const parked = yield* rows<DueRow>(
    `SELECT t.run_timer, t.timer_id, t.bucket, t.due_at FROM timer_task t${dialect.force('PRIMARY')}
     WHERE ${dialect.inKeys('t')} AND t.status = 0 AND t.due_at = ? ORDER BY t.run_timer, t.timer_id ${dialect.forUpdate}`,
    dialect.keys(refs),
    PARKED_AT,
  );
  const moments = parked.map((_, index) => Math.ceil(dueAt(index)));
  yield* moveDue(dialect, parked.map(dueTaskOf), moments);
  // What somebody else has moved meanwhile must not be found again.
  if (parked.length < refs.length)
    yield* forgetDue(
      dialect,
      refs.map((ref) => ({ ...ref, dueAt: PARKED_AT })),
    );
  return { looked: entries.length, free: parked.map((row, n) => ({ ...dueTaskOf(row), dueAt: moments[n] as number })) };
}

/** Tasks whose rows the transaction has locked wait for another moment, the retry index included. */
export function* moveDue(dialect: Dialect, tasks: readonly DueTask[], dueAt: readonly number[]): Work<void> {
  if (tasks.length === 0) return;
  yield* forgetDue(
    dialect,
    tasks.filter((task) => task.dueAt !== task.runTimer),
  );
  yield* dialect.updateRows(
    'move-slots',
    tasks.map((task, n) => [dueAt[n], task.runTimer, task.timerId]),
  );
  yield* affected(dialect.query('index-retries'), dialect.keys(tasks));
}

/** Waiting jobs whose rows the transaction has locked. */
export function* cancelJobs(dialect: Dialect, tasks: readonly TaskRef[], now: number): Work<void> {
  if (tasks.length === 0) return;
  const keys = dialect.keys(tasks);
  yield* affected(
    `UPDATE timer_task AS t${dialect.force('PRIMARY')} SET status = 4, reason = ?, finished_at = ? WHERE ${dialect.inKeys('t')}`,
    Reason.deleted,
    Math.floor(now),
    keys,
  );
  yield* affected(dialect.query('forget-retries'), keys);
}

export function* forgetDue(dialect: Dialect, tasks: readonly (TaskRef & { dueAt: number })[]): Work<void> {
  if (tasks.length === 0) return;
  yield* affected(
    `${dialect.deleteFrom('task_retry')} WHERE ${dialect.inTuples('t.due_at', 't.run_timer', 't.timer_id')}`,
    dialect.tuples(tasks.map((task) => [task.dueAt, task.runTimer, task.timerId])),
  );
}
