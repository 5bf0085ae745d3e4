import { isJob, type TaskRef } from '@xtimer/pipeline';
import type { Dialect, Engine } from './dialect.js';
import { inJobs, jobKeys } from './job-rows.js';
import { batches } from './task-rows.js';
import { affected, rows, type Work } from './work.js';

/**
 * Deletes up to `limit` old ended tasks and their attempts, each batch in a transaction of its own.
 *
 * Without exceptions the old tasks are the first of the clustered index. With exceptions these would be in the
 * way of each batch, so each other app's oldest are read: they are the first of its part of the app index.
 */
export async function purge(
  engine: Engine,
  before: number,
  apps: { only: string } | { except: readonly string[] },
  limit: number,
): Promise<number> {
  const { dialect } = engine;
  if ('only' in apps) return purgeFrom(apps.only, limit);
  if (apps.except.length === 0) return purgeFrom(null, limit);
  const kept = new Set(apps.except);
  let deleted = 0;
  for (let app = await nextApp(''); app !== null && deleted < limit; app = await nextApp(app))
    if (!kept.has(app)) deleted += await purgeFrom(app, limit - deleted);
  return deleted;

  async function nextApp(after: string): Promise<string | null> {
    const [row] = await engine.statements(() =>
      rows<{ app: string }>(
        `SELECT t.app FROM timer_task t${dialect.force('timer_task_app')} WHERE t.app > ? ORDER BY t.app LIMIT 1`,
        after,
      ),
    );
    return row?.app ?? null;
  }

  async function purgeFrom(app: string | null, most: number): Promise<number> {
    let deleted = 0;
    while (deleted < most) {
      const batch = Math.min(dialect.batch, most - deleted);
      const old = await engine.statements(() => oldTasks(dialect, before, app, batch));
      for (const part of batches(old, dialect.batch))
        deleted += await engine.transaction(() => deleteTasks(dialect, part));
      if (old.length < batch) break;
      await engine.breathe();
    }
    return deleted;
  }
}

export function* oldTasks(dialect: Dialect, before: number, app: string | null, limit: number): Work<TaskRef[]> {
  const found = yield* rows<{ run_timer: number; timer_id: number }>(
    `SELECT t.run_timer, t.timer_id FROM timer_task t${dialect.force(app === null ? 'PRIMARY' : 'timer_task_app')}
     WHERE ${app === null ? '' : 't.app = ? AND '}t.run_timer < ? AND t.status >= 2
     ORDER BY t.run_timer, t.timer_id LIMIT ?`,
    ...(app === null ? [] : [app]),
    Math.floor(before),
    limit,
  );
  return found.map((row) => ({ runTimer: row.run_timer, timerId: row.timer_id }));
}

/** Those that have been replayed meanwhile stay. */
function* deleteTasks(dialect: Dialect, refs: readonly TaskRef[]): Work<number> {
  const found = yield* rows<{ run_timer: number; timer_id: number }>(
    `SELECT t.run_timer, t.timer_id FROM timer_task t${dialect.force('PRIMARY')}
     WHERE ${dialect.inKeys('t')} AND t.status >= 2 ${dialect.forUpdate}`,
    dialect.keys(refs),
  );
  if (found.length === 0) return 0;
  const ended = found.map((row) => ({ runTimer: row.run_timer, timerId: row.timer_id }));
  const keys = dialect.keys(ended);
  yield* affected(`${dialect.deleteFrom('timer_task_attempt')} WHERE ${dialect.inKeys('t')}`, keys);
  const jobs = ended.filter((ref) => isJob(ref.timerId));
  if (jobs.length > 0)
    yield* affected(`${dialect.deleteFrom('job', 'job_time')} WHERE ${inJobs(dialect, 't')}`, jobKeys(dialect, jobs));
  return yield* affected(`${dialect.deleteFrom('timer_task')} WHERE ${dialect.inKeys('t')}`, keys);
}
