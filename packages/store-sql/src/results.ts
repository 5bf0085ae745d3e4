import { type TaskRef, type TaskResult, TaskStatus, taskIdOf } from '@xtimer/pipeline';
import type { Dialect } from './dialect.js';
import { storable } from './task-rows.js';
import { affected, rows, type Work } from './work.js';

/** Characters; the column holds 64 KB. */
const ERROR_LENGTH = 16_000;

/**
 * Writes results whose claims still hold their rows; resolves to those. Failed attempts are kept beside
 * the task, waiting retries enter the retry index: so anything but plain successes needs a transaction.
 */
export function* writeResults(dialect: Dialect, results: readonly TaskResult[]): Work<TaskResult[]> {
  const plain = results.every((result) => result.status === TaskStatus.succeeded && result.error === null);
  if (plain) {
    const count = yield* dialect.updateRows('finish-tasks', results.map(resultRow));
    if (count === results.length) return [...results];
    // Some were not ours, or were written before and the answer got lost: the row tells.
    return yield* carrying(dialect, results, `t.status = ${TaskStatus.succeeded}`);
  }
  const held = yield* carrying(dialect, results, `t.status = ${TaskStatus.running}`, dialect.forUpdate);
  if (held.length === 0) return [];
  yield* dialect.updateRows('finish-tasks', held.map(resultRow));
  yield* dialect.insertRows(
    `${dialect.insertIgnore} INTO timer_task_attempt
       (run_timer, timer_id, attempt, started_at, cost_time, http_status, error, output)`,
    held
      .filter(isFailedAttempt)
      .map((result) => [
        result.runTimer,
        result.timerId,
        result.attempt,
        Math.floor(result.startedAt),
        Math.round(result.costTime),
        result.httpStatus,
        clipped(result.error),
        result.output,
      ]),
  );
  const waiting = held.filter((result) => result.status === TaskStatus.notRun);
  if (waiting.length > 0) yield* affected(dialect.query('index-retries'), dialect.keys(waiting));
  return held;
}

/** A call was made and did not succeed. */
const isFailedAttempt = (result: TaskResult): boolean =>
  result.error !== null || result.status === TaskStatus.notRun || result.status === TaskStatus.failed;

/** Those of the results whose row carries their claim. */
function* carrying(dialect: Dialect, results: readonly TaskResult[], condition: string, lock = ''): Work<TaskResult[]> {
  const found = yield* rows<{ run_timer: number; timer_id: number; claim_id: number }>(
    `SELECT t.run_timer, t.timer_id, t.claim_id FROM timer_task t${dialect.force('PRIMARY')}
     WHERE ${dialect.inKeys('t')} AND ${condition} ${lock}`,
    dialect.keys(results),
  );
  const claims = new Map(
    found.map((row) => [taskIdOf({ timerId: row.timer_id, runTimer: row.run_timer }), row.claim_id]),
  );
  const seen = new Set<string>();
  return results.filter((result: TaskRef & { claimId: number }) => {
    const id = taskIdOf(result);
    if (claims.get(id) !== result.claimId || seen.has(id)) return false;
    seen.add(id);
    return true;
  });
}

/** As `queries/…/finish-tasks.sql` lists them. */
const resultRow = (result: TaskResult): unknown[] => [
  result.status,
  Math.ceil(result.dueAt),
  Math.floor(result.startedAt),
  Math.floor(result.finishedAt),
  Math.round(result.costTime),
  result.lateness === null ? null : Math.round(result.lateness),
  result.httpStatus,
  result.reason,
  storable(result.output),
  clipped(result.error),
  result.runTimer,
  result.timerId,
  result.claimId,
];

const clipped = (text: string | null): string | null => storable(text?.slice(0, ERROR_LENGTH) ?? null);
