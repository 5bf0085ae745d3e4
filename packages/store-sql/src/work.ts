/**
 * A piece of work on the database: a generator that yields statements and receives their answers. The same
 * code runs on MySQL, one round trip per statement, and on SQLite in one go without an `await`, so that
 * nothing of another request slips into its transaction.
 */
export type Work<T> = Generator<Statement, T, Answer>;

export interface Statement {
  sql: string;
  params: readonly unknown[];
  /** A SELECT, or RETURNING. */
  reads: boolean;
}

export interface Answer {
  rows: unknown[];
  /** Rows matched by a write. */
  affected: number;
  /** Auto-increment value of an INSERT. */
  insertId: number;
}

export function* rows<Row>(sql: string, ...params: unknown[]): Work<Row[]> {
  return (yield { sql, params, reads: true }).rows as Row[];
}

export function* affected(sql: string, ...params: unknown[]): Work<number> {
  return (yield { sql, params, reads: false }).affected;
}

export function* insertedId(sql: string, ...params: unknown[]): Work<number> {
  return (yield { sql, params, reads: false }).insertId;
}
