import type { TimerStatus } from '../status.js';

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD';

/** The callback as the user wrote it: placeholders are still in place. */
export interface NotifyHttpParam {
  method: HttpMethod;
  url: string;
  header: Record<string, string>;
  /** `null`: no body is sent. */
  body: string | null;
}

export type CronDialect = 'unix' | 'unix-seconds' | 'quartz';
export type GapRule = 'after' | 'skip' | 'shift';
export type OverlapRule = 'first' | 'both';

/** What a fixed wall-clock time does where the clock is set forward (gap) or back (overlap). */
export interface DstRule {
  gap: GapRule;
  overlap: OverlapRule;
}

export interface RetryPolicy {
  /** Attempts in all, the first included. 1: no retry. */
  maxAttempts: number;
  initialDelayMs: number;
  factor: number;
  maxDelayMs: number;
  /** Ratio: 0.2 spreads a delay over ± 20 %. */
  jitter: number;
}

export interface MisfirePolicy {
  policy: 'fireOnce' | 'fireAll' | 'skip';
  /** A task later than this when it is found falls under the policy. */
  graceMs: number;
  /** `fireAll` runs at most this many of the missed ones, the newest. */
  maxCatchUp: number;
}

/** Everything about a timer that says how its tasks are carried out. Kept as one JSON document. */
export interface TimerPolicies {
  dst: DstRule;
  /** From connect to last byte, one attempt, ms. */
  timeoutMs: number;
  retry: RetryPolicy;
  /** Statuses that count as success: `200`, `2xx`, `200-204`. */
  success: { status: string[] };
  /** Statuses not worth another attempt, beside 410 and 489. */
  noRetry: { status: string[] };
  misfire: MisfirePolicy;
  overlap: 'allow' | 'skip' | 'queue';
  delivery: 'atLeastOnce' | 'atMostOnce';
  /** The platform pauses the timer after this many dead letters in a row. `null`: never. */
  pauseAfterFailures: number | null;
  /** Moves all fires by one fixed offset below this width, ms. 0: none. */
  spreadMs: number;
}

export const defaultPolicies: TimerPolicies = {
  dst: { gap: 'after', overlap: 'first' },
  timeoutMs: 10_000,
  retry: { maxAttempts: 5, initialDelayMs: 1_000, factor: 2, maxDelayMs: 600_000, jitter: 0.2 },
  success: { status: ['2xx'] },
  noRetry: { status: [] },
  misfire: { policy: 'fireOnce', graceMs: 60_000, maxCatchUp: 100 },
  overlap: 'allow',
  delivery: 'atLeastOnce',
  pauseAfterFailures: null,
  spreadMs: 0,
};

/** When a timer fires: all that the next fire depends on. */
export interface TimerSchedule {
  cron: string;
  cronDialect: CronDialect | 'auto';
  timezone: string;
  /** Epoch ms; fires before it are not planned. `null`: no bound. */
  startAt: number | null;
  /** Epoch ms, exclusive. `null`: no bound. */
  endAt: number | null;
  /** Scheduled slots in the timer's life. `null`: no bound. */
  maxRuns: number | null;
}

/** A timer as it is stored. */
export interface Timer extends TimerSchedule {
  timerId: number;
  app: string;
  name: string;
  description: string;
  status: TimerStatus;
  notifyHttpParam: NotifyHttpParam;
  policies: TimerPolicies;
  /** Why the platform itself paused the timer; `null` otherwise. */
  statusReason: string | null;
  bucket: number;
  /** Grows with every change that makes planned tasks obsolete: a task made from an older one is never claimed. */
  version: number;
  /** Grows with every saved change; names a cached copy. */
  revision: number;
  /** First fire not yet made into a task, epoch ms; `null` when there is none. */
  nextFireAt: number | null;
  /** Scheduled slots already made into tasks and not taken back; counts towards `maxRuns`. */
  plannedRuns: number;
  /** When it was last enabled or paused, epoch ms; the 3-second rule reads it. `null`: never since creation. */
  toggledAt: number | null;
  createdAt: number;
  updatedAt: number;
  createdBy: string;
  updatedBy: string;
}

/** What the executor needs to carry out a task of this timer or topic. */
export interface Definition {
  /** A topic's: the first id of its span (`definitionIdOf`). */
  timerId: number;
  /** The topic's name; `null` for a timer. */
  topic: string | null;
  app: string;
  name: string;
  revision: number;
  notifyHttpParam: NotifyHttpParam;
  policies: TimerPolicies;
  /** The app's signing secrets, newest first (`whsec_…`); each signs. */
  signingSecrets: readonly string[];
}
