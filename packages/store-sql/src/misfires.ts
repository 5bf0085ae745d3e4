import { type DueTask, type Misfire, TaskOrigin, type TaskRef } from '@xtimer/pipeline';
import type { Dialect } from './dialect.js';
import { batches, type DueRow, dueTaskOf, plannedRow } from './task-rows.js';
import { affected, rows, type Work } from './work.js';

/** A slot of the cron that waits for its first attempt. */
export const WAITING_SLOT = 't.status = 0 AND t.origin = 1 AND t.attempt = 0 AND t.replay_count IS NULL';

export function* waitingSlots(
  dialect: Dialect,
  timerId: number,
  since: number,
  before: number,
  limit: number,
): Work<number[]> {
  const found = yield* rows<{ run_timer: number }>(
    `SELECT t.run_timer FROM timer_task t${dialect.force('timer_task_timer')}
     WHERE t.timer_id = ? AND t.run_timer >= ? AND t.run_timer < ? AND ${WAITING_SLOT}
     ORDER BY t.run_timer LIMIT ?`,
    timerId,
    since,
    before,
    limit,
  );
  return found.map((row) => row.run_timer);
}

/**
 * Carries a misfire decision out. Must be one transaction: rows are locked in key order first, and what has left
 * `notRun` by then stays as it is.
 */
export function* misfire(dialect: Dialect, decision: Misfire): Work<DueTask[]> {
  const { timerId, keep, skip } = decision;
  const kept = new Set(keep.map((slot) => slot.runTimer));
  const left = skip ? yield* waitingSlots(dialect, timerId, skip.from, skip.until + 1, MOST_ROWS) : [];
  const locked = yield* lockSlots(dialect, timerId, [...new Set([...kept, ...left])]);
  const waiting = locked.filter((slot) => slot.waits);
  if (skip) {
    const skipped = waiting.filter((slot) => !kept.has(slot.runTimer));
    yield* leaveOut(dialect, decision, skip, skipped);
  }
  const taken = new Set(locked.filter((slot) => !slot.waits).map((slot) => slot.runTimer));
  yield* moveKept(
    dialect,
    decision,
    keep.filter((slot) => !taken.has(slot.runTimer)),
    new Map(waiting.map((slot) => [slot.runTimer, slot.dueAt])),
  );
  const found: DueTask[] = [];
  for (const batch of batches(refsOf(timerId, [...kept]), dialect.batch))
    found.push(
      ...(yield* rows<DueRow>(
        `SELECT t.run_timer, t.timer_id, t.bucket, t.due_at FROM timer_task t${dialect.force('PRIMARY')}
         WHERE ${dialect.inKeys('t')} AND ${WAITING_SLOT} ORDER BY t.run_timer`,
        dialect.keys(batch),
      )).map(dueTaskOf),
    );
  return found;
}

/** No limit: what is planned and has not run is bounded by the horizon. */
const MOST_ROWS = Number.MAX_SAFE_INTEGER;

interface Slot {
  runTimer: number;
  dueAt: number;
  waits: boolean;
}

function* lockSlots(dialect: Dialect, timerId: number, slots: readonly number[]): Work<Slot[]> {
  const locked: Slot[] = [];
  for (const batch of batches(refsOf(timerId, slots), dialect.batch)) {
    const found = yield* rows<{ run_timer: number; due_at: number; waits: number }>(
      `SELECT t.run_timer, t.due_at, ${WAITING_SLOT} AS waits FROM timer_task t${dialect.force('PRIMARY')}
       WHERE ${dialect.inKeys('t')} ORDER BY t.run_timer ${dialect.forUpdate}`,
      dialect.keys(batch),
    );
    locked.push(...found.map((row) => ({ runTimer: row.run_timer, dueAt: row.due_at, waits: row.waits === 1 })));
  }
  return locked;
}

/** The first row becomes the one that counts all; the others go. They have no attempts: nobody has called yet. */
function* leaveOut(
  dialect: Dialect,
  decision: Misfire,
  skip: { from: number; until: number },
  slots: readonly Slot[],
): Work<void> {
  const { timerId, unplanned, now } = decision;
  if (slots.length === 0) {
    if (unplanned > 0) yield* countUnplanned(dialect, decision, skip);
    return;
  }
  const refs = refsOf(
    timerId,
    slots.map((slot) => slot.runTimer),
  );
  for (const batch of batches(refs, dialect.batch)) {
    const keys = dialect.keys(batch);
    yield* affected(
      `UPDATE timer_task AS t${dialect.force('PRIMARY')}
       SET status = 5, reason = 'misfire', finished_at = ?, skipped_count = ?, skipped_until = ?
       WHERE ${dialect.inKeys('t')}`,
      Math.floor(now),
      slots.length + unplanned,
      skip.until,
      keys,
    );
    yield* affected(dialect.query('forget-retries'), keys);
  }
  for (const batch of batches(refs.slice(1), dialect.batch))
    yield* affected(`${dialect.deleteFrom('timer_task')} WHERE ${dialect.inKeys('t')}`, dialect.keys(batch));
}

/** None of the slots left out had a row. If somebody has counted them before us, that stands. */
function* countUnplanned(dialect: Dialect, decision: Misfire, skip: { from: number; until: number }): Work<void> {
  const { timerId, app, bucket, version, unplanned, now } = decision;
  // The first instant may be taken by a task that runs; nobody has the last one then.
  for (const runTimer of [skip.from, skip.until]) {
    const written = yield* affected(
      `${dialect.insertIgnore} INTO timer_task (run_timer, timer_id, app, bucket, status, origin, version, due_at,
         attempt, finished_at, reason, skipped_count, skipped_until)
       SELECT ?, ?, ?, ?, 5, ${TaskOrigin.cron}, ?, ?, 0, ?, 'misfire', ?, ? FROM (SELECT 1 AS one) o
       WHERE COALESCE((
         SELECT t.skipped_until FROM timer_task t${dialect.force('timer_task_timer')}
         WHERE t.timer_id = ? AND t.run_timer <= ? ORDER BY t.run_timer DESC LIMIT 1
       ), 0) < ?`,
      runTimer,
      timerId,
      app,
      bucket,
      version,
      runTimer,
      Math.floor(now),
      unplanned,
      skip.until,
      timerId,
      runTimer,
      skip.until,
    );
    if (written > 0) return;
  }
}

function* moveKept(
  dialect: Dialect,
  { timerId, app, bucket, version }: Misfire,
  keep: Misfire['keep'],
  /** `dueAt` of those that have a row. */
  planned: ReadonlyMap<number, number>,
): Work<void> {
  for (const { runTimer } of keep) {
    const dueAt = planned.get(runTimer);
    // Kept before and still waiting for its turn.
    if (dueAt !== undefined && dueAt !== runTimer)
      yield* affected(
        'DELETE FROM task_retry WHERE due_at = ? AND run_timer = ? AND timer_id = ?',
        dueAt,
        runTimer,
        timerId,
      );
  }
  for (const batch of batches(keep, dialect.batch)) {
    yield* dialect.updateRows(
      'move-slots',
      batch.filter((slot) => planned.has(slot.runTimer)).map((slot) => [Math.ceil(slot.dueAt), slot.runTimer, timerId]),
    );
    yield* dialect.planRows(
      batch
        .filter((slot) => !planned.has(slot.runTimer))
        .map((slot) => plannedRow({ ...slot, timerId, app, bucket, version, origin: TaskOrigin.cron, payload: null })),
    );
    yield* affected(
      dialect.query('index-retries'),
      dialect.keys(
        refsOf(
          timerId,
          batch.map((slot) => slot.runTimer),
        ),
      ),
    );
  }
}

/** In key order. */
const refsOf = (timerId: number, slots: readonly number[]): TaskRef[] =>
  [...slots].sort((a, b) => a - b).map((runTimer) => ({ timerId, runTimer }));
