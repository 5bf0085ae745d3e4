import { z } from 'zod';
import { AppName, isStorable, JobId, Moment, TopicName, text, whole, wholeInQuery } from './fields.js';
import { TaskListQuery, TaskView } from './task.js';

/** Jobs: one-off tasks of a topic. */

/** Bytes of a payload's text in UTF-8. The server answers what is larger with 413. */
export const PAYLOAD_LIMIT = 256 * 1024;

/** Ten years, three leap days included, ms. */
export const LONGEST_DELAY_MS = 3_653 * 86_400_000;

const EXPECTED_PAYLOAD = 'any JSON value, or text, of at most 262144 bytes';

/** The text of what was given, or what would be right. */
function payloadTextOf(payload: unknown): { text: string } | { expected: string } {
  if (payload === undefined) return { expected: EXPECTED_PAYLOAD };
  if (typeof payload === 'string') {
    return isStorable(payload)
      ? { text: payload }
      : { expected: 'text without NUL characters and without broken surrogate pairs' };
  }
  try {
    return { text: JSON.stringify(payload) };
  } catch {
    return { expected: 'JSON that is not nested by the thousand' };
  }
}

const Payload = z
  .unknown()
  .transform((payload, ctx) => {
    const read = payloadTextOf(payload);
    if ('text' in read) return read.text;
    ctx.issues.push({ code: 'custom', message: read.expected, input: payload });
    return z.NEVER;
  })
  .describe(
    'Text is kept and sent as it is, any other JSON value as its JSON text; at most 262144 bytes. It goes where the callback says {{payload}}, or is the body when the callback has none.',
  );

/** The payload as it was given, as far as its text tells: objects and arrays are values again, all else stays text. */
export function payloadOf(text: string): unknown {
  if (!/^[[{]/.test(text)) return text;
  try {
    const value = JSON.parse(text);
    // Text that JSON would write otherwise (blanks, long numbers) was given as text.
    return JSON.stringify(value) === text ? value : text;
  } catch {
    return text;
  }
}

const time = {
  delayMs: whole(0, LONGEST_DELAY_MS).describe('From now, ms; 0: at once. Or give `actionTime`.').optional(),
  actionTime: Moment.describe('At most ten years ahead; what is past fires at once. Or give `delayMs`.').optional(),
};

type Time = { delayMs?: unknown; actionTime?: unknown };
const someTime = {
  check: ({ delayMs, actionTime }: Time) => delayMs !== undefined || actionTime !== undefined,
  params: { path: ['delayMs'], error: 'delayMs, or actionTime in its place' },
};
const oneTime = {
  check: ({ delayMs, actionTime }: Time) => delayMs === undefined || actionTime === undefined,
  params: { path: ['actionTime'], error: 'one of delayMs and actionTime, not both' },
};

const notAnObject = (raw: { code?: string }) => (raw.code === 'invalid_type' ? 'a JSON object' : undefined);

const job = {
  topic: TopicName,
  payload: Payload,
  ...time,
  slotBasis: text(1, 256).describe('Jobs of one basis share a slot; default: the job id.').optional(),
  jobId: JobId.describe('Unique in the topic; published again it is the same job. Default: a random one.').optional(),
  maxAttempts: whole(1, 100).describe("In place of the topic's `retry.maxAttempts`.").optional(),
};

export const PublishJob = z
  .strictObject({ app: AppName, ...job }, { error: notAnObject })
  .refine(someTime.check, someTime.params)
  .refine(oneTime.check, oneTime.params);
export type PublishJob = z.output<typeof PublishJob>;

/** One of a batch. */
export const BatchJob = z
  .strictObject(job, { error: notAnObject })
  .refine(someTime.check, someTime.params)
  .refine(oneTime.check, oneTime.params);
export type BatchJob = z.output<typeof BatchJob>;

const EXPECTED_JOBS = 'a list of 1 to 1000 jobs';
const listOf = <T extends z.ZodType>(item: T) =>
  z.array(item, { error: EXPECTED_JOBS }).min(1, { error: EXPECTED_JOBS }).max(1000, { error: EXPECTED_JOBS });

export const PublishJobs = z.strictObject({ app: AppName, jobs: listOf(BatchJob) }, { error: notAnObject });

/** The same as the server reads it: each job is checked on its own, so that a bad one spoils no other. */
export const PublishJobsEnvelope = PublishJobs.extend({ jobs: listOf(z.unknown()) });

/** Where one job is, beside the id in the path. */
export const JobRef = z.strictObject({ app: AppName, topic: TopicName }, { error: notAnObject });

export const RescheduleJob = z
  .strictObject({ app: AppName, topic: TopicName, ...time }, { error: notAnObject })
  .refine(someTime.check, someTime.params)
  .refine(oneTime.check, oneTime.params);
export type RescheduleJob = z.output<typeof RescheduleJob>;

const { taskId, app, status, reason, attempt, replayCount, dueAt } = TaskView.shape;
const { costTime, lateness, httpStatus, output, error, startedAt, finishedAt } = TaskView.shape;

/** A job as it is read back: its task, with what only jobs have. Moments are epoch ms, durations ms. */
export const JobView = z.object({
  jobId: z.string(),
  taskId,
  app,
  topic: z.string(),
  slot: z.int(),
  payload: z
    .unknown()
    .describe('As it was given: an object or array as value, all else as text (a number or null as its JSON text).'),
  actionTime: z.int().describe('When it is to be called.'),
  ...{ status, reason, attempt, replayCount, dueAt, costTime, lateness, httpStatus, output, error },
  ...{ startedAt, finishedAt },
  createdAt: z.int(),
});
export type JobView = z.output<typeof JobView>;

export const JobPublished = JobView.extend({
  created: z.boolean().describe('false: the job was there already, and is shown as it is now.'),
});
export type JobPublished = z.output<typeof JobPublished>;

export const JobsPublished = z.object({
  results: z
    .array(
      z.union([
        z.object({ jobId: z.string(), created: z.boolean() }),
        z.object({
          error: z
            .object({
              code: z.int(),
              message: z.string(),
              field: z.string().optional(),
              value: z.unknown().optional(),
              expected: z.string().optional(),
            })
            .catchall(z.unknown()),
        }),
      ]),
    )
    .describe('One for each job, in their order.'),
});
export type JobsPublished = z.output<typeof JobsPublished>;

export const JobCanceled = z.object({
  outcome: z
    .enum(['canceled', 'running', 'ended'])
    .describe('`canceled`: it is not called any more. `running`: its call is under way. `ended`: before now.'),
  job: JobView,
});
export const JobRescheduled = z.object({ outcome: z.enum(['rescheduled', 'running', 'ended']), job: JobView });

const { startTime, endTime, cursor } = TaskListQuery.shape;

export const JobListQuery = z
  .strictObject({
    app: AppName,
    topic: TopicName,
    status: TaskListQuery.shape.status,
    startTime: startTime.describe('Inclusive, on the action time.'),
    endTime: endTime.describe('Exclusive.'),
    jobId: JobId.optional(),
    pageSize: wholeInQuery(1, 200).optional().default(20),
    cursor,
  })
  .refine((query) => query.startTime === undefined || query.endTime === undefined || query.startTime < query.endTime, {
    path: ['endTime'],
    error: 'a moment after startTime',
  });
export const JobList = z.object({
  list: z.array(JobView),
  nextCursor: z.string().nullable().describe('Send it as `cursor` to go on; null at the end.'),
});
