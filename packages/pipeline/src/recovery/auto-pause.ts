import type { Events } from '../events.js';
import type { Definitions } from '../executor/definitions.js';
import { TaskStatus } from '../status.js';
import type { TimerStore } from '../timer/ports.js';
import type { TaskResult } from '../timer/task.js';

/** Pauses a timer after its `pauseAfterFailures` dead letters in a row, if it has that rule. */
export class AutoPause {
  constructor(
    private readonly ports: {
      timers: Pick<TimerStore, 'countFailure'>;
      definitions: Pick<Definitions, 'peek'>;
      pause: (timerId: number, reason: string) => Promise<void>;
      events: Events;
    },
  ) {
    ports.events.on('task.finished', ({ result }) => {
      this.consider(result).catch((error) => ports.events.emit('stage.failed', { stage: 'auto-pause', error }));
    });
  }

  private async consider({ timerId, status }: TaskResult): Promise<void> {
    const limit = this.ports.definitions.peek(timerId)?.policies.pauseAfterFailures ?? null;
    if (limit === null || status === TaskStatus.notRun) return;
    const inARow = await this.ports.timers.countFailure(timerId, status === TaskStatus.failed);
    if (inARow < limit) return;
    const reason = `paused after ${inARow} dead letters in a row`;
    await this.ports.pause(timerId, reason);
    // Enabled again it gets as many chances as before.
    await this.ports.timers.countFailure(timerId, false);
    this.ports.events.emit('timer.paused', { timerId, reason });
  }
}
