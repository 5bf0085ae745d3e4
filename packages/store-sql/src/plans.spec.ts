import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type DueTask,
  type HistoryQuery,
  type JobListQuery,
  type Misfire,
  PARKED_AT,
  type PlannedJob,
  Reason,
  type TaskRef,
  type TaskResult,
  TaskStatus,
  TOPIC_SPAN,
  type Topic,
} from '@xtimer/pipeline';
import { startMariaDb } from '@xtimer/testkit';
import Libsql from 'libsql';
import { describe, expect, it } from 'vitest';
import { openEngine } from './database.js';
import type { Engine } from './dialect.js';
import { SqlJobStore } from './jobs.js';
import { SqlTaskStore } from './tasks.js';
import { SqlTimerStore } from './timers.js';
import { affected, type Statement, type Work } from './work.js';

/**
 * The scheduler's own queries never scan history: each call of the stores is made on tables full of it, its
 * statements are explained, and on MySQL the rows it reads are counted.
 *
 * `XTIMER_PLANS=1 npx vitest run packages/store-sql/src/plans.spec.ts` does the same with a million tasks and
 * writes docs/query-plans.md.
 */
const DOCUMENT = process.env.XTIMER_PLANS === '1';
const TASKS = DOCUMENT ? 1_000_000 : 200_000;
const TIMERS = TASKS / 100;
const RUNS = 100;
/** Of each timer's runs, the newest are planned and have not run. */
const WAITING_RUNS = 5;
const EVERY_MS = 60_000;
const T0 = 1_800_000_000_000;
const NOW = T0 + (RUNS - WAITING_RUNS) * EVERY_MS;
const APPS = 20;
const BUCKETS = 4;
const CLAIMS = 2_000;
const GROUP = 200;
const TOPICS = 10;
const JOBS = TASKS / 20;
const WAITING_JOBS = 1_000;
const IS_OLD = `j.run_timer < ${NOW - (JOBS - WAITING_JOBS - 2_000) * 1000}`;

interface Step {
  sql: string;
  plan: string[];
  /** Index entries and rows; `null` where the engine does not tell. */
  read: number | null;
}

/** Digits to multiply, so that the tables fill within the database. */
const FILL = [
  'CREATE TABLE digit (n INTEGER NOT NULL PRIMARY KEY)',
  `INSERT INTO digit VALUES ${Array.from({ length: 1000 }, (_, n) => `(${n})`).join(', ')}`,
  `INSERT INTO xtimer (timer_id, app, name, name_lower, description, status, cron, cron_dialect, timezone, notify_http_param,
     policies, bucket, version, revision, next_fire_at, planned_runs, created_at, updated_at, created_by, updated_by)
   SELECT i, CONCAT('app-', i % ${APPS}), 'n', 'n', '', 2, '* * * * *', 'auto', 'UTC', '{}', '{}', i % ${BUCKETS}, 1, 1,
     ${NOW} + i * 1000, 0, 0, 0, '', ''
   FROM (SELECT a.n * 1000 + b.n + 1 AS i FROM digit a CROSS JOIN digit b WHERE a.n < ${TIMERS / 1000}) x`,
  `INSERT INTO timer_task (run_timer, timer_id, app, bucket, status, origin, version, due_at, attempt, finished_at, output)
   SELECT ${T0} + n * ${EVERY_MS}, timer_id, app, bucket,
     CASE WHEN n >= ${RUNS - WAITING_RUNS} THEN 0 WHEN timer_id % 50 = 0 THEN 3 ELSE 2 END,
     1, 1, ${T0} + n * ${EVERY_MS}, CASE WHEN n >= ${RUNS - WAITING_RUNS} THEN 0 ELSE 1 END, ${T0}, 'ok'
   FROM digit CROSS JOIN xtimer WHERE n < ${RUNS} ORDER BY n, timer_id`,
  `INSERT INTO timer_task_attempt (run_timer, timer_id, attempt, started_at, cost_time)
   SELECT run_timer, timer_id, 1, ${T0}, 5 FROM timer_task WHERE status = 3`,
  `INSERT INTO task_retry (due_at, run_timer, timer_id, bucket)
   SELECT ${NOW} + n * 5000, ${T0}, timer_id, bucket FROM digit CROSS JOIN xtimer WHERE n < 10 AND timer_id % 10 = 0`,
  `INSERT INTO task_claim (claim_id, node_id, created_at, members)
   SELECT a.n * 1000 + b.n + 1, CONCAT('node-', b.n % 5), ${NOW}, '[]' FROM digit a CROSS JOIN digit b WHERE a.n < ${CLAIMS / 1000}`,
  `INSERT INTO timer_running (timer_id, run_timer, claim_id) SELECT timer_id, ${T0}, 1 FROM xtimer WHERE timer_id % 3 = 0`,
  `INSERT INTO topic (topic_id, app, topic, description, status, notify_http_param, policies, slot_amount, revision,
     resumed_at, created_at, updated_at, created_by, updated_by)
   SELECT n + 1, CONCAT('app-', n % ${APPS}), CONCAT('topic-', n), '', CASE n WHEN 1 THEN 1 ELSE 2 END, '{}', '{}', 8, 1,
     CASE n WHEN 0 THEN ${NOW} ELSE NULL END, 0, 0, '', ''
   FROM digit`,
  // The jobs of few topics: of each the newest wait, and the oldest of the paused one are held back.
  `INSERT INTO job (topic_id, job_id, timer_id, run_timer, slot, payload_hash, created_at)
   SELECT o.n + 1, CONCAT('job-', a.n * 1000 + b.n), (o.n + 1) * ${TOPIC_SPAN} + a.n * 1000 + b.n + 1,
     ${NOW} + (a.n * 1000 + b.n - ${JOBS - WAITING_JOBS}) * 1000, 1, '', ${T0}
   FROM digit o CROSS JOIN digit a CROSS JOIN digit b WHERE o.n < ${TOPICS} AND a.n < ${JOBS / 1000}`,
  `INSERT INTO timer_task (run_timer, timer_id, app, bucket, status, origin, version, due_at, attempt, payload)
   SELECT j.run_timer, j.timer_id, CONCAT('app-', (j.topic_id - 1) % ${APPS}), j.timer_id % ${BUCKETS},
     CASE WHEN j.run_timer >= ${NOW} OR (j.topic_id = 2 AND ${IS_OLD}) THEN 0 ELSE 2 END, 2, 0,
     CASE WHEN j.topic_id = 2 AND ${IS_OLD} THEN ${PARKED_AT} ELSE j.run_timer END, 0, 'payload'
   FROM job j`,
  `INSERT INTO task_retry (due_at, run_timer, timer_id, bucket)
   SELECT t.due_at, t.run_timer, t.timer_id, t.bucket FROM timer_task t WHERE t.origin = 2 AND t.due_at <> t.run_timer`,
  'DROP TABLE digit',
];

async function fill(engine: Engine): Promise<void> {
  await engine.migrate();
  for (const sql of FILL) await engine.statements(() => affected(sql));
  const tables = [
    'xtimer',
    'timer_task',
    'timer_task_attempt',
    'task_retry',
    'task_claim',
    'timer_running',
    'topic',
    'job',
  ];
  // Our SQLite files are never analyzed.
  for (const sql of engine.kind === 'sqlite' ? [] : tables.map((table) => `ANALYZE TABLE ${table}`))
    await engine.statements(function* () {
      yield { sql, params: [], reads: true };
    });
}

const COUNTERS =
  "SHOW SESSION STATUS WHERE Variable_name REGEXP '^Handler_read_(first|key|last|next|prev|rnd|rnd_next|rnd_deleted)$'";

/** The same engine, which explains each statement just before it runs, and counts what it reads. */
function watched(engine: Engine, reader: Libsql.Database | null): { engine: Engine; steps: Step[] } {
  const steps: Step[] = [];
  function* counters(): Work<number> {
    const { rows } = yield { sql: COUNTERS, params: [], reads: true };
    return (rows as { Value: string }[]).reduce((sum, { Value }) => sum + Number(Value), 0);
  }
  function* explain({ sql, params }: Statement): Work<string[]> {
    if (reader) {
      const steps = reader.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(params) as { detail: string }[];
      return steps.map(({ detail }) => detail);
    }
    const { rows } = yield { sql: `EXPLAIN ${sql}`, params, reads: true };
    return (rows as Record<string, unknown>[]).map(
      ({ table, type, key, rows: estimate }) => `${table} ${type} ${key} ${estimate}`,
    );
  }
  function* watch<T>(work: Work<T>): Work<T> {
    let step = work.next();
    while (!step.done) {
      const statement = step.value;
      const values = /^\s*INSERT[^;]*\bVALUES\b/i.test(statement.sql);
      const plan = values ? ['the primary key'] : yield* explain(statement);
      const idle = reader ? 0 : -(yield* counters()) + (yield* counters());
      const before = reader ? 0 : yield* counters();
      const answer = yield statement;
      const read = reader ? null : Math.max(0, (yield* counters()) - before - idle);
      steps.push({ sql: statement.sql.replace(/\s+/g, ' ').trim(), plan, read });
      step = work.next(answer);
    }
    return step.value;
  }
  return {
    steps,
    engine: {
      ...engine,
      transaction: (work) => engine.transaction(() => watch(work())),
      statements: (work) => engine.statements(() => watch(work())),
    },
  };
}

/** Each call of the stores, and how many index entries and rows it may read for what it does. */
function calls(engine: Engine): [name: string, most: number, call: () => Promise<unknown>][] {
  const tasks = new SqlTaskStore(engine);
  const jobs = new SqlJobStore(engine);
  const timers = new SqlTimerStore(engine, BUCKETS);
  const ids = (from: number) => Array.from({ length: GROUP }, (_, n) => from + n);
  const due = (from: number, run = RUNS - WAITING_RUNS): DueTask[] =>
    ids(from).map((timerId) => {
      const runTimer = T0 + run * EVERY_MS;
      return { timerId, runTimer, bucket: timerId % BUCKETS, dueAt: runTimer };
    });
  const right = (claimId: number) => ({ claimId, nodeId: 'node-1', now: NOW, dueBy: NOW + EVERY_MS });
  const result = (ref: DueTask, n: number): TaskResult => ({
    ...ref,
    claimId: 900_001,
    attempt: 1,
    status: n % 3 ? TaskStatus.succeeded : n % 2 ? TaskStatus.failed : TaskStatus.notRun,
    dueAt: NOW + 60_000,
    startedAt: NOW,
    finishedAt: NOW,
    costTime: 1,
    lateness: 0,
    httpStatus: 200,
    output: null,
    error: n % 3 ? null : 'E: no',
    reason: null,
  });
  const ended = due(1, 1).map((ref) => ({ ...ref, timerId: ref.timerId * 50 }));
  const page = (query: Partial<HistoryQuery>) => () =>
    tasks.history({ app: null, before: null, limit: 20, ...query }).then((list) => expect(list).toHaveLength(20));
  const middle: TaskRef = { timerId: 7, runTimer: T0 + 50 * EVERY_MS };
  const minute = { buckets: [1, 3], from: NOW, to: NOW + EVERY_MS, after: null, limit: 1000 };
  const misfire: Misfire = {
    timerId: 7,
    app: 'app-7',
    bucket: 3,
    version: 1,
    keep: [{ runTimer: NOW + 3 * EVERY_MS, dueAt: NOW + 3 * EVERY_MS + 500 }],
    skip: { from: NOW, until: NOW + 2 * EVERY_MS },
    unplanned: 0,
    now: NOW + 4 * EVERY_MS,
  };
  const node = { nodeId: 'node-1', host: 'h', version: '1', roles: [], bucketsNum: BUCKETS, startedAt: NOW };
  const cancel = { beforeVersion: null, withRetries: true, reason: Reason.paused, now: NOW };
  // A minute of planned tasks; within a claim or a result each row is read some times: for itself, its timer, its claim.
  const slice = TIMERS;
  const perTask = 12 * GROUP;
  const job = (topicId: number, n: number): DueTask => {
    const runTimer = NOW + (n - (JOBS - WAITING_JOBS)) * 1000;
    const timerId = topicId * TOPIC_SPAN + n + 1;
    return { timerId, runTimer, bucket: timerId % BUCKETS, dueAt: runTimer };
  };
  /** Of those that wait. */
  const someJobs = (topicId: number) => ids(JOBS - WAITING_JOBS).map((n) => job(topicId, n));
  const newJobs = (prefix: string): PlannedJob[] =>
    ids(JOBS - 100).map((n) => {
      const { runTimer, bucket } = job(4, n);
      const planned = { payload: 'p', actionTime: runTimer, slotBasis: null, maxAttempts: null, slot: 1, bucket };
      return { ...planned, jobId: `${prefix}-${n}` };
    });
  const topic = { topicId: 4, app: 'app-3' } as Topic;
  const jobPage = (query: Partial<JobListQuery>) => () =>
    jobs
      .listJobs({ topicId: 5, before: null, limit: 20, ...query })
      .then((list) => expect(list).toHaveLength(query.jobId ? 1 : 20));
  const jobCalls: ReturnType<typeof calls> = [
    [
      'claim, jobs',
      perTask,
      () =>
        tasks
          .claim(someJobs(3), { ...right(900_003), dueBy: NOW + 1e9 })
          .then((mine) => expect(mine).toHaveLength(GROUP)),
    ],
    ['cancelObsolete, jobs', perTask, () => tasks.cancelObsolete(someJobs(2), NOW)],
    [
      'publish',
      perTask,
      () =>
        jobs
          .publish(topic, newJobs('job'), NOW)
          .then((list) => expect(list.filter((a) => a.created)).toHaveLength(100)),
    ],
    ['reschedule', 40, () => jobs.reschedule(5, `job-${JOBS - 5}`, NOW + 5_000)],
    ['unpark', perTask, () => jobs.unpark(2, GROUP, (n) => NOW + n).then((l) => expect(l).toHaveLength(GROUP))],
    ['jobIds', perTask, () => jobs.jobIds(someJobs(6)).then((found) => expect(found.size).toBe(GROUP))],
    ['findJob', 20, () => jobs.findJob(5, 'job-7')],
    ['listJobs', 80, jobPage({})],
    ['listJobs below a job', 80, jobPage({ before: job(5, 1_000) })],
    ['listJobs in a time range', 80, jobPage({ startTime: T0 - 1e9, endTime: job(5, 1_000).runTimer })],
    ['listJobs by status', 80, jobPage({ status: TaskStatus.notRun })],
    ['listJobs by id', 20, jobPage({ jobId: 'job-7' })],
    ['countJobs', 5 * 2_000, () => jobs.countJobs(5, 200)],
    [
      'cancelJobs',
      5 * Math.max(GROUP, engine.dialect.batch),
      () => jobs.cancelJobs(7, GROUP, NOW).then((list) => expect(list).toHaveLength(GROUP)),
    ],
    ['findTopic, saveTopic', 20, () => jobs.findTopic('app-9', 'topic-9').then((t) => jobs.saveTopic(t as Topic, {}))],
    ['resumedSince', 10, () => jobs.resumedSince(NOW).then((list) => expect(list).toHaveLength(1))],
    ['definitions, topics', perTask, () => timers.definitions(ids(1).map((topicId) => topicId * TOPIC_SPAN))],
    ['history, a topic', 80, page({ app: 'app-4', topicId: 5 })],
    ['history, a topic below a task', 80, page({ app: null, topicId: 5, before: job(5, 1_000) })],
    ['count, a topic', 5 * 1000, () => tasks.count({ app: null, topicId: 5 }, 1000).then((n) => expect(n).toBeNull())],
  ];
  return [
    ...jobCalls,
    ['claim', perTask, () => tasks.claim(due(1), right(900_001)).then((mine) => expect(mine).toHaveLength(GROUP))],
    [
      'claim, timers that run one task at a time',
      2 * perTask,
      () =>
        tasks
          .claim(due(1001), { ...right(900_002), exclusive: new Set(ids(1001)) })
          .then((mine) => expect(mine).toHaveLength(GROUP)),
    ],
    ['running', 10, () => tasks.running(1002)],
    [
      'finish, successes',
      perTask,
      () =>
        tasks.finish(
          due(1, 95)
            .map((ref) => result(ref, 1))
            .slice(0, 100),
        ),
    ],
    ['finish, successes and failures', perTask, () => tasks.finish(due(1, 95).map(result).slice(100))],
    ['unclaim', perTask, () => tasks.unclaim(900_002, due(1001))],
    ['cancelObsolete', perTask, () => tasks.cancelObsolete(due(1301), NOW)],
    ['skip', perTask, () => tasks.skip(due(1601), Reason.overlap, NOW)],
    ['replay', perTask, () => tasks.replay(ended).then((list) => expect(list).not.toHaveLength(0))],
    ['existing', perTask, () => tasks.existing(due(1))],
    ['notRun, a minute', 3 * slice, () => tasks.notRun(minute)],
    ['notRun, without the cron’s', 3 * slice, () => tasks.notRun({ ...minute, exceptCron: true })],
    ['cancelPlanned', 4 * RUNS, () => tasks.cancelPlanned(500, cancel)],
    ['cancel', 20, () => tasks.cancel({ timerId: 501, runTimer: NOW + EVERY_MS }, NOW)],
    ['countPlanned', 4 * RUNS, () => tasks.countPlanned(510, NOW).then((n) => expect(n).toBe(WAITING_RUNS))],
    ['claimedAhead', 4 * RUNS, () => tasks.claimedAhead(7, NOW)],
    ['overdue', 20, () => tasks.overdue(7, NOW, NOW + 9 * EVERY_MS, 1000)],
    ['misfire', 100, () => tasks.misfire(misfire)],
    [
      'misfire, nothing planned',
      20,
      () => tasks.misfire({ ...misfire, keep: [], skip: { from: 1, until: 2 }, unplanned: 2 }),
    ],
    ['recoverDead', 4 * CLAIMS, () => tasks.recoverDead(NOW + 100_000_000, 1)],
    ['heartbeat', 40, () => tasks.heartbeat(node, NOW, 5000)],
    [
      'dueForPlanning',
      500,
      () => timers.dueForPlanning(1, NOW + 1e9, null, 200).then((l) => expect(l).toHaveLength(200)),
    ],
    [
      'advance',
      perTask,
      () =>
        timers.advance(
          ids(1).map((timerId) => ({ timerId, version: 1, from: NOW + timerId * 1000, to: null, planned: 1 })),
        ),
    ],
    ['definitions', perTask, () => timers.definitions(ids(1))],
    ['countFailure', 10, () => timers.countFailure(7, true)],
    ['purge, all apps', perTask, () => tasks.purge(NOW, { except: [] }, GROUP).then((n) => expect(n).toBe(GROUP))],
    ['purge, one app', perTask, () => tasks.purge(NOW, { only: 'app-7' }, GROUP).then((n) => expect(n).toBe(GROUP))],
    [
      'purge, all apps but some',
      perTask,
      () => tasks.purge(NOW, { except: ['app-0', 'app-1', 'app-10'] }, GROUP).then((n) => expect(n).toBe(GROUP)),
    ],
    ['history, everything', 60, page({})],
    ['history, an app', 60, page({ app: 'app-7' })],
    ['history, an app below a task', 60, page({ app: 'app-7', before: middle })],
    ['history, an app in a time range', 60, page({ app: 'app-7', startTime: T0, endTime: middle.runTimer })],
    ['history, a timer', 60, page({ timerId: 8 })],
    ['history, a timer of an app below a task', 60, page({ app: 'app-7', timerId: 7, before: middle })],
    ['history, a timer in a time range', 60, page({ timerId: 9, startTime: T0, endTime: middle.runTimer })],
    ['history, a timer by status', 60, page({ timerId: 9, status: TaskStatus.succeeded })],
    ['count', 2500, () => tasks.count({ app: 'app-7' }, 1000).then((n) => expect(n).toBeNull())],
    ['find, attempts', 20, () => Promise.all([tasks.find(middle), tasks.attempts(middle)])],
  ];
}

async function examine(
  engine: Engine,
  reader: Libsql.Database | null,
  judge: (step: Step, name: string) => void,
): Promise<string[]> {
  const { engine: seen, steps } = watched(engine, reader);
  const lines: string[] = [];
  for (const [name, most, call] of calls(seen)) {
    steps.length = 0;
    await call().catch((error) => {
      throw new Error(`${name}: ${error.message}`, { cause: error });
    });
    for (const step of steps) judge(step, name);
    const read = steps.reduce((sum, step) => sum + (step.read ?? 0), 0);
    expect(
      read,
      `read by ${name}:\n${steps.map((s) => `${s.read} ${s.sql} ${s.plan}`).join('\n')}`,
    ).toBeLessThanOrEqual(most);
    lines.push(`### ${name}`, '', read > 0 ? `${read} index entries and rows read.` : '');
    const shown = new Map(steps.map((step) => [step.sql, step.plan]));
    for (const [sql, plan] of shown) lines.push(`- \`${shortened(sql)}\``, ...plan.map((line) => `  - ${line}`));
    lines.push('');
  }
  return lines;
}

const shortened = (sql: string): string => (sql.length > 160 ? `${sql.slice(0, 100)} … ${sql.slice(-55)}` : sql);

const documents = new Map<string, string[]>();
async function write(engine: string, lines: string[]): Promise<void> {
  documents.set(engine, lines);
  if (!DOCUMENT || documents.size < 2) return;
  const text = [
    '# Query plans',
    '',
    `Every call the scheduler makes on its database, on tables with ${TASKS.toLocaleString('en')} tasks of ${TIMERS.toLocaleString('en')} timers.`,
    `Calls that work on a group have ${GROUP} tasks in it. Written by \`XTIMER_PLANS=1 npx vitest run packages/store-sql/src/plans.spec.ts\`;`,
    'the same test checks the same plans with 200,000 tasks on every run: no call scans a table that grows with history,',
    'and what it reads follows from what it works on. Tables read whole: lists of values (`m`, `r`, `json_each`), the',
    'registry of nodes, and by `recoverDead` the records of claims that have not ended.',
    '',
    ...[...documents].flatMap(([name, body]) => [`## ${name}`, '', ...body]),
  ];
  await writeFile(
    join(import.meta.dirname, '../../../docs/query-plans.md'),
    `${text.join('\n').replace(/\n{3,}/g, '\n\n')}`,
  );
}

/** A list of values, a derived table, or a registry that holds a handful of rows. */
const SMALL = 1_000;

describe(`no call scans history, with ${TASKS} tasks`, () => {
  const time = { timeout: 600_000 };

  it('on MySQL or MariaDB', time, async (context) => {
    const server = await startMariaDb();
    if (!server) return context.skip();
    const engine = await openEngine({ url: server.url, timeoutMs: 120_000 });
    try {
      await fill(engine);
      const lines = await examine(engine, null, ({ sql, plan }, name) => {
        for (const line of plan) {
          const [table, type, , estimate] = line.split(' ');
          // A page of everything walks the clustered index backwards, a count or a page ends at its limit.
          const limited = /LIMIT \?/.test(sql) && type === 'index';
          const whole = type === 'ALL' || type === 'index';
          if (whole && !limited && !table?.startsWith('<'))
            expect(Number(estimate), `${name}: ${line} in ${sql}`).toBeLessThanOrEqual(
              name === 'recoverDead' ? 2 * CLAIMS : SMALL,
            );
        }
      });
      await write('MariaDB 10.11: table, access, index, estimated rows', lines);
    } finally {
      await engine.close();
      await server.stop();
    }
  });

  it('on SQLite', time, async () => {
    const file = join(tmpdir(), `xtimer-${randomUUID()}.db`);
    const engine = await openEngine({ url: `sqlite:${file}` });
    try {
      await fill(engine);
      const reader = new Libsql(file);
      const lines = await examine(engine, reader, ({ sql, plan }, name) => {
        for (const line of plan) {
          const whole = /^SCAN (?!json_each|node\b|n$|o$|s$|CONSTANT|\(subquery)/.test(line);
          const allowed = name === 'history, everything' || name === 'recoverDead';
          if (!allowed) expect(whole, `${name}: ${line} in ${sql}`).toBe(false);
          if (name.startsWith('history')) expect(line).not.toMatch(/TEMP B-TREE/);
        }
      });
      reader.close();
      await write('SQLite', lines);
    } finally {
      await engine.close();
      for (const suffix of ['', '-wal', '-shm']) await rm(file + suffix, { force: true });
    }
  });
});
