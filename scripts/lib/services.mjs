/**
 * The database, Redis and browser the suites need: private ones, on free ports of 127.0.0.1, data in one temp folder.
 * Local programs first; on Debian as root apt-get brings them; then docker; what is left is named as missing.
 * A service whose XTIMER_TEST_…_URL is already set is used as it is.
 */
import { accessSync, constants, mkdirSync } from 'node:fs';
import path from 'node:path';
import { end, freePort, run, start, until } from './processes.mjs';
import { say } from './repo.mjs';

const asRoot = process.getuid?.() === 0;

export const SERVICES = {
  mysql: {
    program: ['mariadbd'],
    package: 'mariadb-server',
    suites: 'MySQL/MariaDB',
    local: mariadb,
    docker: dockerMysql,
  },
  redis: { program: ['redis-server'], package: 'redis-server', suites: 'Redis', local: redis, docker: dockerRedis },
  chromium: { program: ['chromium', 'chromium-browser', 'google-chrome'], package: 'chromium', suites: 'browser' },
};

const URL_OF = { mysql: 'XTIMER_TEST_MYSQL_URL', redis: 'XTIMER_TEST_REDIS_URL', chromium: 'XTIMER_TEST_CHROMIUM' };

/** → `env` for the suites, `missing` services with why, and `down()`, which may be called at any time. */
export async function bringUp(folder) {
  // Debian keeps mariadbd in an sbin folder, which only root has in its PATH.
  process.env.PATH += ['/usr/local/sbin', '/usr/sbin', '/sbin'].map((dir) => path.delimiter + dir).join('');
  const wanted = Object.keys(SERVICES).filter((name) => !process.env[URL_OF[name]]);
  await installWithApt(wanted.filter((name) => !programOf(name)));

  const env = {};
  const missing = [];
  const running = [];
  const down = () => Promise.all(running.splice(0).map((service) => service.down()));
  for (const name of wanted) {
    const { local, docker, package: packageName, suites } = SERVICES[name];
    const program = programOf(name);
    try {
      if (program && !local) env[URL_OF[name]] = program;
      else if (program || (docker && (await dockerIsUsable()))) {
        const service = await (program ? local(program, path.join(folder, name)) : docker());
        running.push(service);
        env[URL_OF[name]] = service.url;
      } else missing.push(`${packageName} is not installed: the ${suites} suites are skipped`);
    } catch (error) {
      missing.push(`${packageName} did not start, the ${suites} suites are skipped: ${error.message}`);
    }
  }
  return { env, missing, down };
}

/** The full path of the first of a service's programs that PATH has. */
export function programOf(name, searchPath = process.env.PATH) {
  for (const program of SERVICES[name].program) {
    for (const folder of searchPath.split(path.delimiter)) {
      const file = path.join(folder, program);
      try {
        accessSync(file, constants.X_OK);
        return file;
      } catch {}
    }
  }
  return undefined;
}

async function installWithApt(names) {
  if (names.length === 0 || !asRoot) return;
  const packages = names.map((name) => SERVICES[name].package);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  if ((await run('apt-get', ['--version'], { quiet: true })).code !== 0) return;
  say(`installing ${packages.join(', ')} with apt-get…`);
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', ...packages]]) {
    const { code, output } = await run('apt-get', args, { env, quiet: true });
    if (code !== 0) return say(`apt-get ${args[0]} failed:\n${output}`);
  }
}

async function mariadb(program, folder) {
  const port = await freePort();
  const common = [
    '--no-defaults',
    ...(asRoot ? ['--user=root'] : []),
    `--datadir=${folder}`,
    `--tmpdir=${path.dirname(folder)}`,
  ];
  const made = await run(
    'mariadb-install-db',
    [...common, '--auth-root-authentication-method=normal', '--skip-test-db'],
    { quiet: true },
  );
  if (made.code !== 0) throw new Error(made.output);
  const server = start(
    program,
    [
      ...common,
      `--socket=${folder}/mysql.sock`,
      `--pid-file=${folder}/mysql.pid`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      '--skip-name-resolve',
      '--skip-log-bin',
      // The data is thrown away, so nothing has to survive a power cut.
      '--innodb-flush-log-at-trx-commit=0',
    ],
    { quiet: true },
  );
  const url = `mysql://root@127.0.0.1:${port}/xtimer_test`;
  await mysqlAnswers(url, server);
  return { url, down: () => end(server) };
}

async function redis(program, folder) {
  mkdirSync(folder);
  const port = await freePort();
  const args = ['--port', port, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'];
  const server = start(program, args.map(String), { quiet: true });
  const url = `redis://127.0.0.1:${port}`;
  await redisAnswers(url, server);
  return { url, down: () => end(server) };
}

let dockerAnswer;
const dockerIsUsable = async () => {
  dockerAnswer ??= run('docker', ['info'], { quiet: true, timeoutMs: 15_000 });
  return (await dockerAnswer).code === 0;
};

async function container(image, innerPort, args = []) {
  const port = await freePort();
  say(`starting ${image} with docker…`);
  const name = `xtimer-test-${port}`;
  const publish = `127.0.0.1:${port}:${innerPort}`;
  const command = ['run', '-d', '--rm', '--name', name, '-p', publish, ...args, image];
  const { code, output } = await run('docker', command, { quiet: true });
  if (code !== 0) throw new Error(output);
  return { port, down: () => run('docker', ['rm', '-f', name], { quiet: true }) };
}

async function dockerMysql() {
  const { port, down } = await container('mysql:8', 3306, ['-e', 'MYSQL_ALLOW_EMPTY_PASSWORD=yes']);
  const url = `mysql://root@127.0.0.1:${port}/xtimer_test`;
  return { url, down: await answersOr(down, mysqlAnswers(url)) };
}

async function dockerRedis() {
  const { port, down } = await container('redis:7', 6379);
  const url = `redis://127.0.0.1:${port}`;
  return { url, down: await answersOr(down, redisAnswers(url)) };
}

/** A container that never answers must not outlive the attempt. */
async function answersOr(down, answers) {
  try {
    await answers;
    return down;
  } catch (error) {
    await down();
    throw error;
  }
}

// The drivers are the project's own, so they are loaded late: on a bare clone they are not there yet.

const openMysql = async (url) => (await import('mysql2/promise')).createConnection(url);

async function openRedis(url) {
  const { Redis } = await import('ioredis');
  const client = new Redis(url, { lazyConnect: true, retryStrategy: null, maxRetriesPerRequest: 0 });
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** A first start initialises the data folder, in a container for longer than a minute on a slow disk. */
async function mysqlAnswers(url, child) {
  const server = new URL(url);
  const database = server.pathname.slice(1);
  server.pathname = '';
  const create = async () => {
    const connection = await openMysql(server.href);
    await connection.query(`CREATE DATABASE IF NOT EXISTS ${database}`);
    await connection.end();
    return true;
  };
  await until(create, { what: 'the database', withinMs: 120_000, everyMs: 100, child });
}

async function redisAnswers(url, child) {
  const ping = async () => {
    const client = await openRedis(url);
    const answer = await client.ping();
    client.disconnect();
    return answer === 'PONG';
  };
  await until(ping, { what: 'redis', child });
}

/** What stands behind the two URLs, for the line that tells what a run covered: `MariaDB 10.11.14`, `Redis 7.0.15`. */
export async function versionsOf(env) {
  const versions = [];
  if (env.XTIMER_TEST_MYSQL_URL) {
    const connection = await openMysql(env.XTIMER_TEST_MYSQL_URL);
    const [[{ version }]] = await connection.query('SELECT VERSION() AS version');
    await connection.end();
    versions.push(`${/mariadb/i.test(version) ? 'MariaDB' : 'MySQL'} ${version.split('-')[0]}`);
  }
  if (env.XTIMER_TEST_REDIS_URL) {
    const client = await openRedis(env.XTIMER_TEST_REDIS_URL);
    const info = await client.info('server');
    client.disconnect();
    versions.push(`Redis ${info.match(/redis_version:(\S+)/)[1]}`);
  }
  return versions;
}
