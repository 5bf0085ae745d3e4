import { TaskOrigin, TaskStatus } from '@xtimer/pipeline/status';
import { z } from 'zod';
import { AppName, Id, Moment, oneOf, TaskId, wholeInQuery } from './fields.js';

/** Tasks: history and what can be done to single executions. */

const originNames = Object.keys(TaskOrigin) as [keyof typeof TaskOrigin, ...(keyof typeof TaskOrigin)[]];

/** A task as history shows it. Moments are epoch ms, durations ms. */
export const TaskView = z.object({
  taskId: z.string(),
  timerId: z.int(),
  app: z.string(),
  name: z.string().describe("The timer's name."),
  runTimer: z.int().describe('The planned instant.'),
  dueAt: z.int().describe('When the next attempt is due.'),
  status: z
    .literal(Object.values(TaskStatus))
    .describe('0 not run, 1 running, 2 succeeded, 3 failed, 4 canceled, 5 skipped.'),
  reason: z.string().nullable().describe('Why it was canceled or skipped.'),
  skippedCount: z.int().nullable().describe('Instants this skipped row stands for.'),
  skippedUntil: z.int().nullable(),
  attempt: z.int(),
  replayCount: z.int(),
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
  payload: z.string().nullable().describe("What replaced the timer's body in this run."),
  attempts: z.array(AttemptView).describe('Failed attempts, oldest first.'),
});
export type TaskDetail = z.output<typeof TaskDetail>;

export const TaskRefQuery = z.strictObject({ app: AppName.optional(), taskId: TaskId });

export const TaskListQuery = z
  .strictObject({
    app: AppName.optional(),
    timerId: Id.optional(),
    status: oneOf(TaskStatus).optional(),
    startTime: Moment.describe('Inclusive, on runTimer.').optional(),
    endTime: Moment.describe('Exclusive, on runTimer.').optional(),
    pageSize: wholeInQuery(1, 200).optional().default(20),
    cursor: z.string({ error: 'the nextCursor of the page before' }).optional(),
  })
  .refine((query) => query.startTime === undefined || query.endTime === undefined || query.startTime < query.endTime, {
    path: ['endTime'],
    error: 'a moment after startTime',
  });
export const TaskList = z.object({
  list: z.array(TaskView),
  nextCursor: z.string().nullable().describe('Send it as `cursor` to go on; null at the end.'),
});

const EXPECTED_IDS = 'a list of 1 to 1000 task ids';

export const CancelTask = z
  .strictObject(
    {
      app: AppName.optional(),
      taskId: TaskId.optional(),
      taskIds: z
        .array(TaskId, { error: EXPECTED_IDS })
        .min(1, { error: EXPECTED_IDS })
        .max(1000, { error: EXPECTED_IDS })
        .optional(),
    },
    { error: (raw) => (raw.code === 'invalid_type' ? 'a JSON object' : undefined) },
  )
  .refine((input) => (input.taskId === undefined) !== (input.taskIds === undefined), {
    path: ['taskId'],
    error: 'either taskId or taskIds',
  });
export const TasksCanceled = z.object({
  results: z.array(z.object({ taskId: z.string(), outcome: z.enum(['canceled', 'running', 'ended', 'notFound']) })),
});
