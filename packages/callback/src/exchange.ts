import type { CallbackAnswer, CallbackErrorCode } from '@xtimer/pipeline';
import type { Dispatcher } from 'undici';
import type { Connection, ConnectionPool, Waiter } from './connection-pool.js';
import { codeOf, explainError, isReset } from './explain-error.js';
import { describeBody } from './output.js';
import type { CallbackRequest } from './request.js';

export interface ExchangeOptions {
  origin: string;
  timeoutMs: number;
  maxOutputBytes: number;
  /** A second sending is ruled out, so only a connection that can't be stale will do. */
  sendOnce: boolean;
  onEnd(exchange: Exchange, answer: CallbackAnswer): void;
}

/** The headers that decide, and those that describe the body. */
type Headers = Record<string, string | string[] | undefined>;

/**
 * A reset this soon after sending on a used connection means that the target had closed it before our request
 * came. Later, the target may well have been working on it.
 */
const STALE_WITHIN_MS = 1_000;

/**
 * One request and its answer, from the wish for a connection to the last byte.
 *
 * Promises   `onEnd` is called once, at the deadline at the latest; by then the connection is given back, or
 *            closed if the call didn't run to its end.
 */
export class Exchange implements Waiter, Dispatcher.DispatchHandler {
  fresh: boolean;
  private connection: Connection | null = null;
  private sent = false;
  private readonly deadline: NodeJS.Timeout;
  private ended = false;
  private retried = false;
  /** Of the request's sending, on this process's own clock. */
  private sentAt = 0;
  private reused = false;
  private responding = false;
  private status: number | null = null;
  private headers: Headers = {};
  private readonly chunks: Buffer[] = [];
  private received = 0;

  constructor(
    private readonly pool: ConnectionPool,
    private readonly request: CallbackRequest,
    private readonly options: ExchangeOptions,
  ) {
    this.fresh = options.sendOnce;
    this.deadline = setTimeout(() => this.timeOut(), options.timeoutMs);
  }

  start(): void {
    this.pool.acquire(this);
  }

  /** Ends the exchange from outside. */
  abort(why: string): void {
    this.fail('CALLBACK_ABORTED', `the call to ${this.options.origin} was given up: ${why} (${this.phase})`);
  }

  onConnection(connection: Connection): void {
    this.connection = connection;
    connection.client.dispatch(this.request, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // The connection of an ended call is being closed; should undici have been about to send: not any more.
    if (this.ended) {
      controller.abort(new Error('the call has ended'));
      return;
    }
    this.sent = true;
    this.reused = this.connection!.answers > 0;
    this.sentAt = performance.now();
  }

  /** The first byte of a response is there. */
  onResponseStarted(): void {
    this.responding = true;
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Headers): void {
    if (status < 200) return;
    this.status = status;
    this.headers = headers;
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.ended) return;
    const room = this.options.maxOutputBytes - this.received;
    this.received += chunk.length;
    this.chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
    // The outcome is known by the status; what follows would only cost.
    if (chunk.length > room) this.end(this.answer(null, true), false);
  }

  onResponseEnd(): void {
    if (this.ended) return;
    this.connection!.answers++;
    this.end(this.answer(null, false), true);
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.ended) return;
    if (this.wasStale(error)) {
      // Same attempt, same idempotency key, and this time a socket that nobody had a chance to close.
      this.retried = true;
      this.fresh = true;
      this.pool.distrust();
      this.letGo(false);
      this.pool.acquire(this);
      return;
    }
    const { code, message } = explainError(error, this.options.origin, this.phase);
    this.fail(code, message);
  }

  private wasStale(error: Error): boolean {
    if (this.retried || this.responding || !this.reused || this.options.sendOnce) return false;
    return isReset(codeOf(error)) && performance.now() - this.sentAt < STALE_WITHIN_MS;
  }

  private timeOut(): void {
    const what = this.status === null ? 'no response' : 'no complete response';
    const { origin, timeoutMs } = this.options;
    this.fail('CALLBACK_TIMEOUT', `${what} from ${origin} within ${timeoutMs} ms (${this.phase})`);
  }

  private get phase(): string {
    if (this.status !== null) return 'reading the body';
    if (this.sent) return 'waiting for headers';
    return this.connection?.phase ?? 'waiting for a free connection';
  }

  private fail(code: CallbackErrorCode, message: string): void {
    if (!this.ended) this.end(this.answer({ code, message }, true), false);
  }

  private end(answer: CallbackAnswer, reusable: boolean): void {
    this.ended = true;
    clearTimeout(this.deadline);
    this.pool.giveUp(this);
    this.letGo(reusable);
    this.options.onEnd(this, answer);
  }

  private letGo(reusable: boolean): void {
    const { connection } = this;
    this.connection = null;
    this.sent = false;
    if (connection) this.pool.release(connection, reusable);
  }

  private answer(error: CallbackAnswer['error'], cut: boolean): CallbackAnswer {
    const { status, headers } = this;
    if (status === null) return { httpStatus: null, output: null, error, headers: {} };
    const length = headers['content-length'];
    const body = {
      bytes: this.chunks.length === 1 ? this.chunks[0]! : Buffer.concat(this.chunks),
      cut,
      total: typeof length === 'string' && /^\d{1,15}$/.test(length) ? Number(length) : null,
      contentType: first(headers['content-type']) ?? '',
      contentEncoding: first(headers['content-encoding']) ?? '',
    };
    const deciding: Record<string, string> = {};
    for (const name of ['retry-after', 'x-xtimer-no-retry']) {
      const value = first(headers[name]);
      if (value !== undefined) deciding[name] = value;
    }
    return { httpStatus: status, output: describeBody(body, this.options.maxOutputBytes), error, headers: deciding };
  }
}

const first = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value);
