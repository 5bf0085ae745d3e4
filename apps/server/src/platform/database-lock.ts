import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { StartError } from './start-error.js';

/**
 * Holds a SQLite file for this process: beside it lies `<file>.lock` with our pid and this boot of the host. Two servers on one file would
 * each think that they are alone, and call everything twice. Answers the release; throws `StartError` when another
 * living process holds it. What a killed process left is taken over.
 */
export function holdSqliteFile(url: string): () => void {
  const file = path.resolve(url.slice('sqlite:'.length));
  const lock = `${file}.lock`;
  mkdirSync(path.dirname(file), { recursive: true });
  for (let attempt = 0; ; attempt++) {
    try {
      writeFileSync(lock, `${process.pid} ${bootId()}`, { flag: 'wx' });
      return () => rmSync(lock, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || attempt > 5) throw error;
    }
    const holder = holderOf(lock);
    if (holder !== null && holder !== process.pid && isAlive(holder)) {
      throw new StartError(
        `${file} is in use by process ${holder}: stop that one, or set XTIMER_DATABASE_URL to another file (several nodes need MySQL and Redis)`,
      );
    }
    rmSync(lock, { force: true });
  }
}

function holderOf(lock: string): number | null {
  try {
    const [pid, boot] = readFileSync(lock, 'utf8').split(' ');
    // After a reboot the number may be anybody's.
    return boot === bootId() ? Number(pid) : null;
  } catch {
    // Released meanwhile.
    return null;
  }
}

/** Names this run of the host; empty where the system doesn't tell. */
function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
