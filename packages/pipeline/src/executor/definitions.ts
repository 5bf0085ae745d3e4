import { definitionIdOf } from '../job/job.js';
import type { TimerStore } from '../timer/ports.js';
import type { Definition } from '../timer/timer.js';

/**
 * Definitions of timers and topics by the ids of their tasks, least recently used ones dropped. A claim tells the timer's revision at that
 * moment, so a cached copy is never used after an edit.
 */
export class Definitions {
  private cache = new Map<number, Definition>();

  constructor(
    private readonly timers: Pick<TimerStore, 'definitions'>,
    private readonly capacity = 50_000,
  ) {}

  /** The copy at hand, whatever its age. */
  peek(timerId: number): Definition | undefined {
    return this.cache.get(definitionIdOf(timerId));
  }

  /** Makes every known id present; `revisions` names the least revision each must have. One query for what is missing. */
  async load(timerIds: Iterable<number>, revisions?: ReadonlyMap<number, number>): Promise<void> {
    const missing = new Set<number>();
    for (const taskTimerId of timerIds) {
      const timerId = definitionIdOf(taskTimerId);
      const cached = this.cache.get(timerId);
      if (cached && cached.revision >= (revisions?.get(taskTimerId) ?? 0)) {
        this.cache.delete(timerId);
        this.cache.set(timerId, cached);
      } else missing.add(timerId);
    }
    if (missing.size === 0) return;
    for (const definition of await this.timers.definitions([...missing])) {
      // An answer that was overtaken by a later one is older than what is here.
      const { timerId, revision } = definition;
      if (revision >= (this.cache.get(timerId)?.revision ?? 0)) this.cache.set(timerId, definition);
    }
    for (const timerId of this.cache.keys()) {
      if (this.cache.size <= this.capacity) break;
      this.cache.delete(timerId);
    }
  }
}
