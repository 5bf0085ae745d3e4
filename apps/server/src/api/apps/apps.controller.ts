import { Controller, Inject, Param } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import { AppName, SecretRotated } from '@xtimer/contracts';
import type { Database } from '@xtimer/store-sql';
import { DATABASE } from '../../tokens.js';
import { notFound } from '../api-error.js';
import { PostRoute } from '../route.js';

@ApiTags('apps')
@ApiBearerAuth()
@Controller('apps')
export class AppsController {
  constructor(@Inject(DATABASE) private readonly database: Database) {}

  @PostRoute(
    ':app/rotateSecret',
    'A new signing secret, shown once; the one before it keeps signing too',
    SecretRotated,
  )
  async rotateSecret(@Param('app', { schema: AppName }) app: string) {
    const known = await this.database.apps.secrets(app);
    if (known.length === 0) throw notFound('app', app);
    return { secret: await this.database.apps.rotateSecret(app) };
  }
}
