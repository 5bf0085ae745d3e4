import type { Slice } from './buckets/buckets.js';
import type { Reason } from './status.js';
import type { TaskResult } from './timer/task.js';

/** What stages tell the outside; the server turns it into logs and metrics in one file. */
export interface PipelineEvents {
  'migrator.planned': { bucket: number; timers: number; tasks: number; tookMs: number };
  'migrator.timerSetAside': { timerId: number; error: Error };
  'slice.claimed': Slice & { epoch: number };
  'slice.lost': Slice;
  'slice.closed': Slice;
  'index.filled': { buckets: number[]; tasks: number; tookMs: number };
  /** `true`: due tasks are read from the database until the index answers again. */
  'index.down': { down: boolean };
  'task.claimed': { asked: number; claimed: number };
  'task.finished': { result: TaskResult };
  /** The claim moved on while the call was made: another node called again, this result is dropped. */
  'task.outcomeLost': { timerId: number; runTimer: number };
  'task.leaseLost': { timerId: number; runTimer: number };
  'results.delayed': { waiting: number; error: Error };
  /** A rule left this slot out when its turn came; what was missed altogether is told by `timer.caughtUp`. */
  'task.skipped': { timerId: number; runTimer: number; reason: Reason };
  'timer.caughtUp': { timerId: number; kept: number; skipped: number };
  'timer.paused': { timerId: number; reason: string };
  /** Ended tasks past their retention were deleted. `complete`: none are left for now. */
  'history.purged': { tasks: number; tookMs: number; complete: boolean };
  'node.recovered': { tasks: number };
  'node.joined': { nodeId: string };
  'node.left': { nodeId: string };
  'clock.off': { hostErrorMs: number };
  /** A pass of a stage failed; it is tried again with the next one. */
  'stage.failed': { stage: string; error: Error };
}

type Listener<K extends keyof PipelineEvents> = (event: PipelineEvents[K]) => void;

/** Typed events. A throwing listener never reaches the stage. */
export class Events {
  private listeners = new Map<keyof PipelineEvents, Set<Listener<never>>>();

  on<K extends keyof PipelineEvents>(name: K, listener: Listener<K>): () => void {
    const set = this.listeners.get(name) ?? new Set();
    this.listeners.set(name, set.add(listener));
    return () => set.delete(listener);
  }

  emit<K extends keyof PipelineEvents>(name: K, event: PipelineEvents[K]): void {
    for (const listener of this.listeners.get(name) ?? []) {
      try {
        (listener as Listener<K>)(event);
      } catch {
        // Somebody who only listens must not stop the timers.
      }
    }
  }

  /** The next event of this name. */
  next<K extends keyof PipelineEvents>(name: K): Promise<PipelineEvents[K]> {
    return new Promise((resolve) => {
      const off = this.on(name, (event) => {
        off();
        resolve(event);
      });
    });
  }
}
