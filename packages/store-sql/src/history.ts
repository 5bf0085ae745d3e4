import type { HistoryQuery, Task } from '@xtimer/pipeline';
import type { Dialect } from './dialect.js';
import { TASK_COLUMNS, type TaskRow, taskOf } from './task-rows.js';
import { rows, type Work } from './work.js';

/** Newest first along the index that fits the narrowest filter; the rest is checked row by row on the way. */
export function* history(dialect: Dialect, query: HistoryQuery): Work<Task[]> {
  const conditions = ['1 = 1'];
  const params: unknown[] = [];
  const where = (condition: string, ...values: unknown[]): void => {
    conditions.push(condition);
    params.push(...values);
  };
  if (query.app !== null) where('t.app = ?', query.app);
  if (query.timerId !== undefined) where('t.timer_id = ?', query.timerId);
  if (query.startTime !== undefined) where('t.run_timer >= ?', query.startTime);
  if (query.endTime !== undefined) where('t.run_timer < ?', query.endTime);
  if (query.before) {
    const { runTimer, timerId } = query.before;
    where('t.run_timer <= ? AND (t.run_timer < ? OR t.timer_id < ?)', runTimer, runTimer, timerId);
  }
  if (query.status !== undefined) where('t.status = ?', query.status);
  if (query.origin !== undefined) where('t.origin = ?', query.origin);
  const index = query.timerId !== undefined ? 'timer_task_timer' : query.app !== null ? 'timer_task_app' : 'PRIMARY';
  const found = yield* rows<TaskRow>(
    `SELECT ${TASK_COLUMNS} FROM timer_task t${dialect.force(index)}
     WHERE ${conditions.join(' AND ')} ORDER BY t.run_timer DESC, t.timer_id DESC LIMIT ?`,
    ...params,
    query.limit,
  );
  return found.map(taskOf);
}
