import 'reflect-metadata';
import { createServer } from 'node:net';
import { redisAddress } from '@xtimer/store-redis';
import { databaseAddress } from '@xtimer/store-sql';
import type { Logger } from 'pino';
import { AdminToken } from './api/access/admin-token.js';
import { appModule } from './app.module.js';
import { PipelineModule } from './pipeline/pipeline.module.js';
import { banner, tokenNotice } from './platform/banner.js';
import { type Config, ConfigError, loadConfig } from './platform/config/config.js';
import { holdSqliteFile } from './platform/database-lock.js';
import { createHttpApp } from './platform/http.js';
import { createLog } from './platform/log.js';
import { StartError } from './platform/start-error.js';
import { openMigrated, openStores } from './platform/stores.js';
import { version } from './platform/version.js';

/** `node main.js` runs a node; `node main.js migrate` brings the schema up to date and ends. */
async function main(command: string | undefined): Promise<void> {
  if (command !== undefined && command !== 'migrate') {
    throw new StartError(`unknown command ${JSON.stringify(command)}: nothing (run a node) or migrate`);
  }
  const { config, warnings } = loadConfig();
  const log = createLog(config.logLevel, config.nodeId);
  for (const warning of warnings) log.warn(warning);
  await (command === 'migrate' ? migrate(config, log) : run(config, log));
}

async function migrate(config: Config, log: Logger): Promise<void> {
  const database = await openMigrated(config, log);
  await database.close();
  log.info({ database: databaseAddress(config.databaseUrl) }, 'the schema is up to date');
}

async function run(config: Config, log: Logger): Promise<void> {
  // A second start by mistake should say so before it touches the stores.
  await requireFreePort(config);
  if (config.mode === 'embedded') process.once('exit', holdSqliteFile(config.databaseUrl));
  const stores = await openStores(config, log);
  const admin = await AdminToken.settle(config.adminToken, stores.database.settings);
  if (admin.shownOnce !== null) print(tokenNotice(admin.shownOnce));

  const { app } = await createHttpApp(appModule(config, log, stores, PipelineModule), admin, log);
  // Exits with 0 once all hooks have run: the HTTP side closes, the stages drain, the stores close.
  app.enableShutdownHooks(['SIGTERM', 'SIGINT'], { useProcessExit: true });
  await app.listen(config.port, config.host).catch(async (error: unknown) => {
    await app.close();
    throw listenError(error, config);
  });

  const { port } = app.getHttpServer().address() as { port: number };
  log.info(
    {
      version,
      mode: config.mode,
      database: databaseAddress(config.databaseUrl),
      redis: config.redisUrl === null ? 'in process' : redisAddress(config.redisUrl),
      roles: config.roles,
      buckets: config.bucketsNum,
      address: `${config.host}:${port}`,
      nodejs: process.version,
      tz: process.versions.tz,
    },
    'node started',
  );
  print(banner(config, admin, port));
}

function requireFreePort(config: Config): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error) => reject(listenError(error, config)));
    probe.listen({ host: config.host, port: config.port, exclusive: true }, () => probe.close(() => resolve()));
  });
}

function listenError(error: unknown, { host, port }: Config): unknown {
  switch (error instanceof Error && 'code' in error ? error.code : null) {
    case 'EADDRINUSE':
      return new StartError(
        `port ${port} on ${host} is taken by another process: stop it, or set XTIMER_PORT to another port`,
        { cause: error },
      );
    case 'EACCES':
      return new StartError(`port ${port} may not be used by this user: set XTIMER_PORT to one above 1023`, {
        cause: error,
      });
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new StartError(`${host} is no address of this machine: set XTIMER_HOST to 127.0.0.1 or 0.0.0.0`, {
        cause: error,
      });
    default:
      return error;
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function end(error: unknown): never {
  const known = error instanceof ConfigError || error instanceof StartError;
  process.stderr.write(`${known ? error.message : error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
}

process.on('uncaughtException', end);
main(process.argv[2]).catch(end);
