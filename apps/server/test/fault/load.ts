import { setTimeout as sleep } from 'node:timers/promises';
import type { Dice } from './random.js';
import type { World } from './world.js';

/** A schedule of seconds whose slots plain arithmetic tells: second `first` of each minute and every `step` after it. */
export interface Seconds {
  cron: string;
  first: number;
  step: number;
}

const every = (step: number, first = 0): Seconds => ({
  cron: step === 1 && first === 0 ? '* * * * * ?' : `${first}/${step} * * * * ?`,
  first,
  step,
});

export const hasSlot = ({ first, step }: Seconds, instant: number): boolean => {
  const second = (instant / 1000) % 60;
  return Number.isInteger(second) && second >= first && (second - first) % step === 0;
};

/** From `answeredAt` on the timer follows `schedule`; from `askedAt` on it may. `null`: it doesn't fire. */
export interface Change {
  what: 'created' | 'paused' | 'enabled' | 'edited' | 'deleted';
  askedAt: number;
  answeredAt: number;
  schedule: Seconds | null;
}

export interface LoadTimer {
  /** Ours, in its callback's path: known before the platform's id is. */
  ref: string;
  timerId: number;
  /** In time order, the first is `created`. */
  changes: Change[];
}

export const APP = 'fault';
const TOGGLE_PAUSE_MS = 3_100;

/** 60 timers each second, 60 every other, 10 that are slow, 30 turned away at first, and 24 that users change. */
const steady: { count: number; schedule: Seconds; path: string; query?: string }[] = [
  { count: 60, schedule: every(1), path: 'ok' },
  { count: 60, schedule: every(2), path: 'ok' },
  { count: 10, schedule: every(1), path: 'slow', query: '?ms=1200' },
  { count: 30, schedule: every(2, 1), path: 'busy' },
];
const CHANGING = 24;
const schedules = [every(1), every(2), every(2, 1), every(3), every(5, 2)];

/** Timers that fire all the time, and users who change some of them meanwhile. */
export class Load {
  readonly timers: LoadTimer[] = [];
  /** Answers a user should not have got. */
  readonly mistakes: Error[] = [];
  private stopping = false;
  private users: Promise<void>[] = [];
  private made = 0;

  constructor(
    private readonly world: World,
    private readonly targetUrl: string,
    private readonly dice: Dice,
    /** All timers end then: a timer of each second that never ends is 7,200 rows ahead, at each edit anew. */
    readonly endAt: number,
  ) {}

  async start(): Promise<void> {
    for (const { count, schedule, path, query = '' } of steady) {
      const group = Array.from({ length: count }, () => this.create(schedule, path, query));
      await Promise.all(group);
    }
    this.users = Array.from({ length: CHANGING }, () => this.user().catch((error) => void this.mistakes.push(error)));
  }

  /** Resolves when the users have finished what they were about; the timers go on. */
  async stopChanging(): Promise<void> {
    this.stopping = true;
    await Promise.all(this.users);
  }

  async deleteAll(): Promise<void> {
    const left = this.timers.filter(({ changes }) => changes.at(-1)!.what !== 'deleted');
    for (const timer of left) await this.change(timer, 'deleted', null, '/xtimer/deleteTimer');
  }

  private async user(): Promise<void> {
    const pause = (least: number) => sleep(least + this.dice.between(0, 3_000));
    while (!this.stopping) {
      const timer = await this.create(this.dice.pick(schedules), this.dice.pick(['ok', 'ok', 'busy']), '');
      for (let changes = this.dice.between(3, 8); changes > 0 && !this.stopping; changes--) {
        await pause(TOGGLE_PAUSE_MS);
        if (this.dice.between(1, 2) === 1) {
          const schedule = this.dice.pick(schedules);
          await this.change(timer, 'edited', schedule, '/xtimer/updateTimer', { cron: schedule.cron });
          continue;
        }
        const { schedule } = timer.changes.at(-1)!;
        await this.change(timer, 'paused', null, '/xtimer/unEnableTimer');
        await pause(TOGGLE_PAUSE_MS);
        await this.change(timer, 'enabled', schedule, '/xtimer/enableTimer');
      }
      if (this.stopping) return;
      await pause(0);
      await this.change(timer, 'deleted', null, '/xtimer/deleteTimer');
    }
  }

  private async create(schedule: Seconds, path: string, query: string): Promise<LoadTimer> {
    const ref = `t${++this.made}`;
    const askedAt = Date.now();
    const timer: LoadTimer = { ref, timerId: 0, changes: [] };
    this.timers.push(timer);
    const notifyHTTPParam = { method: 'POST', url: `${this.targetUrl}/${path}/${ref}${query}`, body: '{}' };
    const body = { app: APP, name: ref, cron: schedule.cron, notifyHTTPParam, endAt: this.endAt, enable: true };
    let failed = false;
    timer.timerId = await insist(`createTimer ${ref}`, async () => {
      // An answer that never came may have been a success.
      const known = failed ? await this.world.api(`/xtimer/getAppTimers?app=${APP}&name=${ref}&pageSize=200`) : null;
      if (known && known.status !== 200) return null;
      const found = known?.data.list.find(({ name }: { name: string }) => name === ref);
      if (found) return found.timerId as number;
      failed = true;
      const answer = await this.world.api('/xtimer/createTimer', body);
      return accepted(answer) ? (answer.data.timerId as number) : null;
    });
    timer.changes.push({ what: 'created', askedAt, answeredAt: Date.now(), schedule });
    return timer;
  }

  private async change(timer: LoadTimer, what: Change['what'], schedule: Seconds | null, path: string, more = {}) {
    const askedAt = Date.now();
    await insist(`${path} ${timer.ref}`, async () => {
      const answer = await this.world.api(path, { app: APP, timerId: timer.timerId, ...more });
      // Deleted by a try whose answer never came.
      if (what === 'deleted' && answer.status === 404) return true;
      return accepted(answer) ? true : null;
    });
    timer.changes.push({ what, askedAt, answeredAt: Date.now(), schedule });
  }
}

/** Success, or a store or node in trouble; anything else is a mistake of somebody. */
function accepted(answer: { status: number; message: string }): boolean {
  if (answer.status === 200) return true;
  if (answer.status === 503 || answer.status === 429) return false;
  throw new Refused(`${answer.status}: ${answer.message}`);
}

class Refused extends Error {}

/** Tries until it is done: users are stubborn, and every one of our calls may be repeated. */
export async function insist<T>(what: string, act: () => Promise<T | null>, limitMs = 90_000): Promise<T> {
  let last = 'no answer yet';
  for (const end = Date.now() + limitMs; Date.now() < end; await sleep(250)) {
    try {
      const done = await act();
      if (done !== null) return done;
      last = 'unavailable';
    } catch (error) {
      if (error instanceof Refused) throw new Error(`${what} answered ${error.message}`);
      last = (error as Error).message;
    }
  }
  throw new Error(`${what}: not within ${limitMs} ms (${last})`);
}
