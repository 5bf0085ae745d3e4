import { bucketOf, minuteOf } from '../buckets/buckets.js';
import { isJob, PARKED_AT, topicIdOf } from '../job/job.js';
import { isFinal, Reason, TaskOrigin, TaskStatus, TimerStatus } from '../status.js';
import type {
  CancelOutcome,
  ClaimRight,
  HistoryQuery,
  Misfire,
  NodeInfo,
  NodeRecord,
  NotRunQuery,
  PlanAdvance,
  TaskStore,
  TimerListQuery,
  TimerStore,
} from '../timer/ports.js';
import {
  type ClaimedTask,
  type DueTask,
  neverRun,
  type PlannedTask,
  type Task,
  type TaskAttempt,
  type TaskRef,
  type TaskResult,
  taskIdOf,
} from '../timer/task.js';
import type { Definition, Timer } from '../timer/timer.js';
import { MemoryJobs } from './memory-jobs.js';

export interface Row extends Task {
  maxAttempts?: number | null;
  claimId: number | null;
}

/**
 * The database as plain maps: the same promises as the SQL stores (the same contract tests run against it),
 * without a disk. Stage tests break it on purpose with `fail`.
 */
export class MemoryStores implements TimerStore, TaskStore {
  readonly timers = new Map<number, Timer>();
  readonly rows = new Map<string, Row>();
  readonly attemptRows = new Map<string, TaskAttempt[]>();
  private readonly claims = new Map<number, { nodeId: string; createdAt: number; refs: TaskRef[] }>();
  /** Claims ended by `unclaim`: one still on its way takes nothing any more. */
  private readonly ended = new Set<number>();
  private readonly failures = new Map<number, number>();
  /** The task that each exclusive timer ran last. */
  private readonly lastRun = new Map<number, { row: Row; claimId: number }>();
  private readonly nodes = new Map<string, NodeRecord>();
  private readonly progress = new Map<number, number>();
  /** Rows by the minute of their `dueAt`, so that a simulated hour stays cheap. */
  private readonly minutes = new Map<number, Set<Row>>();
  readonly jobs = new MemoryJobs(this);
  private failing = new Map<string, Error>();
  private nextTimerId = 1;

  constructor(private readonly bucketsNum = 4) {}

  /** Every call of `method` (or of all, `'*'`) rejects until `error` is `null`. */
  fail(method: keyof TimerStore | keyof TaskStore | '*', error: Error | null): void {
    if (error) this.failing.set(method, error);
    else this.failing.delete(method);
  }

  async create(timer: Omit<Timer, 'timerId' | 'bucket' | 'version' | 'revision'>): Promise<Timer> {
    this.enter('create');
    const timerId = this.nextTimerId++;
    const created = { ...timer, timerId, bucket: bucketOf(timerId, this.bucketsNum), version: 1, revision: 1 };
    this.timers.set(timerId, created);
    return { ...created };
  }

  async find(ref: TaskRef): Promise<Task | null>;
  async find(timerId: number, app: string | null, options?: { withDeleted?: boolean }): Promise<Timer | null>;
  async find(
    key: number | TaskRef,
    app: string | null = null,
    options: { withDeleted?: boolean } = {},
  ): Promise<Timer | Task | null> {
    this.enter('find');
    if (typeof key === 'object') {
      const row = this.rows.get(taskIdOf(key));
      return row ? taskOf(row) : null;
    }
    const timer = this.timers.get(key);
    if (!timer || (app !== null && timer.app !== app)) return null;
    return timer.status === TimerStatus.deleted && !options.withDeleted ? null : { ...timer };
  }

  async save(timer: Timer, changes: Partial<Timer>, options: { obsoletesPlanned: boolean }): Promise<Timer | null> {
    this.enter('save');
    const row = this.timers.get(timer.timerId);
    if (!row || row.revision !== timer.revision) return null;
    Object.assign(row, changes, { revision: row.revision + 1 });
    if (options.obsoletesPlanned) row.version++;
    return { ...row };
  }

  async list(query: TimerListQuery): Promise<{ list: Timer[]; total: number }> {
    this.enter('list');
    const all = [...this.timers.values()]
      .filter((timer) => timer.status !== TimerStatus.deleted)
      .filter((timer) => query.app === null || timer.app === query.app)
      .filter((timer) => query.status === undefined || timer.status === query.status)
      .filter((timer) => timer.name.toLowerCase().includes((query.name ?? '').toLowerCase()))
      .sort((a, b) => b.timerId - a.timerId);
    const start = (query.page - 1) * query.pageSize;
    return { list: all.slice(start, start + query.pageSize), total: all.length };
  }

  async dueForPlanning(
    bucket: number,
    horizon: number,
    after: { nextFireAt: number; timerId: number } | null,
    limit: number,
  ): Promise<Timer[]> {
    this.enter('dueForPlanning');
    return [...this.timers.values()]
      .filter((timer) => timer.status === TimerStatus.active && timer.bucket === bucket)
      .filter((timer) => timer.nextFireAt !== null && timer.nextFireAt < horizon)
      .sort((a, b) => a.nextFireAt! - b.nextFireAt! || a.timerId - b.timerId)
      .filter(
        (timer) =>
          !after ||
          timer.nextFireAt! > after.nextFireAt ||
          (timer.nextFireAt === after.nextFireAt && timer.timerId > after.timerId),
      )
      .slice(0, limit)
      .map((timer) => ({ ...timer }));
  }

  async advance(moves: readonly PlanAdvance[]): Promise<boolean[]> {
    this.enter('advance');
    return moves.map((move) => {
      const timer = this.timers.get(move.timerId);
      if (timer?.version !== move.version || timer.nextFireAt !== move.from) return false;
      timer.nextFireAt = move.to;
      timer.plannedRuns += move.planned;
      return true;
    });
  }

  async countFailure(timerId: number, failed: boolean): Promise<number> {
    this.enter('countFailure');
    const count = failed ? (this.failures.get(timerId) ?? 0) + 1 : 0;
    this.failures.set(timerId, count);
    return count;
  }

  async definitions(timerIds: readonly number[]): Promise<Definition[]> {
    this.enter('definitions');
    return timerIds.flatMap((timerId) => {
      if (isJob(timerId)) return this.jobs.definition(timerId) ?? [];
      const timer = this.timers.get(timerId);
      if (!timer) return [];
      const { app, name, revision, notifyHttpParam, policies } = timer;
      return [
        { timerId, topic: null, app, name, revision, notifyHttpParam, policies, signingSecrets: [SIGNING_SECRET] },
      ];
    });
  }

  async plan(tasks: readonly PlannedTask[]): Promise<void> {
    this.enter('plan');
    this.planAll(tasks);
  }

  private planAll(tasks: readonly PlannedTask[]): void {
    for (const task of tasks) {
      const row = this.rows.get(taskIdOf(task));
      if (!row) {
        const created = newRow(task);
        this.rows.set(taskIdOf(task), created);
        this.index(created);
      } else if (row.version < task.version) {
        const revived =
          row.status === TaskStatus.canceled && (row.reason === Reason.edited || row.reason === Reason.paused);
        if (revived) {
          const { dueAt, origin, payload } = task;
          this.move(row, { status: TaskStatus.notRun, reason: null, finishedAt: null, dueAt, origin, payload });
        }
        if (row.status === TaskStatus.notRun) row.version = task.version;
      }
    }
  }

  async claim(tasks: readonly DueTask[], claim: ClaimRight): Promise<ClaimedTask[]> {
    this.enter('claim');
    if (this.ended.has(claim.claimId)) return [];
    const claimed: ClaimedTask[] = [];
    const mayRun = (row: Row | undefined) =>
      row?.status === TaskStatus.notRun && row.dueAt <= claim.dueBy && this.mayRun(row);
    const first = new Map<number, number>();
    for (const { timerId, runTimer } of tasks)
      if (mayRun(this.rows.get(taskIdOf({ timerId, runTimer }))))
        first.set(timerId, Math.min(runTimer, first.get(timerId) ?? runTimer));
    for (const ref of tasks) {
      const row = this.rows.get(taskIdOf(ref));
      if (!row || !mayRun(row)) continue;
      if (claim.exclusive?.has(ref.timerId)) {
        if (row.runTimer !== first.get(ref.timerId) || this.runningOf(ref.timerId)) continue;
        this.lastRun.set(ref.timerId, { row, claimId: claim.claimId });
      }
      Object.assign(row, { status: TaskStatus.running, claimId: claim.claimId, attempt: row.attempt + 1 });
      const { timerId, runTimer, bucket, dueAt, app, attempt, origin, payload } = row;
      const { revision } = (isJob(timerId) ? this.jobs.topicOf(timerId) : this.timers.get(timerId))!;
      claimed.push({
        jobId: this.jobs.idOf(row),
        maxAttempts: row.maxAttempts ?? null,
        timerId,
        runTimer,
        bucket,
        dueAt,
        claimId: claim.claimId,
        app,
        attempt,
        origin,
        payload,
        revision,
      });
    }
    if (claimed.length > 0) {
      this.claims.set(claim.claimId, { nodeId: claim.nodeId, createdAt: claim.now, refs: claimed });
    }
    return claimed;
  }

  async finish(results: readonly TaskResult[]): Promise<TaskRef[]> {
    this.enter('finish');
    const written: TaskRef[] = [];
    for (const result of results) {
      const row = this.rows.get(taskIdOf(result));
      if (row?.claimId !== result.claimId) continue;
      if (row.status === TaskStatus.running) this.write(row, result);
      // Written before, and only the answer got lost: it stands.
      else if (row.status !== result.status) continue;
      written.push({ timerId: result.timerId, runTimer: result.runTimer });
    }
    return written;
  }

  async unclaim(claimId: number, refs: readonly TaskRef[]): Promise<void> {
    this.enter('unclaim');
    for (const ref of refs) {
      const row = this.rows.get(taskIdOf(ref));
      if (row?.status !== TaskStatus.running || row.claimId !== claimId) continue;
      Object.assign(row, { status: TaskStatus.notRun, claimId: null, attempt: row.attempt - 1 });
    }
    this.ended.add(claimId);
  }

  async cancelObsolete(refs: readonly TaskRef[], now: number): Promise<number> {
    this.enter('cancelObsolete');
    let changed = 0;
    for (const ref of refs) {
      const row = this.rows.get(taskIdOf(ref));
      if (row?.status !== TaskStatus.notRun || this.mayRun(row)) continue;
      if (this.jobs.topicOf(row.timerId)?.status === TimerStatus.inactive) {
        this.move(row, { dueAt: PARKED_AT });
        continue;
      }
      const timer = isJob(row.timerId) ? undefined : this.timers.get(row.timerId);
      const reason =
        !timer || timer.status === TimerStatus.deleted
          ? Reason.deleted
          : timer.status === TimerStatus.inactive
            ? Reason.paused
            : Reason.edited;
      cancelRow(row, reason, now);
      changed++;
    }
    return changed;
  }

  async notRun(query: NotRunQuery): Promise<DueTask[]> {
    this.enter('notRun');
    return this.waitingBetween(query.from, query.to)
      .filter((row) => row.status === TaskStatus.notRun && query.buckets.includes(row.bucket))
      .filter((row) => !query.exceptCron || !isWaitingSlot(row))
      .filter((row) => row.dueAt >= query.from && row.dueAt < query.to)
      .sort((a, b) => a.runTimer - b.runTimer || a.timerId - b.timerId)
      .filter((row) => !query.after || isAfter(row, query.after))
      .slice(0, query.limit)
      .map(dueTask);
  }

  async cancelPlanned(
    timerId: number,
    options: { beforeVersion: number | null; withRetries: boolean; reason: Reason; now: number; before?: number },
  ): Promise<DueTask[]> {
    this.enter('cancelPlanned');
    return [...this.rows.values()]
      .filter((row) => row.timerId === timerId && row.status === TaskStatus.notRun)
      .filter((row) => row.runTimer < (options.before ?? Number.POSITIVE_INFINITY))
      .filter((row) => options.beforeVersion === null || (row.version < options.beforeVersion && !ignoresVersion(row)))
      .filter((row) => options.withRetries || row.attempt === 0)
      .map((row) => {
        cancelRow(row, options.reason, options.now);
        return dueTask(row);
      });
  }

  async cancel(ref: TaskRef, now: number): Promise<{ outcome: CancelOutcome; task: DueTask | null }> {
    this.enter('cancel');
    const row = this.rows.get(taskIdOf(ref));
    if (!row) return { outcome: 'notFound', task: null };
    if (row.status === TaskStatus.running) return { outcome: 'running', task: null };
    if (isFinal(row.status)) return { outcome: 'ended', task: null };
    cancelRow(row, Reason.canceled, now);
    return { outcome: 'canceled', task: dueTask(row) };
  }

  async claimedAhead(timerId: number, now: number): Promise<number | null> {
    this.enter('claimedAhead');
    const ahead = [...this.rows.values()]
      .filter((row) => row.timerId === timerId && row.status === TaskStatus.running && row.dueAt > now)
      .map((row) => row.dueAt);
    return ahead.length > 0 ? Math.max(...ahead) : null;
  }

  async overdue(timerId: number, since: number, before: number, limit: number): Promise<TaskRef[]> {
    this.enter('overdue');
    return this.tasksOf(timerId)
      .filter((row) => isWaitingSlot(row) && row.runTimer >= since && row.runTimer < before)
      .slice(0, limit)
      .map(({ runTimer }) => ({ timerId, runTimer }));
  }

  async misfire({ timerId, app, bucket, version, keep, skip, unplanned, now }: Misfire): Promise<DueTask[]> {
    this.enter('misfire');
    const waiting: DueTask[] = [];
    for (const { runTimer, dueAt } of keep) {
      const id = taskIdOf({ timerId, runTimer });
      const row = this.rows.get(id);
      if (row && !isWaitingSlot(row)) continue;
      const origin = TaskOrigin.cron;
      if (row) this.move(row, { dueAt });
      else this.planAll([{ timerId, runTimer, app, bucket, version, origin, dueAt, payload: null }]);
      waiting.push(dueTask(this.rows.get(id)!));
    }
    if (!skip) return waiting;
    const kept = new Set(keep.map((slot) => slot.runTimer));
    const left = this.tasksOf(timerId).filter(
      (row) => isWaitingSlot(row) && row.runTimer >= skip.from && row.runTimer <= skip.until && !kept.has(row.runTimer),
    );
    for (const row of left) this.remove(row);
    const at = left[0]?.runTimer ?? (unplanned > 0 ? this.placeForUnplanned(timerId, skip) : null);
    if (at === null) return waiting;
    const origin = TaskOrigin.cron;
    this.planAll([{ timerId, runTimer: at, app, bucket, version, origin, dueAt: at, payload: null }]);
    Object.assign(this.rows.get(taskIdOf({ timerId, runTimer: at }))!, {
      status: TaskStatus.skipped,
      reason: Reason.misfire,
      skippedCount: left.length + unplanned,
      skippedUntil: skip.until,
      finishedAt: now,
    });
    return waiting;
  }

  /** Where slots that never had a row are counted; `null` when somebody has counted them before. */
  private placeForUnplanned(timerId: number, skip: { from: number; until: number }): number | null {
    for (const runTimer of [skip.from, skip.until]) {
      const before = this.tasksOf(timerId).findLast((row) => row.runTimer <= runTimer);
      if ((before?.skippedUntil ?? 0) >= skip.until) continue;
      if (before?.runTimer !== runTimer) return runTimer;
    }
    return null;
  }

  async skip(refs: readonly TaskRef[], reason: Reason, now: number): Promise<number> {
    this.enter('skip');
    const rows = refs.map((ref) => this.rows.get(taskIdOf(ref))).filter((row) => row?.status === TaskStatus.notRun);
    for (const row of rows) Object.assign(row!, { status: TaskStatus.skipped, reason, finishedAt: Math.floor(now) });
    return new Set(rows).size;
  }

  async replay(tasks: readonly (TaskRef & { dueAt: number })[]): Promise<DueTask[]> {
    this.enter('replay');
    const waiting: DueTask[] = [];
    for (const task of tasks) {
      const row = this.rows.get(taskIdOf(task));
      if (!row || !isFinal(row.status) || row.status === TaskStatus.succeeded) continue;
      const replayCount = row.replayCount + 1;
      const dueAt = Math.ceil(task.dueAt);
      this.move(row, { status: TaskStatus.notRun, reason: null, finishedAt: null, claimId: null, dueAt, replayCount });
      waiting.push(dueTask(row));
    }
    return waiting;
  }

  async existing(refs: readonly TaskRef[]): Promise<TaskRef[]> {
    this.enter('existing');
    return refs.filter((ref) => this.rows.has(taskIdOf(ref)));
  }

  async countPlanned(timerId: number, _now: number): Promise<number> {
    this.enter('countPlanned');
    return this.tasksOf(timerId).filter(isWaitingSlot).length;
  }

  async running(timerId: number): Promise<TaskRef | null> {
    this.enter('running');
    const row = this.runningOf(timerId);
    return row ? { timerId, runTimer: row.runTimer } : null;
  }

  async purge(before: number, apps: { only: string } | { except: readonly string[] }, limit: number): Promise<number> {
    this.enter('purge');
    const old = [...this.rows.values()]
      .filter((row) => row.runTimer < before && isFinal(row.status))
      .filter((row) => ('only' in apps ? row.app === apps.only : !apps.except.includes(row.app)))
      .sort((a, b) => a.runTimer - b.runTimer)
      .slice(0, limit);
    for (const row of old) this.remove(row);
    return old.length;
  }

  async attempts(ref: TaskRef): Promise<TaskAttempt[]> {
    this.enter('attempts');
    return [...this.attemptsOf(ref)];
  }

  async history(query: HistoryQuery): Promise<Task[]> {
    this.enter('history');
    return this.rowsIn(query)
      .filter((row) => isAsked(query, row))
      .filter((row) => !query.before || isAfter(query.before, row))
      .sort((a, b) => b.runTimer - a.runTimer || b.timerId - a.timerId)
      .slice(0, query.limit)
      .map(taskOf);
  }

  async count(query: Omit<HistoryQuery, 'before' | 'limit'>, most: number): Promise<number | null> {
    this.enter('count');
    const range = this.rowsIn(query);
    return range.length > most ? null : range.filter((row) => isAsked(query, row)).length;
  }

  async completeUntil(buckets: readonly number[]): Promise<Map<number, number>> {
    this.enter('completeUntil');
    return new Map([...this.progress].filter(([bucket]) => buckets.includes(bucket)));
  }

  async setCompleteUntil(progress: ReadonlyMap<number, number>): Promise<void> {
    this.enter('setCompleteUntil');
    for (const [bucket, until] of progress) {
      this.progress.set(bucket, Math.max(until, this.progress.get(bucket) ?? 0));
    }
  }

  async heartbeat(node: NodeInfo, now: number, leaseMs: number): Promise<NodeRecord[]> {
    this.enter('heartbeat');
    this.nodes.set(node.nodeId, { ...node, heartbeatAt: now, leaseUntil: now + leaseMs });
    return [...this.nodes.values()].filter((known) => known.leaseUntil >= now);
  }

  async leave(nodeId: string): Promise<void> {
    this.enter('leave');
    // With calls in flight it is remembered as dead, so that recovery takes them at once.
    const node = this.nodes.get(nodeId);
    if (node && this.holdsClaims(nodeId)) node.leaseUntil = 0;
    else this.nodes.delete(nodeId);
  }

  async recoverDead(now: number, limit: number): Promise<DueTask[]> {
    this.enter('recoverDead');
    const recovered: DueTask[] = [];
    const dead = [...this.claims].filter(([, claim]) => {
      const node = this.nodes.get(claim.nodeId);
      return node ? node.leaseUntil < now : claim.createdAt < now - STRANGER_GRACE_MS;
    });
    for (const [claimId, claim] of dead.slice(0, limit)) {
      for (const row of this.heldBy(claimId)) {
        const ending = this.endingOf(row, claim.nodeId);
        const { bucket, attempt, timerId, runTimer } = row;
        const sent = { startedAt: Math.max(claim.createdAt, row.dueAt), finishedAt: now, costTime: 0, lateness: null };
        const nothing = { httpStatus: null, output: null, reason: null };
        this.write(row, { timerId, runTimer, claimId, bucket, attempt, dueAt: now, ...sent, ...nothing, ...ending });
        if (row.status === TaskStatus.notRun) recovered.push(dueTask(row));
      }
      this.claims.delete(claimId);
    }
    return recovered;
  }

  /** The timer's tasks by planned instant, for assertions. */
  tasksOf(timerId: number): Task[] {
    return [...this.rows.values()].filter((row) => row.timerId === timerId).sort((a, b) => a.runTimer - b.runTimer);
  }

  /** What the index of a history query holds: one timer's, one topic's, one app's or all rows, within its times. */
  private rowsIn(query: Omit<HistoryQuery, 'before' | 'limit'>) {
    const { app, timerId, topicId, startTime = 0, endTime = Number.MAX_VALUE } = query;
    const isWide = timerId === undefined && topicId === undefined;
    return [...this.rows.values()]
      .filter((row) => timerId === undefined || row.timerId === timerId)
      .filter((row) => topicId === undefined || topicIdOf(row.timerId) === topicId)
      .filter((row) => !isWide || app === null || row.app === app)
      .filter((row) => row.runTimer >= startTime && row.runTimer < endTime);
  }

  /** The task that keeps an exclusive timer busy. */
  private runningOf(timerId: number): Task | undefined {
    const last = this.lastRun.get(timerId);
    return last?.row.status === TaskStatus.running && last.row.claimId === last.claimId ? last.row : undefined;
  }

  private remove(row: Row | Task): void {
    const id = taskIdOf(row);
    this.unindex(this.rows.get(id)!);
    this.rows.delete(id);
    this.jobs.forget(id);
    this.attemptRows.delete(id);
  }

  /** For `MemoryJobs`. */
  addRow(task: PlannedTask, maxAttempts: number | null): Row {
    const row = { ...newRow(task), maxAttempts };
    this.rows.set(taskIdOf(task), row);
    this.index(row);
    return row;
  }

  /** For `MemoryJobs`: also to another instant. */
  moveRow(row: Row, changes: Partial<Row>): void {
    this.rows.delete(taskIdOf(row));
    this.move(row, changes);
    this.rows.set(taskIdOf(row), row);
  }

  private mayRun(row: Row): boolean {
    if (isJob(row.timerId)) return this.jobs.topicOf(row.timerId)?.status === TimerStatus.active;
    const timer = this.timers.get(row.timerId);
    if (!timer || timer.status === TimerStatus.deleted) return false;
    if (ignoresVersion(row)) return true;
    return timer.status === TimerStatus.active && (row.version === timer.version || row.attempt > 0);
  }

  private write(row: Row, result: TaskResult): void {
    const { attempt, error, httpStatus, reason, status } = result;
    const waits = status === TaskStatus.notRun;
    const output = storable(result.output);
    const sent = { startedAt: Math.floor(result.startedAt), costTime: Math.round(result.costTime) };
    if (waits || status === TaskStatus.failed || error !== null) {
      this.attemptsOf(result).push({ attempt, ...sent, httpStatus, error: storable(error), output });
    }
    this.move(row, {
      ...sent,
      status,
      httpStatus,
      reason,
      output,
      error: storable(error),
      dueAt: waits ? result.dueAt : row.dueAt,
      finishedAt: waits ? null : Math.floor(result.finishedAt),
      lateness: row.lateness ?? result.lateness,
      // An ended task keeps its claim, so that a repeated write is known again.
      claimId: waits ? null : row.claimId,
    });
  }

  /** The attempt in flight counts as failed; whether another follows is the choice of the timer, the topic or the job. */
  private endingOf(row: Row, nodeId: string): { status: TaskStatus; error: string } {
    const { delivery, retry } = (isJob(row.timerId) ? this.jobs.topicOf(row.timerId) : this.timers.get(row.timerId))!
      .policies;
    const died = `node ${nodeId} died while the call was in flight`;
    if (delivery === 'atMostOnce') return { status: TaskStatus.failed, error: `OUTCOME_UNKNOWN: ${died}` };
    const status = row.attempt >= (row.maxAttempts ?? retry.maxAttempts) ? TaskStatus.failed : TaskStatus.notRun;
    return { status, error: `NODE_LOST: ${died}` };
  }

  /** Rows the claim still holds; a claim without any is forgotten. */
  private heldBy(claimId: number): Row[] {
    const refs = this.claims.get(claimId)?.refs ?? [];
    return refs
      .map((ref) => this.rows.get(taskIdOf(ref))!)
      .filter((row) => row.status === TaskStatus.running && row.claimId === claimId);
  }

  private holdsClaims(nodeId: string): boolean {
    return [...this.claims].some(([claimId, claim]) => claim.nodeId === nodeId && this.heldBy(claimId).length > 0);
  }

  private move(row: Row, changes: Partial<Row>): void {
    this.unindex(row);
    Object.assign(row, changes);
    this.index(row);
  }

  private index(row: Row): void {
    const minute = minuteOf(row.dueAt);
    this.minutes.set(minute, (this.minutes.get(minute) ?? new Set()).add(row));
  }

  private unindex(row: Row): void {
    this.minutes.get(minuteOf(row.dueAt))?.delete(row);
  }

  private waitingBetween(from: number, to: number): Row[] {
    return [...this.minutes.keys()]
      .filter((minute) => minute >= minuteOf(from) && minute < to)
      .flatMap((minute) => [...this.minutes.get(minute)!]);
  }

  private attemptsOf(ref: TaskRef): TaskAttempt[] {
    const id = taskIdOf(ref);
    if (!this.attemptRows.has(id)) this.attemptRows.set(id, []);
    return this.attemptRows.get(id)!;
  }

  private enter(method: string): void {
    const error = this.failing.get(method) ?? this.failing.get('*');
    if (error) throw error;
  }
}

/** A claim of a node that is not registered: it may still be about to register. */
const STRANGER_GRACE_MS = 60_000;

const SIGNING_SECRET = `whsec_${Buffer.from('secret of the test stores').toString('base64').slice(0, 32)}`;

const ignoresVersion = (row: Row): boolean =>
  row.origin === TaskOrigin.manual || row.origin === TaskOrigin.backfill || row.replayCount > 0;

/** What no database keeps as text is replaced, as the SQL stores do. */
const storable = (text: string | null): string | null =>
  text?.replace(/\p{Surrogate}/gu, '\ufffd').replaceAll('\0', '\ufffd') ?? null;

export const taskOf = ({ claimId: _claimId, maxAttempts: _maxAttempts, ...task }: Row): Task => task;

const newRow = (task: PlannedTask): Row => ({ ...task, ...neverRun, dueAt: Math.ceil(task.dueAt), claimId: null });

/** A slot of the cron before its first attempt. */
const isWaitingSlot = (row: Task): boolean =>
  row.status === TaskStatus.notRun && row.origin === TaskOrigin.cron && row.attempt === 0 && row.replayCount === 0;

/** The filters that are checked row by row. */
const isAsked = (query: Omit<HistoryQuery, 'before' | 'limit'>, row: Row): boolean =>
  (query.app === null || row.app === query.app) &&
  (query.status === undefined || row.status === query.status) &&
  (query.origin === undefined || row.origin === query.origin);

const dueTask = ({ timerId, runTimer, bucket, dueAt }: Row): DueTask => ({ timerId, runTimer, bucket, dueAt });

const isAfter = (a: TaskRef, b: TaskRef): boolean =>
  a.runTimer > b.runTimer || (a.runTimer === b.runTimer && a.timerId > b.timerId);

function cancelRow(row: Row, reason: Reason, now: number): void {
  Object.assign(row, { status: TaskStatus.canceled, reason, finishedAt: now });
}
