import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { holdSqliteFile } from './database-lock.js';

function setup() {
  const folder = mkdtempSync(path.join(tmpdir(), 'xtimer-lock-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'data', 'xtimer.db');
  return { url: `sqlite:${file}`, lock: `${file}.lock` };
}

it('holds the file until it is released', () => {
  const { url, lock } = setup();
  const release = holdSqliteFile(url);
  expect(readFileSync(lock, 'utf8')).toMatch(new RegExp(`^${process.pid} `));
  release();
  expect(existsSync(lock)).toBe(false);
});

it('is refused while another process lives, and taken over once it has died', async () => {
  const { url, lock } = setup();
  const release = holdSqliteFile(url);
  const own = readFileSync(lock, 'utf8');
  const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
  await once(other, 'spawn');
  writeFileSync(lock, own.replace(String(process.pid), String(other.pid)));
  expect(() => holdSqliteFile(url)).toThrow(`in use by process ${other.pid}`);
  other.kill('SIGKILL');
  await once(other, 'exit');
  holdSqliteFile(url);
  expect(readFileSync(lock, 'utf8')).toBe(own);
  release();
});

it('is taken over after a reboot, whoever has the number now', () => {
  const { url, lock } = setup();
  holdSqliteFile(url)();
  writeFileSync(lock, `${process.ppid} another-boot`);
  const release = holdSqliteFile(url);
  expect(readFileSync(lock, 'utf8')).toMatch(new RegExp(`^${process.pid} `));
  release();
});
