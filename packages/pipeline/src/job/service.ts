import { randomUUID } from 'node:crypto';
import { CommandError } from '../errors.js';
import type { Clock } from '../lifecycle/clock.js';
import { TaskStatus, TimerStatus } from '../status.js';
import type { CancelOutcome, TaskStore } from '../timer/ports.js';
import type { DueTask } from '../timer/task.js';
import { Coalescer } from './coalescer.js';
import { bucketOfSlot, type Job, type NewJob, type PlannedJob, slotOf, type Topic } from './job.js';
import type { JobStore, PublishAnswer } from './ports.js';

export interface JobServicePorts {
  jobs: JobStore;
  tasks: Pick<TaskStore, 'cancel'>;
  buckets: { remove(tasks: readonly DueTask[]): Promise<void> };
  clock: Clock;
  /** Puts tasks into the sorted sets and, as they are due, to the executor. */
  place: (tasks: readonly DueTask[]) => Promise<void>;
}

export type NewTopic = Pick<
  Topic,
  'app' | 'topic' | 'description' | 'notifyHttpParam' | 'policies' | 'slotAmount' | 'status'
>;
export type TopicChanges = Partial<Omit<NewTopic, 'app' | 'topic' | 'policies'>> & {
  policies?: Partial<Topic['policies']>;
};

export const defaultJobOptions = {
  /** Jobs held back by a pause start at this pace when the topic is resumed. */
  resumePerSecond: 100,
  /** A resumed topic is looked after this long, ms: a job may have been held back in the same moment. */
  resumeWatchMs: 10 * 60_000,
  pageSize: 500,
};

/**
 * What users do to topics and jobs.
 *
 * Promises   a job that was answered for is in the database; the same job id is one job, however often and from
 *            wherever it is published; a cancellation's answer is final.
 * Leans on   the claim: it takes no job of a paused or deleted topic, and none that was canceled.
 */
export class JobService {
  private readonly publishing: Coalescer<{ topic: Topic; job: PlannedJob }, PublishAnswer | Error>;
  /** Look-ups on their way: the thousand jobs of a batch ask for their topic once. */
  private readonly finding = new Map<string, Promise<Topic | null>>();

  constructor(
    private readonly ports: JobServicePorts,
    private readonly bucketsNum: number,
    private readonly options = defaultJobOptions,
  ) {
    this.publishing = new Coalescer((items) => this.publishGroup(items), 1_000);
  }

  async createTopic(input: NewTopic, by: string): Promise<Topic> {
    const now = Math.floor(this.ports.clock.now());
    const stamp = { createdAt: now, updatedAt: now, createdBy: by, updatedBy: by };
    const topic = await this.ports.jobs.createTopic({ ...input, ...stamp });
    if (topic) return topic;
    throw new CommandError('CONFLICT', `app "${input.app}" has a topic "${input.topic}" already`, {
      field: 'topic',
      value: input.topic,
      expected: 'a name the app does not use yet, or PUT /topics/:topic to change it',
    });
  }

  /** Pausing holds jobs back as they fall due; resuming lets them go at a pace. */
  async updateTopic(app: string, name: string, changes: TopicChanges, by: string): Promise<Topic> {
    const now = Math.floor(this.ports.clock.now());
    const topic = await this.changing(app, name, async (topic) => {
      const resumes = topic.status === TimerStatus.inactive && changes.status === TimerStatus.active;
      const policies = { ...topic.policies, ...changes.policies };
      return this.ports.jobs.saveTopic(topic, {
        ...changes,
        policies,
        ...(resumes && { resumedAt: now }),
        updatedAt: now,
        updatedBy: by,
      });
    });
    if (topic.resumedAt === now) await this.letGo(topic);
    return topic;
  }

  /** Resolves to the number of waiting jobs canceled. */
  async deleteTopic(app: string, name: string, cancelJobs: boolean, by: string): Promise<number> {
    const { clock, jobs, buckets } = this.ports;
    const found = await this.findTopic(app, name);
    const { waiting } = await jobs.countJobs(found.topicId, 10_000);
    if (waiting > 0 && !cancelJobs) {
      const number = waiting === 10_000 ? 'at least 10000' : String(waiting);
      throw new CommandError('CONFLICT', `topic "${name}" has ${number} waiting ${waiting === 1 ? 'job' : 'jobs'}`, {
        field: 'cancelJobs',
        value: false,
        expected: 'cancelJobs=true to cancel them, or no waiting jobs',
      });
    }
    const now = Math.floor(clock.now());
    const topic = await this.changing(app, name, (topic) =>
      jobs.saveTopic(topic, { status: TimerStatus.deleted, updatedAt: now, updatedBy: by }),
    );
    let canceled = 0;
    for (;;) {
      const page = await jobs.cancelJobs(topic.topicId, this.options.pageSize, now);
      buckets.remove(page).catch(() => {});
      canceled += page.length;
      if (page.length < this.options.pageSize) return canceled;
    }
  }

  async findTopic(app: string, name: string): Promise<Topic> {
    const key = JSON.stringify([app, name]);
    const finding = this.finding.get(key) ?? this.ports.jobs.findTopic(app, name);
    this.finding.set(key, finding);
    const topic = await finding.finally(() => this.finding.delete(key));
    if (topic) return topic;
    const { list } = await this.ports.jobs.listTopics({ app, page: 1, pageSize: 20 });
    const known = list.map((one) => one.topic).join(', ');
    throw new CommandError('NOT_FOUND', `app "${app}" has no topic "${name}"`, {
      field: 'topic',
      value: name,
      expected: known ? `one of ${known}` : 'a topic of the app, which has none yet (POST /topics)',
    });
  }

  /** Concurrent calls share their statements. */
  async publish(app: string, name: string, job: NewJob): Promise<PublishAnswer> {
    const topic = await this.findTopic(app, name);
    const answer = await this.publishing.add({ topic, job: this.planned(topic, job) });
    if (answer instanceof Error) throw answer;
    if (answer.created || answer.samePayload) return answer;
    throw new CommandError('CONFLICT', `topic "${name}" has a job "${answer.job.jobId}" with another payload`, {
      field: 'jobId',
      value: answer.job.jobId,
      expected: 'the same payload, or another jobId',
    });
  }

  async findJob(app: string, name: string, jobId: string): Promise<Job> {
    const topic = await this.findTopic(app, name);
    const job = await this.ports.jobs.findJob(topic.topicId, jobId);
    if (job) return job;
    throw new CommandError('NOT_FOUND', `topic "${name}" has no job "${jobId}"`, { field: 'jobId', value: jobId });
  }

  async cancel(app: string, name: string, jobId: string): Promise<{ outcome: CancelOutcome; job: Job }> {
    const { buckets, clock, tasks } = this.ports;
    // A reschedule moves the task: look again when it was not where we saw it.
    for (let attempt = 0; ; attempt++) {
      const job = await this.findJob(app, name, jobId);
      const { outcome, task } = await tasks.cancel(job, Math.floor(clock.now()));
      if (outcome === 'notFound' && attempt < 5) continue;
      if (task) buckets.remove([task]).catch(() => {});
      return { outcome, job: outcome === 'canceled' ? { ...job, status: TaskStatus.canceled } : job };
    }
  }

  async reschedule(app: string, name: string, jobId: string, actionTime: number) {
    const { buckets, clock, jobs, place } = this.ports;
    const topic = await this.findTopic(app, name);
    const at = Math.max(Math.floor(clock.now()), actionTime);
    const answer = await jobs.reschedule(topic.topicId, jobId, at);
    if (answer.outcome === 'notFound')
      return this.findJob(app, name, jobId).then((job) => ({ outcome: 'ended' as const, job }));
    if (answer.outcome === 'rescheduled') {
      await buckets.remove([answer.before]).catch(() => {});
      await place([answer.job]);
    }
    return { outcome: answer.outcome, job: answer.job };
  }

  /** Lets go what topics resumed lately still hold back: for the migrator's pass. */
  async letGoResumed(): Promise<void> {
    const since = Math.floor(this.ports.clock.now()) - this.options.resumeWatchMs;
    for (const topic of await this.ports.jobs.resumedSince(since)) await this.letGo(topic);
  }

  private async letGo(topic: Topic): Promise<void> {
    const { clock, jobs, place } = this.ports;
    const start = Math.floor(clock.now());
    let released = 0;
    for (;;) {
      const before = released;
      const dueAt = (index: number) => start + Math.round(((before + index) * 1000) / this.options.resumePerSecond);
      const page = await jobs.unpark(topic.topicId, this.options.pageSize, dueAt);
      await place(page);
      released += page.length;
      if (page.length < this.options.pageSize) return;
    }
  }

  private planned(topic: Topic, job: NewJob): PlannedJob {
    const jobId = job.jobId ?? randomUUID();
    const slot = slotOf(job.slotBasis ?? jobId, topic.slotAmount);
    const actionTime = Math.max(Math.ceil(job.actionTime), Math.floor(this.ports.clock.now()));
    return { ...job, jobId, actionTime, slot, bucket: bucketOfSlot(slot, topic.topicId, this.bucketsNum) };
  }

  private async publishGroup(items: readonly { topic: Topic; job: PlannedJob }[]): Promise<(PublishAnswer | Error)[]> {
    const { clock, jobs, place } = this.ports;
    const byTopic = new Map<number, { topic: Topic; at: number[] }>();
    for (const [at, { topic }] of items.entries()) {
      const group = byTopic.get(topic.topicId) ?? { topic, at: [] };
      byTopic.set(topic.topicId, group);
      group.at.push(at);
    }
    const answers: (PublishAnswer | Error)[] = [];
    for (const { topic, at } of byTopic.values()) {
      const wanted = at.map((index) => items[index]!.job);
      try {
        const published = await jobs.publish(topic, wanted, Math.floor(clock.now()));
        await place(published.flatMap((answer) => (answer.created ? answer.job : [])));
        for (const [i, index] of at.entries()) answers[index] = published[i]!;
      } catch (error) {
        // The jobs of other topics are written all the same, and their callers must not repeat them.
        for (const index of at) answers[index] = error as Error;
      }
    }
    return answers;
  }

  private async changing(app: string, name: string, change: (topic: Topic) => Promise<Topic | null>): Promise<Topic> {
    for (let attempt = 0; attempt < 10; attempt++) {
      const changed = await change(await this.findTopic(app, name));
      if (changed) return changed;
    }
    throw new CommandError('CONFLICT', `topic "${name}" is being changed by others all the time: try again`, {
      field: 'topic',
      value: name,
    });
  }
}
