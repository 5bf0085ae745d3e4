import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { parseAllowList } from '@xtimer/callback';
import { z } from 'zod';
import { type Environment, variables } from './variables.js';

/** The validated environment. Moments and durations as their names say; no secret but `adminToken` and the URLs. */
export interface Config {
  host: string;
  port: number;
  /** `null`: the one made at first start counts. */
  adminToken: string | null;
  roles: readonly ('api' | 'worker')[];
  nodeId: string;
  logLevel: Environment['XTIMER_LOG_LEVEL'];
  startTimeoutMs: number;
  shutdownGraceMs: number;
  /** `embedded`: SQLite and this one process. */
  mode: 'embedded' | 'clustered';
  databaseUrl: string;
  /** `null`: time buckets and locks live in this process. */
  redisUrl: string | null;
  bucketsNum: number;
  callbackAllow: readonly string[];
  callbackDeny: readonly string[];
  callbackConcurrency: number;
  timezone: string;
  /** For apps that have no number of their own. */
  historyRetentionDays: number;
}

/** The environment has mistakes: all of them, each naming variable, value and what is right. */
export class ConfigError extends Error {
  readonly code = 'CONFIG';
  constructor(readonly mistakes: readonly string[]) {
    super(
      `The configuration has ${mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`}:\n${mistakes.map((mistake) => `  - ${mistake}`).join('\n')}`,
    );
    this.name = 'ConfigError';
  }
}

/** Reads the environment, the only place that does. Throws `ConfigError`; warnings are for the log. */
export function loadConfig(env: NodeJS.ProcessEnv = process.env): { config: Config; warnings: string[] } {
  // Compose files hand over unset variables as empty ones.
  const given = Object.fromEntries(
    Object.entries(env).filter(([name, value]) => name.startsWith('XTIMER_') && value !== undefined && value !== ''),
  ) as Record<string, string>;

  const parsed = z.object(variables).safeParse(given);
  const mistakes = parsed.success ? relationMistakes(parsed.data) : schemaMistakes(parsed.error.issues, given);
  if (!parsed.success || mistakes.length > 0) throw new ConfigError(mistakes);
  const config = configOf(parsed.data);
  return { config, warnings: [...unknownNames(given), ...hints(config)] };
}

function configOf(env: Environment): Config {
  const embedded = isSqlite(env);
  return {
    host: env.XTIMER_HOST,
    port: env.XTIMER_PORT,
    adminToken: env.XTIMER_ADMIN_TOKEN ?? null,
    roles: [...new Set(env.XTIMER_ROLES)],
    // A process that is started again under its old name is another owner: what the old one had claimed is recovered.
    nodeId: `${env.XTIMER_NODE_ID ?? `${hostname().slice(0, 40)}-${process.pid}`}-${randomBytes(3).toString('hex')}`,
    logLevel: env.XTIMER_LOG_LEVEL,
    startTimeoutMs: env.XTIMER_START_TIMEOUT_MS,
    shutdownGraceMs: env.XTIMER_SHUTDOWN_GRACE_MS,
    mode: embedded ? 'embedded' : 'clustered',
    databaseUrl: env.XTIMER_DATABASE_URL,
    redisUrl: env.XTIMER_REDIS_URL ?? null,
    bucketsNum: env.XTIMER_BUCKETS,
    // Empty counts as unset: to close loopback in embedded mode, XTIMER_CALLBACK_DENY names it.
    callbackAllow: parseAllowList(env.XTIMER_CALLBACK_ALLOW ?? (embedded ? '127.0.0.0/8,::1' : '')),
    callbackDeny: parseAllowList(env.XTIMER_CALLBACK_DENY),
    callbackConcurrency: env.XTIMER_CALLBACK_CONCURRENCY,
    timezone: env.XTIMER_TIMEZONE,
    historyRetentionDays: env.XTIMER_HISTORY_RETENTION_DAYS,
  };
}

const isSqlite = (env: Environment) => env.XTIMER_DATABASE_URL.startsWith('sqlite:');

/** What no single variable shows. */
function relationMistakes(env: Environment): string[] {
  if (!isSqlite(env)) return [];
  const mistakes: string[] = [];
  if (env.XTIMER_REDIS_URL !== undefined) {
    mistakes.push(
      'XTIMER_REDIS_URL is set, but XTIMER_DATABASE_URL is a SQLite file, which is for one process: set XTIMER_DATABASE_URL=mysql://… for a cluster, or unset XTIMER_REDIS_URL',
    );
  }
  if (!(env.XTIMER_ROLES.includes('api') && env.XTIMER_ROLES.includes('worker'))) {
    mistakes.push(
      `XTIMER_ROLES=${env.XTIMER_ROLES.join(',')}: with a SQLite file one process does everything: expected api,worker`,
    );
  }
  return mistakes;
}

function hints(config: Config): string[] {
  if (config.mode === 'embedded' || config.redisUrl !== null) return [];
  return ['XTIMER_REDIS_URL is not set: time buckets and locks live in this process, so run this one node only'];
}

function schemaMistakes(issues: readonly z.core.$ZodIssue[], given: Record<string, string>): string[] {
  const names = new Set(issues.map((issue) => String(issue.path[0])));
  return [...names].map((name) => {
    const expected = issues.find((issue) => issue.path[0] === name)!.message;
    return `${name}=${shown(name, given[name] ?? '')}: expected ${expected}`;
  });
}

/** Never a password: URLs lose theirs, secrets show their length only. */
function shown(name: string, value: string): string {
  if (name === 'XTIMER_ADMIN_TOKEN') return `*** (${value.length} characters)`;
  if (!name.endsWith('_URL')) return JSON.stringify(value);
  // Without a scheme it can't be told where a password would be.
  return value.includes('://') ? value.replace(/\/\/[^,]*@/g, '//***@') : value.startsWith('sqlite:') ? value : '***';
}

function unknownNames(given: Record<string, string>): string[] {
  const known = Object.keys(variables);
  return Object.keys(given)
    .filter((name) => !known.includes(name) && !name.startsWith('XTIMER_TEST_'))
    .map((name) => `${name} is no variable of this server and is ignored; did you mean ${nearest(name, known)}?`);
}

function nearest(name: string, candidates: readonly string[]): string {
  return candidates.reduce((best, next) => (distance(name, next) < distance(name, best) ? next : best));
}

/** Levenshtein. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[b.length]!;
}
