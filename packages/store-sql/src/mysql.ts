import { createHash } from 'node:crypto';
import { TOPIC_SPAN } from '@xtimer/pipeline';
import type { Pool, PoolConnection, ResultSetHeader } from 'mysql2';
import { DataSource } from 'typeorm';
import type { Dialect, Engine } from './dialect.js';
import { queryFiles } from './files.js';
import { migrationClasses } from './migrations.js';
import { mysqlErrors } from './mysql-errors.js';
import type { Answer, Statement, Work } from './work.js';

const query = queryFiles('mysql');

/** MySQL 8+ and MariaDB 10.11+. */
export const mysqlDialect: Dialect = {
  insertIgnore: 'INSERT IGNORE',
  forUpdate: 'FOR UPDATE',
  force: (index) => ` FORCE INDEX (${index})`,
  inKeys: (alias) => `(${alias}.run_timer, ${alias}.timer_id) IN (?)`,
  keys: (refs) => tuples(refs.map((ref) => [ref.runTimer, ref.timerId])),
  inTuples: (...columns) => `(${columns.join(', ')}) IN (?)`,
  tuples,
  deleteFrom: (table, index = 'PRIMARY') => `DELETE t FROM ${table} t FORCE INDEX (${index})`,
  joinInOrder: 'STRAIGHT_JOIN',
  topicOf: (alias) => `${alias}.timer_id DIV ${TOPIC_SPAN}`,
  text: (column) => `CONVERT(${column} USING utf8mb4)`,
  beyond: (first, second, operator) => `(${first} ${operator} ? OR (${first} = ? AND ${second} ${operator} ?))`,
  pair: (first, second) => [first, first, second],
  in: (column) => `${column} IN (?)`,
  // An empty IN () is a syntax error; no id or name is -1.
  list: (values) => (values.length > 0 ? values : [-1]),
  orUpdate: (_key, columns) =>
    `ON DUPLICATE KEY UPDATE ${columns.map((column) => `${column} = VALUES(${column})`).join(', ')}`,
  orRaise: (_key, column) => `ON DUPLICATE KEY UPDATE ${column} = GREATEST(${column}, VALUES(${column}))`,
  *planRows(rows) {
    if (rows.length > 0) yield { sql: query('plan-tasks'), params: [rows], reads: false };
  },
  *insertRows(head, rows, tail = '') {
    if (rows.length === 0) return 0;
    return (yield { sql: `${head} VALUES ? ${tail}`, params: [rows], reads: false }).affected;
  },
  *updateRows(name, rows) {
    if (rows.length === 0) return 0;
    return (yield { sql: query(name), params: [JSON.stringify(rows)], reads: false }).affected;
  },
  query,
  batch: 1000,
};

/** MariaDB scans the whole index for a list of one tuple (PERFORMANCE section 0, trap 1): always at least two. */
function tuples(rows: readonly (readonly number[])[]): (readonly number[])[] {
  const width = rows[0]?.length ?? 2;
  const fill = [-1, -2].map((last) => [...Array<number>(width - 1).fill(-1), last]);
  return [...rows, ...fill].slice(0, Math.max(2, rows.length));
}

const SESSION =
  "SET time_zone = '+00:00', sql_mode = 'STRICT_TRANS_TABLES,ONLY_FULL_GROUP_BY,NO_ZERO_DATE,NO_ZERO_IN_DATE," +
  "ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', innodb_lock_wait_timeout = 3";
const ISOLATION = 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED';

/** Deadlocks and lock waits are the engines' way to say "again"; five tries with jitter see one through. */
const TRIES = 5;
const MIGRATION_LOCK_SECONDS = 120;

export interface MysqlOptions {
  url: URL;
  /** The URL without its password. */
  address: string;
  /** For getting a connection together with its first statement, and for each further one. */
  timeoutMs: number;
  poolSize: number;
}

export async function openMysql(options: MysqlOptions): Promise<Engine> {
  const { url, timeoutMs } = options;
  const errors = mysqlErrors(options.address);
  const dataSource = new DataSource({
    type: 'mysql',
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || 3306),
    username: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database: decodeURIComponent(url.pathname.slice(1)),
    charset: 'utf8mb4_bin',
    timezone: 'Z',
    supportBigNumbers: true,
    bigNumberStrings: false,
    connectTimeout: timeoutMs,
    poolSize: options.poolSize,
    migrations: migrationClasses('mysql'),
    migrationsTransactionMode: 'each',
    extra: { enableKeepAlive: true },
  });
  let version = '';
  try {
    const start = async () => {
      await dataSource.initialize();
      [{ version }] = await dataSource.query('SELECT VERSION() AS version');
    };
    await within(start(), 2 * timeoutMs, () => errors.noAnswer(2 * timeoutMs));
  } catch (error) {
    throw errors.translate(error);
  }
  const pool = (dataSource.driver as unknown as { pool: Pool }).pool;
  let closing = false;
  const prepared = new WeakSet<object>();

  /** A connection whose session is set up, before `deadline`. */
  async function connect(deadline: number): Promise<PoolConnection> {
    if (closing) throw errors.closed();
    const connection = await new Promise<PoolConnection>((resolve, reject) => {
      let late = false;
      const timer = setTimeout(() => {
        late = true;
        reject(errors.noConnection(timeoutMs));
      }, deadline - performance.now());
      pool.getConnection((error, given) => {
        clearTimeout(timer);
        if (late) given?.release();
        else if (error) reject(error);
        else resolve(given);
      });
    });
    // The pool hands out wrappers; the session belongs to what they wrap.
    const session = (connection as unknown as { connection?: object }).connection ?? connection;
    if (!prepared.has(session)) {
      try {
        await send(connection, SESSION, [], deadline);
        await send(connection, ISOLATION, [], deadline);
      } catch (error) {
        connection.destroy();
        throw error;
      }
      prepared.add(session);
    }
    return connection;
  }

  /** Our own timer, because the driver's starts only when the statement's turn comes on its connection. */
  function send(connection: PoolConnection, sql: string, params: readonly unknown[], deadline: number) {
    return new Promise<unknown>((resolve, reject) => {
      const timer = setTimeout(() => reject(errors.noAnswer(timeoutMs)), Math.max(1, deadline - performance.now()));
      connection.query(sql, params as unknown[], (error, result) => {
        clearTimeout(timer);
        if (error) reject(error);
        else resolve(result);
      });
    });
  }

  /** One try on one connection, which is thrown away when it did not answer or broke. */
  async function attempt<T>(work: () => Work<T>, atomic: boolean): Promise<T> {
    let deadline = performance.now() + timeoutMs;
    const connection = await connect(deadline);
    const ask = async (statement: Statement): Promise<Answer> => {
      const result = await send(connection, statement.sql, statement.params, deadline);
      deadline = performance.now() + timeoutMs;
      if (statement.reads) return { rows: result as unknown[], affected: 0, insertId: 0 };
      const { affectedRows, insertId } = result as ResultSetHeader;
      return { rows: [], affected: affectedRows, insertId };
    };
    const control = (sql: string) => ask({ sql, params: [], reads: false });
    try {
      if (atomic) await control('START TRANSACTION');
      const steps = work();
      let step = steps.next();
      while (!step.done) {
        const { value } = step;
        step = steps.next(await (atomic ? ask(value) : again(() => ask(value))));
      }
      if (atomic) await control('COMMIT');
      connection.release();
      return step.value;
    } catch (error) {
      if (errors.leavesConnectionUsable(error)) {
        await control('ROLLBACK').then(
          () => connection.release(),
          () => connection.destroy(),
        );
      } else connection.destroy();
      throw error;
    }
  }

  async function again<T>(action: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await action();
      } catch (error) {
        if (tries === TRIES || !errors.isConflict(error)) throw error;
        await new Promise((resume) => setTimeout(resume, Math.random() * 20 * 2 ** tries));
      }
    }
  }

  const translated = <T>(answer: Promise<T>): Promise<T> =>
    answer.catch((error) => Promise.reject(errors.translate(error)));

  return {
    kind: /mariadb/i.test(version) ? 'mariadb' : 'mysql',
    dialect: mysqlDialect,
    transaction: (work) => translated(again(() => attempt(work, true))),
    statements: (work) => translated(attempt(work, false)),
    breathe: async () => {},
    time: () =>
      translated(
        attempt(function* () {
          const { rows } = yield { sql: 'SELECT UNIX_TIMESTAMP(NOW(6)) AS now', params: [], reads: true };
          return Number((rows[0] as { now: string }).now) * 1000;
        }, false),
      ),

    /** Nodes that start together wait for each other: without the lock two of three die on an empty database. */
    async migrate() {
      const lock = `xtimer:migrate:${createHash('sha256').update(String(dataSource.options.database)).digest('hex').slice(0, 32)}`;
      const runner = dataSource.createQueryRunner();
      try {
        const [{ got }] = await runner.query('SELECT GET_LOCK(?, ?) AS got', [lock, MIGRATION_LOCK_SECONDS]);
        if (Number(got) !== 1) throw errors.migrationLocked(MIGRATION_LOCK_SECONDS);
        await dataSource.runMigrations({ transaction: 'each' });
        await runner.query('SELECT RELEASE_LOCK(?)', [lock]);
      } catch (error) {
        throw errors.translate(error);
      } finally {
        await runner.release();
      }
    },

    async close() {
      closing = true;
      if (dataSource.isInitialized) await within(dataSource.destroy(), timeoutMs, () => null).catch(() => {});
    },
  };
}

/** `late()` becomes the rejection when `answer` takes longer. */
function within<T>(answer: Promise<T>, ms: number, late: () => unknown): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  return Promise.race([answer, limit]).finally(() => clearTimeout(timer));
}
