import type { CreateTimer, TimerView, UpdateTimer } from '@xtimer/contracts';
import { defaultPolicies, type NewTimer, type Timer, type TimerChanges, type TimerPolicies } from '@xtimer/pipeline';

/** Between the API's flat JSON and the domain's timers. */

export function newTimerOf(input: CreateTimer, defaultTimezone: string): NewTimer {
  return {
    app: input.app,
    name: input.name,
    description: input.description ?? '',
    cron: input.cron,
    cronDialect: input.cronDialect ?? 'auto',
    timezone: input.timezone ?? defaultTimezone,
    startAt: input.startAt ?? null,
    endAt: input.endAt ?? null,
    maxRuns: input.maxRuns ?? null,
    notifyHttpParam: callbackOf(input.notifyHTTPParam),
    policies: { ...defaultPolicies, ...policiesOf(input, defaultPolicies) },
    enable: input.enable ?? false,
  };
}

/** Fields left out stay, also inside a policy: `retry: { maxAttempts: 3 }` leaves the delays as they are. */
export function changesOf(input: UpdateTimer, current: Timer): TimerChanges {
  const { name, description, cron, cronDialect, timezone, startAt, endAt, maxRuns, notifyHTTPParam, enable } = input;
  const policies = policiesOf(input, current.policies);
  return defined({
    ...{ name, description, cron, cronDialect, timezone, startAt, endAt, maxRuns, enable },
    notifyHttpParam: notifyHTTPParam && callbackOf(notifyHTTPParam),
    policies: Object.keys(policies).length > 0 ? policies : undefined,
  });
}

export const callbackOf = (input: CreateTimer['notifyHTTPParam']) => ({
  method: input.method,
  url: input.url,
  header: input.header ?? {},
  body: input.body ?? null,
});

type PolicyInput = Pick<
  CreateTimer,
  | 'dst'
  | 'timeoutMs'
  | 'retry'
  | 'success'
  | 'noRetry'
  | 'misfire'
  | 'overlap'
  | 'delivery'
  | 'pauseAfterFailures'
  | 'spreadMs'
>;

/** Only the policies that are given, each completed from `base`. */
export function policiesOf(input: PolicyInput, base: TimerPolicies): Partial<TimerPolicies> {
  const { timeoutMs, overlap, delivery, pauseAfterFailures, spreadMs } = input;
  return defined({
    ...{ timeoutMs, overlap, delivery, pauseAfterFailures, spreadMs },
    dst: input.dst && { ...base.dst, ...defined(input.dst) },
    retry: input.retry && { ...base.retry, ...defined(input.retry) },
    success: input.success && { ...base.success, ...defined(input.success) },
    noRetry: input.noRetry && { ...base.noRetry, ...defined(input.noRetry) },
    misfire: input.misfire && { ...base.misfire, ...defined(input.misfire) },
  });
}

export function timerView(timer: Timer): TimerView {
  const { timerId, app, name, status, statusReason, cron, cronDialect, timezone, notifyHttpParam, policies } = timer;
  const { startAt, endAt, maxRuns, description, version, nextFireAt, createdAt, updatedAt } = timer;
  return {
    ...{ timerId, app, name, status: status as TimerView['status'], statusReason, cron, cronDialect, timezone },
    ...{ notifyHTTPParam: notifyHttpParam, ...policies, startAt, endAt, maxRuns, description },
    ...{ version, nextFireAt, createdAt, updatedAt },
  };
}

/** Without the fields that are undefined. */
export function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
