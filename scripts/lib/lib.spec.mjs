import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { end, freePort, run, start, until } from './processes.mjs';
import { installIsDue, satisfies } from './repo.mjs';
import { add, enginesLine, summaryLine, totalsOf } from './report.mjs';
import { programOf } from './services.mjs';
import { table } from './table.mjs';

const folder = mkdtempSync(path.join(tmpdir(), 'xtimer-lib-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const test = (status, fullName = 'a test') => ({ status, fullName });

describe('the closing line', () => {
  it('sums passed, failed and skipped over all files', () => {
    const report = {
      testResults: [
        { status: 'failed', assertionResults: [test('passed'), test('failed'), test('pending')] },
        { status: 'passed', assertionResults: [test('passed'), test('todo')] },
      ],
    };
    expect(summaryLine(totalsOf(report, 1))).toBe('2 passed, 1 failed, 2 skipped');
  });

  it('counts a file that did not load as failed', () => {
    const report = { testResults: [{ status: 'failed', assertionResults: [] }] };
    expect(totalsOf(report, 1)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });

  it('counts a bad ending as failed although every test passed', () => {
    const report = { testResults: [{ status: 'passed', assertionResults: [test('passed')] }] };
    expect(totalsOf(report, 1)).toEqual({ passed: 1, failed: 1, skipped: 0 });
    expect(totalsOf(report, 0)).toEqual({ passed: 1, failed: 0, skipped: 0 });
  });

  it('counts a run that left no report as failed', () => {
    expect(totalsOf(undefined, 0).failed).toBe(1);
  });

  it('adds the checks to the suites', () => {
    expect(add({ passed: 1, failed: 0, skipped: 0 }, { passed: 2, failed: 3, skipped: 4 })).toEqual({
      passed: 3,
      failed: 3,
      skipped: 4,
    });
  });
});

describe('the engines line', () => {
  const ran = (...tests) => ({ testResults: [{ name: 'x.spec.ts', assertionResults: tests }] });

  it('names what passed, with the version of the server behind it', () => {
    const report = ran(test('passed', 'task store on mysql'), test('passed', 'task store on SQLite'));
    expect(enginesLine(report, ['MariaDB 10.11.14', 'Redis 7.0.15'])).toBe(
      'engines covered: SQLite, MariaDB 10.11.14; not covered: in-process, MySQL, Redis, Redis Cluster, Chromium',
    );
  });

  it('does not call a skipped suite covered', () => {
    expect(enginesLine(ran(test('pending', 'buckets on Redis Cluster')), [])).toMatch(/^engines covered: none/);
  });

  it('does not take the cluster for the single Redis', () => {
    const line = enginesLine(ran(test('passed', 'buckets on Redis Cluster')), ['Redis 7.0.15']);
    expect(line).toBe(
      'engines covered: Redis Cluster; not covered: in-process, SQLite, MariaDB, MySQL, Redis, Chromium',
    );
  });
});

describe('the table', () => {
  it('aligns columns, cuts long values and keeps a row on one line', () => {
    const columns = [
      ['id', (row) => row.id],
      ['text', (row) => row.text],
      ['end', () => '|'],
    ];
    const rows = [
      { id: 1, text: 'two\nlines' },
      { id: 22, text: 'long '.repeat(9) },
      { id: 3, text: '⏰ 通知' },
      { id: 4, text: null },
    ];
    expect(table(columns, rows, 9).split('\n')).toEqual([
      'id  text       end',
      '──  ─────────  ───',
      '1   two lines  |',
      '22  long lon…  |',
      '3   ⏰ 通知    |',
      '4              |',
    ]);
  });
});

describe('the Node check', () => {
  const range = '^20.19.0 || ^22.13.0 || >=24.11.0';
  it.each([
    ['20.19.0', true],
    ['20.18.3', false],
    ['21.7.0', false],
    ['22.13.1', true],
    ['22.12.9', false],
    ['23.5.0', false],
    ['24.10.0', false],
    ['24.11.0', true],
    ['26.0.0', true],
  ])('%s: %s', (version, fits) => expect(satisfies(version, range)).toBe(fits));
});

it('installs when npm never did, or the lock file is newer than what it installed', () => {
  writeFileSync(path.join(folder, 'package-lock.json'), '{}');
  expect(installIsDue(folder)).toBe(true);
  mkdirSync(path.join(folder, 'node_modules'));
  const installed = path.join(folder, 'node_modules/.package-lock.json');
  writeFileSync(installed, '{}');
  utimesSync(installed, new Date(), new Date(Date.now() + 1000));
  expect(installIsDue(folder)).toBe(false);
  utimesSync(installed, new Date(), new Date(Date.now() - 60_000));
  expect(installIsDue(folder)).toBe(true);
});

it('takes the preferred port when it is free and another one when it is not', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address();
  expect(await freePort(port)).not.toBe(port);
  taken.close();
  await once(taken, 'close');
  expect(await freePort(port)).toBe(port);
});

it('finds a program by its path, or not', () => {
  writeFileSync(path.join(folder, 'redis-server'), '', { mode: 0o755 });
  expect(programOf('redis', `/nowhere${path.delimiter}${folder}`)).toBe(path.join(folder, 'redis-server'));
  expect(programOf('mysql', folder)).toBeUndefined();
});

describe('child processes', () => {
  const node = (script, options) => run(process.execPath, ['-e', script], { quiet: true, ...options });

  it('gives exit code and output', async () => {
    expect(await node('console.log(1); process.exit(3)')).toMatchObject({
      code: 3,
      output: '1\n',
    });
  });

  it('answers for a program that does not exist', async () => {
    const { code, output } = await run('xtimer-no-such-program', [], { quiet: true });
    expect(code).toBe(127);
    expect(output).toContain('ENOENT');
  });

  it('ends what takes too long, with what it started', async () => {
    // The grandchild shares our pipe: the run would not be over while it lives.
    const forever = 'setInterval(() => {}, 1e6)';
    const script = `require('child_process').spawn(process.execPath, ['-e', '${forever}'], { stdio: 'inherit' }); ${forever}`;
    expect((await node(script, { timeoutMs: 1000 })).code).not.toBe(0);
  });

  it('kills what does not listen', async () => {
    const deaf = start(
      process.execPath,
      ['-e', "process.on('SIGTERM', () => {}); console.log('up'); setInterval(() => {}, 1e6)"],
      {
        quiet: true,
      },
    );
    await until(() => deaf.output.includes('up'), { what: 'the child', child: deaf });
    await end(deaf, { graceMs: 100 });
    expect(await deaf.ended).toMatchObject({ signal: 'SIGKILL' });
  });

  it('stops waiting for a process that has ended', async () => {
    const child = start(process.execPath, ['-e', "console.error('no disk')"], { quiet: true });
    await expect(until(() => false, { what: 'the database', child })).rejects.toThrow(/the process ended.\nno disk/);
  });
});
