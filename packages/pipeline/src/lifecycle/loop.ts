import type { Events } from '../events.js';

/**
 * One stage's repeated pass. Whoever keeps the beat calls `run` as often as it likes: a pass never overlaps
 * itself, a failing one is reported and tried again with the next beat, and `stop` waits for the one under way.
 */
export class Loop {
  private underWay: Promise<void> | null = null;
  private again = false;
  private readonly abort = new AbortController();

  constructor(
    private readonly stage: string,
    private readonly pass: (signal: AbortSignal) => Promise<unknown>,
    private readonly events: Events,
  ) {}

  /** Starts a pass unless one is under way. */
  run(): Promise<void> {
    if (this.abort.signal.aborted) return Promise.resolve();
    this.underWay ??= this.once().finally(() => {
      this.underWay = null;
      if (this.again) {
        this.again = false;
        void this.run();
      }
    });
    return this.underWay;
  }

  /** Makes sure that a pass starts after this moment: at once, or right after the one under way. */
  wake(): void {
    if (this.underWay) this.again = true;
    else void this.run();
  }

  async stop(): Promise<void> {
    this.again = false;
    this.abort.abort();
    await this.underWay;
  }

  private async once(): Promise<void> {
    try {
      await this.pass(this.abort.signal);
    } catch (error) {
      this.events.emit('stage.failed', { stage: this.stage, error: error as Error });
    }
  }
}
