import type {
  CancelOutcome,
  ClaimedTask,
  ClaimRight,
  DueTask,
  HistoryQuery,
  Misfire,
  NodeInfo,
  NodeRecord,
  NotRunQuery,
  PlannedTask,
  Reason,
  Task,
  TaskAttempt,
  TaskRef,
  TaskResult,
  TaskStore,
} from '@xtimer/pipeline';
import { isFinal, isJob, TaskStatus, taskIdOf } from '@xtimer/pipeline';
import { claimBatch, claimExclusive, running } from './claims.js';
import type { Dialect, Engine } from './dialect.js';
import { count, history } from './history.js';
import { misfire, WAITING_SLOT, waitingSlots } from './misfires.js';
import { heartbeat, leave } from './nodes.js';
import { holdBack } from './parked.js';
import { purge } from './purge.js';
import { recoverClaims } from './recovery.js';
import { isPlainSuccess, writeResults } from './results.js';
import {
  batches,
  type DueRow,
  dueTaskOf,
  plannedRow,
  TASK_COLUMNS,
  type TaskRow,
  taskOf,
  unique,
} from './task-rows.js';
import { affected, rows, type Work } from './work.js';

/**
 * How far back a timer's waiting tasks are looked for, ms. Looking further would read a busy timer's whole
 * history; what waits longer than this is refused by the claim and canceled then (`cancelObsolete`).
 */
export const LOOK_BACK_MS = 3 * 3_600_000;

/** Ended claims whose records are still there; a heartbeat removes them, or this many. */
const ENDED_CLAIMS_KEPT = 500;

export class SqlTaskStore implements TaskStore {
  /** Per claim of this process: how many of its tasks have no result yet. */
  private readonly outstanding = new Map<number, number>();
  private endedClaims: number[] = [];

  constructor(private readonly engine: Engine) {}

  async plan(tasks: readonly PlannedTask[]): Promise<void> {
    const { dialect } = this.engine;
    // In key order each batch is an append to the clustered table.
    const ordered = [...tasks].sort((a, b) => a.runTimer - b.runTimer || a.timerId - b.timerId);
    for (const batch of batches(ordered, dialect.batch, (task) => task.payload)) {
      const values = batch.map(plannedRow);
      const late = batch.filter((task) => task.dueAt !== task.runTimer);
      const write = function* (): Work<void> {
        yield* dialect.planRows(values);
        if (late.length > 0) yield* affected(dialect.query('index-retries'), dialect.keys(late));
      };
      await (late.length > 0 ? this.engine.transaction(write) : this.engine.statements(write));
      await this.engine.breathe();
    }
  }

  /**
   * A rejection leaves open what was claimed: `unclaim` with the same id undoes it, whatever it was.
   * If we die between the record and the claim, the record names tasks that are not ours: harmless.
   */
  async claim(tasks: readonly DueTask[], right: ClaimRight): Promise<ClaimedTask[]> {
    const wanted = unique(tasks);
    if (wanted.length === 0) return [];
    const { dialect } = this.engine;
    const record = JSON.stringify(wanted.map((ref) => [ref.runTimer, ref.timerId]));
    await this.engine.statements(() =>
      affected(
        'INSERT INTO task_claim (claim_id, node_id, created_at, members) VALUES (?, ?, ?, ?)',
        right.claimId,
        right.nodeId,
        Math.floor(right.now),
        record,
      ),
    );
    const ours = new Map<string, ClaimedTask>();
    const isExclusive = (task: TaskRef) => right.exclusive?.has(task.timerId) ?? false;
    const claim = async (batch: readonly TaskRef[], exclusively: boolean) => {
      const claimed = await (exclusively
        ? this.engine.transaction(() => claimExclusive(dialect, batch, right))
        : this.engine.statements(() => claimBatch(dialect, batch, right)));
      for (const task of claimed) ours.set(taskIdOf(task), task);
      await this.engine.breathe();
    };
    const free = wanted.filter((task) => !isExclusive(task));
    for (const kind of [free.filter((task) => !isJob(task.timerId)), free.filter((task) => isJob(task.timerId))])
      for (const batch of batches(kind, dialect.batch)) await claim(batch, false);
    // In key order, so that the earliest of a timer comes in the first batch that has any of it.
    const exclusive = wanted.filter(isExclusive).sort((a, b) => a.runTimer - b.runTimer || a.timerId - b.timerId);
    for (const batch of batches(exclusive, dialect.batch)) await claim(batch, true);
    if (ours.size === 0) this.endedClaims.push(right.claimId);
    else this.outstanding.set(right.claimId, ours.size);
    return wanted.flatMap((task) => ours.get(taskIdOf(task)) ?? []);
  }

  async finish(results: readonly TaskResult[]): Promise<TaskRef[]> {
    const { dialect } = this.engine;
    const written: TaskRef[] = [];
    for (const batch of batches(results, dialect.batch, (result) => result.output)) {
      const write = () => writeResults(dialect, batch);
      const done = await (batch.every(isPlainSuccess) ? this.engine.statements(write) : this.engine.transaction(write));
      written.push(...done.map(({ timerId, runTimer }) => ({ timerId, runTimer })));
      // Written or not, none of them will come again.
      for (const result of batch) this.countDown(result.claimId, 1);
      await this.engine.breathe();
    }
    if (this.endedClaims.length >= ENDED_CLAIMS_KEPT) await this.removeEndedClaims().catch(() => {});
    return written;
  }

  async unclaim(claimId: number, refs: readonly TaskRef[]): Promise<void> {
    const { dialect } = this.engine;
    // Unknown here: the claim's own answer never arrived. Without its record it can't take effect any more.
    if (!this.outstanding.has(claimId))
      await this.engine.statements(() => affected('DELETE FROM task_claim WHERE claim_id = ?', claimId));
    for (const batch of batches(unique(refs), dialect.batch)) {
      const undone = await this.engine.transaction(function* () {
        const keys = dialect.keys(batch);
        const count = yield* affected(
          `UPDATE timer_task AS t${dialect.force('PRIMARY')}
           SET status = 0, attempt = attempt - 1, claim_id = NULL
           WHERE ${dialect.inKeys('t')} AND t.status = 1 AND t.claim_id = ?`,
          keys,
          claimId,
        );
        if (count > 0) yield* affected(dialect.query('index-retries'), keys);
        return count;
      });
      this.countDown(claimId, undone);
      await this.engine.breathe();
    }
  }

  private countDown(claimId: number, count: number): void {
    const left = this.outstanding.get(claimId);
    if (left === undefined) return;
    if (left > count) this.outstanding.set(claimId, left - count);
    else {
      this.outstanding.delete(claimId);
      this.endedClaims.push(claimId);
    }
  }

  private async removeEndedClaims(): Promise<void> {
    const ended = this.endedClaims;
    if (ended.length === 0) return;
    const { dialect } = this.engine;
    await this.engine.statements(() =>
      affected(`DELETE FROM task_claim WHERE ${dialect.in('claim_id')}`, dialect.list(ended)),
    );
    this.endedClaims = this.endedClaims.filter((id) => !ended.includes(id));
  }

  async cancelObsolete(refs: readonly TaskRef[], now: number): Promise<number> {
    const { dialect } = this.engine;
    const wanted = unique(refs);
    let changed = 0;
    for (const batch of batches(
      wanted.filter((ref) => isJob(ref.timerId)),
      dialect.batch,
    )) {
      changed += await this.engine.transaction(() => holdBack(dialect, batch, now));
      await this.engine.breathe();
    }
    for (const batch of batches(
      wanted.filter((ref) => !isJob(ref.timerId)),
      dialect.batch,
    )) {
      changed += await this.engine.transaction(function* () {
        const keys = dialect.keys(batch);
        const count = yield* affected(dialect.query('cancel-obsolete'), Math.floor(now), keys);
        if (count > 0) yield* affected(dialect.query('forget-retries'), keys);
        return count;
      });
      await this.engine.breathe();
    }
    return changed;
  }

  /** Two reads: first attempts by their planned instant, everything else by the retry index. Both in key order. */
  notRun(query: NotRunQuery): Promise<DueTask[]> {
    const { dialect } = this.engine;
    if (query.buckets.length === 0) return Promise.resolve([]);
    const { from, to, after, limit } = query;
    const buckets = dialect.list(query.buckets);
    const beyond = dialect.beyond('t.run_timer', 't.timer_id', '>');
    const cursor = after ? dialect.pair(after.runTimer, after.timerId) : [];
    // One lower end only, because an engine may take the other one for the index.
    const goesOn = after !== null && after.runTimer >= from;
    const chosen = query.exceptCron ? `t.status = 0 AND NOT (${WAITING_SLOT})` : 't.status = 0';
    return this.engine.statements(function* () {
      const onTime = yield* rows<DueRow>(
        `SELECT t.run_timer, t.timer_id, t.bucket, t.due_at FROM timer_task t${dialect.force('PRIMARY')}
         WHERE ${goesOn ? beyond : 't.run_timer >= ?'} AND t.run_timer < ? AND ${chosen} AND t.due_at = t.run_timer
           AND ${dialect.in('t.bucket')}
         ORDER BY t.run_timer, t.timer_id LIMIT ?`,
        ...(goesOn ? cursor : [from]),
        to,
        buckets,
        limit,
      );
      const later = yield* rows<DueRow>(
        `SELECT t.run_timer, t.timer_id, t.bucket, t.due_at
         FROM task_retry r${dialect.force('PRIMARY')}
           JOIN timer_task t ON t.run_timer = r.run_timer AND t.timer_id = r.timer_id AND t.due_at = r.due_at
         WHERE r.due_at >= ? AND r.due_at < ? AND ${dialect.in('r.bucket')} AND ${chosen} ${after ? `AND ${beyond}` : ''}
         ORDER BY t.run_timer, t.timer_id LIMIT ?`,
        from,
        to,
        buckets,
        ...cursor,
        limit,
      );
      return [...onTime, ...later]
        .sort((a, b) => a.run_timer - b.run_timer || a.timer_id - b.timer_id)
        .slice(0, limit)
        .map(dueTaskOf);
    });
  }

  async cancelPlanned(
    timerId: number,
    options: { beforeVersion: number | null; withRetries: boolean; reason: Reason; now: number; before?: number },
  ): Promise<DueTask[]> {
    const { dialect } = this.engine;
    const now = Math.floor(options.now);
    // A manual, backfill or replayed task does not depend on the version (see claim-tasks).
    const chosen = `t.status = 0 ${options.withRetries ? '' : 'AND t.attempt = 0'}
      ${options.before === undefined ? '' : `AND t.run_timer < ${Math.ceil(options.before)}`}
      ${options.beforeVersion === null ? '' : `AND t.version < ${Number(options.beforeVersion)} AND t.origin NOT IN (3, 4) AND t.replay_count IS NULL`}`;
    const waiting = await this.engine.statements(() => waitingOf(dialect, timerId, now, chosen));
    const canceled: DueTask[] = [];
    for (const batch of batches(waiting, dialect.batch)) {
      const still = await this.engine.transaction(function* () {
        const locked = yield* rows<DueRow>(
          `SELECT t.run_timer, t.timer_id, t.bucket, t.due_at FROM timer_task t${dialect.force('PRIMARY')}
           WHERE ${dialect.inKeys('t')} AND ${chosen} ${dialect.forUpdate}`,
          dialect.keys(batch),
        );
        const refs = locked.map(dueTaskOf);
        if (refs.length > 0) yield* cancelRows(refs, options.reason);
        return refs;
      });
      canceled.push(...still);
      await this.engine.breathe();
    }
    return canceled;

    function* cancelRows(refs: readonly TaskRef[], reason: Reason): Work<void> {
      const keys = dialect.keys(refs);
      yield* affected(
        `UPDATE timer_task AS t${dialect.force('PRIMARY')} SET status = 4, reason = ?, finished_at = ? WHERE ${dialect.inKeys('t')}`,
        reason,
        now,
        keys,
      );
      yield* affected(dialect.query('forget-retries'), keys);
    }
  }

  cancel(ref: TaskRef, now: number): Promise<{ outcome: CancelOutcome; task: DueTask | null }> {
    const { dialect } = this.engine;
    return this.engine.transaction(function* () {
      const key = [ref.runTimer, ref.timerId];
      const canceled = yield* affected(
        `UPDATE timer_task SET status = 4, reason = 'canceled', finished_at = ?
         WHERE run_timer = ? AND timer_id = ? AND status = 0`,
        Math.floor(now),
        ...key,
      );
      const [row] = yield* rows<DueRow & { status: TaskStatus }>(
        'SELECT run_timer, timer_id, bucket, due_at, status FROM timer_task WHERE run_timer = ? AND timer_id = ?',
        ...key,
      );
      if (!row) return { outcome: 'notFound', task: null };
      if (canceled === 0) return { outcome: isFinal(row.status) ? 'ended' : 'running', task: null };
      yield* affected(dialect.query('forget-retries'), dialect.keys([ref]));
      return { outcome: 'canceled', task: dueTaskOf(row) };
    });
  }

  claimedAhead(timerId: number, now: number): Promise<number | null> {
    const { dialect } = this.engine;
    return this.engine.statements(function* () {
      const [row] = yield* rows<{ latest: number | null }>(
        `SELECT MAX(t.due_at) AS latest FROM timer_task t${dialect.force('timer_task_timer')}
         WHERE t.timer_id = ? AND t.run_timer >= ? AND t.status = 1 AND t.due_at > ?`,
        timerId,
        Math.floor(now) - LOOK_BACK_MS,
        now,
      );
      return row?.latest ?? null;
    });
  }

  /** By the page, so that a long outage holds up nobody else. */
  async overdue(timerId: number, since: number, before: number, limit: number): Promise<TaskRef[]> {
    const { dialect } = this.engine;
    const refs: TaskRef[] = [];
    let from = since;
    while (refs.length < limit) {
      const most = Math.min(10 * dialect.batch, limit - refs.length);
      const slots = await this.engine.statements(() => waitingSlots(dialect, timerId, from, before, most));
      refs.push(...slots.map((runTimer) => ({ timerId, runTimer })));
      if (slots.length < most) break;
      from = (slots.at(-1) as number) + 1;
      await this.engine.breathe();
    }
    return refs;
  }

  misfire(decision: Misfire): Promise<DueTask[]> {
    return this.engine.transaction(() => misfire(this.engine.dialect, decision));
  }

  async skip(refs: readonly TaskRef[], reason: Reason, now: number): Promise<number> {
    const { dialect } = this.engine;
    let changed = 0;
    for (const batch of batches(unique(refs), dialect.batch)) {
      changed += await this.engine.transaction(function* () {
        const keys = dialect.keys(batch);
        const count = yield* affected(
          `UPDATE timer_task AS t${dialect.force('PRIMARY')} SET status = 5, reason = ?, finished_at = ?
           WHERE ${dialect.inKeys('t')} AND t.status = 0`,
          reason,
          Math.floor(now),
          keys,
        );
        if (count > 0) yield* affected(dialect.query('forget-retries'), keys);
        return count;
      });
      await this.engine.breathe();
    }
    return changed;
  }

  async replay(tasks: readonly (TaskRef & { dueAt: number })[]): Promise<DueTask[]> {
    const { dialect } = this.engine;
    const waiting: DueTask[] = [];
    for (const batch of batches(unique(tasks), dialect.batch)) {
      const dueAt = new Map(batch.map((task) => [taskIdOf(task), Math.ceil(task.dueAt)]));
      const again = await this.engine.transaction(function* () {
        const ended = yield* rows<DueRow>(
          `SELECT t.run_timer, t.timer_id, t.bucket, t.due_at FROM timer_task t${dialect.force('PRIMARY')}
           WHERE ${dialect.inKeys('t')} AND t.status IN (3, 4, 5) ORDER BY t.run_timer, t.timer_id ${dialect.forUpdate}`,
          dialect.keys(batch),
        );
        const due = ended.map(dueTaskOf).map((task) => ({ ...task, dueAt: dueAt.get(taskIdOf(task)) as number }));
        yield* dialect.updateRows(
          'replay-tasks',
          due.map((task) => [task.dueAt, task.runTimer, task.timerId]),
        );
        if (due.length > 0) yield* affected(dialect.query('index-retries'), dialect.keys(due));
        return due;
      });
      waiting.push(...again);
      await this.engine.breathe();
    }
    return waiting;
  }

  async existing(refs: readonly TaskRef[]): Promise<TaskRef[]> {
    const { dialect } = this.engine;
    const known = new Set<string>();
    for (const batch of batches(refs, dialect.batch)) {
      const found = await this.engine.statements(() =>
        rows<{ run_timer: number; timer_id: number }>(
          `SELECT t.run_timer, t.timer_id FROM timer_task t${dialect.force('PRIMARY')} WHERE ${dialect.inKeys('t')}`,
          dialect.keys(batch),
        ),
      );
      for (const row of found) known.add(taskIdOf({ timerId: row.timer_id, runTimer: row.run_timer }));
      await this.engine.breathe();
    }
    return refs.filter((ref) => known.has(taskIdOf(ref)));
  }

  async countPlanned(timerId: number, now: number): Promise<number> {
    const waiting = await this.engine.statements(() => waitingOf(this.engine.dialect, timerId, now, WAITING_SLOT));
    return waiting.length;
  }

  running(timerId: number): Promise<TaskRef | null> {
    return this.engine.statements(() => running(timerId));
  }

  purge(before: number, apps: { only: string } | { except: readonly string[] }, limit: number): Promise<number> {
    return purge(this.engine, before, apps, limit);
  }

  find(ref: TaskRef): Promise<Task | null> {
    return this.engine.statements(function* () {
      const [row] = yield* rows<TaskRow>(
        `SELECT ${TASK_COLUMNS} FROM timer_task t WHERE t.run_timer = ? AND t.timer_id = ?`,
        ref.runTimer,
        ref.timerId,
      );
      return row ? taskOf(row) : null;
    });
  }

  attempts(ref: TaskRef): Promise<TaskAttempt[]> {
    return this.engine.statements(() =>
      rows<TaskAttempt>(
        `SELECT attempt, started_at AS startedAt, cost_time AS costTime, http_status AS httpStatus, error, output
         FROM timer_task_attempt WHERE run_timer = ? AND timer_id = ? ORDER BY attempt`,
        ref.runTimer,
        ref.timerId,
      ),
    );
  }

  history(query: HistoryQuery): Promise<Task[]> {
    return this.engine.statements(() => history(this.engine.dialect, query));
  }

  count(query: Omit<HistoryQuery, 'before' | 'limit'>, most: number): Promise<number | null> {
    return this.engine.statements(() => count(this.engine.dialect, query, most));
  }

  async completeUntil(buckets: readonly number[]): Promise<Map<number, number>> {
    const { dialect } = this.engine;
    const found = await this.engine.statements(() =>
      rows<{ bucket: number; complete_until: number }>(
        `SELECT bucket, complete_until FROM bucket_progress WHERE ${dialect.in('bucket')}`,
        dialect.list(buckets),
      ),
    );
    return new Map(found.map((row) => [row.bucket, row.complete_until]));
  }

  async setCompleteUntil(progress: ReadonlyMap<number, number>): Promise<void> {
    const { dialect } = this.engine;
    if (progress.size === 0) return;
    const values = [...progress].sort(([a], [b]) => a - b).map(([bucket, until]) => [bucket, Math.floor(until)]);
    await this.engine.statements(() =>
      dialect.insertRows(
        'INSERT INTO bucket_progress (bucket, complete_until)',
        values,
        dialect.orRaise('bucket', 'complete_until'),
      ),
    );
  }

  async heartbeat(node: NodeInfo, now: number, leaseMs: number): Promise<NodeRecord[]> {
    const alive = await this.engine.statements(() => heartbeat(this.engine.dialect, node, Math.floor(now), leaseMs));
    await this.removeEndedClaims();
    return alive;
  }

  async leave(nodeId: string): Promise<void> {
    await this.removeEndedClaims();
    await this.engine.transaction(() => leave(nodeId));
  }

  recoverDead(now: number, limit: number): Promise<DueTask[]> {
    return recoverClaims(this.engine, Math.floor(now), limit);
  }
}

/** A timer's waiting tasks that meet the condition on `t`: the recent ones, and whatever waits in the retry index. */
export function* waitingOf(dialect: Dialect, timerId: number, now: number, chosen: string): Work<DueTask[]> {
  const columns = 't.run_timer, t.timer_id, t.bucket, t.due_at';
  const recent = yield* rows<DueRow>(
    `SELECT ${columns} FROM timer_task t${dialect.force('timer_task_timer')}
     WHERE t.timer_id = ? AND t.run_timer >= ? AND ${chosen}`,
    timerId,
    Math.floor(now) - LOOK_BACK_MS,
  );
  const later = yield* rows<DueRow>(
    `SELECT ${columns} FROM task_retry r${dialect.force('task_retry_timer')}
       JOIN timer_task t ON t.run_timer = r.run_timer AND t.timer_id = r.timer_id AND t.due_at = r.due_at
     WHERE r.timer_id = ? AND ${chosen}`,
    timerId,
  );
  return unique([...recent, ...later].map(dueTaskOf));
}
