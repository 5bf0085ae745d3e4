import { TaskStatus } from '../status.js';
import type { TimerPolicies } from '../timer/timer.js';
import type { CallbackAnswer } from './ports.js';

/** How an attempt ended. */
export interface Decision {
  status: TaskStatus;
  /** `CODE: message`; `null` on success. */
  error: string | null;
}

/** The response status decides; the body never does. */
export function decideResult(answer: CallbackAnswer, policies: TimerPolicies): Decision {
  if (answer.error) return { status: TaskStatus.failed, error: `${answer.error.code}: ${answer.error.message}` };
  if (answer.httpStatus !== null && matchesStatus(policies.success.status, answer.httpStatus)) {
    return { status: TaskStatus.succeeded, error: null };
  }
  return {
    status: TaskStatus.failed,
    error: `HTTP_STATUS: the target answered ${answer.httpStatus}, success is ${policies.success.status.join(', ')}`,
  };
}

/** Whether a status is among patterns like `200`, `2xx`, `200-204`. */
export function matchesStatus(patterns: readonly string[], status: number): boolean {
  return patterns.some((pattern) => {
    if (/^[1-5]xx$/i.test(pattern)) return Math.floor(status / 100) === Number(pattern[0]);
    const [from, to = from] = pattern.split('-').map(Number);
    return status >= from! && status <= to!;
  });
}
