import { type DynamicModule, Module, type ModuleMetadata } from '@nestjs/common';
import type { Logger } from 'pino';
import { ApiModule } from './api/api.module.js';
import { HealthController } from './api/health/health.controller.js';
import { MetricsController } from './api/health/metrics.controller.js';
import type { Config } from './platform/config/config.js';
import { PlatformModule } from './platform/platform.module.js';
import type { Stores } from './platform/stores.js';

@Module({ controllers: [HealthController, MetricsController] })
class AppModule {}

/** A whole node. `pipeline`: the module that runs the stages and offers the commands. */
export function appModule(
  config: Config,
  log: Logger,
  stores: Stores,
  pipeline: NonNullable<ModuleMetadata['imports']>[number],
): DynamicModule {
  const api = config.roles.includes('api') ? [ApiModule] : [];
  return { module: AppModule, imports: [PlatformModule.with(config, log, stores), pipeline, ...api] };
}
