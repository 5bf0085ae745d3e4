import { type Job, neverRun, type PlannedJob, TaskOrigin, type Topic } from '@xtimer/pipeline';
import type { Dialect } from './dialect.js';
import { type JobRow, jobColumns, jobOf, jobsByIdWithTasks } from './job-rows.js';
import { batches, storable } from './task-rows.js';
import { rows, type Work } from './work.js';

/** A job with the ids it gets if it is new. */
export interface Drafted extends PlannedJob {
  timerId: number;
  hash: string;
}

export interface Published {
  job: Job;
  created: boolean;
  /** Of the payload that is stored. */
  hash: string;
}

/**
 * Writes jobs with different ids and their tasks, or finds those that are there. Resolves to them by job id.
 *
 * Must be one transaction. Whose `timer_id` is in the row of the job has written it: two nodes that publish the same id
 * at once wait for each other at that row, which they insert in the same order.
 */
export function* publish(
  dialect: Dialect,
  topic: Topic,
  drafts: readonly Drafted[],
  now: number,
): Work<Map<string, Published>> {
  const published = new Map<string, Published>();
  const inOrder = [...drafts].sort((a, b) => (a.jobId < b.jobId ? -1 : 1));
  for (const batch of batches(inOrder, dialect.batch)) {
    const written = yield* dialect.insertRows(
      `${dialect.insertIgnore} INTO job (topic_id, job_id, timer_id, run_timer, slot, payload_hash, created_at)`,
      batch.map((job) => [topic.topicId, job.jobId, job.timerId, job.actionTime, job.slot, job.hash, now]),
    );
    if (written < batch.length)
      for (const row of yield* foreign(dialect, topic.topicId, batch))
        published.set(row.job_id, { job: jobOf(row), created: false, hash: row.payload_hash });
  }
  // In key order each batch is an append to the clustered table, or close to it.
  const ours = inOrder
    .filter((job) => !published.has(job.jobId))
    .sort((a, b) => a.actionTime - b.actionTime || a.timerId - b.timerId);
  for (const batch of batches(ours, dialect.batch, (job) => job.payload)) {
    const tasks = batch.map((job) => ({ ...newJob(topic, job, now), maxAttempts: job.maxAttempts }));
    yield* dialect.insertRows(
      `INSERT INTO timer_task
         (run_timer, timer_id, app, bucket, origin, version, due_at, payload, status, attempt, max_attempts)`,
      tasks.map((task) => [
        task.runTimer,
        task.timerId,
        task.app,
        task.bucket,
        task.origin,
        task.version,
        task.dueAt,
        task.payload,
        task.status,
        task.attempt,
        task.maxAttempts,
      ]),
    );
    for (const [n, draft] of batch.entries()) {
      const { maxAttempts: _, ...job } = tasks[n] as (typeof tasks)[number];
      published.set(draft.jobId, { job, created: true, hash: draft.hash });
    }
  }
  return published;
}

/** Jobs of these ids that somebody else has written. */
function* foreign(dialect: Dialect, topicId: number, drafts: readonly Drafted[]): Work<JobRow[]> {
  const own = new Set(drafts.map((draft) => draft.timerId));
  const found = yield* rows<JobRow>(
    `SELECT ${jobColumns(dialect)} FROM ${jobsByIdWithTasks(dialect)} WHERE j.topic_id = ? AND ${dialect.in('j.job_id')}`,
    topicId,
    dialect.list(drafts.map((draft) => draft.jobId)),
  );
  return found.filter((row) => !own.has(row.timer_id));
}

const newJob = (topic: Topic, draft: Drafted, now: number): Job => ({
  ...neverRun,
  timerId: draft.timerId,
  runTimer: draft.actionTime,
  app: topic.app,
  bucket: draft.bucket,
  origin: TaskOrigin.job,
  version: 0,
  dueAt: draft.actionTime,
  payload: storable(draft.payload),
  jobId: draft.jobId,
  topicId: topic.topicId,
  slot: draft.slot,
  createdAt: now,
});
