import { StoreUnavailableError } from '../errors.js';

/**
 * Work in groups: while one write is on its way, what comes in collects and goes out with the next. Light
 * load gives low latency, heavy load large batches, with no tuning (DESIGN section 2, rule 7).
 *
 * A failed write keeps its items in front and tries again: what was finished is written when the database is
 * back, never forgotten. What the database refuses for what it holds must not block the others: the group is halved
 * until the item stands alone, and then, in a lighter form, waits behind them.
 */
export class Group<T> {
  private waiting: T[] = [];
  private writing: Promise<void> | null = null;
  private failures = 0;
  /** How many items go together now: fewer while one of them is refused. */
  private atOnce = Number.POSITIVE_INFINITY;

  constructor(
    private readonly write: (items: T[]) => Promise<void>,
    private readonly options: {
      limit: number;
      /** Waits before another try, ms. */
      pause: (failures: number) => Promise<void>;
      onFailure: (waiting: number, error: Error) => void;
      /** A form of a refused item that may be accepted. */
      lighten: (item: T, error: Error) => T;
    },
  ) {}

  get size(): number {
    return this.waiting.length;
  }

  add(item: T): void {
    this.waiting.push(item);
    // One turn of the event loop later, so that what ends in the same turn shares the statement.
    this.writing ??= new Promise<void>((resolve) => setImmediate(resolve)).then(() => this.drain());
  }

  /** Resolves when everything added so far is written. */
  async flushed(): Promise<void> {
    while (this.writing) await this.writing;
  }

  private async drain(): Promise<void> {
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, Math.min(this.options.limit, this.atOnce));
      try {
        await this.write(batch);
        this.failures = 0;
        this.atOnce *= 2;
      } catch (error) {
        this.waiting = [...this.afterFailure(batch, error as Error), ...this.waiting];
        this.options.onFailure(this.waiting.length, error as Error);
        await this.options.pause(++this.failures);
      }
    }
    this.writing = null;
  }

  private afterFailure(batch: T[], error: Error): T[] {
    if (error instanceof StoreUnavailableError) return batch;
    this.atOnce = Math.max(1, Math.floor(batch.length / 2));
    if (batch.length > 1) return batch;
    this.waiting.push(this.options.lighten(batch[0]!, error));
    return [];
  }
}
