import { bucketOf, minuteOf } from '../buckets/buckets.js';
import { isFinal, Reason, TaskOrigin, TaskStatus, TimerStatus } from '../status.js';
import type {
  CancelOutcome,
  ClaimRight,
  HistoryQuery,
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
  type PlannedTask,
  type Task,
  type TaskAttempt,
  type TaskRef,
  type TaskResult,
  taskIdOf,
} from '../timer/task.js';
import type { Definition, Timer } from '../timer/timer.js';

interface Row extends Task {
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
  private readonly claims = new Map<number, { nodeId: string; refs: TaskRef[] }>();
  private readonly nodes = new Map<string, NodeRecord>();
  private readonly progress = new Map<number, number>();
  /** Rows by the minute of their `dueAt`, so that a simulated hour stays cheap. */
  private readonly minutes = new Map<number, Set<Row>>();
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
    if (typeof key === 'object') return this.rows.get(taskIdOf(key)) ?? null;
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

  async definitions(timerIds: readonly number[]): Promise<Definition[]> {
    this.enter('definitions');
    return timerIds.flatMap((timerId) => {
      const timer = this.timers.get(timerId);
      if (!timer) return [];
      const { app, name, revision, notifyHttpParam, policies } = timer;
      return [{ timerId, app, name, revision, notifyHttpParam, policies, signingSecrets: [] }];
    });
  }

  async plan(tasks: readonly PlannedTask[]): Promise<void> {
    this.enter('plan');
    for (const task of tasks) {
      const row = this.rows.get(taskIdOf(task));
      if (!row) {
        const created = newRow(task);
        this.rows.set(taskIdOf(task), created);
        this.index(created);
      } else if (row.version < task.version) {
        const revived =
          row.status === TaskStatus.canceled && (row.reason === Reason.edited || row.reason === Reason.paused);
        if (revived)
          Object.assign(row, { status: TaskStatus.notRun, reason: null, finishedAt: null, dueAt: task.dueAt });
        if (row.status === TaskStatus.notRun) row.version = task.version;
      }
    }
  }

  async claim(tasks: readonly DueTask[], claim: ClaimRight): Promise<ClaimedTask[]> {
    this.enter('claim');
    const claimed: ClaimedTask[] = [];
    for (const ref of tasks) {
      const row = this.rows.get(taskIdOf(ref));
      if (row?.status !== TaskStatus.notRun || row.dueAt > claim.dueBy || !this.mayRun(row)) continue;
      Object.assign(row, { status: TaskStatus.running, claimId: claim.claimId, attempt: row.attempt + 1 });
      const { timerId, runTimer, bucket, dueAt, app, attempt, origin, payload } = row;
      const { revision } = this.timers.get(timerId)!;
      claimed.push({
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
    this.claims.set(claim.claimId, { nodeId: claim.nodeId, refs: claimed });
    return claimed;
  }

  async finish(results: readonly TaskResult[]): Promise<TaskRef[]> {
    this.enter('finish');
    const written: TaskRef[] = [];
    for (const result of results) {
      const row = this.rows.get(taskIdOf(result));
      if (row?.status !== TaskStatus.running || row.claimId !== result.claimId) continue;
      const { bucket: _bucket, attempt, lateness, ...rest } = result;
      this.unindex(row);
      Object.assign(row, rest, { claimId: null, lateness: row.lateness ?? lateness });
      this.index(row);
      if (result.status !== TaskStatus.succeeded) {
        const { startedAt, costTime, httpStatus, error, output } = result;
        this.attemptsOf(result).push({ attempt, startedAt, costTime, httpStatus, error, output });
      }
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
    this.claims.delete(claimId);
  }

  async cancelObsolete(refs: readonly TaskRef[], now: number): Promise<number> {
    this.enter('cancelObsolete');
    let changed = 0;
    for (const ref of refs) {
      const row = this.rows.get(taskIdOf(ref));
      if (row?.status !== TaskStatus.notRun || this.mayRun(row)) continue;
      const timer = this.timers.get(row.timerId);
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
      .filter((row) => row.dueAt >= query.from && row.dueAt < query.to)
      .sort((a, b) => a.runTimer - b.runTimer || a.timerId - b.timerId)
      .filter((row) => !query.after || isAfter(row, query.after))
      .slice(0, query.limit)
      .map(dueTask);
  }

  async cancelPlanned(
    timerId: number,
    options: { beforeVersion: number | null; withRetries: boolean; reason: Reason; now: number },
  ): Promise<DueTask[]> {
    this.enter('cancelPlanned');
    return [...this.rows.values()]
      .filter((row) => row.timerId === timerId && row.status === TaskStatus.notRun)
      .filter((row) => row.origin === TaskOrigin.cron)
      .filter((row) => options.beforeVersion === null || row.version < options.beforeVersion)
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

  async attempts(ref: TaskRef): Promise<TaskAttempt[]> {
    this.enter('attempts');
    return this.attemptsOf(ref);
  }

  async history(query: HistoryQuery): Promise<Task[]> {
    this.enter('history');
    return [...this.rows.values()]
      .filter((row) => query.app === null || row.app === query.app)
      .filter((row) => query.timerId === undefined || row.timerId === query.timerId)
      .filter((row) => query.status === undefined || row.status === query.status)
      .filter((row) => query.origin === undefined || row.origin === query.origin)
      .filter((row) => row.runTimer >= (query.startTime ?? 0) && row.runTimer < (query.endTime ?? Number.MAX_VALUE))
      .filter((row) => !query.before || isAfter(query.before, row))
      .sort((a, b) => b.runTimer - a.runTimer || b.timerId - a.timerId)
      .slice(0, query.limit);
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
    return [...this.nodes.values()];
  }

  async leave(nodeId: string): Promise<void> {
    this.enter('leave');
    this.nodes.delete(nodeId);
  }

  async recoverDead(now: number, limit: number): Promise<DueTask[]> {
    this.enter('recoverDead');
    const recovered: DueTask[] = [];
    const dead = [...this.claims].filter(([, claim]) => {
      const node = this.nodes.get(claim.nodeId);
      return !node || node.leaseUntil < now;
    });
    for (const [claimId, claim] of dead.slice(0, limit)) {
      this.claims.delete(claimId);
      for (const ref of claim.refs) {
        const row = this.rows.get(taskIdOf(ref));
        if (row?.status !== TaskStatus.running || row.claimId !== claimId) continue;
        this.unindex(row);
        Object.assign(row, { status: TaskStatus.notRun, claimId: null, dueAt: now });
        this.index(row);
        recovered.push(dueTask(row));
      }
    }
    return recovered;
  }

  /** The timer's tasks by planned instant, for assertions. */
  tasksOf(timerId: number): Task[] {
    return [...this.rows.values()].filter((row) => row.timerId === timerId).sort((a, b) => a.runTimer - b.runTimer);
  }

  private mayRun(row: Row): boolean {
    const timer = this.timers.get(row.timerId);
    if (!timer || timer.status === TimerStatus.deleted) return false;
    if (row.origin === TaskOrigin.manual || row.origin === TaskOrigin.backfill) return true;
    return timer.status === TimerStatus.active && (row.version === timer.version || row.attempt > 0);
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

const newRow = (task: PlannedTask): Row => ({
  ...task,
  status: TaskStatus.notRun,
  attempt: 0,
  claimId: null,
  costTime: null,
  lateness: null,
  httpStatus: null,
  output: null,
  error: null,
  reason: null,
  skippedCount: null,
  skippedUntil: null,
  replayCount: 0,
  startedAt: null,
  finishedAt: null,
});

const dueTask = ({ timerId, runTimer, bucket, dueAt }: Row): DueTask => ({ timerId, runTimer, bucket, dueAt });

const isAfter = (a: TaskRef, b: TaskRef): boolean =>
  a.runTimer > b.runTimer || (a.runTimer === b.runTimer && a.timerId > b.timerId);

function cancelRow(row: Row, reason: Reason, now: number): void {
  Object.assign(row, { status: TaskStatus.canceled, reason, finishedAt: now });
}
