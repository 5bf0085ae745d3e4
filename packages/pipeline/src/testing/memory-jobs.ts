import {
  definitionIdOf,
  type Job,
  jobPolicies,
  PARKED_AT,
  type PlannedJob,
  TOPIC_SPAN,
  type Topic,
  topicIdOf,
} from '../job/job.js';
import type { JobListQuery, JobStore, PublishAnswer, RescheduleAnswer } from '../job/ports.js';
import { Reason, TaskOrigin, TaskStatus, TimerStatus } from '../status.js';
import { type DueTask, type TaskRef, taskIdOf } from '../timer/task.js';
import type { Definition } from '../timer/timer.js';
import { type MemoryStores, type Row, taskOf } from './memory-stores.js';

interface JobRow {
  jobId: string;
  topicId: number;
  slot: number;
  createdAt: number;
  payload: string;
  row: Row;
}

/** Topics and jobs as plain maps, over the same rows as the tasks. */
export class MemoryJobs implements JobStore {
  private readonly topics = new Map<number, Topic>();
  private readonly jobs = new Map<string, JobRow>();
  private sequence = 1;

  constructor(private readonly stores: MemoryStores) {}

  definition(timerId: number): Definition | null {
    const topic = this.topics.get(topicIdOf(timerId));
    if (!topic) return null;
    const { app, revision, notifyHttpParam } = topic;
    const policies = jobPolicies(topic.policies);
    const id = definitionIdOf(timerId);
    return {
      timerId: id,
      topic: topic.topic,
      app,
      name: topic.topic,
      revision,
      notifyHttpParam,
      policies,
      signingSecrets: [],
    };
  }

  topicOf(timerId: number): Topic | undefined {
    return this.topics.get(topicIdOf(timerId));
  }

  idOf(row: Row): string | null {
    return [...this.jobs.values()].find((job) => job.row === row)?.jobId ?? null;
  }

  async createTopic(topic: Omit<Topic, 'topicId' | 'revision' | 'resumedAt'>): Promise<Topic | null> {
    if (this.named(topic.app, topic.topic)) return null;
    const created = { ...topic, topicId: this.topics.size + 1, revision: 1, resumedAt: null };
    this.topics.set(created.topicId, created);
    return { ...created };
  }

  async findTopic(app: string, name: string): Promise<Topic | null> {
    const found = this.named(app, name);
    return found ? { ...found } : null;
  }

  async listTopics(query: { app: string | null; page: number; pageSize: number }) {
    const all = [...this.topics.values()]
      .filter((topic) => topic.status !== TimerStatus.deleted && (query.app === null || topic.app === query.app))
      .sort((a, b) => (`${a.app} ${a.topic}` < `${b.app} ${b.topic}` ? -1 : 1));
    const start = (query.page - 1) * query.pageSize;
    return { list: all.slice(start, start + query.pageSize), total: all.length };
  }

  async saveTopic(topic: Topic, changes: Partial<Topic>): Promise<Topic | null> {
    const row = this.topics.get(topic.topicId);
    if (row?.revision !== topic.revision) return null;
    Object.assign(row, changes, { revision: row.revision + 1 });
    return { ...row };
  }

  async resumedSince(since: number): Promise<Topic[]> {
    return [...this.topics.values()].filter(
      (topic) => topic.status === TimerStatus.active && (topic.resumedAt ?? -1) >= since,
    );
  }

  async countJobs(topicId: number, most: number) {
    const count = (status: TaskStatus) =>
      Math.min(most, this.of(topicId).filter((job) => job.row.status === status).length);
    return {
      waiting: count(TaskStatus.notRun),
      running: count(TaskStatus.running),
      failed: count(TaskStatus.failed),
    };
  }

  async publish(topic: Topic, jobs: readonly PlannedJob[], now: number): Promise<PublishAnswer[]> {
    return jobs.map((job) => {
      const key = `${topic.topicId} ${job.jobId}`;
      const known = this.jobs.get(key);
      if (known) return { job: view(known), created: false, samePayload: known.payload === job.payload };
      const timerId = topic.topicId * TOPIC_SPAN + this.sequence++;
      const { actionTime: runTimer, bucket, payload, maxAttempts } = job;
      const task = { timerId, runTimer, app: topic.app, bucket, version: 0, origin: TaskOrigin.job, dueAt: runTimer };
      const row = this.stores.addRow({ ...task, payload }, maxAttempts);
      const created = { jobId: job.jobId, topicId: topic.topicId, slot: job.slot, createdAt: now, payload, row };
      this.jobs.set(key, created);
      return { job: view(created), created: true, samePayload: true };
    });
  }

  async findJob(topicId: number, jobId: string): Promise<Job | null> {
    const job = this.jobs.get(`${topicId} ${jobId}`);
    return job ? view(job) : null;
  }

  async listJobs(query: JobListQuery): Promise<Job[]> {
    return this.of(query.topicId)
      .filter((job) => query.status === undefined || job.row.status === query.status)
      .filter((job) => query.jobId === undefined || job.jobId === query.jobId)
      .map(view)
      .filter((job) => job.runTimer >= (query.startTime ?? 0) && job.runTimer < (query.endTime ?? Number.MAX_VALUE))
      .filter((job) => !query.before || isBelow(job, query.before))
      .sort((a, b) => b.runTimer - a.runTimer || b.timerId - a.timerId)
      .slice(0, query.limit);
  }

  async jobIds(refs: readonly TaskRef[]): Promise<Map<string, string>> {
    const wanted = new Set(refs.map(taskIdOf));
    return new Map(
      [...this.jobs.values()].flatMap((job) => (wanted.has(taskIdOf(job.row)) ? [[taskIdOf(job.row), job.jobId]] : [])),
    );
  }

  async reschedule(topicId: number, jobId: string, actionTime: number): Promise<RescheduleAnswer> {
    const found = this.jobs.get(`${topicId} ${jobId}`);
    if (!found) return { outcome: 'notFound' };
    const { row } = found;
    if (row.status !== TaskStatus.notRun) {
      return { outcome: row.status === TaskStatus.running ? 'running' : 'ended', job: view(found) };
    }
    const before = due(row);
    this.stores.moveRow(row, { ...(row.attempt === 0 && { runTimer: actionTime }), dueAt: actionTime });
    return { outcome: 'rescheduled', job: view(found), before };
  }

  async unpark(topicId: number, limit: number, dueAt: (index: number) => number): Promise<DueTask[]> {
    const parked = this.of(topicId).filter(({ row }) => row.status === TaskStatus.notRun && row.dueAt === PARKED_AT);
    return parked.slice(0, limit).map(({ row }, index) => {
      this.stores.moveRow(row, { dueAt: dueAt(index) });
      return due(row);
    });
  }

  async cancelJobs(topicId: number, limit: number, now: number): Promise<DueTask[]> {
    const waiting = this.of(topicId).filter(({ row }) => row.status === TaskStatus.notRun);
    return waiting.slice(0, limit).map(({ row }) => {
      Object.assign(row, { status: TaskStatus.canceled, reason: Reason.deleted, finishedAt: now });
      return due(row);
    });
  }

  /** Its task is purged. */
  forget(taskId: string): void {
    for (const [key, job] of this.jobs) if (taskIdOf(job.row) === taskId) this.jobs.delete(key);
  }

  private named(app: string, name: string): Topic | undefined {
    return [...this.topics.values()].find(
      (topic) => topic.app === app && topic.topic === name && topic.status !== TimerStatus.deleted,
    );
  }

  private of(topicId: number): JobRow[] {
    return [...this.jobs.values()].filter((job) => job.topicId === topicId);
  }
}

const view = ({ jobId, topicId, slot, createdAt, row }: JobRow): Job => ({
  ...taskOf(row),
  jobId,
  topicId,
  slot,
  createdAt,
});

const due = ({ timerId, runTimer, bucket, dueAt }: Row): DueTask => ({ timerId, runTimer, bucket, dueAt });

const isBelow = (a: TaskRef, b: TaskRef): boolean =>
  a.runTimer < b.runTimer || (a.runTimer === b.runTimer && a.timerId < b.timerId);
