import type { TaskStatus } from '../status.js';
import type { DueTask, TaskRef } from '../timer/task.js';
import type { Job, PlannedJob, Topic } from './job.js';

/** Topics and their jobs in the database. Same errors as `TaskStore`. */
export interface JobStore {
  /** `null`: the app has a topic of this name. */
  createTopic(topic: Omit<Topic, 'topicId' | 'revision' | 'resumedAt'>): Promise<Topic | null>;
  /** `null`: unknown or deleted. */
  findTopic(app: string, topic: string): Promise<Topic | null>;
  /** By app and name. `app: null`: all apps. */
  listTopics(query: { app: string | null; page: number; pageSize: number }): Promise<{ list: Topic[]; total: number }>;
  /** Writes the named fields if the row still has `topic.revision`; `null` when somebody was faster. */
  saveTopic(
    topic: Topic,
    changes: Partial<Omit<Topic, 'topicId' | 'app' | 'topic' | 'revision'>>,
  ): Promise<Topic | null>;
  /** Active topics resumed since then: some of their jobs may still be held back. */
  resumedSince(since: number): Promise<Topic[]>;
  /** Jobs of the topic by state; counting stops at `most` for each. */
  countJobs(topicId: number, most: number): Promise<{ waiting: number; running: number; failed: number }>;

  /**
   * Writes jobs and their tasks in one transaction. A job id that the topic has (or that comes twice) gives the job
   * that is there. One answer per job, in order; `samePayload` tells whether it asks for the same thing.
   */
  publish(topic: Topic, jobs: readonly PlannedJob[], now: number): Promise<PublishAnswer[]>;
  findJob(topicId: number, jobId: string): Promise<Job | null>;
  /** Newest action time first. Uses an index for the topic and the time; never counts. */
  listJobs(query: JobListQuery): Promise<Job[]>;
  /** Job ids of tasks, for history: by task id. */
  jobIds(refs: readonly TaskRef[]): Promise<Map<string, string>>;
  /**
   * Moves a waiting job to another action time. Before its first attempt the task moves as a whole; afterwards only
   * its next attempt does, so that all attempts keep one idempotency key.
   */
  reschedule(topicId: number, jobId: string, actionTime: number): Promise<RescheduleAnswer>;
  /** Lets up to `limit` jobs go that were held back, each at its `dueAt`. Resolves to them. */
  unpark(topicId: number, limit: number, dueAt: (index: number) => number): Promise<DueTask[]>;
  /** Cancels up to `limit` waiting jobs of the topic, held back ones too, with reason `deleted`. Resolves to them. */
  cancelJobs(topicId: number, limit: number, now: number): Promise<DueTask[]>;
}

export interface PublishAnswer {
  job: Job;
  created: boolean;
  /** `false`: the job that was there has another payload. */
  samePayload: boolean;
}

export interface JobListQuery {
  topicId: number;
  status?: TaskStatus;
  jobId?: string;
  /** Inclusive, on the action time. */
  startTime?: number;
  /** Exclusive. */
  endTime?: number;
  before: TaskRef | null;
  limit: number;
}

export type RescheduleAnswer =
  | { outcome: 'rescheduled'; job: Job; before: DueTask }
  | { outcome: 'running' | 'ended'; job: Job }
  | { outcome: 'notFound' };
