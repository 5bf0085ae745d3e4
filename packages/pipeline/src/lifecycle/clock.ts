import type { TimeSource } from '../buckets/ports.js';

/** Time as an argument. `now()` is the cluster's agreed time (the stores' clock), never this host's own opinion. */
export interface Clock {
  /** Epoch ms, may have a fraction. */
  now(): number;
  /** Calls `run` once, at `at` or later, never before; never inside this call. The answer takes it back. */
  schedule(at: number, run: () => void): () => void;
  /** Resolves at `at` or later, never before; at once when it has passed; also, at once, when `signal` aborts. */
  sleepUntil(at: number, signal?: AbortSignal): Promise<void>;
}

/**
 * This host's own clock as a time source (embedded mode). `Date.now()` shows whole milliseconds only, so we wait for it to
 * tick: rounded down it would make the node up to a millisecond slow. Costs at most one millisecond.
 */
export const hostTime: TimeSource = {
  async time() {
    const before = Date.now();
    let now = before;
    while (now === before) now = Date.now();
    return now;
  },
};

/** A number in [0, 1): backoff jitter, ids. */
export type Random = () => number;

/** `setTimeout` counts in 32 bits; longer waits are taken in legs. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * The cluster's time on this host: the monotonic clock plus an offset learned from the stores. A host clock
 * that is wrong, or is set while we run, changes nothing but the next measured offset.
 */
export class SharedClock implements Clock {
  private offset = 0;

  constructor(private readonly source: TimeSource) {}

  now(): number {
    return performance.timeOrigin + performance.now() + this.offset;
  }

  /** This host's clock minus the agreed time, ms: positive when the host is fast. Includes what `Date` was set to since start. */
  hostError(): number {
    return Date.now() - this.now();
  }

  /**
   * Asks the source a few times and believes the quickest answer: its error is at most half its round trip.
   * Resolves to the change made, ms.
   */
  async synchronize(samples = 3): Promise<number> {
    let best = { roundTrip: Number.POSITIVE_INFINITY, error: 0 };
    for (let i = 0; i < samples; i++) {
      const sentAt = this.now();
      const sourceTime = await this.source.time();
      const receivedAt = this.now();
      const roundTrip = receivedAt - sentAt;
      if (roundTrip < best.roundTrip) best = { roundTrip, error: sourceTime - (sentAt + receivedAt) / 2 };
    }
    // Within the uncertainty of the measurement there is nothing to learn; moving would only add noise.
    if (Math.abs(best.error) <= best.roundTrip / 2) return 0;
    this.offset += best.error;
    return best.error;
  }

  schedule(at: number, run: () => void): () => void {
    let timer: NodeJS.Timeout;
    const leg = () => {
      // setTimeout truncates and may fire up to a millisecond early: round up, and look again.
      const wait = Math.max(0, Math.ceil(at - this.now()));
      timer = setTimeout(
        () => {
          if (this.now() >= at) run();
          else leg();
        },
        Math.min(wait, LONGEST_TIMEOUT_MS),
      );
    };
    leg();
    return () => clearTimeout(timer);
  }

  sleepUntil(at: number, signal?: AbortSignal): Promise<void> {
    return sleepWith(this, at, signal);
  }
}

/** `sleepUntil` in terms of `schedule`, for every clock. */
export function sleepWith(clock: Pick<Clock, 'now' | 'schedule'>, at: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted || clock.now() >= at) return Promise.resolve();
  return new Promise((resolve) => {
    const wake = () => {
      cancel();
      signal?.removeEventListener('abort', wake);
      resolve();
    };
    const cancel = clock.schedule(at, wake);
    signal?.addEventListener('abort', wake);
  });
}
