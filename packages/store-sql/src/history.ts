import type { HistoryQuery, Task } from '@xtimer/pipeline';
import type { Dialect } from './dialect.js';
import { jobsWithTasks } from './job-rows.js';
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
  const { index, source, topic } = sourceOf(dialect, query);
  if (query.topicId !== undefined) where(`${topic} = ?`, query.topicId);
  if (query.startTime !== undefined) where(`${index}.run_timer >= ?`, query.startTime);
  // The lower of the two ends alone, because an engine may take the higher one for the index.
  const { before, endTime = Number.POSITIVE_INFINITY } = query;
  if (before && before.runTimer < endTime)
    where(
      dialect.beyond(`${index}.run_timer`, `${index}.timer_id`, '<'),
      ...dialect.pair(before.runTimer, before.timerId),
    );
  else if (query.endTime !== undefined) where(`${index}.run_timer < ?`, endTime);
  if (query.status !== undefined) where('t.status = ?', query.status);
  if (query.origin !== undefined) where('t.origin = ?', query.origin);
  const found = yield* rows<TaskRow>(
    `SELECT ${TASK_COLUMNS} FROM ${source}
     WHERE ${conditions.join(' AND ')} ORDER BY ${index}.run_timer DESC, ${index}.timer_id DESC LIMIT ?`,
    ...params,
    query.limit,
  );
  return found.map(taskOf);
}

/** Looks at `most + 1` rows of the index range at most, so a filter that matches little costs no more. */
export function* count(
  dialect: Dialect,
  query: Omit<HistoryQuery, 'before' | 'limit'>,
  most: number,
): Work<number | null> {
  const { app, timerId, topicId, status, origin, startTime, endTime } = query;
  const { index, source, topic } = sourceOf(dialect, query);
  const range: [condition: string, value: unknown][] = [];
  if (timerId !== undefined) range.push(['t.timer_id = ?', timerId]);
  if (topicId !== undefined) range.push([`${topic} = ?`, topicId]);
  if (timerId === undefined && topicId === undefined && app !== null) range.push(['t.app = ?', app]);
  if (startTime !== undefined) range.push([`${index}.run_timer >= ?`, startTime]);
  if (endTime !== undefined) range.push([`${index}.run_timer < ?`, endTime]);
  const filter: [condition: string, value: unknown][] = [];
  if (app !== null) filter.push(['s.app = ?', app]);
  if (status !== undefined) filter.push(['s.status = ?', status]);
  if (origin !== undefined) filter.push(['s.origin = ?', origin]);
  const all = (conditions: typeof range) => ['1 = 1', ...conditions.map(([condition]) => condition)].join(' AND ');
  const [row] = yield* rows<{ looked: number; matched: number | null }>(
    `SELECT COUNT(*) AS looked, SUM(CASE WHEN ${all(filter)} THEN 1 ELSE 0 END) AS matched
     FROM (SELECT t.app, t.status, t.origin FROM ${source}
           WHERE ${all(range)} LIMIT ?) s`,
    ...filter.map(([, value]) => value),
    ...range.map(([, value]) => value),
    most + 1,
  );
  return row!.looked > most ? null : Number(row!.matched ?? 0);
}

/** What the narrowest filter reads, and the alias whose index gives the order. A timer's id says more than a topic's. */
function sourceOf(dialect: Dialect, { timerId, topicId, app }: Pick<HistoryQuery, 'timerId' | 'topicId' | 'app'>) {
  if (timerId === undefined && topicId !== undefined)
    return { index: 'j', source: jobsWithTasks(dialect), topic: 'j.topic_id' };
  const index = timerId !== undefined ? 'timer_task_timer' : app !== null ? 'timer_task_app' : 'PRIMARY';
  return { index: 't', source: `timer_task t${dialect.force(index)}`, topic: dialect.topicOf('t') };
}
