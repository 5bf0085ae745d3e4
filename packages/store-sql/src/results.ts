import { type TaskResult, TaskStatus, taskIdOf } from '@xtimer/pipeline';
import type { Dialect } from './dialect.js';
import { storable } from './task-rows.js';
import { affected, rows, type Work } from './work.js';

/** Characters; the column holds 64 KB. */
const ERROR_LENGTH = 16_000;

/**
 * Writes results whose claims still hold their rows. Resolves to those, and to those that had been written
 * before, when the answer got lost. Failed attempts are kept beside the task, waiting retries enter the retry
 * index: so anything but plain successes needs a transaction.
 */
export function* writeResults(dialect: Dialect, results: readonly TaskResult[]): Work<TaskResult[]> {
  if (results.every(isPlainSuccess)) {
    const count = yield* dialect.updateRows('finish-tasks', results.map(resultRow));
    if (count === results.length) return [...results];
    return (yield* claimedBy(dialect, results)).flatMap(({ result, status }) =>
      status === result.status ? result : [],
    );
  }
  const claimed = yield* claimedBy(dialect, results, dialect.forUpdate);
  const held = claimed.flatMap(({ result, status }) => (status === TaskStatus.running ? result : []));
  const writtenBefore = claimed.flatMap(({ result, status }) => (status === result.status ? result : []));
  if (held.length === 0) return writtenBefore;
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
        storable(result.output),
      ]),
  );
  const waiting = held.filter((result) => result.status === TaskStatus.notRun);
  if (waiting.length > 0) yield* affected(dialect.query('index-retries'), dialect.keys(waiting));
  return [...held, ...writtenBefore];
}

export const isPlainSuccess = (result: TaskResult): boolean =>
  result.status === TaskStatus.succeeded && result.error === null;

/** A call was made and did not succeed. */
const isFailedAttempt = (result: TaskResult): boolean =>
  result.error !== null || result.status === TaskStatus.notRun || result.status === TaskStatus.failed;

/** The results whose row carries their claim, each with the row's status. */
function* claimedBy(
  dialect: Dialect,
  results: readonly TaskResult[],
  lock = '',
): Work<{ result: TaskResult; status: TaskStatus }[]> {
  const found = yield* rows<{ run_timer: number; timer_id: number; claim_id: number | null; status: TaskStatus }>(
    `SELECT t.run_timer, t.timer_id, t.claim_id, t.status FROM timer_task t${dialect.force('PRIMARY')}
     WHERE ${dialect.inKeys('t')} ${lock}`,
    dialect.keys(results),
  );
  const byId = new Map(found.map((row) => [taskIdOf({ timerId: row.timer_id, runTimer: row.run_timer }), row]));
  return results.flatMap((result) => {
    const row = byId.get(taskIdOf(result));
    if (row?.claim_id !== result.claimId) return [];
    byId.delete(taskIdOf(result)); // the same result twice counts once
    return { result, status: row.status };
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
