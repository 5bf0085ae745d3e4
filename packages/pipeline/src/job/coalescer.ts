/**
 * Lets concurrent calls share one piece of work: while one group is on its way, what comes in collects and goes
 * out with the next (DESIGN section 2, rule 7). A group that fails fails all its callers.
 */
export class Coalescer<In, Out> {
  private waiting: { item: In; resolve: (out: Out) => void; reject: (error: unknown) => void }[] = [];
  private running = false;

  constructor(
    private readonly work: (items: In[]) => Promise<Out[]>,
    private readonly limit: number,
  ) {}

  add(item: In): Promise<Out> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      if (this.running) return;
      this.running = true;
      // One turn of the event loop later, so that calls of the same turn go together.
      setImmediate(() => void this.drain());
    });
  }

  private async drain(): Promise<void> {
    while (this.waiting.length > 0) {
      const group = this.waiting.splice(0, this.limit);
      try {
        const outs = await this.work(group.map((call) => call.item));
        for (const [i, call] of group.entries()) call.resolve(outs[i]!);
      } catch (error) {
        for (const call of group) call.reject(error);
      }
    }
    this.running = false;
  }
}
