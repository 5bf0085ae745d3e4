import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type JobsWorld, jobsContract, startMariaDb, storesContract } from '@xtimer/testkit';
import { openEngine } from './database.js';
import { openDatabase } from './index.js';
import { affected } from './work.js';

const bucketsNum = 4;

async function worldOn(url: string, close: () => Promise<unknown>): Promise<JobsWorld> {
  const open = async () => {
    const database = await openDatabase({ url, bucketsNum });
    await database.migrate();
    return database;
  };
  const nextTopicId = async (topicId: number) => {
    const engine = await openEngine({ url });
    await engine.statements(() =>
      engine.kind === 'sqlite'
        ? affected("UPDATE sqlite_sequence SET seq = ? WHERE name = 'topic'", topicId - 1)
        : affected(`ALTER TABLE topic AUTO_INCREMENT = ${topicId}`),
    );
    await engine.close();
  };
  return { bucketsNum, open, nextTopicId, close: () => close().then(() => {}) };
}

async function sqlite() {
  const folder = await mkdtemp(join(tmpdir(), 'xtimer-sqlite-'));
  return worldOn(`sqlite:${join(folder, 'new folder', 'xtimer.db')}`, () => rm(folder, { recursive: true }));
}

async function mysql() {
  const server = await startMariaDb();
  return server && worldOn(server.url, server.stop);
}

const MYSQL = process.env.XTIMER_TEST_MYSQL_URL ? 'XTIMER_TEST_MYSQL_URL' : 'MariaDB';

storesContract('SQLite', sqlite);
storesContract(MYSQL, mysql);
jobsContract('SQLite', sqlite);
jobsContract(MYSQL, mysql);
