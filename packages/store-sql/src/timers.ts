import type { Definition, PlanAdvance, Timer, TimerListQuery, TimerStore } from '@xtimer/pipeline';
import { bucketOf, defaultPolicies, isJob, type TimerPolicies, topicIdOf } from '@xtimer/pipeline';
import { createApp, secretsOf } from './apps.js';
import type { Engine } from './dialect.js';
import { stored } from './task-rows.js';
import { topicDefinitions } from './topics.js';
import { affected, insertedId, rows, type Work } from './work.js';

type Written = Omit<Timer, 'timerId' | 'bucket' | 'version' | 'revision'>;
type Row = Record<string, unknown>;

/** Each field that a caller writes, and its column. */
const COLUMNS: Record<keyof Written, string> = {
  app: 'app',
  name: 'name',
  description: 'description',
  status: 'status',
  statusReason: 'status_reason',
  cron: 'cron',
  cronDialect: 'cron_dialect',
  timezone: 'timezone',
  notifyHttpParam: 'notify_http_param',
  policies: 'policies',
  nextFireAt: 'next_fire_at',
  plannedRuns: 'planned_runs',
  startAt: 'start_at',
  endAt: 'end_at',
  maxRuns: 'max_runs',
  toggledAt: 'toggled_at',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
  createdBy: 'created_by',
  updatedBy: 'updated_by',
};
const FIELDS = Object.entries(COLUMNS) as [keyof Written, string][];
const SELECT = `SELECT x.timer_id, x.bucket, x.version, x.revision, ${FIELDS.map(([, column]) => `x.${column}`).join(', ')} FROM xtimer x`;

export class SqlTimerStore implements TimerStore {
  constructor(
    private readonly engine: Engine,
    private readonly bucketsNum: number,
  ) {}

  /** The timer's app comes into being with its first timer. */
  create(timer: Written): Promise<Timer> {
    const { engine, bucketsNum } = this;
    return engine.transaction(function* () {
      yield* createApp(engine.dialect, timer.app, timer.createdAt);
      const columns = [...assignments(timer).map(([column]) => column), 'bucket', 'version', 'revision'];
      const timerId = yield* insertedId(
        `INSERT INTO xtimer (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
        ...assignments(timer).map(([, value]) => value),
        0,
        1,
        1,
      );
      const bucket = bucketOf(timerId, bucketsNum);
      yield* affected('UPDATE xtimer SET bucket = ? WHERE timer_id = ?', bucket, timerId);
      return (yield* findTimer(timerId)) as Timer;
    });
  }

  find(timerId: number, app: string | null, options: { withDeleted?: boolean } = {}): Promise<Timer | null> {
    return this.engine.statements(function* () {
      const timer = yield* findTimer(timerId);
      if (!timer || (app !== null && timer.app !== app)) return null;
      return timer.status === 0 && !options.withDeleted ? null : timer;
    });
  }

  save(timer: Timer, changes: Partial<Written>, options: { obsoletesPlanned: boolean }): Promise<Timer | null> {
    return this.engine.transaction(function* () {
      const sets = assignments(changes);
      const saved = yield* affected(
        `UPDATE xtimer SET ${sets.map(([column]) => `${column} = ?, `).join('')} revision = revision + 1, version = version + ?
         WHERE timer_id = ? AND revision = ?`,
        ...sets.map(([, value]) => value),
        options.obsoletesPlanned ? 1 : 0,
        timer.timerId,
        timer.revision,
      );
      // Read again: planning moves nextFireAt and plannedRuns without a new revision.
      return saved === 0 ? null : yield* findTimer(timer.timerId);
    });
  }

  list(query: TimerListQuery): Promise<{ list: Timer[]; total: number }> {
    const conditions = ['x.status <> 0'];
    const params: unknown[] = [];
    const where = (condition: string, param: unknown): void => {
      conditions.push(condition);
      params.push(param);
    };
    if (query.app !== null) where('x.app = ?', query.app);
    if (query.status !== undefined) where('x.status = ?', query.status);
    if (query.name) where(`x.name_lower LIKE ? ESCAPE '|'`, `%${query.name.toLowerCase().replace(/[|%_]/g, '|$&')}%`);
    const filter = `WHERE ${conditions.join(' AND ')}`;
    return this.engine.statements(function* () {
      const [count] = yield* rows<{ total: number }>(`SELECT COUNT(*) AS total FROM xtimer x ${filter}`, ...params);
      const page = yield* rows<Row>(
        `${SELECT} ${filter} ORDER BY x.timer_id DESC LIMIT ? OFFSET ?`,
        ...params,
        query.pageSize,
        (query.page - 1) * query.pageSize,
      );
      return { list: page.map(timerOf), total: count?.total ?? 0 };
    });
  }

  dueForPlanning(
    bucket: number,
    horizon: number,
    after: { nextFireAt: number; timerId: number } | null,
    limit: number,
  ): Promise<Timer[]> {
    const { dialect } = this.engine;
    return this.engine.statements(function* () {
      const due = yield* rows<Row>(
        `${SELECT}${dialect.force('xtimer_due')}
         WHERE x.status = 2 AND x.bucket = ? AND x.next_fire_at < ?
         ${after ? `AND ${dialect.beyond('x.next_fire_at', 'x.timer_id', '>')}` : ''}
         ORDER BY x.next_fire_at, x.timer_id LIMIT ?`,
        bucket,
        horizon,
        ...(after ? dialect.pair(after.nextFireAt, after.timerId) : []),
        limit,
      );
      return due.map(timerOf);
    });
  }

  async advance(moves: readonly PlanAdvance[]): Promise<boolean[]> {
    const { dialect } = this.engine;
    const answers: boolean[] = [];
    for (let start = 0; start < moves.length; start += dialect.batch) {
      const batch = moves.slice(start, start + dialect.batch);
      answers.push(...(await this.engine.transaction(() => this.advanceBatch(batch))));
      await this.engine.breathe();
    }
    return answers;
  }

  private *advanceBatch(moves: readonly PlanAdvance[]): Work<boolean[]> {
    const { dialect } = this.engine;
    const ids = [...new Set(moves.map((move) => move.timerId))].sort((a, b) => a - b);
    const found = yield* rows<{ timer_id: number; version: number; next_fire_at: number | null }>(
      `SELECT timer_id, version, next_fire_at FROM xtimer WHERE ${dialect.in('timer_id')} ${dialect.forUpdate}`,
      dialect.list(ids),
    );
    const current = new Map(found.map((row) => [row.timer_id, { ...row, planned: 0, moved: false }]));
    const answers = moves.map((move) => {
      const timer = current.get(move.timerId);
      if (!timer || timer.version !== move.version || timer.next_fire_at !== move.from) return false;
      timer.next_fire_at = move.to;
      timer.planned += move.planned;
      timer.moved = true;
      return true;
    });
    const moved = [...current.values()].filter((timer) => timer.moved);
    yield* dialect.updateRows(
      'advance-timers',
      moved.map((timer) => [timer.next_fire_at, timer.planned, timer.timer_id]),
    );
    return answers;
  }

  countFailure(timerId: number, failed: boolean): Promise<number> {
    return this.engine.transaction(function* () {
      yield* failed
        ? affected('UPDATE xtimer SET failures_in_row = failures_in_row + 1 WHERE timer_id = ?', timerId)
        : affected('UPDATE xtimer SET failures_in_row = 0 WHERE timer_id = ? AND failures_in_row > 0', timerId);
      const [row] = yield* rows<{ failures_in_row: number }>(
        'SELECT failures_in_row FROM xtimer WHERE timer_id = ?',
        timerId,
      );
      return row?.failures_in_row ?? 0;
    });
  }

  async definitions(ids: readonly number[]): Promise<Definition[]> {
    const { dialect } = this.engine;
    const timerIds = ids.filter((id) => !isJob(id));
    const topicIds = [...new Set(ids.filter(isJob).map(topicIdOf))];
    return this.engine.statements(function* () {
      const topics = topicIds.length > 0 ? yield* topicDefinitions(dialect, topicIds) : [];
      if (timerIds.length === 0) return topics;
      const found = yield* rows<Row>(
        `SELECT x.timer_id, x.app, x.name, x.revision, x.notify_http_param, x.policies, a.signing_secret, a.previous_secret
         FROM xtimer x LEFT JOIN app a ON a.app = x.app WHERE ${dialect.in('x.timer_id')}`,
        dialect.list(timerIds),
      );
      const timers = found.map((row) => ({
        timerId: row.timer_id as number,
        topic: null,
        app: row.app as string,
        name: row.name as string,
        revision: row.revision as number,
        notifyHttpParam: JSON.parse(row.notify_http_param as string),
        policies: policiesOf(row.policies as string),
        signingSecrets: secretsOf(row),
      }));
      return [...timers, ...topics];
    });
  }
}

/** A timer stored before a policy came into being has its default. */
export const policiesOf = (stored: string): TimerPolicies => ({ ...defaultPolicies, ...JSON.parse(stored) });

function* findTimer(timerId: number): Work<Timer | null> {
  const [row] = yield* rows<Row>(`${SELECT} WHERE x.timer_id = ?`, timerId);
  return row ? timerOf(row) : null;
}

/** Columns and values of the fields given. `name_lower` follows `name`: engines disagree on what lower case is. */
function assignments(fields: Partial<Written>): [column: string, value: unknown][] {
  const sets: [string, unknown][] = [];
  for (const [field, column] of FIELDS) {
    const value = fields[field];
    if (value === undefined) continue;
    sets.push([column, stored(value)]);
    if (field === 'name') sets.push(['name_lower', String(value).toLowerCase()]);
  }
  return sets;
}

function timerOf(row: Row): Timer {
  const fields = Object.fromEntries(FIELDS.map(([field, column]) => [field, row[column]])) as unknown as Written;
  return {
    ...fields,
    timerId: row.timer_id as number,
    bucket: row.bucket as number,
    version: row.version as number,
    revision: row.revision as number,
    notifyHttpParam: JSON.parse(row.notify_http_param as string),
    policies: policiesOf(row.policies as string),
  };
}
