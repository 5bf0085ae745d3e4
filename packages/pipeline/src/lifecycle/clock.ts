/** Time as an argument. `now()` is the cluster's agreed time (the stores' clock), never this host's own opinion. */
export interface Clock {
  /** Epoch ms, may have a fraction. */
  now(): number;
  /** Resolves at `at` or later, never before; at once when it has passed; also, at once, when `signal` aborts. */
  sleepUntil(at: number, signal?: AbortSignal): Promise<void>;
}

/** A number in [0, 1): backoff jitter, ids. */
export type Random = () => number;
