/** One request as it arrived. */
export interface ReceivedCall {
  /** Grows by one with every call; `since` in `GET /_calls` refers to it. */
  seq: number;
  /** Epoch ms with a fraction. */
  receivedAt: number;
  method: string;
  /** Path without the query. */
  path: string;
  query: string;
  /** Lower-case names. */
  headers: Record<string, string | string[] | undefined>;
  /** The raw body read as UTF-8. */
  body: string;
  /** `receivedAt` minus `X-Xtimer-Run-Timer`, ms; `null` without that header. */
  lateness: number | null;
}

export interface ReceiverStats {
  calls: number;
  byPath: Record<string, number>;
  lateness: { p50: number; p90: number; p99: number; max: number; min: number } | null;
  /** Calls beyond the first for the same idempotency key and attempt, and some of the keys. */
  doubles: { count: number; keys: string[] };
}

/** The newest calls, in a ring that never grows beyond `keep`. */
export class CallLog {
  private readonly ring: ReceivedCall[] = [];
  private next = 1;
  private total = 0;
  private byPath = new Map<string, number>();

  constructor(private readonly keep: number) {}

  add(call: Omit<ReceivedCall, 'seq'>): ReceivedCall {
    const kept = call as ReceivedCall;
    kept.seq = this.next++;
    this.ring[this.total++ % this.keep] = kept;
    const count = this.byPath.get(kept.path);
    // Paths can be made up without end; the count of those beyond the first thousand goes to one line.
    if (count !== undefined || this.byPath.size < 1000) this.byPath.set(kept.path, (count ?? 0) + 1);
    else this.byPath.set('(others)', (this.byPath.get('(others)') ?? 0) + 1);
    return kept;
  }

  /** Oldest first. */
  list(filter: { since?: number; path?: string } = {}): ReceivedCall[] {
    const since = filter.since ?? 0;
    return this.ring
      .filter((call) => call.seq > since && (filter.path === undefined || call.path === filter.path))
      .sort((a, b) => a.seq - b.seq);
  }

  /** `calls` and `byPath` count everything since the last clear, the rest what is still kept. */
  stats(): ReceiverStats {
    const late = this.ring.flatMap(({ lateness }) => (lateness === null ? [] : [lateness])).sort((a, b) => a - b);
    const at = (share: number) => late[Math.min(late.length - 1, Math.floor(late.length * share))]!;
    const seen = new Set<string>();
    const doubled: string[] = [];
    for (const { headers } of this.ring) {
      const key = headers['idempotency-key'];
      if (key === undefined) continue;
      const attempt = `${key} attempt ${headers['x-xtimer-attempt'] ?? '?'}`;
      if (seen.has(attempt)) doubled.push(attempt);
      seen.add(attempt);
    }
    return {
      calls: this.total,
      byPath: Object.fromEntries(this.byPath),
      lateness: late.length ? { min: late[0]!, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: late.at(-1)! } : null,
      doubles: { count: doubled.length, keys: [...new Set(doubled)].slice(0, 20) },
    };
  }

  clear(): void {
    this.ring.length = 0;
    this.total = 0;
    this.byPath = new Map();
  }
}
