import type { Socket } from 'node:net';
import { Client } from 'undici';
import type { Connector } from './connector.js';

const DISTRUST_MS = 60_000;

/**
 * Connections to one origin. undici's own Pool doesn't tell which connection a request is on, and leaves a socket
 * that is still connecting alone when its request is given up. Both are needed here: to close what a deadline has
 * passed, to name the phase, and to know whether a reset hit a connection that had been used before.
 */
export class ConnectionPool {
  private readonly idle: Connection[] = [];
  private open = 0;
  private readonly waiting = new Set<Waiter>();
  private closed = false;
  /** Until then no connection is used twice. */
  private singleUseUntil = 0;
  usedAt = performance.now();

  constructor(
    private readonly origin: string,
    private readonly connector: Connector,
    private readonly limit: number,
  ) {}

  get stats(): { open: number; idle: number; waiting: number } {
    return { open: this.open, idle: this.idle.length, waiting: this.waiting.size };
  }

  /** Calls `waiter.onConnection` now or, at the limit, when one is free. */
  acquire(waiter: Waiter): void {
    this.usedAt = performance.now();
    const connection = this.take(waiter.fresh);
    if (connection) waiter.onConnection(connection);
    else this.waiting.add(waiter);
  }

  /** The target closed a connection under a request: for a while nothing is kept open, so that it can't happen again. */
  distrust(): void {
    this.singleUseUntil = performance.now() + DISTRUST_MS;
  }

  giveUp(waiter: Waiter): void {
    this.waiting.delete(waiter);
  }

  /** `reusable` false: its state is unknown, so it is closed. */
  release(connection: Connection, reusable: boolean): void {
    this.usedAt = performance.now();
    if (reusable && !this.closed && this.usedAt >= this.singleUseUntil) {
      this.idle.push(connection);
    } else {
      this.open--;
      connection.destroy();
    }
    for (const waiter of this.waiting) {
      const next = this.take(waiter.fresh);
      if (!next) return;
      this.waiting.delete(waiter);
      waiter.onConnection(next);
    }
  }

  destroy(): void {
    this.closed = true;
    this.open -= this.idle.length;
    for (const connection of this.idle.splice(0)) connection.destroy();
  }

  /** The one used last comes first: it is the least likely to have been closed by the other side. */
  private take(fresh: boolean): Connection | null {
    const warm = fresh || this.usedAt < this.singleUseUntil ? undefined : this.idle.pop();
    if (warm) return warm;
    if (this.open < this.limit) {
      this.open++;
    } else {
      const oldest = this.idle.shift();
      if (!oldest) return null;
      oldest.destroy();
    }
    return new Connection(this.origin, this.connector);
  }
}

export interface Waiter {
  /** Only a connection that nothing was sent on will do. */
  readonly fresh: boolean;
  onConnection(connection: Connection): void;
}

/** One undici client, which is one socket at a time and opens a new one when that was closed. */
export class Connection {
  readonly client: Client;
  /** Complete answers on the present socket. */
  answers = 0;
  private socket: Socket | null = null;

  constructor(origin: string, connector: Connector) {
    this.client = new Client(origin, {
      connect: (target, callback) => {
        this.answers = 0;
        this.socket = connector.open(target, callback);
      },
      pipelining: 1,
      // One deadline bounds the whole call.
      headersTimeout: 0,
      bodyTimeout: 0,
      // Below the 5 s after which common servers close; a server's Keep-Alive hint counts less 2 s for the way.
      keepAliveTimeout: 4_000,
      keepAliveTimeoutThreshold: 2_000,
      keepAliveMaxTimeout: 60_000,
    });
  }

  /** What a call that hasn't been sent yet is waiting for. */
  get phase(): string {
    return this.socket && !this.socket.connecting && !this.socket.destroyed ? 'TLS handshake' : 'connecting';
  }

  destroy(): void {
    // Later, because this is called from inside undici's own event handling.
    queueMicrotask(() => {
      this.socket?.destroy();
      void this.client.destroy();
    });
  }
}
