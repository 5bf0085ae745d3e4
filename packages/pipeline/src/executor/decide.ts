import type { Random } from '../lifecycle/clock.js';
import { TaskStatus } from '../status.js';
import type { RetryPolicy, TimerPolicies } from '../timer/timer.js';
import type { CallbackAnswer, CallbackErrorCode } from './ports.js';

/** How an attempt ended, or when the next one is due. */
export interface Decision {
  /** `notRun`: another attempt follows at `dueAt`. */
  status: TaskStatus;
  /** Epoch ms; `null` when no attempt follows. */
  dueAt: number | null;
  /** `CODE: message`; `null` on success. */
  error: string | null;
}

/** A target may ask for this much patience, ms (DESIGN, Settled details). */
const LONGEST_RETRY_AFTER_MS = 24 * 3_600_000;

/** Gone, and "do not retry" (DESIGN section 6). */
const NEVER_RETRIED = ['410', '489'];

/** What another attempt would not change. */
const HOPELESS: readonly CallbackErrorCode[] = ['CALLBACK_BLOCKED', 'CALLBACK_INVALID'];

/** The request surely did not reach the target, so that another attempt can't be a second call. */
const NOT_SENT: readonly CallbackErrorCode[] = [
  'CALLBACK_DNS',
  'CALLBACK_REFUSED',
  'CALLBACK_TLS',
  'CALLBACK_BLOCKED',
  'CALLBACK_INVALID',
];

/** The response status decides, the body never does; what failed is tried again while the policy allows. */
export function decideResult(
  answer: CallbackAnswer,
  policies: TimerPolicies,
  {
    attempt,
    maxAttempts = policies.retry.maxAttempts,
    now,
    random,
  }: { attempt: number; maxAttempts?: number | undefined; now: number; random: Random },
): Decision {
  if (!answer.error && answer.httpStatus !== null && matchesStatus(policies.success.status, answer.httpStatus)) {
    return { status: TaskStatus.succeeded, dueAt: null, error: null };
  }
  const unknown = policies.delivery === 'atMostOnce' && answer.error && !NOT_SENT.includes(answer.error.code);
  const error = answer.error
    ? `${unknown ? 'OUTCOME_UNKNOWN' : answer.error.code}: ${answer.error.message}`
    : `HTTP_STATUS: the target answered ${answer.httpStatus}, success is ${policies.success.status.join(', ')}`;
  if (attempt >= maxAttempts || !worthRetrying(answer, policies)) {
    return { status: TaskStatus.failed, dueAt: null, error };
  }
  const wait = retryAfterMs(answer.headers['retry-after'], now) ?? backoffMs(policies.retry, attempt, random);
  return { status: TaskStatus.notRun, dueAt: Math.ceil(now + wait), error };
}

function worthRetrying(answer: CallbackAnswer, policies: TimerPolicies): boolean {
  if (policies.delivery === 'atMostOnce')
    return answer.error !== null && NOT_SENT.includes(answer.error.code) && !HOPELESS.includes(answer.error.code);
  if (answer.headers['x-xtimer-no-retry']?.trim().toLowerCase() === 'true') return false;
  if (answer.error) return !HOPELESS.includes(answer.error.code);
  return !matchesStatus([...NEVER_RETRIED, ...policies.noRetry.status], answer.httpStatus!);
}

/** Exponential with jitter: the wait after attempt `attempt` (from 1), ms. */
export function backoffMs(retry: RetryPolicy, attempt: number, random: Random): number {
  const plain = Math.min(retry.maxDelayMs, retry.initialDelayMs * retry.factor ** (attempt - 1));
  return Math.max(0, plain * (1 + retry.jitter * (2 * random() - 1)));
}

/** Seconds or an HTTP date; bounded. `null`: absent or not understood. */
export function retryAfterMs(header: string | undefined, now: number): number | null {
  const text = header?.trim();
  if (!text) return null;
  const wait = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(wait) ? null : Math.min(Math.max(0, wait), LONGEST_RETRY_AFTER_MS);
}

/** Whether a status is among patterns like `200`, `2xx`, `200-204`. */
export function matchesStatus(patterns: readonly string[], status: number): boolean {
  return patterns.some((pattern) => {
    if (/^[1-5]xx$/i.test(pattern)) return Math.floor(status / 100) === Number(pattern[0]);
    const [from, to = from] = pattern.split('-').map(Number);
    return status >= from! && status <= to!;
  });
}
