import { setTimeout as sleep } from 'node:timers/promises';
import { type BucketStore, hostTime, StoreUnavailableError } from '@xtimer/pipeline';
import { openMemory } from '@xtimer/store-memory';
import { openRedis, redisAddress } from '@xtimer/store-redis';
import { type Database, databaseAddress, openDatabase } from '@xtimer/store-sql';
import type { Logger } from 'pino';
import type { Config } from './config/config.js';
import { StartError } from './start-error.js';

/** Requests answer 503 within 5 s when the database hangs. */
const DATABASE_TIMEOUT_MS = 4_500;

export interface Stores {
  database: Database;
  buckets: BucketStore;
}

/**
 * Opens the stores and brings the schema up to date. What does not answer is tried again until
 * `startTimeoutMs` is over; then, or when this node does not fit the cluster, it throws `StartError`.
 */
export async function openStores(config: Config, log: Logger): Promise<Stores> {
  const database = await openMigrated(config, log);
  try {
    await agreeOnBuckets(database, config.bucketsNum);
    return { database, buckets: await openBuckets(config, log) };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** The database alone, schema up to date: all that `migrate` needs. */
export async function openMigrated(config: Config, log: Logger): Promise<Database> {
  const { databaseUrl: url, bucketsNum } = config;
  const advice = 'check XTIMER_DATABASE_URL and that the database is running and lets this user in';
  return patiently({ what: `the database ${databaseAddress(url)}`, advice, config, log }, async () => {
    const database = await openDatabase({ url, bucketsNum, timeoutMs: DATABASE_TIMEOUT_MS });
    try {
      await database.migrate();
      return database;
    } catch (error) {
      await database.close();
      throw error;
    }
  });
}

async function openBuckets(config: Config, log: Logger): Promise<BucketStore> {
  if (config.redisUrl === null) return { ...openMemory({ now: Date.now }), timeSource: hostTime };
  const redis = openRedis({ url: config.redisUrl });
  const advice = 'check XTIMER_REDIS_URL and that Redis is running';
  try {
    await patiently({ what: `Redis ${redisAddress(config.redisUrl)}`, advice, config, log }, () => redis.ready());
    return redis;
  } catch (error) {
    await redis.close();
    throw error;
  }
}

/** Tasks carry their bucket: with another number, nodes would look for them in the wrong places. */
async function agreeOnBuckets(database: Database, bucketsNum: number): Promise<void> {
  const standing = await database.settings.setIfAbsent('bucketsNum', String(bucketsNum));
  if (standing === String(bucketsNum)) return;
  throw new StartError(
    `this cluster works with ${standing} buckets, but XTIMER_BUCKETS says ${bucketsNum}: set XTIMER_BUCKETS=${standing} on all nodes`,
  );
}

async function patiently<T>(
  { what, advice, config, log }: { what: string; advice: string; config: Config; log: Logger },
  attempt: () => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + config.startTimeoutMs;
  for (let pauseMs = 250; ; pauseMs = Math.min(pauseMs * 2, 2_000)) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      if (performance.now() + pauseMs >= deadline) {
        throw new StartError(`${what} does not answer (${error.message}): ${advice}`, { cause: error });
      }
      log.warn({ reason: error.message }, `waiting for ${what}`);
      await sleep(pauseMs);
    }
  }
}
