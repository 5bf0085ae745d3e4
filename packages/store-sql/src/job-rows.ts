import { type Job, type TaskRef, topicIdOf } from '@xtimer/pipeline';
import type { Dialect } from './dialect.js';
import { TASK_COLUMNS, type TaskRow, taskOf } from './task-rows.js';

export interface JobRow extends TaskRow {
  job_id: string;
  topic_id: number;
  slot: number;
  created_at: number;
  payload_hash: string;
}

export const jobColumns = (dialect: Dialect): string =>
  `${TASK_COLUMNS}, ${dialect.text('j.job_id')} AS job_id, j.topic_id, j.slot, j.created_at, j.payload_hash`;

/** Jobs by topic and action time, each with its task. */
export const jobsWithTasks = (dialect: Dialect): string =>
  `job j${dialect.force('job_time')} ${dialect.joinInOrder} timer_task t${dialect.force('PRIMARY')}
     ON t.run_timer = j.run_timer AND t.timer_id = j.timer_id`;

/** Jobs by their ids, each with its task. */
export const jobsByIdWithTasks = (dialect: Dialect): string =>
  `job j${dialect.force('PRIMARY')} ${dialect.joinInOrder} timer_task t${dialect.force('PRIMARY')}
     ON t.run_timer = j.run_timer AND t.timer_id = j.timer_id`;

export const jobOf = (row: JobRow): Job => ({
  ...taskOf(row),
  jobId: row.job_id,
  topicId: row.topic_id,
  slot: row.slot,
  createdAt: row.created_at,
});

/** The job of the alias is among the tasks that `jobKeys` puts in place of the `?`. Read along `job_time`. */
export const inJobs = (dialect: Dialect, alias: string): string =>
  dialect.inTuples(`${alias}.topic_id`, `${alias}.run_timer`, `${alias}.timer_id`);

export const jobKeys = (dialect: Dialect, refs: readonly TaskRef[]): unknown =>
  dialect.tuples(refs.map(({ timerId, runTimer }) => [topicIdOf(timerId), runTimer, timerId]));
