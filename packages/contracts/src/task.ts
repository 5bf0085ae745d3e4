import { TaskOrigin, TaskStatus } from '@xtimer/pipeline/status';
import { z } from 'zod';
import { AppName, Id, Moment, oneOf, TaskId, TopicName, whole, wholeInQuery } from './fields.js';

/** Tasks: history and what can be done to single executions. */

const originNames = Object.keys(TaskOrigin) as [keyof typeof TaskOrigin, ...(keyof typeof TaskOrigin)[]];

/** A task as history shows it. Moments are epoch ms, durations ms. */
export const TaskView = z.object({
  taskId: z.string(),
  timerId: z.int().describe('Absent for a job.').optional(),
  topic: z.string().describe("A job's topic; absent for a timer's task.").optional(),
  jobId: z.string().describe("Absent for a timer's task.").optional(),
  app: z.string(),
  name: z.string().describe("The timer's or topic's name."),
  runTimer: z.int().describe("The planned instant; a job's action time."),
  dueAt: z.int().nullable().describe('When the next attempt is due; null: held back while the topic is paused.'),
  status: z
    .literal(Object.values(TaskStatus))
    .describe('0 not run, 1 running, 2 succeeded, 3 failed, 4 canceled, 5 skipped.'),
  reason: z
    .string()
    .nullable()
    .describe(
      'Why it was canceled (`canceled`, `edited`, `paused`, `deleted`) or skipped (`misfire`, `overlap`); null otherwise.',
    ),
  skippedCount: z.int().nullable().describe('Instants this skipped row stands for, from `runTimer` to `skippedUntil`.'),
  skippedUntil: z.int().nullable().describe('The last of these instants.'),
  attempt: z.int().describe('Attempts made so far; replays count on.'),
  replayCount: z.int().describe('How often `retryTask` ran it again.'),
  costTime: z.int().nullable(),
  lateness: z.int().nullable().describe('First send minus planned.'),
  httpStatus: z.int().nullable(),
  output: z.string().nullable(),
  error: z.string().nullable(),
  origin: z.enum(originNames),
  startedAt: z.int().nullable(),
  finishedAt: z.int().nullable(),
});
export type TaskView = z.output<typeof TaskView>;

export const AttemptView = z.object({
  attempt: z.int(),
  startedAt: z.int(),
  costTime: z.int(),
  httpStatus: z.int().nullable(),
  error: z.string().nullable(),
  output: z.string().nullable(),
});

export const TaskDetail = TaskView.extend({
  payload: z.string().nullable().describe("What replaced the timer's body in this run; a job's payload, as text."),
  attempts: z.array(AttemptView).describe('Failed attempts, oldest first.'),
});
export type TaskDetail = z.output<typeof TaskDetail>;

export const TaskRefQuery = z.strictObject({ app: AppName.optional(), taskId: TaskId });

const notBoth = {
  check: ({ topic, timerId }: { topic?: unknown; timerId?: unknown }) => topic === undefined || timerId === undefined,
  params: { path: ['topic'], error: 'a topic or a timerId, not both' },
};

export const TaskListQuery = z
  .strictObject({
    app: AppName.optional(),
    timerId: Id.optional(),
    topic: TopicName.describe('Jobs of this topic; needs `app`, and no `timerId` beside it.').optional(),
    status: oneOf(TaskStatus).optional(),
    startTime: Moment.describe('Inclusive, on runTimer.').optional(),
    endTime: Moment.describe('Exclusive, on runTimer.').optional(),
    pageSize: wholeInQuery(1, 200).optional().default(20),
    cursor: z.string({ error: 'the nextCursor of the page before' }).optional(),
  })
  .refine((query) => query.startTime === undefined || query.endTime === undefined || query.startTime < query.endTime, {
    path: ['endTime'],
    error: 'a moment after startTime',
  })
  .refine(({ topic, app }) => topic === undefined || app !== undefined, {
    path: ['app'],
    error: 'the app of the topic',
  })
  .refine(notBoth.check, notBoth.params);
export const TaskList = z.object({
  list: z.array(TaskView),
  nextCursor: z.string().nullable().describe('Send it as `cursor` to go on; null at the end.'),
  total: z
    .int()
    .nullable()
    .describe(
      'All that match, counted when `startTime` and `endTime` are given and the range holds at most 10000 tasks; null otherwise.',
    ),
});

const EXPECTED_IDS = 'a list of 1 to 1000 task ids';

const taskIds = {
  app: AppName.optional(),
  taskId: TaskId.optional(),
  taskIds: z
    .array(TaskId, { error: EXPECTED_IDS })
    .min(1, { error: EXPECTED_IDS })
    .max(1000, { error: EXPECTED_IDS })
    .optional(),
};

const notAnObject = (raw: { code?: string }) => (raw.code === 'invalid_type' ? 'a JSON object' : undefined);

const filterOf = <T extends number>(statuses: Record<string, T>, fallback: string) =>
  z
    .strictObject(
      {
        app: AppName,
        timerId: Id.optional(),
        topic: TopicName.describe('Jobs of this topic; no `timerId` beside it.').optional(),
        status: oneOf(statuses).describe(`Default: ${fallback}.`).optional(),
        startTime: Moment.describe('Inclusive, on runTimer.').optional(),
        endTime: Moment.describe('Exclusive, on runTimer.').optional(),
      },
      {
        error: (raw) =>
          raw.code === 'invalid_type'
            ? 'an object with app, and optionally timerId or topic, status, startTime and endTime'
            : undefined,
      },
    )
    .refine(({ startTime, endTime }) => startTime === undefined || endTime === undefined || startTime < endTime, {
      path: ['endTime'],
      error: 'a moment after startTime',
    })
    .refine(notBoth.check, notBoth.params)
    .describe('All tasks that match, 100000 at most in one call.');

interface Chosen {
  app?: string | undefined;
  taskId?: unknown;
  taskIds?: unknown;
  filter?: { app: string } | undefined;
}

const oneChoice = {
  check: ({ taskId, taskIds, filter }: Chosen) =>
    [taskId, taskIds, filter].filter((way) => way !== undefined).length === 1,
  params: { path: ['taskId'], error: 'one of taskId, taskIds and filter' },
};
const sameApp = {
  check: ({ app, filter }: Chosen) => app === undefined || filter === undefined || app === filter.app,
  params: { path: ['app'], error: 'the app of the filter, or none beside it' },
};

const { notRun, failed, canceled, skipped } = TaskStatus;

export const CancelTask = z
  .strictObject({ ...taskIds, filter: filterOf({ notRun }, '0 (not run)').optional() }, { error: notAnObject })
  .refine(oneChoice.check, oneChoice.params)
  .refine(sameApp.check, sameApp.params);

export const RetryTask = z
  .strictObject(
    {
      ...taskIds,
      filter: filterOf({ failed, canceled, skipped }, '3 (failed)').optional(),
      ratePerSecond: whole(1, 10_000)
        .describe('Starts this many a second. Default: at once for ids, 50 for a filter.')
        .optional(),
    },
    { error: notAnObject },
  )
  .refine(oneChoice.check, oneChoice.params)
  .refine(sameApp.check, sameApp.params);

/** Answers for ids, in their order. */
export const TasksCanceled = z.object({
  results: z.array(z.object({ taskId: z.string(), outcome: z.enum(['canceled', 'running', 'ended', 'notFound']) })),
});
export const TasksRetried = z.object({
  results: z.array(z.object({ taskId: z.string(), outcome: z.enum(['accepted', 'notRetryable', 'notFound']) })),
});
/** The answer for a filter. */
export const TasksMatched = z.object({
  matched: z.int(),
  accepted: z.int().describe('Those it was done to; the others changed meanwhile.'),
});
