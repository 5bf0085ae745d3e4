import type { MigrationInterface, QueryRunner } from 'typeorm';
import { migrationFiles } from './files.js';

type MigrationClass = new () => MigrationInterface;

/**
 * MySQL: the column, the key is there already. It commits each statement, so that a run that was cut off is repeated
 * from the start, and has no ADD … IF NOT EXISTS.
 */
const DONE_BEFORE = new Set([1060, 1061]);

/** TypeORM migrations made from `db/migrations/<engine>/*.sql`. TypeORM orders them by the 13 digits their names end in. */
export function migrationClasses(engine: 'mysql' | 'sqlite'): MigrationClass[] {
  return migrationFiles(engine).map(({ number, name, statements }) => {
    return class implements MigrationInterface {
      readonly name = `${name}-${String(number).padStart(13, '0')}`;

      async up(queryRunner: QueryRunner): Promise<void> {
        for (const statement of statements)
          await queryRunner.query(statement).catch((error) => {
            if (!DONE_BEFORE.has(error.driverError?.errno)) throw error;
          });
      }

      async down(): Promise<void> {
        throw new Error(`${name} cannot be undone: restore a backup instead`);
      }
    };
  });
}
