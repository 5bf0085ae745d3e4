import type { ClaimedTask } from '../timer/task.js';
import type { Definition } from '../timer/timer.js';

/** One HTTP attempt. Never rejects: whatever happens is an answer. */
export interface Callbacks {
  /**
   * Makes one request for the task. `signal` ends it early (shutdown grace used up): the answer is then an
   * error with code `CALLBACK_ABORTED`.
   */
  call(task: CallbackTask, definition: Definition, signal: AbortSignal): Promise<CallbackAnswer>;
}

export type CallbackTask = Pick<ClaimedTask, 'timerId' | 'runTimer' | 'attempt' | 'payload' | 'jobId'>;

/** What came back, or why nothing did. */
export interface CallbackAnswer {
  /** `null`: no status line arrived. */
  httpStatus: number | null;
  /** Kept part of the body as text; `null` when there was none. */
  output: string | null;
  /** Set when the attempt could not be carried through (also after a status arrived: body timeout). */
  error: { code: CallbackErrorCode; message: string } | null;
  /** Lower-case names; only those that decide: `retry-after`, `x-xtimer-no-retry`. */
  headers: Record<string, string>;
}

export type CallbackErrorCode =
  | 'CALLBACK_TIMEOUT'
  | 'CALLBACK_BLOCKED'
  | 'CALLBACK_DNS'
  | 'CALLBACK_REFUSED'
  | 'CALLBACK_RESET'
  | 'CALLBACK_TLS'
  | 'CALLBACK_INVALID'
  | 'CALLBACK_ABORTED'
  | 'CALLBACK_FAILED';
