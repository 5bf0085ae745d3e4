import 'reflect-metadata';
import type { CreateTimer, CreateTopic } from '@xtimer/contracts';

type TimerInput = (typeof CreateTimer)['_zod']['input'];
type TopicInput = (typeof CreateTopic)['_zod']['input'];

/**
 * Policies of a topic as in `POST /topics`. What is left out is xtimer's default at first, and what was set in the
 * console afterwards.
 */
export type ConsumerOptions = Omit<TopicInput, 'app' | 'topic' | 'notifyHTTPParam' | 'status'>;

/** A timer as in `POST /xtimer/createTimer`, without what the module knows. What is left out: see ConsumerOptions. */
export type CronOptions = Omit<TimerInput, 'app' | 'notifyHTTPParam' | 'enable'>;

/** What a call is about; second argument of the method. `Transaction`: what the `dedupe` hook hands over. */
export interface XtimerContext<Transaction = unknown> {
  /** The idempotency key: the same for all attempts. */
  taskId: string;
  /** `null` for a cron. */
  jobId: string | null;
  /** Counts from 1. */
  attempt: number;
  /** The planned moment, epoch ms. */
  scheduledAt: number;
  /** Aborts when xtimer no longer waits for an answer: it closed the request, or the timeout has passed. */
  signal: AbortSignal;
  /** `undefined` without `dedupe`. */
  transaction: Transaction;
}

export type Mark =
  | { kind: 'topic'; name: string; definition: ConsumerOptions }
  | { kind: 'timer'; name: string; definition: CronOptions };

export const MARKS = Symbol('xtimer.marks');

const mark =
  (made: Mark): MethodDecorator =>
  (_target, _name, descriptor: PropertyDescriptor) => {
    const marks: Mark[] = Reflect.getMetadata(MARKS, descriptor.value) ?? [];
    Reflect.defineMetadata(MARKS, [...marks, made], descriptor.value);
  };

/**
 * The method carries out the jobs of a topic: `(payload, context: XtimerContext) => …`. What it returns is kept in the
 * history; when it throws, the attempt has failed and is made again as the policies say.
 */
export const DelayConsumer = (topic: string, policies: ConsumerOptions = {}): MethodDecorator =>
  mark({ kind: 'topic', name: topic, definition: policies });

/**
 * The method is called by a timer: `(payload, context: XtimerContext) => …`; `payload` is `null` unless a run by hand
 * brings a body.
 */
export const XtimerCron = (timer: CronOptions): MethodDecorator =>
  mark({ kind: 'timer', name: timer.name, definition: timer });
