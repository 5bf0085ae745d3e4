/**
 * What goes wrong on this side of the API. `BAD_OPTION`: createClient can't work with what it was given.
 * `NETWORK`: no whole answer came. `TIMEOUT`: the call's time was up. `BAD_ANSWER`: what answered is not xtimer.
 */
export type ClientErrorCode = 'BAD_OPTION' | 'NETWORK' | 'TIMEOUT' | 'BAD_ANSWER';

export interface ErrorDetails {
  /** A string: found by the client. A number: xtimer's own, its first three digits are the HTTP status. */
  code: number | ClientErrorCode;
  /** `null` when no answer came. */
  status?: number | null;
  message: string;
  /** What the answer says beside the message, e.g. `problems` when the input has several. */
  data?: Readonly<Record<string, unknown>>;
  /** Names the request in the server's log. */
  requestId?: string | null;
  /** How long xtimer asks to wait before the next try, ms. */
  retryAfterMs?: number | null;
  cause?: unknown;
}

/** Every failure of a call but one: a call ended by the caller's own signal rejects with that signal's reason. */
export class XtimerError extends Error {
  override readonly name = 'XtimerError';
  readonly code: number | ClientErrorCode;
  readonly status: number | null;
  /** The input field at fault, as it would be written: `retry.maxAttempts`. */
  readonly field: string | undefined;
  readonly value: unknown;
  readonly expected: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
  readonly requestId: string | null;
  readonly retryAfterMs: number | null;

  constructor({ code, status = null, message, data = {}, requestId = null, retryAfterMs = null, cause }: ErrorDetails) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.field = typeof data.field === 'string' ? data.field : undefined;
    this.value = data.value;
    this.expected = typeof data.expected === 'string' ? data.expected : undefined;
    this.data = data;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
  }
}
