import { TaskOrigin, TimerStatus } from '../status.js';
import type { DueTask, PlannedTask } from '../timer/task.js';
import { defaultPolicies, type Timer, type TimerPolicies } from '../timer/timer.js';
import type { MemoryStores } from './memory-stores.js';

/** An active timer that calls its target every second. */
export const aTimer = (
  changes: Partial<Omit<Timer, 'policies'>> & { policies?: Partial<TimerPolicies> } = {},
): Timer => ({
  timerId: 1,
  app: 'shop',
  name: 'sample',
  description: '',
  status: TimerStatus.active,
  cron: '* * * * * ?',
  cronDialect: 'auto',
  timezone: 'UTC',
  startAt: null,
  endAt: null,
  maxRuns: null,
  notifyHttpParam: { method: 'POST', url: 'http://target.example/run', header: {}, body: null },
  statusReason: null,
  bucket: 1,
  version: 1,
  revision: 1,
  nextFireAt: null,
  plannedRuns: 0,
  toggledAt: null,
  createdAt: 0,
  updatedAt: 0,
  createdBy: 'test',
  updatedBy: 'test',
  ...changes,
  policies: { ...defaultPolicies, ...changes.policies },
});

/** Tasks of the timer at these instants, planned in the stores. */
export async function planned(stores: MemoryStores, timer: Timer, ...instants: number[]): Promise<DueTask[]> {
  const tasks: PlannedTask[] = instants.map((runTimer) => ({
    timerId: timer.timerId,
    runTimer,
    app: timer.app,
    bucket: timer.bucket,
    version: timer.version,
    origin: TaskOrigin.cron,
    dueAt: runTimer,
    payload: null,
  }));
  await stores.plan(tasks);
  return tasks.map(({ timerId, runTimer, bucket, dueAt }) => ({ timerId, runTimer, bucket, dueAt }));
}
