/**
 * Runs a command with a real MySQL: node scripts/real-mysql.mjs -- npx vitest run packages/store-sql
 *
 * Takes the `mysqld` in PATH, else Debian's own from its unstable suite (the stable one only has MariaDB), by
 * a private apt configuration: the machine's mirror, but lists, cache and files in a temporary folder, which is
 * kept for the next run. Nothing is installed. The command gets XTIMER_TEST_MYSQL_URL; its exit code is ours.
 */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import mysql from 'mysql2/promise';
import { freePort } from './lib/processes.mjs';

const command = process.argv.slice(process.argv.indexOf('--') + 1);
if (!process.argv.includes('--') || command.length === 0) {
  console.error('usage: node scripts/real-mysql.mjs -- command [argument …]');
  process.exit(2);
}
const folder = join(tmpdir(), `xtimer-real-mysql-${process.getuid?.() ?? 'user'}`);
mkdirSync(folder, { recursive: true, mode: 0o700 });

let server;
try {
  server = installed() ?? downloaded();
} catch (error) {
  console.log(`SKIPPED: no real MySQL here: ${error.stderr?.toString().trim().split('\n').at(-1) || error.message}`);
  process.exit(process.env.CI === 'true' ? 1 : 0);
}
process.exitCode = await withServer(server, (url) => run(command, { ...process.env, XTIMER_TEST_MYSQL_URL: url }));

/** A `mysqld` of this machine that is not MariaDB under another name. */
function installed() {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'];
  const binary = folders.map((each) => join(each, 'mysqld')).find((each) => existsSync(each));
  if (!binary) return null;
  const version = execFileSync(binary, ['--no-defaults', '--version'], { encoding: 'utf8' });
  return /mariadb/i.test(version) ? null : { start: [binary], options: [] };
}

function downloaded() {
  const root = join(folder, 'root');
  if (!existsSync(join(root, 'usr/sbin/mysqld'))) download(root);
  const find = (pattern) => {
    const found = readdirSync(join(root, 'usr'), { recursive: true }).find((each) => pattern.test(each));
    if (!found) throw new Error(`${pattern} is not in the packages`);
    return join(root, 'usr', found);
  };
  const loader = find(/^lib\S*\/ld-linux\S*\.so\.\d+$/);
  const libraries = [dirname(find(/\/libc\.so\.6$/)), dirname(find(/\/libprotobuf-lite\.so[^/]*$/))];
  const share = join(root, 'usr/share/mysql');
  return {
    // The system's C library is older than the server: its own loader starts it.
    start: [loader, '--library-path', [...new Set(libraries)].join(':'), join(root, 'usr/sbin/mysqld')],
    options: [
      `--basedir=${join(root, 'usr')}`,
      `--lc-messages-dir=${share}`,
      `--character-sets-dir=${join(share, 'charsets')}`,
      `--plugin-dir=${join(root, 'usr/lib/mysql/plugin')}`,
    ],
  };
}

function download(root) {
  const { uri, signedBy } = mirror();
  const etc = join(folder, 'apt');
  for (const each of ['lists/partial', 'archives/partial']) mkdirSync(join(etc, each), { recursive: true });
  const option = signedBy ? ` [signed-by=${signedBy}]` : '';
  writeFileSync(join(etc, 'sources.list'), `deb${option} ${uri} sid main\n`);
  // Nothing counts as installed, so that every library comes along.
  writeFileSync(join(etc, 'status'), '');
  const settings = {
    'Dir::Etc::sourcelist': join(etc, 'sources.list'),
    'Dir::Etc::sourceparts': '-',
    'Dir::Etc::preferencesparts': '-',
    'Dir::State::lists': join(etc, 'lists'),
    'Dir::State::status': join(etc, 'status'),
    'Dir::Cache': etc,
    'Dir::Cache::archives': join(etc, 'archives'),
    'Debug::NoLocking': '1',
    'APT::Sandbox::User': '',
    'DPkg::Post-Invoke::': '',
    'APT::Update::Post-Invoke::': '',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  const apt = (...words) =>
    execFileSync('apt-get', [...options, '-q', ...words], { stdio: ['ignore', 'ignore', 'pipe'] });
  console.log('Fetching a MySQL server from Debian unstable (about 50 MB) …');
  apt('update');
  apt('-y', '--no-install-recommends', '--download-only', 'install', 'mysql-server-core');
  const unpacked = `${root}.new`;
  rmSync(unpacked, { recursive: true, force: true });
  mkdirSync(unpacked);
  const archives = join(etc, 'archives');
  for (const file of readdirSync(archives).filter((each) => each.endsWith('.deb')))
    execFileSync('dpkg-deb', ['-x', join(archives, file), unpacked]);
  execFileSync('mv', [unpacked, root]);
  rmSync(archives, { recursive: true });
}

/** Where this machine gets its Debian packages from: the first source with a `main` component. */
function mirror() {
  const parts = '/etc/apt/sources.list.d';
  const files = [
    '/etc/apt/sources.list',
    ...(existsSync(parts) ? readdirSync(parts).map((each) => join(parts, each)) : []),
  ];
  for (const file of files.filter((each) => /\.(list|sources)$/.test(each) && existsSync(each))) {
    const text = readFileSync(file, 'utf8');
    const line = /^deb\s+(?:\[(?<options>[^\]]*)\]\s+)?(?<uri>\S+debian\/?)\s+\S+\s.*\bmain\b/m.exec(text)?.groups;
    if (line) return { uri: line.uri, signedBy: /signed-by=(\S+)/.exec(line.options ?? '')?.[1] };
    const stanza = text.split(/\n\s*\n/).find((each) => /^URIs:\s*\S+debian\/?\s*$/m.test(each));
    if (stanza)
      return { uri: /^URIs:\s*(\S+)/m.exec(stanza)?.[1], signedBy: /^Signed-By:\s*(\/\S+)/m.exec(stanza)?.[1] };
  }
  throw new Error('no Debian mirror in /etc/apt');
}

async function withServer({ start, options }, use) {
  const data = mkdtempSync(join(folder, 'data-'));
  const [binary, ...words] = start;
  const port = await freePort();
  const user = process.getuid?.() === 0 ? ['--user=root'] : [];
  const common = [
    ...words,
    '--no-defaults',
    ...user,
    ...options,
    `--datadir=${join(data, 'db')}`,
    '--secure-file-priv=NULL',
  ];
  let child;
  try {
    execFileSync(binary, [...common, '--initialize-insecure'], { stdio: ['ignore', 'ignore', 'pipe'] });
    child = spawn(
      binary,
      [
        ...common,
        `--socket=${join(data, 'socket')}`,
        `--pid-file=${join(data, 'pid')}`,
        `--port=${port}`,
        '--bind-address=127.0.0.1',
        '--mysqlx=OFF',
        '--skip-log-bin',
        '--innodb-flush-log-at-trx-commit=0',
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    let log = '';
    child.stderr.on('data', (chunk) => {
      log = (log + chunk).slice(-4000);
    });
    const url = `mysql://root@127.0.0.1:${port}/`;
    const version = await ready(url, () => {
      if (child.exitCode !== null) throw new Error(`mysqld ended with ${child.exitCode}:\n${log}`);
    });
    console.log(`MySQL ${version} on 127.0.0.1:${port}`);
    return await use(`${url}xtimer`);
  } finally {
    if (child && child.exitCode === null) {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await gone;
    }
    rmSync(data, { recursive: true, force: true });
  }
}

/** The server's version once it answers and has a database. */
async function ready(url, check) {
  for (let tries = 1; ; tries++) {
    check();
    try {
      const connection = await mysql.createConnection(url);
      await connection.query('CREATE DATABASE xtimer CHARACTER SET utf8mb4');
      const [[{ version }]] = await connection.query('SELECT VERSION() AS version');
      await connection.end();
      return version;
    } catch (error) {
      if (tries === 300) throw error;
      await new Promise((resume) => setTimeout(resume, 100));
    }
  }
}

function run([name, ...words], env) {
  return new Promise((resolve, reject) => {
    const child = spawn(name, words, { env, stdio: 'inherit' });
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
