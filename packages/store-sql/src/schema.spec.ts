import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startMariaDb } from '@xtimer/testkit';
import Libsql from 'libsql';
import mysql from 'mysql2/promise';
import { describe, expect, it } from 'vitest';
import { migrationFiles } from './files.js';
import { openDatabase } from './index.js';

const schema = (engine: string): string => join(import.meta.dirname, `../../../db/schema/${engine}.sql`);

/** `vitest -u` writes the files anew. */
describe('db/schema is what the migrations make', () => {
  it('SQLite', async () => {
    const file = join(tmpdir(), `xtimer-${randomUUID()}.db`);
    const database = await openDatabase({ url: `sqlite:${file}`, bucketsNum: 4 });
    await database.migrate();
    await database.close();
    const reader = new Libsql(file);
    const made = reader
      .prepare(
        `SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY tbl_name, type DESC, name`,
      )
      .all([]) as { sql: string }[];
    reader.close();
    for (const suffix of ['', '-wal', '-shm']) await rm(file + suffix, { force: true });
    await expect(`${made.map(({ sql }) => `${sql};`).join('\n\n')}\n`).toMatchFileSnapshot(schema('sqlite'));
  });

  it('MariaDB', async (context) => {
    // A real MySQL prints its schema in other words.
    const server = await startMariaDb({ privately: true });
    if (!server) return context.skip();
    const database = await openDatabase({ url: server.url, bucketsNum: 4 });
    await database.migrate();
    await database.close();
    const reader = await mysql.createConnection(server.url);
    const [tables] = await reader.query<mysql.RowDataPacket[]>('SHOW TABLES');
    const made: string[] = [];
    for (const table of tables.map((row) => String(Object.values(row)[0])).sort()) {
      const [[row]] = await reader.query<mysql.RowDataPacket[]>('SHOW CREATE TABLE ??', [table]);
      made.push(`${row?.['Create Table'].replace(/ AUTO_INCREMENT=\d+/, '')};`);
    }
    await reader.end();
    await server.stop();
    await expect(`${made.join('\n\n')}\n`).toMatchFileSnapshot(schema('mysql'));
  });

  it('the engines have the same migrations', () => {
    const names = (engine: 'mysql' | 'sqlite') => migrationFiles(engine).map(({ name }) => name);
    expect(names('sqlite')).toEqual(names('mysql'));
    expect(migrationFiles('mysql').map(({ number }) => number)).toEqual(names('mysql').map((_, n) => n + 1));
  });
});
