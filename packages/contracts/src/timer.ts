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
    maxAttempts: whole(1, 100).describe('Attempts in all, the first included; 1: no retry.').meta({ default: 5 }),
    initialDelayMs: whole(0, DAY_MS).describe('Wait after the first failed attempt, ms.').meta({ default: 1_000 }),
    factor: ratio(1, 100).describe('Each wait is this many times the one before.').meta({ default: 2 }),
    maxDelayMs: whole(0, DAY_MS)
      .describe('Longest wait, ms; `Retry-After` of the target may ask for up to 24 h.')
      .meta({ default: 600_000 }),
    jitter: ratio(0, 1).describe('Ratio: 0.2 spreads each wait over ± 20 %.').meta({ default: 0.2 }),
  })
    .describe('When a failed attempt is made again; after the last one the task is failed (a dead letter).')
    .optional(),
  success: success.optional(),
  noRetry: settings({ status: statusList(0).meta({ default: [] }) })
    .describe('Statuses not worth another attempt, beside 410, 489 and the response header `X-Xtimer-No-Retry: true`.')
    .optional(),
  misfire: settings({
    policy: choice(['fireOnce', 'fireAll', 'skip'])
      .describe('`fireOnce` runs the newest missed slot, `fireAll` the newest `maxCatchUp` in time order, `skip` none.')
      .meta({ default: 'fireOnce' }),
    graceMs: whole(1_000, 7 * DAY_MS)
      .describe('A slot later than this, ms, is missed; an earlier one still runs.')
      .meta({ default: 60_000 }),
    maxCatchUp: whole(1, 1_000).describe('Most slots `fireAll` runs.').meta({ default: 100 }),
  })
    .describe('What becomes of slots missed in an outage; those left out are one skipped task with their number.')
    .optional(),
  overlap: choice(['allow', 'skip', 'queue'])
    .describe(
      'When a slot comes while a task of this timer runs, on any node: `allow` runs it beside, `skip` leaves it out (status 5), `queue` runs it afterwards. Retries always wait for their turn.',
    )
    .meta({ default: 'allow' })
    .optional(),
  delivery: choice(['atLeastOnce', 'atMostOnce'])
    .describe(
      '`atLeastOnce` repeats a call whose node died, with the same idempotency key. `atMostOnce` repeats nothing that may have reached the target: such a task fails with OUTCOME_UNKNOWN.',
    )
    .meta({ default: 'atLeastOnce' })
    .optional(),
  pauseAfterFailures: whole(1, 1_000_000)
    .nullable()
    .describe('Pauses the timer after this many failed tasks in a row, `statusReason` says so; null: never.')
    .meta({ default: null })
    .optional(),
  spreadMs: whole(0, 3_600_000)
    .describe(
      'Moves all fires of the timer by one fixed offset below this width, ms, so that timers of one cron do not fall together.',
    )
    .meta({ default: 0 })
    .optional(),
};

const name = text(1, 128, 'a name').refine((value) => value.trim() !== '', { error: 'a name that is not blank' });

const optionalFields = {
  cronDialect: CronDialect.optional(),
  timezone: Timezone.describe('IANA zone; default: XTIMER_TIMEZONE of the server.').optional(),
  ...policies,
  startAt: Moment.nullable().describe('Nothing is planned before; null: no bound.').optional(),
  endAt: Moment.nullable().describe('Exclusive end; null: no bound.').optional(),
  maxRuns: whole(1, 1_000_000_000)
    .nullable()
    .describe('Scheduled slots in the life of the timer; manual runs and backfills do not count. null: no bound.')
    .optional(),
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

export const BackfillTimer = z
  .strictObject(
    {
      app: AppName.optional(),
      timerId: Id,
      startTime: Moment.describe('Inclusive.'),
      endTime: Moment.describe('Exclusive; not after now. At most 1000 slots may lie between.'),
    },
    { error: notAnObject },
  )
  .refine(({ startTime, endTime }) => startTime < endTime, { path: ['endTime'], error: 'a moment after startTime' });
export const TimerBackfilled = z.object({
  created: z.int().describe('Slots that run now, 10 a second.'),
  existing: z.int().describe('Slots that had a task already: they stay as they are.'),
});

const moment = z.int().describe('Epoch ms.');

/** A timer as it is read back. */
export const TimerView = z.object({
  timerId: z.int(),
  app: z.string(),
  name: z.string(),
  status: z.literal(Object.values(TimerStatus)).describe('1 inactive, 2 active.'),
  statusReason: z.string().nullable().describe('Why xtimer itself paused the timer; null otherwise.'),
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
  pauseAfterFailures: z.int().nullable(),
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
