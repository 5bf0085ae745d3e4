import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultPolicies } from '@xtimer/pipeline';
import { startMariaDb } from '@xtimer/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Apps } from './apps.js';
import { openEngine } from './database.js';
import type { Engine } from './dialect.js';
import { SqlTimerStore } from './timers.js';
import { affected } from './work.js';

const file = join(tmpdir(), `xtimer-${randomUUID()}.db`);
const engines: Record<string, () => Promise<{ url: string; stop(): Promise<unknown> } | null>> = {
  SQLite: async () => ({
    url: `sqlite:${file}`,
    stop: () => Promise.all(['', '-wal', '-shm'].map((suffix) => rm(file + suffix, { force: true }))),
  }),
  MariaDB: startMariaDb,
};

for (const [name, start] of Object.entries(engines)) {
  describe(`rows of an older version on ${name}`, () => {
    let engine: Engine | null = null;
    let stop: () => Promise<unknown> = async () => {};
    beforeAll(async () => {
      const server = await start();
      if (!server) return;
      stop = server.stop;
      engine = await openEngine({ url: server.url });
      await engine.migrate();
    });
    afterAll(async () => {
      await engine?.close();
      await stop();
    });
    const test = (title: string, body: (engine: Engine) => Promise<void>) =>
      it(title, (context) => (engine ? body(engine) : context.skip()));

    test('a timer has every policy, those it was stored without by default', async (engine) => {
      await engine.statements(() =>
        affected(
          `INSERT INTO xtimer (app, name, name_lower, description, status, cron, cron_dialect, timezone, notify_http_param,
             policies, bucket, version, revision, planned_runs, created_at, updated_at, created_by, updated_by)
           VALUES ('a', 'n', 'n', '', 2, '', 'auto', 'UTC', '{}', '{"overlap":"skip"}', 1, 1, 1, 0, 0, 0, '', '')`,
        ),
      );
      const timers = new SqlTimerStore(engine, 4);
      const { list } = await timers.list({ app: 'a', page: 1, pageSize: 1 });
      expect(list[0]?.policies).toEqual({ ...defaultPolicies, overlap: 'skip' });
      const [definition] = await timers.definitions([list[0]?.timerId ?? 0]);
      expect(definition?.policies).toEqual({ ...defaultPolicies, overlap: 'skip' });
    });

    test('an app keeps its history for the global time until it is told otherwise', async (engine) => {
      const apps = new Apps(engine);
      await apps.ensure('b');
      expect(await apps.retentions()).toEqual([]);
      await apps.setRetention('d', 90);
      await apps.setRetention('b', 7);
      await apps.setRetention('b', 8);
      expect(await apps.retentions()).toEqual([
        { app: 'b', days: 8 },
        { app: 'd', days: 90 },
      ]);
      expect(await apps.secrets('d')).toHaveLength(1);
      await apps.setRetention('b', null);
      expect(await apps.retentions()).toEqual([{ app: 'd', days: 90 }]);
    });

    test('a migration that was cut off is repeated', async (engine) => {
      if (engine.kind === 'sqlite') return; // Its migrations are transactions.
      await engine.statements(() => affected("DELETE FROM migrations WHERE name LIKE '0002-%'"));
      await engine.migrate();
      await engine.statements(() => affected('ALTER TABLE xtimer DROP COLUMN failures_in_row'));
      await engine.statements(() => affected("DELETE FROM migrations WHERE name LIKE '0002-%'"));
      await engine.migrate();
      expect(await new SqlTimerStore(engine, 4).countFailure(1, true)).toBe(1);
    });
  });
}
