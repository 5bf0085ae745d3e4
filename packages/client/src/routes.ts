import type {
  AppName,
  AppView,
  BackfillTimer,
  CallbackTested,
  CancelTask,
  CreateTimer,
  CronPreview,
  PreviewCron,
  RetryTask,
  RunTimer,
  SecretRotated,
  TaskDetail,
  TaskList,
  TaskListQuery,
  TaskRefQuery,
  TasksCanceled,
  TasksMatched,
  TasksRetried,
  TestCallback,
  TimerBackfilled,
  TimerCreated,
  TimerList,
  TimerListQuery,
  TimerRef,
  TimerRun,
  TimerView,
  UpdateApp,
  UpdateTimer,
} from '@xtimer/contracts';
import type { Health, Readiness } from './health.js';
import { each, get, post, put } from './route.js';

/** The API, one line for each route: `group.method` is what callers write. */

type Nothing = Record<never, never>;
type App = { app: (typeof AppName)['_zod']['input'] };

type Input<S extends { _zod: { input: unknown } }> = S['_zod']['input'];
/** One call takes either; the answers differ, so here they are two methods. */
type ByIds<S extends { _zod: { input: unknown } }> = Omit<Input<S>, 'filter'>;
type ByFilter<S extends { _zod: { input: { filter?: unknown } } }> = Omit<Input<S>, 'app' | 'taskId' | 'taskIds'> & {
  filter: NonNullable<Input<S>['filter']>;
};

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
    /** Runs the slots of a past range that have no task yet: at most 1000, 10 a second. */
    backfill: post<typeof BackfillTimer, typeof TimerBackfilled>('/xtimer/backfillTimer'),
  },
  tasks: {
    /** One page, newest first; planned tasks too. */
    list: taskList,
    /** All that match, newest first; asks for the next page when it is needed. */
    each: each(taskList),
    /** With its failed attempts. */
    get: get<typeof TaskRefQuery, typeof TaskDetail>('/xtimer/getTask'),
    /** One or many, with an outcome for each. */
    cancel: post<ByIds<typeof CancelTask>, typeof TasksCanceled>('/xtimer/cancelTask'),
    /** All waiting ones that match. */
    cancelMatching: post<ByFilter<typeof CancelTask>, typeof TasksMatched>('/xtimer/cancelTask'),
    /** Runs failed, canceled or skipped ones once more, with the same idempotency key. */
    retry: post<ByIds<typeof RetryTask>, typeof TasksRetried>('/xtimer/retryTask'),
    /** All that match, the failed ones unless the filter names a status; 50 a second unless told otherwise. */
    retryMatching: post<ByFilter<typeof RetryTask>, typeof TasksMatched>('/xtimer/retryTask'),
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
    /** Settings of an app. */
    get: get<App, typeof AppView>('/apps/:app'),
    /** What is left out stays. */
    update: put<App & (typeof UpdateApp)['_zod']['input'], typeof AppView>('/apps/:app'),
    /** A new signing secret, shown once; the one before it keeps signing too. */
    rotateSecret: post<App, typeof SecretRotated>('/apps/:app/rotateSecret'),
  },
  health: {
    /** The process is up. */
    live: get<Nothing, Health>('/healthz'),
    /** The stores answer and the node is not about to stop; otherwise 50300 with their states in `data`. */
    ready: get<Nothing, Readiness>('/readyz'),
  },
};
