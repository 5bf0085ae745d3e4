import { parseAllowList } from '@xtimer/callback';
import { isTimeZone } from '@xtimer/pipeline';
import { redisAddress } from '@xtimer/store-redis';
import { z } from 'zod';

/** Every variable the server reads. The description becomes the table of docs/configuration.md. */

const whole = (min: number, max: number) => {
  const error = `a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, { error })
    .transform(Number)
    .pipe(z.int().min(min, { error }).max(max, { error }));
};

const choice = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.enum(values, { error: `one of ${values.join(', ')}` });

/** Runs a reader that throws, and keeps its words. */
const readable = (read: (value: string) => unknown) =>
  z.string().superRefine((value, ctx) => {
    try {
      read(value);
    } catch (error) {
      ctx.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) });
    }
  });

const NOT_A_REDIS_URL = redisAddress('');
const EXPECTED_DATABASE = 'sqlite:./path/to/file.db or mysql://user:password@host:3306/database';

export const sections = {
  Server: {
    XTIMER_PORT: whole(0, 65_535).default(8082).describe('Port of the API and the console; 0 takes any free one.'),
    XTIMER_HOST: z
      .string()
      .regex(/^[\w.:-]+$/, { error: 'an address or host name of this machine, such as 127.0.0.1, 0.0.0.0 or ::' })
      .default('127.0.0.1')
      .describe('Address to listen on. Use `0.0.0.0` in a container or to be reached from other machines.'),
    XTIMER_ADMIN_TOKEN: z
      .string()
      .regex(/^[\x21-\x7e]{16,256}$/, { error: '16 to 256 ASCII characters without blanks' })
      .meta({ secret: true })
      .optional()
      .describe(
        'Bearer token of the administrator. Unset: a random one is made at the first start, shown once and kept hashed. While it is set, it replaces that one.',
      ),
    XTIMER_ROLES: z
      .string()
      .transform((value) => value.split(',').map((role) => role.trim()))
      .pipe(z.array(choice(['api', 'worker'])).min(1))
      .default(['api', 'worker'])
      .describe('What this node does, joined by commas: `api` answers requests, `worker` plans and fires.'),
    XTIMER_NODE_ID: z
      .string()
      .regex(/^[\w.:-]{1,50}$/, { error: '1 to 50 letters, digits, ".", ":", "_" or "-"' })
      .optional()
      .describe('Name of this node; each start adds a random part. Unset: host name and process id.'),
    XTIMER_LOG_LEVEL: choice(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
      .default('info')
      .describe('Least level that is logged: fatal, error, warn, info, debug, trace or silent.'),
    XTIMER_START_TIMEOUT_MS: whole(0, 600_000)
      .default(30_000)
      .describe('How long to wait for a database or Redis that does not answer at start, ms.'),
    XTIMER_SHUTDOWN_GRACE_MS: whole(0, 3_600_000)
      .default(30_000)
      .describe('How long SIGTERM waits for calls in flight, ms.'),
  },
  Stores: {
    XTIMER_DATABASE_URL: z
      .string()
      .regex(/^(sqlite:.+|(mysql|mariadb):\/\/[^/]+\/[^/?]+.*)$/, { error: EXPECTED_DATABASE })
      .default('sqlite:./data/xtimer.db')
      .describe(
        '`sqlite:` and a relative or absolute path (one process), or `mysql://user:password@host:3306/database` (MySQL or MariaDB).',
      ),
    XTIMER_REDIS_URL: z
      .string()
      .refine((url) => redisAddress(url) !== NOT_A_REDIS_URL, {
        error:
          'redis://[user:password@]host:6379, several joined by commas for a Cluster, or redis+sentinel://host:26379/master',
      })
      .optional()
      .describe(
        'Time buckets and locks of a cluster: `redis://` or `rediss://` (TLS), several hosts joined by commas for Redis Cluster, `redis+sentinel://host:26379/master` for Sentinel. Unset: in this process.',
      ),
    XTIMER_BUCKETS: whole(1, 1024)
      .default(16)
      .describe('Shards the work is split into. The same on all nodes; the database remembers it.'),
  },
  Callbacks: {
    XTIMER_CALLBACK_ALLOW: readable(parseAllowList)
      .optional()
      .describe(
        'Loopback, private and link-local targets callbacks may reach all the same: addresses, ranges and hosts joined by commas, such as `127.0.0.0/8,10.1.0.0/16,*.corp.example`. Unset: `127.0.0.0/8,::1` with SQLite, nothing with MySQL.',
      ),
    XTIMER_CALLBACK_DENY: readable(parseAllowList)
      .default('')
      .describe('Targets callbacks may never reach, written likewise; wins over what is allowed.'),
    XTIMER_CALLBACK_CONCURRENCY: whole(1, 100_000).default(1_000).describe('Callbacks in flight on this node at most.'),
  },
  Timers: {
    XTIMER_TIMEZONE: z
      .string()
      .refine(isTimeZone, { error: 'an IANA time zone such as UTC or Asia/Shanghai' })
      .default('UTC')
      .describe('Zone of timers that name none.'),
    XTIMER_HISTORY_RETENTION_DAYS: whole(1, 3_650)
      .default(30)
      .describe('Ended tasks planned longer ago than this many days are deleted, unless their app has its own number.'),
  },
} as const;

export const variables = { ...sections.Server, ...sections.Stores, ...sections.Callbacks, ...sections.Timers };
export type Environment = z.output<z.ZodObject<typeof variables>>;
