import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import type * as Mysql from 'mysql2/promise';

const run = promisify(execFile);

export interface TestMysql {
  /** `mysql://…` of an empty database of its own. */
  url: string;
  /** `null`: the server is not ours (`XTIMER_TEST_MYSQL_URL`); it can be neither frozen nor restarted. */
  pid: number | null;
  /** The server stops answering, connections stay open (SIGSTOP). */
  freeze(): void;
  thaw(): void;
  /** Ends the server and starts it on the same port and data. */
  restart(): Promise<void>;
  /** Ends the server, or drops the database on a server that is not ours. */
  stop(): Promise<void>;
}

/**
 * A MySQL-protocol server for one suite: a fresh database on `XTIMER_TEST_MYSQL_URL` when that is set, else
 * a private MariaDB in a temporary folder. `null` when there is neither, after saying so; with `CI=true`
 * that is an error. `privately`: never the given server, for suites that freeze or restart it.
 */
export async function startMariaDb(options: { privately?: boolean } = {}): Promise<TestMysql | null> {
  const given = process.env.XTIMER_TEST_MYSQL_URL;
  if (given && !options.privately) return databaseOn(given);
  const path = [process.env.PATH, '/usr/sbin', '/usr/local/sbin'].join(delimiter);
  const found = path.split(delimiter).some((folder) => existsSync(join(folder, 'mariadbd')));
  if (!found) {
    const message = 'mariadbd was not found: install mariadb-server or set XTIMER_TEST_MYSQL_URL';
    if (process.env.CI === 'true') throw new Error(message);
    console.warn(`SKIPPED, ${message}`);
    return null;
  }
  return privateServer({ ...process.env, PATH: path });
}

async function privateServer(env: NodeJS.ProcessEnv): Promise<TestMysql> {
  const folder = await mkdtemp(join(tmpdir(), 'xtimer-mariadb-'));
  const user = process.getuid?.() === 0 ? ['--user=root'] : [];
  const data = join(folder, 'data');
  await run(
    'mariadb-install-db',
    [
      '--no-defaults',
      ...user,
      `--datadir=${data}`,
      `--tmpdir=${folder}`,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
    ],
    { env },
  );
  const port = await freePort();
  const root = `mysql://root@127.0.0.1:${port}`;
  let server: ChildProcess;

  async function start(): Promise<void> {
    server = spawn(
      'mariadbd',
      [
        '--no-defaults',
        ...user,
        `--datadir=${data}`,
        `--socket=${join(folder, 'socket')}`,
        `--pid-file=${join(folder, 'pid')}`,
        // A server that starts removes the temporary tables it finds, those of its neighbours too.
        `--tmpdir=${folder}`,
        `--port=${port}`,
        '--bind-address=127.0.0.1',
        '--skip-name-resolve',
        '--skip-log-bin',
        '--innodb-flush-log-at-trx-commit=0',
        '--character-set-server=utf8mb4',
      ],
      { env, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    let log = '';
    server.stderr?.on('data', (chunk) => {
      log = (log + chunk).slice(-4000);
    });
    const died = new Promise<never>((_, reject) => {
      server.once('error', reject);
      server.once('exit', (code) => reject(new Error(`mariadbd ended with ${code}:\n${log}`)));
    });
    died.catch(() => {});
    await Promise.race([answering(`${root}/`), died]);
  }

  async function end(): Promise<void> {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const gone = new Promise((resolve) => server.once('exit', resolve));
    server.kill('SIGCONT');
    server.kill('SIGTERM');
    await gone;
  }

  // A run that ends before `stop` leaves no server behind.
  process.once('exit', () => server.kill('SIGKILL'));
  await start();
  await query(`${root}/`, 'CREATE DATABASE xtimer CHARACTER SET utf8mb4');
  return {
    url: `${root}/xtimer`,
    get pid() {
      return server.pid ?? null;
    },
    freeze: () => void server.kill('SIGSTOP'),
    thaw: () => void server.kill('SIGCONT'),
    async restart() {
      await end();
      await start();
    },
    async stop() {
      await end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function databaseOn(server: string): Promise<TestMysql> {
  const url = new URL(server);
  const name = `xtimer_test_${randomBytes(6).toString('hex')}`;
  url.pathname = '/';
  await query(url.href, `CREATE DATABASE ${name} CHARACTER SET utf8mb4`);
  const notOurs = (): never => {
    throw new Error('This server is not ours: XTIMER_TEST_MYSQL_URL gives it');
  };
  const root = url.href;
  url.pathname = `/${name}`;
  return {
    url: url.href,
    pid: null,
    freeze: notOurs,
    thaw: notOurs,
    restart: notOurs,
    stop: () => query(root, `DROP DATABASE ${name}`),
  };
}

/** Loaded when a server is wanted, so that other users of the testkit do without the driver. */
const driver = async (): Promise<typeof Mysql> => import('mysql2/promise');

async function query(url: string, sql: string): Promise<void> {
  const connection = await (await driver()).createConnection(url);
  try {
    await connection.query(sql);
  } finally {
    await connection.end();
  }
}

async function answering(url: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await query(url, 'SELECT 1');
    } catch (error) {
      if (tries === 300) throw error;
      await new Promise((resume) => setTimeout(resume, 100));
    }
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}
