import { type DueTask, type TaskRef, type TaskResult, TaskStatus } from '@xtimer/pipeline';
import type { Engine } from './dialect.js';
import { writeResults } from './results.js';
import { batches, type DueRow, dueTaskOf } from './task-rows.js';
import { policiesOf } from './timers.js';
import { affected, rows, type Work } from './work.js';

/** A claim of a node that is not registered: it may still be about to register. */
const STRANGER_GRACE_MS = 60_000;
/** Dead nodes stay in the registry this long for people to see. */
const DEAD_NODE_KEPT_MS = 3_600_000;

const IS_DEAD = '(n.lease_until < ? OR (n.node_id IS NULL AND c.created_at < ?))';

interface ClaimRow {
  claim_id: number;
  node_id: string;
  created_at: number;
  members: string;
}

interface HeldRow extends DueRow {
  claim_id: number;
  attempt: number;
  max_attempts: number | null;
  policies: string | null;
}

/**
 * Takes back what dead nodes had claimed. Each claim's record is locked, judged again and removed together with
 * what is done about its tasks: of two nodes that recover at once, the second finds nothing, and a node that
 * wakes up meanwhile finds its results refused.
 */
export async function recoverClaims(engine: Engine, now: number, limit: number): Promise<DueTask[]> {
  const { dialect } = engine;
  const dead = [now, now - STRANGER_GRACE_MS];
  const claims = await engine.statements(() =>
    rows<ClaimRow>(
      `SELECT c.claim_id FROM task_claim c LEFT JOIN node n ON n.node_id = c.node_id WHERE ${IS_DEAD}
       ORDER BY c.claim_id LIMIT ?`,
      ...dead,
      limit,
    ),
  );
  const recovered: DueTask[] = [];
  for (const { claim_id } of claims) {
    recovered.push(...(await engine.transaction(() => recoverClaim(claim_id))));
    await engine.breathe();
  }
  await engine.statements(() =>
    affected(
      'DELETE FROM node WHERE lease_until < ? AND NOT EXISTS (SELECT 1 FROM task_claim c WHERE c.node_id = node.node_id)',
      now - DEAD_NODE_KEPT_MS,
    ),
  );
  return recovered;

  function* recoverClaim(claimId: number): Work<DueTask[]> {
    const [claim] = yield* rows<ClaimRow>(
      `SELECT c.* FROM task_claim c LEFT JOIN node n ON n.node_id = c.node_id
       WHERE c.claim_id = ? AND ${IS_DEAD} ${dialect.forUpdate}`,
      claimId,
      ...dead,
    );
    if (!claim) return [];
    const members = (JSON.parse(claim.members) as [number, number][]).map(([runTimer, timerId]) => ({
      runTimer,
      timerId,
    }));
    const waiting: DueTask[] = [];
    for (const batch of batches(members, dialect.batch)) {
      const held = yield* heldBy(claimId, batch);
      const results = held.map((row) => resultOf(row, claim, now));
      for (const result of yield* writeResults(dialect, results)) {
        if (result.status !== TaskStatus.notRun) continue;
        const { timerId, runTimer, bucket, dueAt } = result;
        waiting.push({ timerId, runTimer, bucket, dueAt });
      }
    }
    yield* affected('DELETE FROM task_claim WHERE claim_id = ?', claimId);
    return waiting;
  }

  function* heldBy(claimId: number, refs: readonly TaskRef[]): Work<HeldRow[]> {
    const keys = dialect.keys(refs);
    // The claimer may have died before it had taken its retries out of the index.
    yield* affected(dialect.query('forget-retries'), keys);
    return yield* rows<HeldRow>(
      `SELECT t.run_timer, t.timer_id, t.bucket, t.due_at, t.claim_id, t.attempt, t.max_attempts,
         COALESCE(x.policies, o.policies) AS policies
       FROM timer_task t${dialect.force('PRIMARY')}
         LEFT JOIN xtimer x ON x.timer_id = t.timer_id
         LEFT JOIN topic o ON o.topic_id = ${dialect.topicOf('t')}
       WHERE ${dialect.inKeys('t')} AND t.status = 1 AND t.claim_id = ?`,
      keys,
      claimId,
    );
  }
}

/** The attempt in flight counts as failed; whether another follows is the choice of the timer, the topic or the job. */
function resultOf(row: HeldRow, claim: ClaimRow, now: number): TaskResult {
  const policies = row.policies === null ? null : policiesOf(row.policies);
  const died = `node ${claim.node_id} died while the call was in flight`;
  const ending =
    policies?.delivery === 'atMostOnce'
      ? { status: TaskStatus.failed, error: `OUTCOME_UNKNOWN: ${died}; it is called at most once` }
      : policies && row.attempt >= (row.max_attempts ?? policies.retry.maxAttempts)
        ? { status: TaskStatus.failed, error: `NODE_LOST: ${died}; its attempts are used up` }
        : { status: TaskStatus.notRun, error: `NODE_LOST: ${died}` };
  return {
    ...dueTaskOf(row),
    ...ending,
    claimId: row.claim_id,
    attempt: row.attempt,
    dueAt: now,
    startedAt: Math.max(claim.created_at, row.due_at),
    finishedAt: now,
    costTime: 0,
    lateness: null,
    httpStatus: null,
    output: null,
    reason: null,
  };
}
