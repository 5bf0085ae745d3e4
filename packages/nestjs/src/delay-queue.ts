import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, XtimerError } from '@xtimer/client';
import type { Settings } from './options.js';

type Moment = Date | number | string;

/** When: one of both. `at`: a Date, epoch ms or ISO 8601 with its zone; what is past fires at once. */
export type When = { delayMs: number; at?: undefined } | { at: Moment; delayMs?: undefined };

export type PublishOptions = When & {
  /** The same id in the same topic is the same job, however often it is published. Default: a random one. */
  jobId?: string | undefined;
  /** Jobs of the same basis land in the same slot. Default: the job's id. */
  slotBasis?: string | undefined;
  /** In place of the topic's. */
  maxAttempts?: number | undefined;
};

/** Publishing is repeated this often, under the same job id, when no answer came. */
const TRIES = 3;

/** Jobs for the topics of the app. All methods throw XtimerError when xtimer refuses or can't be reached. */
export class DelayQueue {
  constructor(
    private readonly client: Client,
    private readonly settings: Settings,
  ) {}

  /**
   * Resolves to the job once xtimer has it for good. The payload is anything JSON can hold. A `jobId` that is taken
   * gives the job that is there; with another payload it is refused (409). An unknown topic is refused with the topics
   * there are (404).
   */
  async publish(
    topic: string,
    payload: unknown,
    { jobId = randomUUID(), slotBasis, maxAttempts, ...when }: PublishOptions,
  ) {
    const { app } = this.settings;
    const input = { app, topic, jobId, payload: payloadOf(payload), slotBasis, maxAttempts, ...timeOf(when) };
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.client.jobs.publish(input);
      } catch (error) {
        if (attempt === TRIES || !mayBeRepeated(error)) throw explained(error);
        await sleep(200 * attempt);
      }
    }
  }

  /**
   * The answer is final: after `canceled` the job's method is not called. `running`: its call is under way;
   * `ended`: it was called, or canceled before; `notFound`: there is no such job.
   */
  async cancel(topic: string, jobId: string) {
    const { app } = this.settings;
    return this.client.jobs.cancel({ app, topic, jobId }).catch(notFound);
  }

  /** Moves a job that waits; the other outcomes are those of `cancel`. */
  async reschedule(topic: string, jobId: string, when: When) {
    const { app } = this.settings;
    return this.client.jobs.reschedule({ app, topic, jobId, ...timeOf(when) }).catch(notFound);
  }
}

/** Objects as they are, so that the console shows them; everything else as its JSON text, so that "12" stays a text. */
function payloadOf(payload: unknown): object | string {
  return typeof payload === 'object' && payload !== null ? payload : JSON.stringify(payload ?? null);
}

const timeOf = ({ delayMs, at }: When) =>
  at === undefined ? { delayMs } : { actionTime: at instanceof Date ? at.getTime() : at };

const mayBeRepeated = (error: unknown): boolean =>
  error instanceof XtimerError && (error.code === 'NETWORK' || [502, 503, 504].includes(error.status ?? 0));

/** What would be right belongs to the message: the topics there are. */
function explained(error: unknown): unknown {
  if (error instanceof XtimerError && error.status === 404 && error.field === 'topic' && error.expected) {
    if (!error.message.includes(error.expected)) error.message += `: expected ${error.expected}`;
  }
  return error;
}

function notFound(error: unknown): { outcome: 'notFound' } {
  if (error instanceof XtimerError && error.status === 404 && error.field === 'jobId') return { outcome: 'notFound' };
  throw explained(error);
}
