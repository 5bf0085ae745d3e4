import { type DueTask, taskIdOf } from '../timer/task.js';

/** Tasks of timers that run one at a time, held back until it is their turn: the earliest first. */
export class Turns {
  private readonly lines = new Map<number, DueTask[]>();

  /** Holds a task back. Resolves to `true` if it is the first of its timer's line, and so the one to try. */
  wait(task: DueTask): boolean {
    const line = this.lines.get(task.timerId) ?? [];
    if (!line.some((other) => taskIdOf(other) === taskIdOf(task))) line.push(task);
    line.sort((a, b) => a.runTimer - b.runTimer);
    this.lines.set(task.timerId, line);
    return line[0]!.runTimer === task.runTimer;
  }

  /** Whether earlier tasks of the timer are held back. */
  hasEarlier(task: DueTask): boolean {
    const first = this.lines.get(task.timerId)?.[0];
    return first !== undefined && first.runTimer < task.runTimer;
  }

  /** The task waits no longer. Resolves to the one whose turn it is now; `null` when the line did not move. */
  leave(task: DueTask): DueTask | null {
    const line = this.lines.get(task.timerId);
    const at = line?.findIndex((other) => taskIdOf(other) === taskIdOf(task)) ?? -1;
    if (!line || at < 0) return null;
    line.splice(at, 1);
    if (line.length === 0) this.lines.delete(task.timerId);
    return at === 0 ? (line[0] ?? null) : null;
  }
}
