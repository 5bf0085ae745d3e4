import type { Events } from '../events.js';
import type { Clock } from '../lifecycle/clock.js';
import type { Membership } from '../lifecycle/membership.js';
import type { TaskStore } from '../timer/ports.js';
import type { DueTask } from '../timer/task.js';

/**
 * Recovery: gives tasks that a dead node had claimed back to the queue.
 *
 * Promises   a task whose node died is called again (or ends as failed) within 15 s, with the same idempotency
 *            key; a long call on a living node is left alone.
 * Leans on   the node's lease, one record for all its claims; the claim id fences late results of a node that
 *            was only frozen.
 * If we die  another node does the same; each claim is taken back by one of us only.
 */
export class Recovery {
  constructor(
    private readonly ports: {
      tasks: Pick<TaskStore, 'recoverDead'>;
      membership: Pick<Membership, 'mayJudge'>;
      clock: Clock;
      events: Events;
      /** Puts tasks into the sorted sets and, as they are due, to the executor. */
      place: (tasks: readonly DueTask[]) => Promise<void>;
    },
    private readonly options = { claimsPerPass: 1_000 },
  ) {}

  async pass(): Promise<void> {
    const { clock, events, membership, place, tasks } = this.ports;
    if (!membership.mayJudge()) return;
    const recovered = await tasks.recoverDead(Math.floor(clock.now()), this.options.claimsPerPass);
    if (recovered.length === 0) return;
    events.emit('node.recovered', { tasks: recovered.length });
    await place(recovered);
  }
}
