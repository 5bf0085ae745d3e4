/**
 * Work in groups: while one write is on its way, what comes in collects and goes out with the next. Light
 * load gives low latency, heavy load large batches, with no tuning (DESIGN section 2, rule 7).
 *
 * A failed write keeps its items in front and tries again: what was finished is written when the database is
 * back, never forgotten.
 */
export class Group<T> {
  private waiting: T[] = [];
  private writing: Promise<void> | null = null;
  private failures = 0;

  constructor(
    private readonly write: (items: T[]) => Promise<void>,
    private readonly options: {
      limit: number;
      /** Waits before another try, ms. */
      pause: (failures: number) => Promise<void>;
      onFailure: (waiting: number, error: Error) => void;
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
      const batch = this.waiting.splice(0, this.options.limit);
      try {
        await this.write(batch);
        this.failures = 0;
      } catch (error) {
        this.waiting = [...batch, ...this.waiting];
        this.options.onFailure(this.waiting.length, error as Error);
        await this.options.pause(++this.failures);
      }
    }
    this.writing = null;
  }
}
