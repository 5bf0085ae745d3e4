import { type BeforeApplicationShutdown, Controller, Get, Inject } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { ErrorCode } from '@xtimer/contracts';
import type { BucketStore } from '@xtimer/pipeline';
import type { Database } from '@xtimer/store-sql';
import type { Config } from '../../platform/config/config.js';
import { version } from '../../platform/version.js';
import { BUCKET_STORE, CONFIG, DATABASE } from '../../tokens.js';
import { ApiError } from '../api-error.js';

/** Longer than a store takes when all is well, shorter than a probe's patience. */
const PROBE_MS = 2_000;

@ApiTags('health')
@Controller()
export class HealthController implements BeforeApplicationShutdown {
  private stopping = false;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(DATABASE) private readonly database: Database,
    @Inject(BUCKET_STORE) private readonly bucketStore: BucketStore,
  ) {}

  beforeApplicationShutdown(): void {
    this.stopping = true;
  }

  @Get('healthz')
  @ApiOperation({ summary: 'The process is up; names the release of the time zone data' })
  healthz() {
    const { nodeId, mode, roles } = this.config;
    return { status: 'up', version, nodeId, mode, roles, node: process.version, tz: process.versions.tz };
  }

  /** Redis being down does not make a node unready: timers keep firing from the database (DESIGN section 5). */
  @Get('readyz')
  @ApiOperation({ summary: 'The stores answer and the node is not about to stop' })
  async readyz() {
    const [database, buckets] = await Promise.all([
      answers(this.database.settings.get('bucketsNum')),
      answers(this.bucketStore.timeSource.time()),
    ]);
    const state = { database: database ? 'up' : 'down', buckets: buckets ? 'up' : 'down' };
    if (this.stopping) throw new ApiError(ErrorCode.storeUnavailable, 'this node is stopping', state);
    if (!database) throw new ApiError(ErrorCode.storeUnavailable, 'the database does not answer', state);
    return { status: 'ready', ...state };
  }
}

async function answers(asked: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), PROBE_MS);
  });
  const answered = asked.then(
    () => true,
    () => false,
  );
  return Promise.race([answered, late]).finally(() => clearTimeout(timer));
}
