import { createHash } from 'node:crypto';
import {
  type DueTask,
  isFinal,
  type Job,
  type JobListQuery,
  type JobStore,
  type PlannedJob,
  type PublishAnswer,
  type RescheduleAnswer,
  type TaskRef,
  TaskStatus,
  type Topic,
  taskIdOf,
  topicIdOf,
} from '@xtimer/pipeline';
import type { Engine } from './dialect.js';
import { inJobs, type JobRow, jobColumns, jobKeys, jobOf, jobsByIdWithTasks, jobsWithTasks } from './job-rows.js';
import { cancelJobs, forgetDue, letGo, moveDue, spanOf } from './parked.js';
import { type Drafted, type Published, publish } from './publish.js';
import { batches, type DueRow, dueTaskOf, storable, unique } from './task-rows.js';
import { LOOK_BACK_MS } from './tasks.js';
import { createTopic, findTopic, listTopics, resumedSince, saveTopic, takeSequence } from './topics.js';
import { affected, rows, type Work } from './work.js';

/** Numbers taken from a topic at once. */
const SEQUENCE_BLOCK = 4_096;
/** Sequences run from 1, as the first id of a topic's span names the topic itself. */
const SEQUENCES = 2 ** 32 - 1;
/** `countJobs` looks at this many jobs for each one it may count. */
const LOOKED_AT = 10;

export class SqlJobStore implements JobStore {
  /** Numbers taken and not used yet, by topic. */
  private readonly sequences = new Map<number, { next: number; end: number }>();
  /** Where `cancelJobs` goes on in a topic, so that a page does not walk over the pages before it. */
  private readonly canceling = new Map<number, TaskRef>();

  constructor(private readonly engine: Engine) {}

  createTopic(topic: Omit<Topic, 'topicId' | 'revision' | 'resumedAt'>): Promise<Topic | null> {
    return this.engine.transaction(() => createTopic(this.engine.dialect, topic));
  }

  findTopic(app: string, topic: string): Promise<Topic | null> {
    return this.engine.statements(() => findTopic(app, topic));
  }

  listTopics(query: { app: string | null; page: number; pageSize: number }): Promise<{ list: Topic[]; total: number }> {
    return this.engine.statements(() => listTopics(query));
  }

  saveTopic(
    topic: Topic,
    changes: Partial<Omit<Topic, 'topicId' | 'app' | 'topic' | 'revision'>>,
  ): Promise<Topic | null> {
    return this.engine.transaction(() => saveTopic(topic, changes));
  }

  resumedSince(since: number): Promise<Topic[]> {
    return this.engine.statements(() => resumedSince(this.engine.dialect, since));
  }

  /** Of a topic with more than ten times `most` jobs, those with the latest action times are counted. */
  async countJobs(topicId: number, most: number): Promise<{ waiting: number; running: number; failed: number }> {
    const { dialect } = this.engine;
    const counts = new Map<TaskStatus, number>();
    const page = 10 * dialect.batch;
    let before: TaskRef | null = null;
    for (let left = LOOKED_AT * most; left > 0; left -= page) {
      const part: (TaskRef & { status: TaskStatus })[] = await this.newest(topicId, before, Math.min(page, left));
      for (const { status } of part) counts.set(status, (counts.get(status) ?? 0) + 1);
      before = part.at(-1) ?? null;
      if (part.length < Math.min(page, left)) break;
      await this.engine.breathe();
    }
    const count = (status: TaskStatus) => Math.min(most, counts.get(status) ?? 0);
    return {
      waiting: count(TaskStatus.notRun),
      running: count(TaskStatus.running),
      failed: count(TaskStatus.failed),
    };
  }

  private newest(topicId: number, before: TaskRef | null, limit: number, since = 0) {
    const { dialect } = this.engine;
    return this.engine.statements(function* () {
      const found = yield* rows<DueRow & { status: TaskStatus }>(
        `SELECT t.run_timer, t.timer_id, t.bucket, t.due_at, t.status FROM ${jobsWithTasks(dialect)}
         WHERE j.topic_id = ? AND j.run_timer >= ? ${before ? `AND ${dialect.beyond('j.run_timer', 'j.timer_id', '<')}` : ''}
         ORDER BY j.run_timer DESC, j.timer_id DESC LIMIT ?`,
        topicId,
        since,
        ...(before ? dialect.pair(before.runTimer, before.timerId) : []),
        limit,
      );
      return found.map((row) => ({ ...dueTaskOf(row), status: row.status }));
    });
  }

  async publish(topic: Topic, jobs: readonly PlannedJob[], now: number): Promise<PublishAnswer[]> {
    const drafts = new Map<string, Drafted>();
    const hashes: string[] = [];
    const ids: string[] = [];
    for (const job of jobs) {
      const jobId = storable(job.jobId) as string;
      const hash = createHash('sha256').update(job.payload).digest('base64url');
      ids.push(jobId);
      hashes.push(hash);
      if (!drafts.has(jobId)) drafts.set(jobId, { ...job, jobId, hash, timerId: 0 });
    }
    const drafted = [...drafts.values()];
    if (drafted.length === 0) return [];
    const sequences = await this.take(topic.topicId, drafted.length);
    for (const [n, draft] of drafted.entries())
      draft.timerId = spanOf(topic.topicId)[0] + 1 + ((sequences + n) % SEQUENCES);
    const published = await this.engine.transaction(() =>
      publish(this.engine.dialect, topic, drafted, Math.floor(now)),
    );
    const answered = new Set<string>();
    return ids.map((jobId, n) => {
      const { job, created, hash } = published.get(jobId) as Published;
      const first = !answered.has(jobId);
      answered.add(jobId);
      return { job, created: created && first, samePayload: hash === hashes[n] };
    });
  }

  /** The first of `count` numbers in a row that are ours alone. */
  private async take(topicId: number, count: number): Promise<number> {
    const known = this.sequences.get(topicId);
    if (known && known.end - known.next >= count) {
      known.next += count;
      return known.next - count;
    }
    const size = Math.max(SEQUENCE_BLOCK, count);
    const end = await this.engine.transaction(() => takeSequence(topicId, size));
    // Somebody may have taken a block meanwhile: the fuller one is kept.
    const other = this.sequences.get(topicId);
    if (!other || other.end - other.next < size - count) this.sequences.set(topicId, { next: end - size + count, end });
    return end - size;
  }

  findJob(topicId: number, jobId: string): Promise<Job | null> {
    const { dialect } = this.engine;
    return this.engine.statements(function* () {
      const row = yield* jobRow(dialect, topicId, jobId);
      return row ? jobOf(row) : null;
    });
  }

  async listJobs(query: JobListQuery): Promise<Job[]> {
    const { dialect } = this.engine;
    const conditions = ['j.topic_id = ?'];
    const params: unknown[] = [query.topicId];
    const where = (condition: string, ...values: unknown[]): void => {
      conditions.push(condition);
      params.push(...values);
    };
    if (query.jobId !== undefined) where('j.job_id = ?', storable(query.jobId));
    if (query.startTime !== undefined) where('j.run_timer >= ?', query.startTime);
    // The lower of the two ends alone, because an engine may take the higher one for the index.
    const { before, endTime = Number.POSITIVE_INFINITY } = query;
    if (before && before.runTimer < endTime)
      where(dialect.beyond('j.run_timer', 'j.timer_id', '<'), ...dialect.pair(before.runTimer, before.timerId));
    else if (query.endTime !== undefined) where('j.run_timer < ?', endTime);
    if (query.status !== undefined) where('t.status = ?', query.status);
    const found = await this.engine.statements(() =>
      rows<JobRow>(
        `SELECT ${jobColumns(dialect)} FROM ${query.jobId === undefined ? jobsWithTasks(dialect) : jobsByIdWithTasks(dialect)}
         WHERE ${conditions.join(' AND ')} ORDER BY j.run_timer DESC, j.timer_id DESC LIMIT ?`,
        ...params,
        query.limit,
      ),
    );
    return found.map(jobOf);
  }

  async jobIds(refs: readonly TaskRef[]): Promise<Map<string, string>> {
    const { dialect } = this.engine;
    const ids = new Map<string, string>();
    const jobs = unique(refs).filter((ref) => topicIdOf(ref.timerId) > 0);
    for (const batch of batches(jobs, dialect.batch)) {
      const found = await this.engine.statements(() =>
        rows<{ run_timer: number; timer_id: number; job_id: string }>(
          `SELECT j.run_timer, j.timer_id, ${dialect.text('j.job_id')} AS job_id FROM job j${dialect.force('job_time')}
           WHERE ${inJobs(dialect, 'j')}`,
          jobKeys(dialect, batch),
        ),
      );
      for (const row of found) ids.set(taskIdOf({ timerId: row.timer_id, runTimer: row.run_timer }), row.job_id);
      await this.engine.breathe();
    }
    return ids;
  }

  reschedule(topicId: number, jobId: string, actionTime: number): Promise<RescheduleAnswer> {
    const { dialect } = this.engine;
    const at = Math.ceil(actionTime);
    return this.engine.transaction(function* (): Work<RescheduleAnswer> {
      const row = yield* jobRow(dialect, topicId, jobId, dialect.forUpdate);
      if (!row) return { outcome: 'notFound' };
      const job = jobOf(row);
      if (isFinal(job.status)) return { outcome: 'ended', job };
      if (job.status === TaskStatus.running) return { outcome: 'running', job };
      const before = dueTaskOf(row);
      if (job.attempt > 0) {
        yield* moveDue(dialect, [before], [at]);
        return { outcome: 'rescheduled', job: { ...job, dueAt: at }, before };
      }
      // Without an attempt there are no rows of attempts to move along.
      if (before.dueAt !== before.runTimer) yield* forgetDue(dialect, [before]);
      const key = [before.runTimer, before.timerId];
      yield* affected(
        'UPDATE timer_task SET run_timer = ?, due_at = ? WHERE run_timer = ? AND timer_id = ?',
        at,
        at,
        ...key,
      );
      yield* affected('UPDATE job SET run_timer = ? WHERE topic_id = ? AND job_id = ?', at, topicId, storable(jobId));
      return { outcome: 'rescheduled', job: { ...job, runTimer: at, dueAt: at }, before };
    });
  }

  async unpark(topicId: number, limit: number, dueAt: (index: number) => number): Promise<DueTask[]> {
    const { dialect } = this.engine;
    const free: DueTask[] = [];
    while (free.length < limit) {
      const most = Math.min(dialect.batch, limit - free.length);
      const part = await this.engine.transaction(() =>
        letGo(dialect, topicId, most, (index) => dueAt(free.length + index)),
      );
      free.push(...part.free);
      if (part.looked < most) break;
      await this.engine.breathe();
    }
    return free;
  }

  /**
   * What is held back or late comes first, then by action time, latest first. Jobs that should have run hours ago are
   * left to `cancelObsolete`.
   */
  async cancelJobs(topicId: number, limit: number, now: number): Promise<DueTask[]> {
    const { dialect } = this.engine;
    const canceled: DueTask[] = [];
    let seen = this.canceling.get(topicId) ?? null;
    let fromStart = seen === null;
    let late = fromStart;
    while (canceled.length < limit) {
      const most = Math.min(dialect.batch, limit - canceled.length);
      const page = late
        ? await this.late(topicId, most)
        : await this.newest(topicId, seen, dialect.batch, Math.floor(now) - LOOK_BACK_MS);
      const waiting = page.filter((task) => task.status === TaskStatus.notRun).slice(0, most);
      canceled.push(...(await this.engine.transaction(() => cancelWaiting(waiting))));
      await this.engine.breathe();
      if (late) {
        late = page.length === most;
        continue;
      }
      // With the limit reached within the page, the rest of it is looked at again.
      seen = (canceled.length >= limit ? waiting.at(-1) : page.at(-1)) ?? seen;
      if (page.length === dialect.batch || canceled.length >= limit) continue;
      if (fromStart) break;
      // What was published behind the page that a call before us ended with.
      seen = null;
      fromStart = late = true;
    }
    if (seen && canceled.length >= limit) this.canceling.set(topicId, seen);
    else this.canceling.delete(topicId);
    return canceled;

    function* cancelWaiting(tasks: readonly TaskRef[]): Work<DueTask[]> {
      if (tasks.length === 0) return [];
      const locked = yield* rows<DueRow>(
        `SELECT t.run_timer, t.timer_id, t.bucket, t.due_at FROM timer_task t${dialect.force('PRIMARY')}
         WHERE ${dialect.inKeys('t')} AND t.status = 0 ORDER BY t.run_timer, t.timer_id ${dialect.forUpdate}`,
        dialect.keys(tasks),
      );
      const still = locked.map(dueTaskOf);
      yield* cancelJobs(dialect, still, now);
      return still;
    }
  }

  /** Waiting jobs of the topic in the retry index. */
  private late(topicId: number, limit: number) {
    const { dialect } = this.engine;
    return this.engine.statements(function* () {
      const found = yield* rows<DueRow & { status: TaskStatus }>(
        `SELECT t.run_timer, t.timer_id, t.bucket, t.due_at, t.status
         FROM task_retry r${dialect.force('task_retry_timer')} ${dialect.joinInOrder} timer_task t${dialect.force('PRIMARY')}
           ON t.run_timer = r.run_timer AND t.timer_id = r.timer_id AND t.due_at = r.due_at
         WHERE r.timer_id BETWEEN ? AND ? AND t.status = 0 LIMIT ?`,
        ...spanOf(topicId),
        limit,
      );
      return found.map((row) => ({ ...dueTaskOf(row), status: row.status }));
    });
  }
}

function* jobRow(dialect: Engine['dialect'], topicId: number, jobId: string, lock = ''): Work<JobRow | null> {
  const [row] = yield* rows<JobRow>(
    `SELECT ${jobColumns(dialect)} FROM ${jobsByIdWithTasks(dialect)} WHERE j.topic_id = ? AND j.job_id = ? ${lock}`,
    topicId,
    storable(jobId),
  );
  return row ?? null;
}
