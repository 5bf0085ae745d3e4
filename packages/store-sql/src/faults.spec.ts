import { setTimeout as sleep } from 'node:timers/promises';
import { StoreUnavailableError } from '@xtimer/pipeline';
import { startMariaDb, type TestMysql } from '@xtimer/testkit';
import mysql from 'mysql2/promise';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Database, databaseAddress, openDatabase } from './index.js';

const TIMEOUT_MS = 400;
describe('MariaDB in trouble', () => {
  let server: TestMysql | null;
  let url: string;
  let database: Database;

  beforeAll(async () => {
    server = await startMariaDb({ privately: true });
    if (!server) return;
    url = server.url;
    database = await openDatabase({ url, bucketsNum: 4, timeoutMs: TIMEOUT_MS, poolSize: 4 });
    await database.migrate();
  });
  beforeEach((context) => {
    if (!server) context.skip();
  });
  afterAll(async () => {
    await database?.close();
    await server?.stop();
  });

  const now = 1_800_000_000_000;
  const task = { timerId: 1, runTimer: now, bucket: 1, dueAt: now };
  const node = { nodeId: 'n', host: 'h', version: '1', roles: [], bucketsNum: 4, startedAt: now };
  /** A read, a write, a transaction, and a batch of each kind. */
  const calls = (): Promise<unknown>[] => [
    database.timers.find(1, null),
    database.timers.advance([{ timerId: 1, version: 1, from: null, to: null, planned: 0 }]),
    database.tasks.plan([{ ...task, app: 'a', version: 1, origin: 1, payload: null }]),
    database.tasks.claim([task], { claimId: Math.floor(Math.random() * 2 ** 52), nodeId: 'n', now, dueBy: now }),
    database.tasks.unclaim(1, [task]),
    database.tasks.notRun({ buckets: [1], from: now, to: now + 1, after: null, limit: 1 }),
    database.tasks.heartbeat(node, now, 1000),
    database.tasks.recoverDead(now, 10),
    database.settings.setIfAbsent('a', 'b'),
    database.timeSource.time(),
  ];
  /** What each call came to, and how long the slowest took. */
  async function outcomes() {
    const started = performance.now();
    const settled = await Promise.allSettled(calls());
    return {
      reasons: settled.map((each) => (each.status === 'rejected' ? each.reason : null)),
      ms: performance.now() - started,
    };
  }
  async function worksAgain(): Promise<void> {
    for (let tries = 0; ; tries++) {
      const { reasons } = await outcomes();
      if (reasons.every((reason) => reason === null)) return;
      if (tries === 20) throw reasons.find((reason) => reason !== null);
      await sleep(50);
    }
  }

  it('frozen: every call rejects in its time and works again afterwards', async () => {
    await worksAgain();
    server?.freeze();
    try {
      for (let round = 0; round < 3; round++) {
        const { reasons, ms } = await outcomes();
        for (const reason of reasons) expect(reason).toBeInstanceOf(StoreUnavailableError);
        expect(ms).toBeLessThan(TIMEOUT_MS + 300);
      }
    } finally {
      server?.thaw();
    }
    await worksAgain();
  });

  it('a claim that was on its way when we gave up takes nothing after unclaim', async () => {
    const timer = await database.timers.create({
      app: 'late',
      name: 'n',
      description: '',
      status: 2,
      statusReason: null,
      cron: '* * * * *',
      cronDialect: 'auto',
      timezone: 'UTC',
      notifyHttpParam: { method: 'GET', url: 'http://a.example', header: {}, body: null },
      policies: {} as never,
      nextFireAt: null,
      plannedRuns: 0,
      startAt: null,
      endAt: null,
      maxRuns: null,
      toggledAt: null,
      createdAt: now,
      updatedAt: now,
      createdBy: '',
      updatedBy: '',
    });
    const planned = { ...task, timerId: timer.timerId, runTimer: now + 5000, dueAt: now + 5000 };
    await database.tasks.plan([{ ...planned, app: 'late', version: 1, origin: 1, payload: null }]);
    const admin = await mysql.createConnection(url);
    try {
      // Somebody holds the row: the claim's statement waits in the server, longer than we do.
      await admin.query('START TRANSACTION');
      await admin.query('SELECT * FROM timer_task WHERE run_timer = ? FOR UPDATE', [planned.runTimer]);
      const right = { claimId: 4711, nodeId: 'n', now, dueBy: now + 10_000 };
      await expect(database.tasks.claim([planned], right)).rejects.toThrow(StoreUnavailableError);
      // Only the record goes here: the row itself is still locked.
      await database.tasks.unclaim(right.claimId, []);
      await admin.query('COMMIT');
      for (let waits = 1; waits > 0; await sleep(20)) {
        const [list] = await admin.query<mysql.RowDataPacket[]>('SHOW PROCESSLIST');
        waits = list.filter((each) => /timer_task/.test(each.Info ?? '')).length;
      }
      expect(await database.tasks.find(planned)).toMatchObject({ status: 0, attempt: 0 });
      expect(await database.tasks.claim([planned], { ...right, claimId: 4712 })).toHaveLength(1);
    } finally {
      await admin.end();
    }
  });

  it('more calls than connections: all are answered', async () => {
    const settled = await Promise.all(Array.from({ length: 20 }, calls).flat());
    expect(settled).toHaveLength(200);
  });

  it('every connection killed: works again by itself', async () => {
    await worksAgain();
    const admin = await mysql.createConnection(url);
    const [list] = await admin.query<mysql.RowDataPacket[]>('SHOW PROCESSLIST');
    for (const { Id } of list) if (Id !== admin.threadId) await admin.query('KILL ?', [Id]).catch(() => {});
    await admin.end();
    await worksAgain();
  });

  it('restarted: rejects while it is down, works again by itself', async () => {
    const down = server?.restart();
    let refused = false;
    const watch = (async () => {
      for (let tries = 0; tries < 200 && !refused; tries++) {
        const { reasons } = await outcomes();
        for (const reason of reasons) if (reason !== null) expect(reason).toBeInstanceOf(StoreUnavailableError);
        refused = reasons.some((reason) => reason !== null);
      }
    })();
    await Promise.all([down, watch]);
    expect(refused).toBe(true);
    await worksAgain();
  });

  it('deadlocks are tried again', async () => {
    // Two transactions over the same tasks in opposite order meet sooner or later.
    const refs = Array.from({ length: 200 }, (_, n) => ({ ...task, runTimer: now + n, dueAt: now + n }));
    await database.tasks.plan(refs.map((ref) => ({ ...ref, app: 'a', version: 1, origin: 1, payload: null })));
    const rounds = Array.from({ length: 30 }, (_, n) =>
      n % 2 ? database.tasks.cancelObsolete(refs, now) : database.tasks.unclaim(n, [...refs].reverse()),
    );
    await expect(Promise.all(rounds)).resolves.toHaveLength(30);
  });

  it('nodes that start together on an empty database migrate once', async () => {
    const admin = await mysql.createConnection(url);
    await admin.query('CREATE DATABASE together CHARACTER SET latin1');
    await admin.end();
    const nodes = await Promise.all(
      [1, 2, 3].map(() => openDatabase({ url: url.replace(/xtimer$/, 'together'), bucketsNum: 4 })),
    );
    await Promise.all(nodes.map((each) => each.migrate()));
    await Promise.all(nodes.map((each, n) => each.settings.set(`n${n}`, '🎉')));
    expect(await nodes[0]?.settings.get('n2')).toBe('🎉');
    await Promise.all(nodes.map((each) => each.close()));
  });

  it('what cannot be reached is named, without the password', async () => {
    const secret = 'top%20secret';
    const at = new URL(url);
    const cases: [string, RegExp][] = [
      [`mysql://root:${secret}@127.0.0.1:${at.port}/xtimer`, /access denied.*check user/],
      [`mysql://root:${secret}@127.0.0.1:1/xtimer`, /127\.0\.0\.1:1\/xtimer.*ECONNREFUSED/],
      [`${url}_not_there`, /does not exist; create it/],
    ];
    for (const [wrong, message] of cases) {
      const error = await openDatabase({ url: wrong, bucketsNum: 4, timeoutMs: TIMEOUT_MS }).catch((reason) => reason);
      expect(error).toBeInstanceOf(StoreUnavailableError);
      expect(error.message).toMatch(message);
      expect(JSON.stringify([error.message, error.cause?.message, error.cause])).not.toMatch(/top|secret/);
    }
  });

  it('closed: rejects at once', async () => {
    const other = await openDatabase({ url, bucketsNum: 4 });
    await other.close();
    await other.close();
    await expect(other.timers.find(1, null)).rejects.toThrow(StoreUnavailableError);
  });
});

describe('databaseAddress', () => {
  it('leaves credentials out and refuses what is no database URL', () => {
    expect(databaseAddress('mysql://a:b@db.example/x?y=z')).toBe('mysql://db.example:3306/x');
    expect(databaseAddress('sqlite:./data/x.db')).toBe('sqlite:./data/x.db');
    for (const wrong of ['', 'sqlite:', 'mysql://db.example', 'postgres://a:b@c/d', 'nonsense'])
      expect(() => databaseAddress(wrong)).toThrow(/sqlite:\.\/data\/xtimer\.db or mysql:\/\//);
  });
});
