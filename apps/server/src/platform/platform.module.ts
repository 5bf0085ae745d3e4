import { type DynamicModule, Global, Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { createGuard } from '@xtimer/callback';
import type { Logger } from 'pino';
import { BUCKET_STORE, CALLBACK_GUARD, CONFIG, DATABASE, LOG, TASK_STORE, TIMER_STORE } from '../tokens.js';
import type { Config } from './config/config.js';
import type { Stores } from './stores.js';

/** Hands the opened stores to everyone. Global, so it is stopped last: whoever drains still has its stores. */
@Global()
@Module({})
export class PlatformModule implements OnApplicationShutdown {
  constructor(
    @Inject(DATABASE) private readonly database: Stores['database'],
    @Inject(BUCKET_STORE) private readonly buckets: Stores['buckets'],
  ) {}

  static with(config: Config, log: Logger, { database, buckets }: Stores): DynamicModule {
    const guard = createGuard({ allow: config.callbackAllow, deny: config.callbackDeny });
    const values = [
      [CONFIG, config],
      [LOG, log],
      [DATABASE, database],
      [TIMER_STORE, database.timers],
      [TASK_STORE, database.tasks],
      [BUCKET_STORE, buckets],
      [CALLBACK_GUARD, guard],
    ] as const;
    return {
      module: PlatformModule,
      providers: values.map(([provide, useValue]) => ({ provide, useValue })),
      exports: values.map(([provide]) => provide),
    };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.buckets.close();
    await this.database.close();
  }
}
