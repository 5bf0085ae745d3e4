import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { type CallOptions, type Client, XtimerError } from '@xtimer/client';
import type { TimerView } from '@xtimer/contracts';
import { differences } from './differences.js';
import { SetupError } from './errors.js';
import type { Handler, Handlers } from './handlers.js';
import type { Settings } from './options.js';

/** A start is not held up longer by an xtimer that doesn't answer. Per call; the first failure ends the try. */
const CALL: CallOptions = { timeoutMs: 5_000, retries: 1 };
const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 60_000;
/** How often a definition is looked at again when another instance was faster. */
const ROUNDS = 6;
const INACTIVE = 1;
const NOT_FOUND = 40400;

/** Tells the module's timers from those somebody made under the same name. */
const MARK = { 'x-registered-by': '@xtimer/nestjs' };

/**
 * Registration: makes topics and timers on the platform what the decorators say.
 *
 * Promises   one topic and one timer for each decorator, however many instances start at once; nothing is written
 *            where nothing differs; a topic or timer somebody paused stays paused.
 * Leans on   topic names, unique on the platform. Timer names are not, so a new timer is made inactive, then all of
 *            its name are listed and all but the one with the lowest id are deleted, and only then it is enabled. Who
 *            makes a timer always looks afterwards, so of two the later one is seen and deleted, and a double never
 *            fires.
 * If we die  between making and enabling, the next start finds the timer untouched since it was made and enables it.
 */
export class Registration {
  private readonly logger = new Logger('XtimerModule');
  private readonly stopping = new AbortController();

  constructor(
    private readonly settings: Settings,
    private readonly client: Client,
    private readonly handlers: Handlers,
  ) {}

  /** Resolves once all is registered, or once it is clear that this goes on in the background. Throws SetupError. */
  async start(): Promise<void> {
    if (this.handlers.size === 0 && this.settings.publishes.length === 0) return;
    try {
      await this.registerAll();
    } catch (error) {
      if (!isPassing(error)) throw refused(error);
      const what = this.failed(error);
      if (this.settings.failFast) throw new SetupError('UNREACHABLE', what, { cause: error });
      void this.goOn(what);
    }
  }

  stop(): void {
    this.stopping.abort();
  }

  /** The service runs meanwhile, so that nothing ends it any more: what xtimer refuses may be put right there. */
  private async goOn(what: string): Promise<void> {
    const { signal } = this.stopping;
    for (let attempt = 1; ; attempt++) {
      const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (attempt - 1), LONGEST_DELAY_MS) * (0.8 + Math.random() * 0.4);
      this.logger.warn(`${what}. Nothing is registered yet; next try in ${(delayMs / 1000).toFixed(1)} s`);
      try {
        await sleep(delayMs, undefined, { signal, ref: false });
        return await this.registerAll();
      } catch (error) {
        if (signal.aborted) return;
        what = isPassing(error) ? this.failed(error) : refused(error).message;
      }
    }
  }

  private async registerAll(): Promise<void> {
    const handlers = [...this.handlers.values()];
    for (const handler of handlers)
      await (handler.kind === 'topic' ? this.syncTopic(handler) : this.syncTimer(handler));
    await this.checkPublished();
    const count = (kind: Handler['kind']) => handlers.filter((handler) => handler.kind === kind).length;
    this.logger.log(`app "${this.settings.app}": ${count('topic')} topics and ${count('timer')} crons are registered`);
  }

  private async syncTopic(handler: Handler & { kind: 'topic' }): Promise<void> {
    const { app } = this.settings;
    const topic = handler.name;
    const wanted = defined({ ...handler.definition, notifyHTTPParam: this.callbackOf(handler) });
    await this.untilSettled(handler, async () => {
      const current = await this.client.topics.get({ app, topic }, this.call).catch(nullIf404);
      if (!current) {
        const made = await this.client.topics.create({ app, topic, ...wanted }, this.call);
        handler.timeoutMs = made.timeoutMs;
        return;
      }
      const changes = differences(wanted, current);
      if (Object.keys(changes).length > 0) await this.client.topics.update({ app, topic, ...changes }, this.call);
      handler.timeoutMs = changes.timeoutMs ?? current.timeoutMs;
    });
  }

  private async syncTimer(handler: Handler & { kind: 'timer' }): Promise<void> {
    const { app } = this.settings;
    const { startAt, endAt, ...rest } = handler.definition;
    const bounds = { startAt: momentOf(startAt), endAt: momentOf(endAt) };
    const wanted = defined({ ...rest, ...bounds, notifyHTTPParam: this.callbackOf(handler) });
    await this.untilSettled(handler, async () => {
      let timers = await this.timersNamed(handler.name);
      if (timers.length === 0) {
        await this.client.timers.create({ app, ...wanted, enable: false }, this.call);
        timers = await this.timersNamed(handler.name);
      }
      const [timer, ...doubles] = timers;
      if (!timer) throw new XtimerError({ code: NOT_FOUND, status: 404, message: 'somebody deleted it just now' });
      for (const { timerId } of doubles) {
        await this.client.timers.delete({ app, timerId }, this.call).catch(nullIf404);
      }
      const { timerId } = timer;
      const changes = differences(wanted, timer);
      if (Object.keys(changes).length > 0) await this.client.timers.update({ app, timerId, ...changes }, this.call);
      if (isUntouched(timer)) await this.client.timers.enable({ app, timerId }, this.call);
      handler.timeoutMs = changes.timeoutMs ?? timer.timeoutMs;
    });
  }

  /** Ours of this name, oldest first. */
  private async timersNamed(name: string): Promise<TimerView[]> {
    const { app } = this.settings;
    const found: TimerView[] = [];
    for (let page = 1; ; page++) {
      const { list, total } = await this.client.timers.list({ app, name, page, pageSize: 200 }, this.call);
      found.push(...list);
      if (list.length === 0 || page * 200 >= total) break;
    }
    return found.filter((timer) => timer.name === name && isOurs(timer)).sort((a, b) => a.timerId - b.timerId);
  }

  private async checkPublished(): Promise<void> {
    const { app, publishes } = this.settings;
    if (publishes.length === 0) return;
    const found = await Promise.all(
      publishes.map((topic) => this.client.topics.get({ app, topic }, this.call).catch(nullIf404)),
    );
    const unknown = publishes.find((_, i) => found[i] === null);
    if (unknown === undefined) return;
    const { list } = await this.client.topics.list({ app, pageSize: 200 }, this.call);
    const known = list.map(({ topic }) => topic);
    const has = known.length > 0 ? `it has ${known.join(', ')}` : 'it has none yet';
    throw new SetupError(
      'UNKNOWN_TOPIC',
      `XtimerModule publishes to topic "${unknown}", which app "${app}" does not have: ${has}`,
    );
  }

  /** Looks again when another instance, or a change within the last 3 s, was in the way. */
  private async untilSettled(handler: Handler, sync: () => Promise<void>): Promise<void> {
    for (let round = 1; ; round++) {
      try {
        return await sync();
      } catch (error) {
        const again =
          error instanceof XtimerError && (error.code === NOT_FOUND || error.status === 409 || error.status === 429);
        if (!again || round === ROUNDS) throw named(handler, error);
        await sleep(error.retryAfterMs ?? 100 * round, undefined, { signal: this.stopping.signal });
      }
    }
  }

  private callbackOf({ kind, name }: Handler) {
    const { baseUrl, callbackPath } = this.settings;
    const url = `${baseUrl}${callbackPath}/${kind === 'topic' ? 'topics' : 'timers'}/${encodeURIComponent(name)}`;
    return { method: 'POST' as const, url, header: MARK };
  }

  private failed(error: unknown): string {
    return `registration with xtimer at ${this.settings.url} failed: ${messageOf(error)}`;
  }

  private get call(): CallOptions {
    return { ...CALL, signal: this.stopping.signal };
  }
}

const isOurs = ({ notifyHTTPParam: { header } }: TimerView): boolean =>
  Object.entries(MARK).every(([name, value]) => header[name] === value);

/** Never enabled, paused or changed since it was made. */
const isUntouched = ({ status, createdAt, updatedAt, statusReason }: TimerView): boolean =>
  status === INACTIVE && createdAt === updatedAt && statusReason === null;

/** There is no such thing, which is not: there is no such route. */
const nullIf404 = (error: unknown): null => {
  if (error instanceof XtimerError && error.code === NOT_FOUND) return null;
  throw error;
};

/** As it is read back: epoch ms. What can't be read is left to xtimer to refuse. */
function momentOf(moment: number | string | null | undefined): number | string | null | undefined {
  if (typeof moment !== 'string') return moment;
  const at = /^\d+$/.test(moment) ? Number(moment) : Date.parse(moment);
  return Number.isNaN(at) ? moment : at;
}

/** Passes by itself, so that trying again makes sense. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof XtimerError)) return false;
  const { code, status } = error;
  return (
    code === 'NETWORK' ||
    code === 'TIMEOUT' ||
    status === 408 ||
    status === 409 ||
    status === 429 ||
    (status ?? 0) >= 500
  );
}

class RefusedHandler extends Error {}

const named = ({ where, kind, name }: Handler, error: unknown): unknown =>
  isPassing(error) || !(error instanceof XtimerError)
    ? error
    : new RefusedHandler(
        `xtimer refuses ${kind === 'topic' ? 'topic' : 'cron'} "${name}" of ${where}: ${messageOf(error)}`,
        {
          cause: error,
        },
      );

function refused(error: unknown): unknown & Error {
  if (error instanceof SetupError) return error;
  const message =
    error instanceof RefusedHandler ? error.message : `xtimer refuses the registration: ${messageOf(error)}`;
  return new SetupError('REFUSED', message, { cause: error });
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const defined = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
