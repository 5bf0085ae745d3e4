import { TimerStatus } from '@xtimer/pipeline/status';
import { z } from 'zod';
import { AppName, oneOf, TopicName, wholeInQuery } from './fields.js';
import { CreateTimer, TimerView } from './timer.js';

/** Topics: definitions for jobs. What they share with timers is the same here and there. */

const EXPECTED_SLOTS = 'a power of two from 1 to 1024';

const { notifyHTTPParam, timeoutMs, retry, success, noRetry, delivery, description } = CreateTimer.shape;

const fields = {
  ...{ timeoutMs, retry, success, noRetry, delivery },
  slotAmount: z
    .int({ error: EXPECTED_SLOTS })
    .refine((value) => value >= 1 && value <= 1024 && (value & (value - 1)) === 0, { error: EXPECTED_SLOTS })
    .describe('Over how many slots the jobs are spread: a power of two.')
    .meta({ minimum: 1, maximum: 1024, default: 16 })
    .optional(),
  status: oneOf({ paused: TimerStatus.inactive, active: TimerStatus.active })
    .describe('1: paused, its jobs are held back. 2: active; held back jobs start at a pace.')
    .meta({ default: 2 })
    .optional(),
  description,
};

const notAnObject = (raw: { code?: string }) => (raw.code === 'invalid_type' ? 'a JSON object' : undefined);

export const CreateTopic = z.strictObject(
  { app: AppName, topic: TopicName, notifyHTTPParam, ...fields },
  { error: notAnObject },
);
export type CreateTopic = z.output<typeof CreateTopic>;

/** Partial: what is left out stays. The topic's name is in the path; neither it nor `app` can be changed. */
export const UpdateTopic = z.strictObject(
  { app: AppName, notifyHTTPParam: notifyHTTPParam.optional(), ...fields },
  { error: notAnObject },
);
export type UpdateTopic = z.output<typeof UpdateTopic>;

/** A topic as it is read back. */
export const TopicView = z.object({
  app: z.string(),
  topic: z.string(),
  status: z.literal([TimerStatus.inactive, TimerStatus.active]).describe('1 paused, 2 active.'),
  ...TimerView.pick({
    notifyHTTPParam: true,
    ...{ timeoutMs: true, retry: true, success: true, noRetry: true, delivery: true },
  }).shape,
  slotAmount: z.int(),
  ...TimerView.pick({ description: true, createdAt: true, updatedAt: true }).shape,
});
export type TopicView = z.output<typeof TopicView>;

const count = z.int().max(10_000);

/** With its jobs counted: each count stops at 10,000. */
export const TopicWithCounts = TopicView.extend({
  waiting: count.describe('Not run yet or between attempts, held back ones too. 10000: that many or more.'),
  running: count,
  failed: count.describe('Dead letters.'),
});
export type TopicWithCounts = z.output<typeof TopicWithCounts>;

export const TopicRef = z.strictObject({ app: AppName });

export const TopicListQuery = z.strictObject({
  app: AppName.optional(),
  page: wholeInQuery(1, 1_000_000).optional().default(1),
  pageSize: wholeInQuery(1, 200).optional().default(20),
});
export const TopicList = z.object({ list: z.array(TopicWithCounts), total: z.int(), page: z.int(), pageSize: z.int() });

export const DeleteTopic = z.strictObject({
  app: AppName,
  cancelJobs: z
    .enum(['true', 'false'], { error: 'true or false' })
    .transform((value) => value === 'true')
    .describe('Without it a topic with waiting jobs is not deleted: 409 with their number.')
    .optional(),
});
export const TopicDeleted = z.object({ canceled: z.int().describe('Waiting jobs that were canceled.') });
