import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HistoryQuery } from '@xtimer/pipeline';
import { startMariaDb } from '@xtimer/testkit';
import Libsql from 'libsql';
import mysql from 'mysql2/promise';
import { describe, expect, it } from 'vitest';
import { history } from './history.js';
import { type Database, openDatabase } from './index.js';
import { mysqlDialect } from './mysql.js';
import { sqliteDialect } from './sqlite.js';
import type { Statement } from './work.js';

const T0 = 1_800_000_000_000;
const TIMERS = 20;
const SECONDS = 2_000;
const LIMIT = 20;
const middle = T0 + (SECONDS / 2) * 1000;

/** What history is asked for: by app and by timer, with and without bounds. */
const queries: Record<string, Partial<HistoryQuery>> = {
  everything: {},
  'an app': { app: 'app-1' },
  'an app, below a task': { app: 'app-1', before: { timerId: 7, runTimer: middle } },
  'an app, in a time range': { app: 'app-1', startTime: T0, endTime: middle },
  'a timer': { timerId: 7 },
  'a timer of an app, below a task': { app: 'app-1', timerId: 7, before: { timerId: 7, runTimer: middle } },
  'a timer, in a time range': { timerId: 7, startTime: T0, endTime: middle },
  'a timer, by status': { timerId: 7, status: 0 },
};
const complete = (query: Partial<HistoryQuery>): HistoryQuery => ({ app: null, before: null, limit: LIMIT, ...query });

async function fill(database: Database): Promise<void> {
  await database.migrate();
  for (let second = 0; second < SECONDS; second += 100)
    await database.tasks.plan(
      Array.from({ length: 100 * TIMERS }, (_, n) => {
        const timerId = (n % TIMERS) + 1;
        const runTimer = T0 + (second + Math.floor(n / TIMERS)) * 1000;
        return {
          timerId,
          runTimer,
          app: `app-${timerId % 3}`,
          bucket: 0,
          version: 1,
          origin: 1,
          dueAt: runTimer,
          payload: null,
        };
      }),
    );
}

describe('history reads a page and little more', () => {
  it('on MySQL or MariaDB', async (context) => {
    const server = await startMariaDb();
    if (!server) return context.skip();
    const database = await openDatabase({ url: server.url, bucketsNum: 4 });
    const reader = await mysql.createConnection(server.url);
    try {
      await fill(database);
      await reader.query('ANALYZE TABLE timer_task');
      for (const [name, query] of Object.entries(queries)) {
        const { sql, params } = history(mysqlDialect, complete(query)).next().value as Statement;
        await reader.query('FLUSH STATUS');
        const [rows] = await reader.query<mysql.RowDataPacket[]>(sql, params as unknown[]);
        const [counters] = await reader.query<mysql.RowDataPacket[]>(
          "SHOW SESSION STATUS WHERE Variable_name REGEXP '^(Handler_read_(next|prev|rnd|rnd_next)|Sort_rows)$'",
        );
        const read = counters.reduce((sum, { Value }) => sum + Number(Value), 0);
        expect(rows, name).toHaveLength(LIMIT);
        // The status tables themselves count a little; a sort or a scan would count tens of thousands.
        expect(read, `rows read or sorted for ${name}`).toBeLessThan(10 * LIMIT);
      }
    } finally {
      await reader.end();
      await database.close();
      await server.stop();
    }
  });

  it('on SQLite', async () => {
    const file = join(tmpdir(), `xtimer-${randomUUID()}.db`);
    const database = await openDatabase({ url: `sqlite:${file}`, bucketsNum: 4 });
    await database.migrate();
    const reader = new Libsql(file);
    for (const [name, query] of Object.entries(queries)) {
      const { sql, params } = history(sqliteDialect, complete(query)).next().value as Statement;
      const steps = reader.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(params) as { detail: string }[];
      const plan = steps.map(({ detail }) => detail).join('; ');
      expect(plan, name).not.toMatch(/TEMP B-TREE/);
      if (name !== 'everything') expect(plan, name).toMatch(/^SEARCH/);
    }
    reader.close();
    await database.close();
    for (const suffix of ['', '-wal', '-shm']) await rm(file + suffix, { force: true });
  });
});
