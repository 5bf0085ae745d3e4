import { Inject, Injectable } from '@nestjs/common';
import { Interval, Timeout } from '@nestjs/schedule';
import { type Clock, Loop, Pipeline, type TaskStore } from '@xtimer/pipeline';
import type { Database } from '@xtimer/store-sql';
import type { Config } from '../platform/config/config.js';
import { CLOCK, CONFIG, DATABASE, TASK_STORE } from '../tokens.js';

const EVERY_MS = 10 * 60_000;
/** After the rush of a start. */
const FIRST_AFTER_MS = 30_000;
/** A pass ends after this, ms; the next one goes on. */
const PASS_MS = 8 * 60_000;
/** Small enough that a batch holds up neither the database's other work nor, on SQLite, the event loop. */
const BATCH = 500;
/** The least pause between two batches, ms; as long as the batch took, when that is longer. */
const PAUSE_MS = 50;
const DAY_MS = 86_400_000;

/**
 * Housekeeping: deletes ended tasks that are past their retention.
 *
 * Promises   firing goes first: at most half of one connection's time is spent here, in batches.
 * Leans on   whoever looks after bucket 0: one node of the cluster does this. Two at once (buckets moving)
 *            delete what is to be deleted all the same.
 * If we die  the next pass, here or elsewhere, goes on.
 */
@Injectable()
export class Housekeeping {
  private readonly loop: Loop;

  constructor(
    private readonly pipeline: Pipeline,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(TASK_STORE) private readonly tasks: TaskStore,
    @Inject(DATABASE) private readonly database: Database,
  ) {
    this.loop = new Loop('housekeeping', (signal) => this.pass(signal), pipeline.events);
  }

  @Timeout(FIRST_AFTER_MS)
  afterStart(): Promise<void> {
    return this.loop.run();
  }

  @Interval(EVERY_MS)
  everyNowAndThen(): Promise<void> {
    return this.loop.run();
  }

  stop(): Promise<void> {
    return this.loop.stop();
  }

  private async pass(signal: AbortSignal): Promise<void> {
    const { clock, config, database, pipeline } = this;
    if (!this.isOurs()) return;
    const startedAt = clock.now();
    const before = (days: number) => Math.floor(startedAt) - days * DAY_MS;
    const own = await database.apps.retentions();
    const todo: { before: number; apps: Parameters<TaskStore['purge']>[1] }[] = [
      { before: before(config.historyRetentionDays), apps: { except: own.map(({ app }) => app) } },
      ...own.map(({ app, days }) => ({ before: before(days), apps: { only: app } })),
    ];
    let tasks = 0;
    try {
      while (todo.length > 0 && !signal.aborted && this.isOurs() && clock.now() < startedAt + PASS_MS) {
        const next = todo.shift()!;
        const batchAt = clock.now();
        const deleted = await this.tasks.purge(next.before, next.apps, BATCH);
        tasks += deleted;
        // In turns, so that one app's masses keep nobody else's waiting.
        if (deleted === BATCH) todo.push(next);
        const now = clock.now();
        if (todo.length > 0) await clock.sleepUntil(now + Math.max(PAUSE_MS, now - batchAt), signal);
      }
    } finally {
      if (tasks > 0) {
        const tookMs = Math.round(clock.now() - startedAt);
        pipeline.events.emit('history.purged', { tasks, tookMs, complete: todo.length === 0 });
      }
    }
  }

  private isOurs(): boolean {
    return this.pipeline.membership.buckets().includes(0);
  }
}
