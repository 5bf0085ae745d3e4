import {
  type ClaimedTask,
  defaultPolicies,
  type PlannedTask,
  type Task,
  TaskOrigin,
  type TaskResult,
  TaskStatus,
  type TaskStore,
  type Timer,
  TimerStatus,
  type TimerStore,
} from '@xtimer/pipeline';

/** One instance of the stores, as one node has it. */
export interface OpenStores {
  timers: TimerStore;
  tasks: TaskStore;
  close(): Promise<void>;
}

export const EMOJI = 'Grüße 🎉 你好 " \' \\ %_';
let lastClaimId = 2 ** 52;
let days = 0;

export type StoresSetup = Awaited<ReturnType<typeof setup>>;

/** A timer of its own in an app of its own, on a day of its own. */
export async function setup(one: OpenStores, bucketsNum: number) {
  const t0 = 1_800_000_000_000 + 86_400_000 * days++;
  const app = `app-${days}-${Math.random().toString(36).slice(2)}`;
  const create = (fields: Partial<Timer> = {}) => one.timers.create({ ...newTimer(app, t0), ...fields });
  const timer = await create();
  const buckets = Array.from({ length: bucketsNum }, (_, bucket) => bucket);

  /** `count` tasks a second apart, from `t0` on. */
  const plannedTasks = (count: number, fields: Partial<PlannedTask> = {}, of: Timer = timer): PlannedTask[] =>
    Array.from({ length: count }, (_, n) => ({
      timerId: of.timerId,
      runTimer: t0 + n * 1000,
      app,
      bucket: of.bucket,
      version: of.version,
      origin: TaskOrigin.cron,
      dueAt: t0 + n * 1000,
      payload: null,
      ...fields,
    }));
  const plan = async (count: number, fields: Partial<PlannedTask> = {}, of: Timer = timer) => {
    const tasks = plannedTasks(count, fields, of);
    await one.tasks.plan(tasks);
    return tasks;
  };
  const right = (nodeId = 'node-1', dueBy = t0 + 86_000_000) => ({
    claimId: ++lastClaimId,
    nodeId,
    now: t0,
    dueBy,
  });
  const claim = (tasks: readonly PlannedTask[], nodeId?: string) => one.tasks.claim(tasks, right(nodeId));
  const waiting = async (from = t0 - 1000, to = t0 + 86_000_000) =>
    (await one.tasks.notRun({ buckets, from, to, after: null, limit: 10_000 })).filter(
      (t) => t.timerId === timer.timerId,
    );
  const statuses = async (): Promise<number[]> => (await history()).map((task) => task.status).reverse();
  const history = (): Promise<Task[]> =>
    one.tasks.history({ app, timerId: timer.timerId, before: null, limit: 10_000 });
  const node = (nodeId: string) => ({
    nodeId,
    host: EMOJI,
    version: '1.0.0',
    roles: ['api', 'worker'],
    bucketsNum: buckets.length,
    startedAt: t0,
  });
  return { t0, app, timer, create, buckets, plannedTasks, plan, right, claim, waiting, statuses, history, node };
}

export const mine = <T extends { timerId: number; runTimer: number }>(tasks: T[], t: { timer: Timer }): T[] =>
  tasks.filter((task) => task.timerId === t.timer.timerId).sort((a, b) => a.runTimer - b.runTimer);

export function newTimer(app: string, t0: number): Omit<Timer, 'timerId' | 'bucket' | 'version' | 'revision'> {
  return {
    app,
    name: EMOJI,
    description: EMOJI,
    status: TimerStatus.active,
    statusReason: null,
    cron: '0 0 * * *',
    cronDialect: 'auto',
    timezone: 'Europe/Berlin',
    notifyHttpParam: {
      method: 'POST',
      url: `https://example.com/${EMOJI}`,
      header: { 'X-Env': EMOJI },
      body: `${EMOJI}\0`,
    },
    policies: defaultPolicies,
    startAt: null,
    endAt: null,
    maxRuns: null,
    nextFireAt: t0,
    plannedRuns: 0,
    toggledAt: null,
    createdAt: t0 + 123,
    updatedAt: t0 + 456,
    createdBy: EMOJI,
    updatedBy: EMOJI,
  };
}

type Given = ClaimedTask | undefined;

/** The instants of a result follow from the timer's first instant of the day. */
export function succeeded(task: Given, fields: Partial<TaskResult> = {}): TaskResult {
  const { timerId, runTimer, claimId, bucket, attempt, dueAt } = task as ClaimedTask;
  const t0 = runTimer - (runTimer % 86_400_000) + (1_800_000_000_000 % 86_400_000);
  return {
    timerId,
    runTimer,
    claimId,
    bucket,
    attempt,
    dueAt,
    status: TaskStatus.succeeded,
    startedAt: t0 + 1.4,
    finishedAt: t0 + 8.2,
    costTime: 6.2,
    lateness: 1,
    httpStatus: 200,
    output: null,
    error: null,
    reason: null,
    ...fields,
  };
}

export const failed = (task: Given, fields: Partial<TaskResult> = {}): TaskResult =>
  succeeded(task, { status: TaskStatus.failed, httpStatus: 500, error: 'E: no', ...fields });

export const retry = (task: Given, dueAt: number, fields: Partial<TaskResult> = {}): TaskResult =>
  failed(task, { status: TaskStatus.notRun, dueAt, ...fields });
