import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { QueryName } from './dialect.js';

const here = dirname(fileURLToPath(import.meta.url));

/** Reads `queries/<engine>/*.sql`, which lies beside both `src` and `dist`. Comments are left out. */
export function queryFiles(engine: 'mysql' | 'sqlite'): (name: QueryName) => string {
  const folder = join(here, '..', 'queries', engine);
  const texts = new Map(
    readdirSync(folder)
      .filter((file) => file.endsWith('.sql'))
      .map((file) => [file.slice(0, -'.sql'.length), withoutComments(readFileSync(join(folder, file), 'utf8'))]),
  );
  return (name) => {
    const text = texts.get(name);
    if (text === undefined) throw new Error(`There is no queries/${engine}/${name}.sql`);
    return text;
  };
}

export interface MigrationFile {
  number: number;
  /** `0001-foundation` */
  name: string;
  statements: string[];
}

export function migrationFiles(engine: 'mysql' | 'sqlite'): MigrationFile[] {
  const folder = join(findUpward('db/migrations'), engine);
  return readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => ({
      number: Number.parseInt(file, 10),
      name: file.slice(0, -'.sql'.length),
      statements: withoutComments(readFileSync(join(folder, file), 'utf8'))
        .split(/;\s*(?:\n|$)/)
        .map((statement) => statement.trim())
        .filter((statement) => statement !== ''),
    }));
}

function findUpward(path: string): string {
  for (let folder = here; ; folder = dirname(folder)) {
    if (existsSync(join(folder, path))) return join(folder, path);
    if (folder === dirname(folder)) throw new Error(`${path} was not found in any folder above the store's code`);
  }
}

const withoutComments = (sql: string): string => sql.replace(/^\s*--.*$/gm, '').trim();
