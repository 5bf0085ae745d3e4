import type { XtimerError } from './error.js';

const FIRST_DELAY_MS = 200;
const LONGEST_DELAY_MS = 5_000;

/**
 * How long to wait before the call is made once more; `null`: not at all. What may have changed something is
 * repeated only when it surely never left. `attempt` counts from 1.
 */
export function retryDelayMs(
  safe: boolean,
  failure: XtimerError,
  attempt: number,
  random: () => number = Math.random,
): number | null {
  if (!(safe ? isPassing(failure) : surelyNotSent(failure))) return null;
  if (failure.retryAfterMs !== null) return failure.retryAfterMs + random() * FIRST_DELAY_MS;
  return Math.min(FIRST_DELAY_MS * 2 ** (attempt - 1), LONGEST_DELAY_MS) * (0.5 + random() / 2);
}

function isPassing({ code, status, retryAfterMs }: XtimerError): boolean {
  if (status === 429) return retryAfterMs !== null;
  return code === 'NETWORK' || status === 502 || status === 503 || status === 504;
}

/** Browsers don't say; Node names the step that failed, and before the connection stood nothing was sent. */
export function surelyNotSent(failure: XtimerError): boolean {
  return failure.code === 'NETWORK' && connectFailed(failure.cause);
}

function connectFailed(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, syscall, errors } = error as { code?: unknown; syscall?: unknown; errors?: unknown };
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'UND_ERR_CONNECT_TIMEOUT') return true;
  if (syscall === 'connect') return true;
  // One for each address that was tried.
  if (Array.isArray(errors) && errors.length > 0) return errors.every(connectFailed);
  return connectFailed(error.cause);
}

/** The header in ms from `now` (epoch ms); `null` when there is none or it can't be read. */
export function retryAfterMsOf(header: string | null, now: number): number | null {
  if (header === null) return null;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1_000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
