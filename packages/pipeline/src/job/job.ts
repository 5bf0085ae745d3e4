import { crc32 } from 'node:zlib';
import type { TimerStatus } from '../status.js';
import type { Task } from '../timer/task.js';
import { defaultPolicies, type NotifyHttpParam, type TimerPolicies } from '../timer/timer.js';

/**
 * Jobs live in the task table beside the tasks of timers: a job's `timerId` is its topic's id times 2^32 plus a
 * sequence, so it is unique, tells its topic without a look, and stays below 2^53 for two million topics.
 */
export const TOPIC_SPAN = 2 ** 32;

export const isJob = (timerId: number): boolean => timerId >= TOPIC_SPAN;

/** 0 for a timer's task. */
export const topicIdOf = (timerId: number): number => Math.floor(timerId / TOPIC_SPAN);

/** What a task is carried out by: its timer, or its topic under the first id of the topic's span. */
export const definitionIdOf = (timerId: number): number => (isJob(timerId) ? topicIdOf(timerId) * TOPIC_SPAN : timerId);

/** `dueAt` of jobs held back by a paused topic. Far beyond every horizon. */
export const PARKED_AT = 2 ** 52;

/** The part of a timer's policies that jobs have. */
export type TopicPolicies = Pick<TimerPolicies, 'timeoutMs' | 'retry' | 'success' | 'noRetry' | 'delivery'>;

export const defaultTopicPolicies: TopicPolicies = {
  timeoutMs: defaultPolicies.timeoutMs,
  retry: defaultPolicies.retry,
  success: defaultPolicies.success,
  noRetry: defaultPolicies.noRetry,
  delivery: defaultPolicies.delivery,
};

/** A topic's policies as the executor reads them: a job is never missed, it only comes late. */
export const jobPolicies = (policies: TopicPolicies): TimerPolicies => ({
  ...defaultPolicies,
  ...policies,
  misfire: { ...defaultPolicies.misfire, graceMs: Number.MAX_SAFE_INTEGER },
});

/** A definition for one-off jobs. */
export interface Topic {
  topicId: number;
  app: string;
  /** Unique within the app. */
  topic: string;
  description: string;
  /** `inactive`: paused, its jobs are held back. */
  status: TimerStatus;
  notifyHttpParam: NotifyHttpParam;
  policies: TopicPolicies;
  /** A power of two: over how many slots the jobs are spread. */
  slotAmount: number;
  revision: number;
  /** When it was last resumed, epoch ms; jobs held back until then may still have to be let go. `null`: never. */
  resumedAt: number | null;
  createdAt: number;
  updatedAt: number;
  createdBy: string;
  updatedBy: string;
}

/** A job as callers ask for it, checked. */
export interface NewJob {
  /** `null`: one is made up. */
  jobId: string | null;
  payload: string;
  /** Epoch ms. What is past fires at once. */
  actionTime: number;
  /** The same basis always gives the same slot. `null`: the job id is the basis. */
  slotBasis: string | null;
  /** `null`: as the topic says. */
  maxAttempts: number | null;
}

/** A job ready to be written. */
export interface PlannedJob extends NewJob {
  jobId: string;
  slot: number;
  bucket: number;
}

/** A job as it is stored: its task, and what only jobs have. `runTimer` is the action time. */
export interface Job extends Task {
  jobId: string;
  topicId: number;
  slot: number;
  createdAt: number;
}

export const slotOf = (basis: string, slotAmount: number): number => crc32(basis) & (slotAmount - 1);

/** Slots of different topics start at different buckets, so that small slot amounts don't all meet in the first ones. */
export const bucketOfSlot = (slot: number, topicId: number, bucketsNum: number): number =>
  (slot + topicId) % bucketsNum;
