import { TimerStatus } from '@xtimer/pipeline/status';
import { z } from 'zod';
import { AppName, Id, Moment, oneOf, ratio, text, whole, wholeInQuery } from './fields.js';
import { NotifyHTTPParam, NotifyHTTPParamView } from './http.js';

/** Timers: what callers send and read. Defaults shown here are filled in by the server (`defaultPolicies`). */

const DAY_MS = 86_400_000;

const choice = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.enum(values, { error: `one of ${values.join(', ')}` });

const EXPECTED_PATTERN = 'a status pattern: 200, 2xx or 400-407';
const StatusPattern = z
  .string({ error: EXPECTED_PATTERN })
  .refine(isStatusPattern, { error: EXPECTED_PATTERN })
  .meta({ examples: ['2xx', '200', '400-407'] });

function isStatusPattern(pattern: string): boolean {
  const range = /^([1-5]\d\d)-([1-5]\d\d)$/.exec(pattern);
  return range ? range[1]! <= range[2]! : /^[1-5](\d\d|xx)$/.test(pattern);
}

const statusList = (min: number) => {
  const expected = `a list of ${min} to 50 status patterns such as 2xx, 200 or 400-407`;
  return z.array(StatusPattern, { error: expected }).min(min, { error: expected }).max(50, { error: expected });
};

const settings = <S extends z.ZodRawShape>(shape: S) =>
  z
    .strictObject(shape, {
      error: (raw) => (raw.code === 'invalid_type' ? `an object with ${Object.keys(shape).join(', ')}` : undefined),
    })
    .partial();

export const CronDialect = choice(['auto', 'unix', 'unix-seconds', 'quartz']);
export const DstRule = settings({
  gap: choice(['after', 'skip', 'shift']).meta({ default: 'after' }),
  overlap: choice(['first', 'both']).meta({ default: 'first' }),
}).describe('What a fixed wall-clock time does where clocks are set forward (gap) or back (overlap).');
export const Cron = text(1, 512, 'a cron expression');
export const Timezone = text(1, 64, 'an IANA time zone such as Asia/Shanghai');

const timeoutMs = whole(1, 1_800_000).describe('One attempt, from connect to last byte, ms.').meta({ default: 10_000 });
const success = settings({ status: statusList(1).meta({ default: ['2xx'] }) }).describe('Statuses that are a success.');

const policies = {
  dst: DstRule.optional(),
  timeoutMs: timeoutMs.optional(),
  retry: settings({
    maxAttempts: whole(1, 100).describe('Attempts in all; 1: no retry.').meta({ default: 5 }),
    initialDelayMs: whole(0, DAY_MS).meta({ default: 1_000 }),
    factor: ratio(1, 100).meta({ default: 2 }),
    maxDelayMs: whole(0, DAY_MS).meta({ default: 600_000 }),
    jitter: ratio(0, 1).describe('0.2 spreads each delay over ± 20 %.').meta({ default: 0.2 }),
  }).optional(),
  success: success.optional(),
  noRetry: settings({ status: statusList(0).meta({ default: [] }) })
    .describe('Statuses not worth another attempt, beside 410 and 489.')
    .optional(),
  misfire: settings({
    policy: choice(['fireOnce', 'fireAll', 'skip']).meta({ default: 'fireOnce' }),
    graceMs: whole(1_000, 7 * DAY_MS)
      .describe('Later than this, the policy decides.')
      .meta({ default: 60_000 }),
    maxCatchUp: whole(1, 1_000).describe('`fireAll` runs at most the newest this many.').meta({ default: 100 }),
  }).optional(),
  overlap: choice(['allow', 'skip', 'queue'])
    .describe("While the timer's previous task still runs.")
    .meta({ default: 'allow' })
    .optional(),
  delivery: choice(['atLeastOnce', 'atMostOnce']).meta({ default: 'atLeastOnce' }).optional(),
  spreadMs: whole(0, 3_600_000)
    .describe('Moves all fires by one fixed offset below this width, ms.')
    .meta({ default: 0 })
    .optional(),
};

const name = text(1, 128, 'a name').refine((value) => value.trim() !== '', { error: 'a name that is not blank' });

const optionalFields = {
  cronDialect: CronDialect.optional(),
  timezone: Timezone.describe('IANA zone; default: XTIMER_TIMEZONE of the server.').optional(),
  ...policies,
  startAt: Moment.nullable().describe('Nothing is planned before.').optional(),
  endAt: Moment.nullable().describe('Exclusive end.').optional(),
  maxRuns: whole(1, 1_000_000_000).nullable().describe('Scheduled runs in the life of the timer.').optional(),
  description: text(0, 1_000).optional(),
};

const endsAfterStart = {
  check: (timer: { startAt?: number | null | undefined; endAt?: number | null | undefined }) =>
    timer.startAt == null || timer.endAt == null || timer.startAt < timer.endAt,
  params: { path: ['endAt'], error: 'a moment after startAt' },
};

const notAnObject = (raw: { code?: string }) => (raw.code === 'invalid_type' ? 'a JSON object' : undefined);

export const CreateTimer = z
  .strictObject(
    {
      app: AppName,
      name,
      cron: Cron,
      notifyHTTPParam: NotifyHTTPParam,
      ...optionalFields,
      enable: z.boolean({ error: 'true or false' }).meta({ default: false }).optional(),
    },
    { error: notAnObject },
  )
  .refine(endsAfterStart.check, endsAfterStart.params);
export type CreateTimer = z.output<typeof CreateTimer>;

/** Partial: what is left out stays. `app` only says whose timer is meant; it can't be changed. */
export const UpdateTimer = z
  .strictObject(
    {
      app: AppName.optional(),
      timerId: Id,
      name: name.optional(),
      cron: Cron.optional(),
      notifyHTTPParam: NotifyHTTPParam.optional(),
      ...optionalFields,
      enable: z.boolean({ error: 'true or false' }).optional(),
    },
    { error: notAnObject },
  )
  .refine(endsAfterStart.check, endsAfterStart.params);
export type UpdateTimer = z.output<typeof UpdateTimer>;

/** Names one timer; `app` may be left out by an admin. */
export const TimerRef = z.strictObject({ app: AppName.optional(), timerId: Id }, { error: notAnObject });
export type TimerRef = z.output<typeof TimerRef>;

export const TimerCreated = z.object({ timerId: z.int() });

export const RunTimer = z.strictObject(
  { app: AppName.optional(), timerId: Id, body: NotifyHTTPParam.shape.body },
  { error: notAnObject },
);
export const TimerRun = z.object({ taskId: z.string() });

const moment = z.int().describe('Epoch ms.');

/** A timer as it is read back. */
export const TimerView = z.object({
  timerId: z.int(),
  app: z.string(),
  name: z.string(),
  status: z.literal(Object.values(TimerStatus)).describe('1 inactive, 2 active.'),
  statusReason: z.string().nullable().describe('Why xtimer itself paused the timer.'),
  cron: z.string(),
  cronDialect: CronDialect,
  timezone: z.string(),
  dst: DstRule.required(),
  notifyHTTPParam: NotifyHTTPParamView,
  timeoutMs: z.int(),
  retry: z.object({
    maxAttempts: z.int(),
    initialDelayMs: z.int(),
    factor: z.number(),
    maxDelayMs: z.int(),
    jitter: z.number(),
  }),
  success: z.object({ status: z.array(z.string()) }),
  noRetry: z.object({ status: z.array(z.string()) }),
  misfire: z.object({ policy: z.enum(['fireOnce', 'fireAll', 'skip']), graceMs: z.int(), maxCatchUp: z.int() }),
  overlap: z.enum(['allow', 'skip', 'queue']),
  delivery: z.enum(['atLeastOnce', 'atMostOnce']),
  spreadMs: z.int(),
  startAt: moment.nullable(),
  endAt: moment.nullable(),
  maxRuns: z.int().nullable(),
  description: z.string(),
  version: z.int(),
  nextFireAt: moment.nullable().describe('First fire not yet made into a task, epoch ms; null when there is none.'),
  createdAt: moment,
  updatedAt: moment,
});
export type TimerView = z.output<typeof TimerView>;

export const TimerListQuery = z.strictObject({
  app: AppName.optional(),
  name: text(0, 128, 'part of a name').describe('Part of the name, case-insensitive.').optional(),
  status: oneOf({ inactive: TimerStatus.inactive, active: TimerStatus.active }).optional(),
  page: wholeInQuery(1, 1_000_000).optional().default(1),
  pageSize: wholeInQuery(1, 200).optional().default(20),
});
export const TimerList = z.object({ list: z.array(TimerView), total: z.int(), page: z.int(), pageSize: z.int() });

export const PreviewCron = z.strictObject(
  {
    cron: Cron,
    cronDialect: CronDialect.optional(),
    timezone: Timezone.optional(),
    dst: DstRule.optional(),
    from: Moment.describe('Fires after this moment; default: now.').optional(),
    count: whole(1, 100).meta({ default: 10 }).optional(),
  },
  { error: notAnObject },
);
export type PreviewCron = z.output<typeof PreviewCron>;
export const CronPreview = z.object({
  valid: z.literal(true),
  dialect: z.enum(['unix', 'unix-seconds', 'quartz']),
  description: z.string(),
  warnings: z.array(z.string()),
  next: z.array(moment),
  ends: z.boolean().describe('No fire follows the last one in `next`.'),
});
export type CronPreview = z.output<typeof CronPreview>;

export const TestCallback = z.strictObject(
  {
    app: AppName.describe('Signs with the secret of this app.').optional(),
    notifyHTTPParam: NotifyHTTPParam,
    timeoutMs: timeoutMs.optional(),
    success: success.optional(),
  },
  { error: notAnObject },
);
export const CallbackTested = z.object({
  success: z.boolean(),
  httpStatus: z.int().nullable(),
  costTime: z.int().describe('ms'),
  output: z.string().nullable(),
  error: z.string().nullable().describe('`CODE: message`; null when an answer came.'),
});
export type CallbackTested = z.output<typeof CallbackTested>;
