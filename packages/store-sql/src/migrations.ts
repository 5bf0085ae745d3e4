import type { MigrationInterface, QueryRunner } from 'typeorm';
import { migrationFiles } from './files.js';

type MigrationClass = new () => MigrationInterface;

/** TypeORM migrations made from `db/migrations/<engine>/*.sql`. TypeORM orders them by the 13 digits their names end in. */
export function migrationClasses(engine: 'mysql' | 'sqlite'): MigrationClass[] {
  return migrationFiles(engine).map(({ number, name, statements }) => {
    return class implements MigrationInterface {
      readonly name = `${name}-${String(number).padStart(13, '0')}`;

      async up(queryRunner: QueryRunner): Promise<void> {
        for (const statement of statements) await queryRunner.query(statement);
      }

      async down(): Promise<void> {
        throw new Error(`${name} cannot be undone: restore a backup instead`);
      }
    };
  });
}
