import type { JobStore, TaskStore, TimerStore, TimeSource } from '@xtimer/pipeline';
import { Apps } from './apps.js';
import type { Engine } from './dialect.js';
import { SqlJobStore } from './jobs.js';
import { openMysql } from './mysql.js';
import { Settings } from './settings.js';
import { openSqlite } from './sqlite.js';
import { SqlTaskStore } from './tasks.js';
import { SqlTimerStore } from './timers.js';

export interface DatabaseOptions {
  /** `sqlite:` and a path, or `mysql://user:password@host:port/database`. */
  url: string;
  /** Buckets of the cluster: a new timer's bucket is `timerId % bucketsNum`. */
  bucketsNum: number;
  /** MySQL: how long a statement may take, getting a connection included, ms. */
  timeoutMs?: number;
  /** MySQL: connections at most. */
  poolSize?: number;
}

export interface Database {
  kind: Engine['kind'];
  timers: TimerStore;
  tasks: TaskStore;
  jobs: JobStore;
  settings: Settings;
  apps: Apps;
  /** The database's clock; the host's own for SQLite. */
  timeSource: TimeSource;
  /** Brings the schema up to date. Several nodes may call it at once. */
  migrate(): Promise<void>;
  close(): Promise<void>;
}

/** Rejects with `StoreUnavailableError` when the database cannot be reached, with `TypeError` for a URL it does not know. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const engine = await openEngine(options);
  return {
    kind: engine.kind,
    timers: new SqlTimerStore(engine, options.bucketsNum),
    tasks: new SqlTaskStore(engine),
    jobs: new SqlJobStore(engine),
    settings: new Settings(engine),
    apps: new Apps(engine),
    timeSource: { time: () => engine.time() },
    migrate: () => engine.migrate(),
    close: () => engine.close(),
  };
}

export async function openEngine({
  url,
  timeoutMs = 5_000,
  poolSize = 10,
}: Omit<DatabaseOptions, 'bucketsNum'>): Promise<Engine> {
  const address = databaseAddress(url);
  if (url.startsWith('sqlite:')) return openSqlite(url.slice('sqlite:'.length));
  return openMysql({ url: new URL(url), address, timeoutMs, poolSize });
}

/** Names the database without its credentials. `TypeError` when the URL is not one of ours. */
export function databaseAddress(url: string): string {
  if (/^sqlite:.+/.test(url)) return url;
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (!parsed || !/^(mysql|mariadb):$/.test(parsed.protocol) || !parsed.hostname || parsed.pathname.length < 2)
    throw new TypeError('A database URL looks like sqlite:./data/xtimer.db or mysql://user:password@host:3306/xtimer');
  return `mysql://${parsed.hostname}:${parsed.port || 3306}${parsed.pathname}`;
}
