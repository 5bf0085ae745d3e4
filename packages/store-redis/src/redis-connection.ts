import { StoreUnavailableError } from '@xtimer/pipeline';
import { Cluster, Command, Redis, type RedisOptions } from 'ioredis';
import { parseRedisUrl, type RedisTarget, redisAddress } from './redis-url.js';
import { scripts } from './scripts.js';

/** A command or a script, its one key, its arguments. */
export type RedisCommand = readonly [name: string, key: string, ...args: (string | number)[]];

export type RedisStatus = 'ready' | 'connecting' | 'closed';

/** Redis answers, but not as we need it now: trying later is right. Anything else it refuses is our mistake. */
const PASSING_REFUSAL =
  /\b(READONLY|LOADING|MOVED|ASK|TRYAGAIN|CLUSTERDOWN|OOM|MISCONF|MASTERDOWN|NOREPLICAS|BUSY|NOAUTH|WRONGPASS|NOPERM|max number of clients)\b/;

const backoff = (attempt: number): number => Math.min(25 * 2 ** attempt, 500);

/**
 * One connection to a Redis, whatever its kind.
 *
 * Promises   each call ends within `timeoutMs`; while disconnected it fails at once; reconnecting goes on
 *            forever. A Redis that takes bytes but does not answer is dropped and connected anew.
 * Hazard     a call that failed may still be carried out (its bytes may lie in a frozen server's socket), so
 *            everything sent from here is repeatable or fenced.
 */
export class RedisConnection {
  readonly address: string;
  private readonly client: Redis | Cluster;
  private closed = false;
  private lastError: Error | null = null;
  private handshake: NodeJS.Timeout | undefined;

  constructor(
    url: string,
    private readonly timeoutMs: number,
  ) {
    const target = parseRedisUrl(url);
    this.address = redisAddress(url);
    this.client = connect(target, timeoutMs);
    // Errors are kept for the next failing call to tell; without a listener they would be printed.
    this.client.on('error', (error: Error) => {
      this.lastError = withoutArguments(error);
    });
    this.client.on('node error', (error: Error) => {
      this.lastError = withoutArguments(error);
    });
    this.client.on('ready', () => {
      this.lastError = null;
    });
    // A frozen server's kernel accepts connections that nobody answers: start over until somebody does.
    this.client.on('connect', () => {
      clearTimeout(this.handshake);
      this.handshake = setTimeout(() => {
        if (this.client.status === 'connect') this.client.disconnect(true);
      }, this.timeoutMs);
    });
    for (const event of ['ready', 'close', 'end']) this.client.on(event, () => clearTimeout(this.handshake));
  }

  get status(): RedisStatus {
    if (this.closed) return 'closed';
    return this.client.status === 'ready' ? 'ready' : 'connecting';
  }

  /** Resolves once commands can be sent. Rejects with `StoreUnavailableError` at the first refusal, or after `timeoutMs`. */
  async connected(): Promise<void> {
    if (this.status !== 'ready' && !this.closed) await this.untilReady();
  }

  /** Sends all in one round trip and resolves to the replies in order. */
  async run(commands: readonly RedisCommand[]): Promise<unknown[]> {
    if (commands.length === 0) return [];
    if (this.status !== 'ready') throw this.unavailable(this.closed ? 'is closed' : 'is not connected', this.lastError);

    const replies: unknown[] = new Array(commands.length);
    const waiting = new Set<string>();
    const parts = this.partsOf(commands).map(async (indexes) => {
      const key = commands[indexes[0]!]![1];
      waiting.add(key);
      const answers = await this.client.pipeline(indexes.map((index) => [...commands[index]!])).exec();
      waiting.delete(key);
      for (const [at, [error, reply]] of (answers ?? []).entries()) {
        if (error) throw error;
        replies[indexes[at]!] = reply;
      }
    });
    await this.bounded(Promise.all(parts), waiting);
    return replies;
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.client.disconnect();
  }

  /** On a Cluster one part for each hash tag, so that a moved slot is followed by the client for its part alone. */
  private partsOf(commands: readonly RedisCommand[]): number[][] {
    if (!(this.client instanceof Cluster)) return [commands.map((_, index) => index)];
    const parts = new Map<string, number[]>();
    for (const [index, [, key]] of commands.entries()) {
      const tag = key.slice(0, key.indexOf('}'));
      const part = parts.get(tag);
      if (part) part.push(index);
      else parts.set(tag, [index]);
    }
    return [...parts.values()];
  }

  private bounded(work: Promise<unknown>, waiting: ReadonlySet<string>): Promise<void> {
    return new Promise((resolve, reject) => {
      let timer = setTimeout(() => {
        // If it was this process that stood still, the answer has arrived meanwhile: let it be read first.
        timer = setTimeout(() => {
          reject(this.unavailable(`did not answer within ${this.timeoutMs} ms`, null));
          this.drop(waiting);
        }, 1);
      }, this.timeoutMs);
      work.then(
        () => {
          clearTimeout(timer);
          resolve();
        },
        (error: Error) => {
          clearTimeout(timer);
          reject(this.explain(error));
        },
      );
    });
  }

  /** Ends the connections that owe us an answer: what is queued there fails now instead of one by one. */
  private drop(waiting: ReadonlySet<string>): void {
    if (this.client instanceof Redis) {
      if (this.client.status === 'ready') this.client.disconnect(true);
      return;
    }
    const { slots } = this.client;
    const silent = new Set([...waiting].map((key) => slots[slotOf(key)]?.[0]));
    for (const node of this.client.nodes('all')) {
      // The pool forgets a node that ended, and connects again when its slots are next asked for.
      if (silent.has(`${node.options.host}:${node.options.port}`)) node.disconnect();
    }
    this.client.refreshSlotsCache();
  }

  private untilReady(): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error: Error | null) => {
        clearTimeout(timer);
        this.client.off('ready', onReady).off('error', onError);
        if (error) reject(this.unavailable('is not reachable', error));
        else resolve();
      };
      const onReady = () => settle(null);
      const onError = (error: Error) => settle(error);
      const timer = setTimeout(
        () => settle(this.lastError ?? new Error(`no answer within ${this.timeoutMs} ms`)),
        this.timeoutMs,
      );
      this.client.on('ready', onReady).on('error', onError);
    });
  }

  private explain(error: Error): Error {
    const cause = withoutArguments(error);
    if (cause.name === 'MaxRetriesPerRequestError' || cause.name === 'AbortError')
      return this.unavailable('broke the connection', this.lastError);
    if (cause.name !== 'ReplyError') return this.unavailable('failed', cause);
    return PASSING_REFUSAL.test(cause.message) ? this.unavailable('refused', cause) : cause;
  }

  private unavailable(what: string, cause: Error | null): StoreUnavailableError {
    const told = cause ? `: ${textOf(cause)}` : '';
    return new StoreUnavailableError('redis', `${this.address} ${what}${told}`, cause ? { cause } : undefined);
  }
}

function connect(target: RedisTarget, timeoutMs: number): Redis | Cluster {
  const common: RedisOptions = {
    ...target.auth,
    connectTimeout: timeoutMs,
    disconnectTimeout: 50,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    disableClientInfo: true,
    scripts,
  };
  if (target.kind === 'cluster') {
    return new Cluster(target.nodes, {
      redisOptions: common,
      scripts,
      clusterRetryStrategy: backoff,
      slotsRefreshTimeout: timeoutMs,
      slotsRefreshInterval: 5000,
      // Certificates name hosts; without this the client would connect by the address it looked up.
      ...(target.auth.tls && { dnsLookup: (address, callback) => callback(null, address) }),
    });
  }
  return new Redis({
    ...common,
    ...(target.kind === 'sentinel'
      ? { sentinels: target.nodes, name: target.sentinelName!, sentinelRetryStrategy: backoff }
      : target.nodes[0]),
    enableOfflineQueue: false,
    retryStrategy: backoff,
    // A master that became a replica: connecting again leads to the new one, behind a Sentinel or a moving name.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  });
}

const slotOf = (key: string): number => new Command('get', [key]).getSlot();

/** ioredis hangs the arguments on its errors: the password of an AUTH, thousands of members of a ZADD. */
function withoutArguments(error: Error & { command?: unknown; lastNodeError?: Error }): Error {
  delete error.command;
  if (error.lastNodeError) withoutArguments(error.lastNodeError);
  return error;
}

function textOf(error: Error & { lastNodeError?: Error; code?: string }): string {
  const message = (error.lastNodeError ?? error).message.replace('Ready check failed: ', '');
  if (/NOAUTH/.test(message)) return `${message} Put the password into the Redis URL.`;
  if (/WRONGPASS/.test(message)) return `${message} Check user and password in the Redis URL.`;
  return message || (error.code ?? error.name);
}
