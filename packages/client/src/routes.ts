import type {
  AppName,
  AppView,
  BackfillTimer,
  CallbackTested,
  CancelTask,
  CreateTimer,
  CreateTopic,
  CronPreview,
  DeleteTopic,
  JobCanceled,
  JobId,
  JobList,
  JobListQuery,
  JobPublished,
  JobRef,
  JobRescheduled,
  JobsPublished,
  JobView,
  PreviewCron,
  PublishJob,
  PublishJobs,
  RescheduleJob,
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
  TopicDeleted,
  TopicList,
  TopicListQuery,
  TopicName,
  TopicRef,
  TopicView,
  TopicWithCounts,
  UpdateApp,
  UpdateTimer,
  UpdateTopic,
} from '@xtimer/contracts';
import type { Health, Readiness } from './health.js';
import { del, each, get, post, put, type QueryOf } from './route.js';

/** The API, one line for each route: `group.method` is what callers write. */

type Nothing = Record<never, never>;
type App = { app: (typeof AppName)['_zod']['input'] };

type Input<S extends { _zod: { input: unknown } }> = S['_zod']['input'];
/** One call takes either; the answers differ, so here they are two methods. */
type ByIds<S extends { _zod: { input: unknown } }> = Omit<Input<S>, 'filter'>;
type ByFilter<S extends { _zod: { input: { filter?: unknown } } }> = Omit<Input<S>, 'app' | 'taskId' | 'taskIds'> & {
  filter: NonNullable<Input<S>['filter']>;
};

/** What stands in the path. */
type TopicPath = { topic: Input<typeof TopicName> };
type JobPath = { jobId: Input<typeof JobId> };

const jobList = get<typeof JobListQuery, typeof JobList>('/jobs');
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
  topics: {
    /** A name that is taken: 40900. */
    create: post<typeof CreateTopic, typeof TopicView>('/topics'),
    /** By app and name, with the jobs of each counted. */
    list: get<typeof TopicListQuery, typeof TopicList>('/topics'),
    get: get<TopicPath & Input<typeof TopicRef>, typeof TopicWithCounts>('/topics/:topic'),
    /** What is left out stays. `status: 1` holds its jobs back, `status: 2` lets them go. */
    update: put<TopicPath & Input<typeof UpdateTopic>, typeof TopicView>('/topics/:topic'),
    /** With waiting jobs 40900, unless they are to be canceled. Its history stays readable. */
    delete: del<TopicPath & QueryOf<typeof DeleteTopic>, typeof TopicDeleted>('/topics/:topic'),
  },
  jobs: {
    /** The same `jobId` again is the same job; with another payload 40900. */
    publish: post<typeof PublishJob, typeof JobPublished>('/jobs'),
    /** Up to 1000, with an answer for each. */
    publishBatch: post<typeof PublishJobs, typeof JobsPublished>('/jobs/batch'),
    get: get<JobPath & Input<typeof JobRef>, typeof JobView>('/jobs/:jobId'),
    /** One page of a topic, latest action time first. */
    list: jobList,
    /** All that match; asks for the next page when it is needed. */
    each: each(jobList),
    /** The answer is final: `canceled`, `running` or `ended`. */
    cancel: post<JobPath & Input<typeof JobRef>, typeof JobCanceled>('/jobs/:jobId/cancel'),
    /** Moves a job that waits; others are `running` or `ended`. */
    reschedule: post<JobPath & Input<typeof RescheduleJob>, typeof JobRescheduled>('/jobs/:jobId/reschedule'),
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
