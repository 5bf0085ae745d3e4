import { Body, Controller, Inject, Param } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import { AppName, AppView, SecretRotated, UpdateApp } from '@xtimer/contracts';
import type { Database } from '@xtimer/store-sql';
import type { z } from 'zod';
import { DATABASE } from '../../tokens.js';
import { notFound } from '../api-error.js';
import { GetRoute, PostRoute, PutRoute } from '../route.js';

@ApiTags('apps')
@ApiBearerAuth()
@Controller('apps')
export class AppsController {
  constructor(@Inject(DATABASE) private readonly database: Database) {}

  @GetRoute(':app', 'Settings of an app', AppView)
  async get(@Param('app', { schema: AppName }) app: string): Promise<AppView> {
    await this.requireApp(app);
    const retentions = await this.database.apps.retentions();
    return { app, historyRetentionDays: retentions.find((own) => own.app === app)?.days ?? null };
  }

  @PutRoute(':app', 'Change settings of an app; what is left out stays', AppView)
  async update(
    @Param('app', { schema: AppName }) app: string,
    @Body({ schema: UpdateApp }) { historyRetentionDays }: z.output<typeof UpdateApp>,
  ): Promise<AppView> {
    await this.requireApp(app);
    if (historyRetentionDays !== undefined) await this.database.apps.setRetention(app, historyRetentionDays);
    return this.get(app);
  }

  @PostRoute(
    ':app/rotateSecret',
    'A new signing secret, shown once; the one before it keeps signing too',
    SecretRotated,
  )
  async rotateSecret(@Param('app', { schema: AppName }) app: string) {
    // A service may want its secret before it has anything to be called for.
    await this.database.apps.ensure(app);
    return { secret: await this.database.apps.rotateSecret(app) };
  }

  private async requireApp(app: string): Promise<void> {
    const known = await this.database.apps.secrets(app);
    if (known.length === 0) throw notFound('app', app);
  }
}
