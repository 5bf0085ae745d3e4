import { mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { StoreUnavailableError, type TaskRef, TOPIC_SPAN } from '@xtimer/pipeline';
import Libsql from 'libsql';
import { DataSource } from 'typeorm';
import type { Dialect, Engine } from './dialect.js';
import { queryFiles } from './files.js';
import { migrationClasses } from './migrations.js';
import type { Answer, Statement, Work } from './work.js';

const query = queryFiles('sqlite');

export const sqliteDialect: Dialect = {
  insertIgnore: 'INSERT OR IGNORE',
  forUpdate: '',
  force: (index) => (index === 'PRIMARY' ? '' : ` INDEXED BY ${index}`),
  inKeys: (alias) => `(${alias}.run_timer, ${alias}.timer_id) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))`,
  keys: (refs: readonly TaskRef[]) => JSON.stringify(refs.map((ref) => [ref.runTimer, ref.timerId])),
  inTuples: (...columns) =>
    `(${columns.join(', ')}) IN (SELECT ${columns.map((_, n) => `value ->> ${n}`).join(', ')} FROM json_each(?))`,
  tuples: (rows) => JSON.stringify(rows),
  deleteFrom: (table, index = 'PRIMARY') => `DELETE FROM ${table} AS t${sqliteDialect.force(index)}`,
  joinInOrder: 'CROSS JOIN',
  topicOf: (alias) => `${alias}.timer_id / ${TOPIC_SPAN}`,
  text: (column) => column,
  beyond: (first, second, operator) => `(${first}, ${second}) ${operator} (?, ?)`,
  pair: (first, second) => [first, second],
  in: (column) => `${column} IN (SELECT value FROM json_each(?))`,
  list: (values) => JSON.stringify(values),
  orUpdate: (key, columns) =>
    `ON CONFLICT (${key}) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}`,
  orRaise: (key, column) => `ON CONFLICT (${key}) DO UPDATE SET ${column} = MAX(${column}, excluded.${column})`,
  *planRows(rows) {
    yield* sqliteDialect.updateRows('plan-tasks', rows);
  },
  *insertRows(head, rows, tail = '') {
    const sql = `${head} VALUES (${rows[0]?.map(() => '?').join(', ')}) ${tail}`;
    let affected = 0;
    for (const params of rows) affected += (yield { sql, params, reads: false }).affected;
    return affected;
  },
  *updateRows(name, rows) {
    const sql = query(name);
    let affected = 0;
    for (const params of rows) affected += (yield { sql, params, reads: false }).affected;
    return affected;
  },
  query,
  // Half the 2 ms a step of the event loop may take: libsql needs 6 µs for a result, 8 for a claim.
  batch: 150,
};

/** How long a statement waits for another process that holds the file; it blocks this process meanwhile. */
const BUSY_TIMEOUT_MS = 2_000;

export async function openSqlite(path: string): Promise<Engine> {
  const file = resolve(path);
  const unavailable = (error: unknown): unknown => asUnavailable(error, file);
  let handle: Libsql.Database | undefined;
  const dataSource = new DataSource({
    type: 'better-sqlite3',
    driver: Libsql,
    database: file,
    enableWAL: true,
    migrations: migrationClasses('sqlite'),
    migrationsTransactionMode: 'each',
    prepareDatabase: (database: Libsql.Database) => {
      handle = database;
      database.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`);
      // With WAL a commit survives the death of the process; only a power cut may take the last moments.
      database.pragma('synchronous = NORMAL');
    },
  });
  try {
    mkdirSync(dirname(file), { recursive: true });
    await dataSource.initialize();
  } catch (error) {
    throw new StoreUnavailableError('sqlite', `cannot open ${file}: ${(error as Error).message}`, { cause: error });
  }
  const database = handle as Libsql.Database;
  const prepared = new Map<string, Libsql.Statement>();

  function execute(statement: Statement): Answer {
    let ready = prepared.get(statement.sql);
    if (!ready) {
      ready = database.prepare(statement.sql);
      prepared.set(statement.sql, ready);
    }
    if (statement.reads) return { rows: ready.all(statement.params), affected: 0, insertId: 0 };
    const { changes, lastInsertRowid } = ready.run(statement.params);
    return { rows: [], affected: changes, insertId: Number(lastInsertRowid) };
  }

  /** The whole transaction within one step of the event loop. */
  async function transaction<T>(work: () => Work<T>): Promise<T> {
    try {
      if (!database.open) throw new StoreUnavailableError('sqlite', `${file} is closed`);
      database.exec('BEGIN IMMEDIATE');
      try {
        const steps = work();
        let step = steps.next();
        while (!step.done) step = steps.next(execute(step.value));
        database.exec('COMMIT');
        return step.value;
      } catch (error) {
        if (database.inTransaction) database.exec('ROLLBACK');
        throw error;
      }
    } catch (error) {
      throw unavailable(error);
    }
  }

  return {
    kind: 'sqlite',
    dialect: sqliteDialect,
    transaction,
    statements: transaction,
    breathe: () => new Promise((resume) => setImmediate(resume)),
    time: async () => Date.now(),
    async migrate() {
      await dataSource.runMigrations({ transaction: 'each' }).catch((error) => Promise.reject(unavailable(error)));
      prepared.clear();
    },
    async close() {
      prepared.clear();
      if (dataSource.isInitialized) await dataSource.destroy();
    },
  };
}

const OUT_OF_ORDER = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|READONLY|PROTOCOL|NOMEM)/;

function asUnavailable(error: unknown, file: string): unknown {
  const code = (error as { code?: unknown }).code;
  if (typeof code !== 'string' || !OUT_OF_ORDER.test(code)) return error;
  return new StoreUnavailableError('sqlite', `${file}: ${code}: ${(error as Error).message}`, { cause: error });
}
