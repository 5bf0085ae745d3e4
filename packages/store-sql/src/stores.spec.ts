import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type StoresWorld, startMariaDb, storesContract } from '@xtimer/testkit';
import { openDatabase } from './index.js';

const bucketsNum = 4;

async function worldOn(url: string, close: () => Promise<void>): Promise<StoresWorld> {
  const open = async () => {
    const database = await openDatabase({ url, bucketsNum });
    await database.migrate();
    return database;
  };
  return { bucketsNum, open, close };
}

storesContract('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'xtimer-sqlite-'));
  return worldOn(`sqlite:${join(folder, 'new folder', 'xtimer.db')}`, () => rm(folder, { recursive: true }));
});

storesContract(process.env.XTIMER_TEST_MYSQL_URL ? 'XTIMER_TEST_MYSQL_URL' : 'MariaDB', async () => {
  const server = await startMariaDb();
  return server && worldOn(server.url, server.stop);
});
