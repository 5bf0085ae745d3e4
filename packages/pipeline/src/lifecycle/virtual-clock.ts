import { type Clock, sleepWith } from './clock.js';

/** A clock that moves only when told: tests advance it instead of sleeping. */
export class VirtualClock implements Clock {
  private timers = new Set<{ at: number; run: () => void }>();

  constructor(private time = Date.parse('2027-01-15T10:00:00Z')) {}

  now(): number {
    return this.time;
  }

  schedule(at: number, run: () => void): () => void {
    const timer = { at, run };
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  }

  sleepUntil(at: number, signal?: AbortSignal): Promise<void> {
    return sleepWith(this, at, signal);
  }

  /** Moves to `to`, firing what falls due on the way, each at its own time, and lets promises settle in between. */
  async advanceTo(to: number): Promise<void> {
    await settle();
    for (;;) {
      const due = [...this.timers].filter((timer) => timer.at <= to).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.timers.delete(due);
      this.time = Math.max(this.time, due.at);
      due.run();
      await settle();
    }
    this.time = to;
    await settle();
  }

  advance(ms: number): Promise<void> {
    return this.advanceTo(this.time + ms);
  }
}

/** Lets everything that waits on resolved promises and immediates run. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}
