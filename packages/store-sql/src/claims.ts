import { type ClaimedTask, type ClaimRight, isJob, type TaskRef } from '@xtimer/pipeline';
import type { Dialect } from './dialect.js';
import { type DueRow, dueTaskOf } from './task-rows.js';
import { affected, rows, type Work } from './work.js';

interface ClaimedRow extends DueRow {
  app: string;
  attempt: number;
  origin: ClaimedTask['origin'];
  payload: string | null;
  job_id: string | null;
  max_attempts: number | null;
  revision: number;
}

/** One batch of a claim whose record is written: of timers' tasks only, or of jobs. Each statement may stand for itself. */
export function* claimBatch(
  dialect: Dialect,
  batch: readonly TaskRef[],
  { claimId, dueBy }: ClaimRight,
): Work<ClaimedTask[]> {
  const keys = dialect.keys(batch);
  const jobs = batch.some((ref) => isJob(ref.timerId));
  const taken = yield* affected(
    dialect.query(jobs ? 'claim-jobs' : 'claim-tasks'),
    claimId,
    claimId,
    keys,
    Math.floor(dueBy),
  );
  if (taken === 0) return [];
  const jobJoins = `JOIN topic x ON x.topic_id = ${dialect.topicOf('t')}
       LEFT JOIN job j${dialect.force('job_time')}
         ON j.topic_id = x.topic_id AND j.run_timer = t.run_timer AND j.timer_id = t.timer_id`;
  const found = yield* rows<ClaimedRow>(
    `SELECT t.run_timer, t.timer_id, t.bucket, t.due_at, t.app, t.attempt, t.origin, t.payload, t.max_attempts, x.revision,
       ${jobs ? dialect.text('j.job_id') : 'NULL'} AS job_id
     FROM timer_task t${dialect.force('PRIMARY')}
       ${jobs ? jobJoins : 'JOIN xtimer x ON x.timer_id = t.timer_id'}
     WHERE ${dialect.inKeys('t')} AND t.claim_id = ? AND t.status = 1`,
    keys,
    claimId,
  );
  const late = found.filter((row) => row.due_at !== row.run_timer).map(dueTaskOf);
  if (late.length > 0) yield* affected(dialect.query('forget-retries'), dialect.keys(late));
  return found.map((row) => ({
    ...dueTaskOf(row),
    claimId,
    app: row.app,
    attempt: row.attempt,
    origin: row.origin,
    payload: row.payload,
    jobId: row.job_id,
    maxAttempts: row.max_attempts,
    revision: row.revision,
  }));
}

/** As `claim-tasks` has it. */
const MAY_RUN = `t.status = 0 AND t.due_at <= ?
  AND ((x.status = 2 AND (t.version = x.version OR t.attempt > 0))
    OR ((t.origin IN (3, 4) OR t.replay_count > 0) AND x.status <> 0))`;

/** The task `h` that keeps the timer of `r` (a row of `timer_running`) busy. */
const HOLDER = 'h.run_timer = r.run_timer AND h.timer_id = r.timer_id AND h.claim_id = r.claim_id AND h.status = 1';

/**
 * The same for timers that allow one running task: the earliest of each timer is claimed, if the timer is idle.
 *
 * Must be one transaction: a timer counts as idle when the task noted in `timer_running` is not running, so the
 * note must not be seen before the claim it belongs to.
 */
export function* claimExclusive(dialect: Dialect, batch: readonly TaskRef[], right: ClaimRight): Work<ClaimedTask[]> {
  const free = yield* rows<{ run_timer: number; timer_id: number; seen: number | null }>(
    `SELECT t.run_timer, t.timer_id, r.claim_id AS seen
     FROM timer_task t${dialect.force('PRIMARY')} JOIN xtimer x ON x.timer_id = t.timer_id
       LEFT JOIN timer_running r ON r.timer_id = t.timer_id
       LEFT JOIN timer_task h ON ${HOLDER}
     WHERE ${dialect.inKeys('t')} AND ${MAY_RUN} AND h.timer_id IS NULL
     ORDER BY t.timer_id, t.run_timer`,
    dialect.keys(batch),
    Math.floor(right.dueBy),
  );
  const earliest = free.filter((row, n) => row.timer_id !== free[n - 1]?.timer_id);
  if (earliest.length === 0) return [];
  yield* dialect.updateRows(
    'take-timers',
    earliest.filter((row) => row.seen !== null).map((row) => [row.run_timer, right.claimId, row.timer_id, row.seen]),
  );
  yield* dialect.insertRows(
    `${dialect.insertIgnore} INTO timer_running (timer_id, run_timer, claim_id)`,
    earliest.filter((row) => row.seen === null).map((row) => [row.timer_id, row.run_timer, right.claimId]),
  );
  const taken = yield* rows<{ run_timer: number; timer_id: number }>(
    `SELECT run_timer, timer_id FROM timer_running WHERE ${dialect.in('timer_id')} AND claim_id = ?`,
    dialect.list(earliest.map((row) => row.timer_id)),
    right.claimId,
  );
  if (taken.length === 0) return [];
  const refs = taken.map((row) => ({ runTimer: row.run_timer, timerId: row.timer_id }));
  return yield* claimBatch(dialect, refs, right);
}

export function* running(timerId: number): Work<TaskRef | null> {
  const [row] = yield* rows<{ run_timer: number }>(
    `SELECT h.run_timer FROM timer_running r JOIN timer_task h ON ${HOLDER} WHERE r.timer_id = ?`,
    timerId,
  );
  return row ? { timerId, runTimer: row.run_timer } : null;
}
