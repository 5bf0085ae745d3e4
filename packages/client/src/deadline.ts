/** The end of one call: its time is up, or the caller's signal says so. `end` must be called. */
export class Deadline {
  private readonly controller = new AbortController();
  private readonly endsAt: number;
  private readonly timer: ReturnType<typeof setTimeout>;
  private readonly follow = (): void => this.controller.abort();

  constructor(
    readonly ms: number,
    readonly caller: AbortSignal | undefined,
  ) {
    caller?.throwIfAborted();
    this.endsAt = performance.now() + ms;
    this.timer = setTimeout(() => this.controller.abort(), ms);
    caller?.addEventListener('abort', this.follow);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  leftMs(): number {
    return this.endsAt - performance.now();
  }

  /** Returns early when the deadline comes first. */
  sleep(ms: number): Promise<void> {
    if (this.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.signal.addEventListener('abort', done);
    });
  }

  end(): void {
    clearTimeout(this.timer);
    this.caller?.removeEventListener('abort', this.follow);
  }
}
