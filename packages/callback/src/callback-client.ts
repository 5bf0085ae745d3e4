import type { CallbackAnswer, CallbackErrorCode, Callbacks, CallbackTask, Clock, Definition } from '@xtimer/pipeline';
import type { AddressGuard } from './address-guard.js';
import { ConnectionPool } from './connection-pool.js';
import { Connector, type ResolveAll } from './connector.js';
import { Exchange } from './exchange.js';
import { buildRequest, type CompiledCallback, compileCallback } from './request.js';

export interface CallbackClientOptions {
  guard: AddressGuard;
  /** Gives the agreed time, which the signature carries. */
  clock: Pick<Clock, 'now'>;
  /** Connections to one origin at most; further calls wait, and their deadline runs. Default 128. */
  connectionsPerHost?: number;
  /** What is read and kept of a response body, bytes. Default 4096. */
  maxOutputBytes?: number;
  /** Connections to an origin nobody called for this long are forgotten, ms. Default 120,000. */
  idleHostMs?: number;
  /** PEM of the authorities to trust instead of Node's own (which NODE_EXTRA_CA_CERTS extends). */
  ca?: readonly string[];
  /** Resolves names; `dns.lookup` by default. */
  resolve?: ResolveAll;
}

/**
 * Callback client: makes one HTTP request for a task and says what came of it (DESIGN section 6).
 *
 * Promises   `call` never rejects and ends at the timer's timeout at the latest, with the connection closed.
 *            A definition that can't be sent fails its own call only. Redirects are answers, not followed.
 * Leans on   the guard, asked about each address at the moment of connecting.
 * If we die  the target may have been called: recovery repeats the task with the same idempotency key.
 */
export class CallbackClient implements Callbacks {
  private readonly pools = new Map<string, ConnectionPool>();
  /** By the definition object itself: a changed definition is another object. */
  private readonly compiled = new WeakMap<Definition, CompiledCallback | { problem: string }>();
  /** By signal, so that thousands of calls under one signal cost it one listener. */
  private readonly watched = new WeakMap<AbortSignal, Set<Exchange>>();
  private readonly running = new Set<Exchange>();
  private readonly connector: Connector;
  private readonly sweeper: NodeJS.Timeout;
  private readonly connectionsPerHost: number;
  private readonly maxOutputBytes: number;
  private closed = false;

  constructor(private readonly options: CallbackClientOptions) {
    this.connectionsPerHost = options.connectionsPerHost ?? 128;
    this.maxOutputBytes = options.maxOutputBytes ?? 4096;
    const idleHostMs = options.idleHostMs ?? 120_000;
    this.connector = new Connector(options.guard, options.ca, options.resolve);
    this.sweeper = setInterval(() => this.forgetIdleHosts(idleHostMs), Math.ceil(idleHostMs / 4)).unref();
  }

  async call(task: CallbackTask, definition: Definition, signal: AbortSignal): Promise<CallbackAnswer> {
    if (this.closed || signal.aborted) return unsent('CALLBACK_ABORTED', 'the call was not made: the node is stopping');
    try {
      const callback = this.compile(definition);
      if ('problem' in callback) return unsent('CALLBACK_INVALID', callback.problem);
      const request = buildRequest(callback, task, this.options.clock.now());
      if ('problem' in request) return unsent('CALLBACK_INVALID', request.problem);

      const { origin } = callback.target;
      const watchers = this.watchersOf(signal);
      return await new Promise<CallbackAnswer>((resolve) => {
        const exchange = new Exchange(this.poolOf(origin), request, {
          origin,
          timeoutMs: definition.policies.timeoutMs,
          maxOutputBytes: this.maxOutputBytes,
          sendOnce: definition.policies.delivery === 'atMostOnce',
          onEnd: (ended, answer) => {
            this.running.delete(ended);
            watchers.delete(ended);
            resolve(answer);
          },
        });
        this.running.add(exchange);
        watchers.add(exchange);
        exchange.start();
      });
    } catch (error) {
      // What no check foresaw is still an answer about this call alone.
      return unsent('CALLBACK_INVALID', `the request can't be made: ${(error as Error).message}`);
    }
  }

  /** For gauges: hosts known, connections open or opening, and calls waiting for one. */
  stats(): { hosts: number; connections: number; idle: number; waiting: number } {
    const sum = { hosts: this.pools.size, connections: 0, idle: 0, waiting: 0 };
    for (const { stats } of this.pools.values()) {
      sum.connections += stats.open;
      sum.idle += stats.idle;
      sum.waiting += stats.waiting;
    }
    return sum;
  }

  /** Closes every connection; calls still under way end as `CALLBACK_ABORTED`. May be called again. */
  async close(): Promise<void> {
    this.closed = true;
    clearInterval(this.sweeper);
    for (const exchange of [...this.running]) exchange.abort('the node is stopping');
    for (const pool of this.pools.values()) pool.destroy();
    this.pools.clear();
  }

  private compile(definition: Definition): CompiledCallback | { problem: string } {
    let callback = this.compiled.get(definition);
    if (!callback) {
      callback = compileCallback(definition);
      this.compiled.set(definition, callback);
    }
    return callback;
  }

  private poolOf(origin: string): ConnectionPool {
    let pool = this.pools.get(origin);
    if (!pool) {
      pool = new ConnectionPool(origin, this.connector, this.connectionsPerHost);
      this.pools.set(origin, pool);
    }
    return pool;
  }

  private watchersOf(signal: AbortSignal): Set<Exchange> {
    let watchers = this.watched.get(signal);
    if (!watchers) {
      const fresh = new Set<Exchange>();
      watchers = fresh;
      this.watched.set(signal, fresh);
      signal.addEventListener('abort', () => {
        for (const exchange of [...fresh]) exchange.abort('the node is stopping');
      });
    }
    return watchers;
  }

  private forgetIdleHosts(idleMs: number): void {
    const before = performance.now() - idleMs;
    for (const [origin, pool] of this.pools) {
      const { open, idle, waiting } = pool.stats;
      if (pool.usedAt > before || open > idle || waiting > 0) continue;
      pool.destroy();
      this.pools.delete(origin);
    }
  }
}

const unsent = (code: CallbackErrorCode, message: string): CallbackAnswer => ({
  httpStatus: null,
  output: null,
  error: { code, message },
  headers: {},
});
