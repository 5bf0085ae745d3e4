import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { cadence, Pipeline, SharedClock } from '@xtimer/pipeline';

/** How often the stores are asked for the time, ms. */
const CLOCK_SYNC_MS = 5_000;
/** A host clock this far from the agreed time is told about, ms. Nothing depends on it but the log's own times. */
const CLOCK_TOLERANCE_MS = 1_000;

/** Keeps the beat of the stages; each loop keeps its own passes apart. */
@Injectable()
export class Cadence {
  private beating = false;
  private synchronizing = false;

  constructor(
    private readonly pipeline: Pipeline,
    private readonly clock: SharedClock,
  ) {}

  start(): void {
    this.beating = true;
  }

  stop(): void {
    this.beating = false;
  }

  @Interval(cadence.heartbeat)
  heartbeat(): void {
    this.beat('heartbeat');
  }

  @Interval(cadence.schedule)
  schedule(): void {
    this.beat('schedule');
  }

  @Interval(cadence.trigger)
  trigger(): void {
    this.beat('trigger');
  }

  @Interval(cadence.migrate)
  migrate(): void {
    this.beat('migrate');
  }

  @Interval(cadence.recover)
  recover(): void {
    this.beat('recover');
  }

  @Interval(CLOCK_SYNC_MS)
  async synchronizeClock(): Promise<void> {
    if (!this.beating || this.synchronizing) return;
    this.synchronizing = true;
    try {
      await this.clock.synchronize();
    } catch {
      // No store answers: the clock runs on by itself, and the stages tell of the stores.
      return;
    } finally {
      this.synchronizing = false;
    }
    const hostErrorMs = this.clock.hostError();
    if (Math.abs(hostErrorMs) > CLOCK_TOLERANCE_MS) this.pipeline.events.emit('clock.off', { hostErrorMs });
  }

  private beat(name: keyof typeof cadence): void {
    if (this.beating && this.pipeline.activeLoops().includes(name)) void this.pipeline.loops[name].run();
  }
}
