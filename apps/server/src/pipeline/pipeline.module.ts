import { hostname } from 'node:os';
import { Global, Inject, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { type AddressGuard, CallbackClient } from '@xtimer/callback';
import { type BucketStore, type Callbacks, type Clock, Pipeline, SharedClock } from '@xtimer/pipeline';
import type { Database } from '@xtimer/store-sql';
import type { Logger } from 'pino';
import type { Config } from '../platform/config/config.js';
import { version } from '../platform/version.js';
import {
  BUCKET_STORE,
  CALLBACK_GUARD,
  CALLBACKS,
  CLOCK,
  CONFIG,
  DATABASE,
  EVENTS,
  JOB_COMMANDS,
  LOG,
  TIMER_COMMANDS,
} from '../tokens.js';
import { Cadence } from './cadence.js';
import { logEvents } from './event-log.js';
import { Housekeeping } from './housekeeping.js';
import { Metrics } from './metrics.js';
import { sharedTime } from './time-source.js';

/** Wires the stages to the stores of this process, and starts and stops them with it. */
@Global()
@Module({
  imports: [ScheduleModule.forRoot()],
  providers: [
    {
      provide: SharedClock,
      inject: [BUCKET_STORE, DATABASE],
      useFactory: async (store: BucketStore, database: Database) => {
        const clock = new SharedClock(sharedTime(store.timeSource, database.timeSource));
        await clock.synchronize();
        return clock;
      },
    },
    { provide: CLOCK, useExisting: SharedClock },
    {
      provide: CALLBACKS,
      inject: [CALLBACK_GUARD, CLOCK],
      useFactory: (guard: AddressGuard, clock: Clock) => new CallbackClient({ guard, clock }),
    },
    {
      provide: Pipeline,
      inject: [CONFIG, DATABASE, BUCKET_STORE, CALLBACKS, CLOCK],
      useFactory: (
        config: Config,
        { jobs, tasks, timers }: Database,
        store: BucketStore,
        callbacks: Callbacks,
        clock: Clock,
      ) =>
        new Pipeline(
          { timers, tasks, jobs, buckets: store.buckets, locks: store.locks, callbacks, clock, random: Math.random },
          {
            node: {
              nodeId: config.nodeId,
              host: hostname(),
              version,
              roles: config.roles,
              bucketsNum: config.bucketsNum,
              startedAt: Math.floor(clock.now()),
            },
            concurrency: config.callbackConcurrency,
          },
        ),
    },
    { provide: TIMER_COMMANDS, inject: [Pipeline], useFactory: (pipeline: Pipeline) => pipeline.commands },
    { provide: JOB_COMMANDS, inject: [Pipeline], useFactory: (pipeline: Pipeline) => pipeline.jobs },
    { provide: EVENTS, inject: [Pipeline], useFactory: (pipeline: Pipeline) => pipeline.events },
    {
      provide: Metrics,
      inject: [Pipeline, SharedClock],
      useFactory: (pipeline: Pipeline, clock: SharedClock) => new Metrics(pipeline, clock),
    },
    Cadence,
    Housekeeping,
  ],
  exports: [CLOCK, CALLBACKS, TIMER_COMMANDS, JOB_COMMANDS, EVENTS, Pipeline, Metrics],
})
export class PipelineModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    private readonly pipeline: Pipeline,
    private readonly cadence: Cadence,
    private readonly housekeeping: Housekeeping,
    @Inject(CALLBACKS) private readonly callbacks: CallbackClient,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    logEvents(this.pipeline.events, this.log);
    await this.pipeline.membership.pass();
    // The first passes may take longer than our lease. Unrenewed it would lapse, and others would repeat our calls.
    this.cadence.start();
    await this.pipeline.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.housekeeping.stop(), this.pipeline.stop(this.config.shutdownGraceMs)]);
    this.cadence.stop();
    await this.callbacks.close();
  }
}
