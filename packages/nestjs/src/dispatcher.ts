import type { IncomingHttpHeaders } from 'node:http';
import { Logger } from '@nestjs/common';
import type { Client } from '@xtimer/client';
import { DoNotRetry } from './errors.js';
import type { Handler, Handlers } from './handlers.js';
import type { Settings } from './options.js';
import { verify } from './signature.js';

export interface CallbackRequest {
  /** What follows the callback path, decoded: `topics/order-timeout`. */
  target: string;
  headers: IncomingHttpHeaders;
  /** As it came. */
  body: Buffer;
  /** Calls back when the caller closes the request before it is answered. */
  onClosed(closed: () => void): void;
}

export interface CallbackAnswer {
  status: number;
  headers: Record<string, string>;
  /** JSON; `null`: no body. */
  body: string | null;
}

const answer = (status: number, data?: unknown, headers: Record<string, string> = {}): CallbackAnswer => {
  // Functions and symbols have no JSON.
  const body = data === undefined ? undefined : JSON.stringify(data);
  if (body === undefined) return { status, headers, body: null };
  return { status, headers: { ...headers, 'content-type': 'application/json; charset=utf-8' }, body };
};

/** Kept short: it goes into xtimer's history. */
const REASON_LENGTH = 300;

/** Refusals need no account: anybody may cause them. One line in this time is enough. */
const REFUSAL_LOG_MS = 10_000;

/**
 * Dispatcher: from a request at the callback route to the method it is for.
 *
 * Promises   nothing runs without a valid, recent signature; what the method throws is a 500, so that xtimer tries
 *            again; with `dedupe`, an effect that was committed does not happen once more.
 */
export class Dispatcher {
  private readonly logger = new Logger('XtimerModule');
  private refusalLoggedAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly settings: Settings,
    private readonly client: Client,
    private readonly handlers: Handlers,
  ) {}

  /** Never rejects. */
  async handle(request: CallbackRequest): Promise<CallbackAnswer> {
    const verified = verify(this.settings.secret, request.headers, request.body, Date.now());
    if ('refused' in verified) return this.refuse(verified.refused);
    const handler = this.handlers.get(request.target);
    if (!handler) {
      this.logger.warn(`callback ${verified.id} is for ${request.target}, which this service does not have`);
      return answer(404, { error: `this service has no ${request.target}` });
    }
    const abort = new AbortController();
    request.onClosed(() => abort.abort(new Error('xtimer closed the request')));
    const timeout = setTimeout(
      () => abort.abort(new Error(`no end within ${handler.timeoutMs} ms`)),
      handler.timeoutMs,
    );
    try {
      return await this.run(handler, verified.id, request, abort.signal);
    } catch (error) {
      return this.failed(handler, verified.id, error);
    } finally {
      clearTimeout(timeout);
    }
  }

  private async run(handler: Handler, taskId: string, { headers, body }: CallbackRequest, signal: AbortSignal) {
    const context = {
      taskId,
      jobId: handler.kind === 'topic' ? await this.jobIdOf(taskId, headers, signal) : null,
      attempt: Number(headers['x-xtimer-attempt'] ?? 1),
      scheduledAt: Number(headers['x-xtimer-run-timer']),
      signal,
    };
    const payload = payloadOf(body);
    const { dedupe } = this.settings;
    if (!dedupe) return done(await handler.call(payload, { ...context, transaction: undefined }));
    let ran = false;
    const result = await dedupe.claim(taskId, async (transaction) => {
      ran = true;
      return handler.call(payload, { ...context, transaction });
    });
    return ran ? done(result) : answer(200, { duplicate: true });
  }

  /** A header where xtimer sends it, else asked for: the row of a task that is being called is there. */
  private async jobIdOf(taskId: string, headers: IncomingHttpHeaders, signal: AbortSignal): Promise<string | null> {
    const sent = headers['x-xtimer-job-id'];
    if (typeof sent === 'string') return decodeURIComponent(sent);
    const { jobId } = await this.client.tasks.get({ taskId }, { signal });
    return jobId ?? null;
  }

  private refuse(why: string): CallbackAnswer {
    const now = performance.now();
    if (now - this.refusalLoggedAt >= REFUSAL_LOG_MS) {
      this.refusalLoggedAt = now;
      this.logger.warn(
        `a callback was refused: ${why}. If it came from xtimer, check the secret of app "${this.settings.app}" and both clocks`,
      );
    }
    return answer(401, { error: why });
  }

  private failed({ where }: Handler, taskId: string, error: unknown): CallbackAnswer {
    this.logger.error(
      `${where} failed for ${taskId}: ${reasonOf(error)}`,
      error instanceof Error ? error.stack : undefined,
    );
    return answer(500, { error: reasonOf(error) }, error instanceof DoNotRetry ? { 'x-xtimer-no-retry': 'true' } : {});
  }
}

const done = (result: unknown): CallbackAnswer => {
  try {
    return result === undefined ? answer(204) : answer(200, result);
  } catch {
    // It can't be JSON (a cycle, a bigint). The work is done all the same.
    return answer(204);
  }
};

/** DelayQueue publishes JSON; others may publish any text. */
function payloadOf(body: Buffer): unknown {
  if (body.length === 0) return null;
  const text = body.toString();
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function reasonOf(error: unknown): string {
  const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return reason.length > REASON_LENGTH ? `${reason.slice(0, REASON_LENGTH)}…` : reason;
}
