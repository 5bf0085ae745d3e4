import type {
  AppName,
  CallbackTested,
  CancelTask,
  CreateTimer,
  CronPreview,
  PreviewCron,
  RunTimer,
  SecretRotated,
  TaskDetail,
  TaskList,
  TaskListQuery,
  TaskRefQuery,
  TasksCanceled,
  TestCallback,
  TimerCreated,
  TimerList,
  TimerListQuery,
  TimerRef,
  TimerRun,
  TimerView,
  UpdateTimer,
} from '@xtimer/contracts';
import type { Health, Readiness } from './health.js';
import { each, get, post } from './route.js';

/** The API, one line for each route: `group.method` is what callers write. */

type Nothing = Record<never, never>;

const taskList = get<typeof TaskListQuery, typeof TaskList>('/xtimer/getTaskList');

export const routes = {
  timers: {
    /** Inactive unless `enable` is true. */
    create: post<typeof CreateTimer, typeof TimerCreated>('/xtimer/createTimer'),
    /** What is left out stays. */
    update: post<typeof UpdateTimer, typeof TimerView>('/xtimer/updateTimer'),
    get: get<typeof TimerRef, typeof TimerView>('/xtimer/getTimer'),
    /** Newest first. */
    list: get<typeof TimerListQuery, typeof TimerList>('/xtimer/getAppTimers'),
    /** A second change of a timer within 3 s is refused: 42900 with `retryAfterMs`. */
    enable: post<typeof TimerRef, typeof TimerView>('/xtimer/enableTimer'),
    /** Planned tasks are canceled. Refused like `enable`. */
    pause: post<typeof TimerRef, typeof TimerView>('/xtimer/unEnableTimer'),
    /** Its history stays readable. */
    delete: post<typeof TimerRef, Nothing>('/xtimer/deleteTimer'),
    /** Once, now, also when inactive; `body` replaces the timer's for this run. */
    run: post<typeof RunTimer, typeof TimerRun>('/xtimer/runTimer'),
  },
  tasks: {
    /** One page, newest first; planned tasks too. */
    list: taskList,
    /** All that match, newest first; asks for the next page when it is needed. */
    each: each(taskList),
    /** With its failed attempts. */
    get: get<typeof TaskRefQuery, typeof TaskDetail>('/xtimer/getTask'),
    /** One or many, with an outcome for each. */
    cancel: post<typeof CancelTask, typeof TasksCanceled>('/xtimer/cancelTask'),
  },
  cron: {
    /** What an expression means and when it fires next. One that can't be read: 40000 with the place in `data`. */
    preview: post<typeof PreviewCron, typeof CronPreview>('/xtimer/previewCron', { safe: true }),
  },
  callbacks: {
    /** One call now, nothing stored. The callback's time is added to the client's own timeout. */
    test: post<typeof TestCallback, typeof CallbackTested>('/xtimer/testCallback', {
      // The contract's default for a callback: 10 s.
      extraMs: ({ timeoutMs = 10_000 }) => timeoutMs,
    }),
  },
  apps: {
    /** A new signing secret, shown once; the one before it keeps signing too. */
    rotateSecret: post<{ app: (typeof AppName)['_zod']['input'] }, typeof SecretRotated>('/apps/:app/rotateSecret'),
  },
  health: {
    /** The process is up. */
    live: get<Nothing, Health>('/healthz'),
    /** The stores answer and the node is not about to stop; otherwise 50300 with their states in `data`. */
    ready: get<Nothing, Readiness>('/readyz'),
  },
};
