import type { TaskRef } from '@xtimer/pipeline';
import type { Work } from './work.js';

/** Where MySQL (and MariaDB) and SQLite differ. Everything else is SQL both understand. */
export interface Dialect {
  insertIgnore: string;
  /** Locks what a transaction has read; SQLite's transactions are alone anyway. */
  forUpdate: string;
  /** The optimizer is not asked: MariaDB picks the wrong tree for tuple lists (PERFORMANCE section 0, traps 1 and 2). */
  force(index: IndexName): string;
  /** `(run_timer, timer_id)` is among the refs that `keys` puts in place of the `?`. */
  inKeys(alias: string): string;
  keys(refs: readonly TaskRef[]): unknown;
  /** The columns are among the rows that `tuples` puts in place of the `?`. */
  inTuples(...columns: string[]): string;
  tuples(rows: readonly (readonly number[])[]): unknown;
  /** DELETE up to its WHERE; the table is called `t` there. */
  deleteFrom(table: string, index?: IndexName): string;
  /** Joins tables in the order they are written in. */
  joinInOrder: string;
  /** The topic's id of a job's task; 0 for a timer's. */
  topicOf(alias: string): string;
  /** Text of a column that keeps it as bytes. */
  text(column: string): string;
  /**
   * The pair of columns lies beyond the pair of values, so that an index is read from there on: thousands may share
   * an instant. Fills its `?` from `pair`.
   */
  beyond(first: string, second: string, operator: '<' | '>'): string;
  pair(first: number, second: number): number[];
  /** The column is among the values that `list` puts in place of the `?`. */
  in(column: string): string;
  list(values: readonly (string | number)[]): unknown;
  /** Tail of an INSERT that overwrites `columns` of the row with the same `key`. */
  orUpdate(key: string, columns: readonly string[]): string;
  /** Tail of an INSERT that raises `column` of the row with the same `key`, never lowers it. */
  orRaise(key: string, column: string): string;
  planRows(rows: readonly (readonly unknown[])[]): Work<void>;
  /** Multi-row INSERT: `head` up to VALUES, `tail` behind it. Resolves to the rows written. */
  insertRows(head: string, rows: readonly (readonly unknown[])[], tail?: string): Work<number>;
  /** Runs the query for all rows: as one JSON array on MySQL, row by row on SQLite. Resolves to the rows matched. */
  updateRows(query: QueryName, rows: readonly (readonly unknown[])[]): Work<number>;
  /** The text of `queries/<engine>/<name>.sql`. */
  query(name: QueryName): string;
  /** Rows in one statement, and so in one step of the event loop on SQLite. */
  batch: number;
}

export type IndexName =
  | 'PRIMARY'
  | 'xtimer_due'
  | 'xtimer_app'
  | 'timer_task_timer'
  | 'timer_task_app'
  | 'task_retry_timer'
  | 'task_retry_due'
  | 'job_time'
  | 'topic_resumed';

export type QueryName =
  | 'advance-timers'
  | 'cancel-obsolete'
  | 'claim-jobs'
  | 'claim-tasks'
  | 'finish-tasks'
  | 'forget-retries'
  | 'index-retries'
  | 'move-slots'
  | 'plan-tasks'
  | 'replay-tasks'
  | 'take-timers';

/** An open database. Both calls reject with `StoreUnavailableError` when it does not answer in time. */
export interface Engine {
  kind: 'sqlite' | 'mysql' | 'mariadb';
  dialect: Dialect;
  /** All or nothing. `work` may be called again after a deadlock. */
  transaction<T>(work: () => Work<T>): Promise<T>;
  /** Each statement for itself on MySQL, which saves two round trips; one transaction on SQLite, which saves time. */
  statements<T>(work: () => Work<T>): Promise<T>;
  /** Lets other work of this process run between two batches. */
  breathe(): Promise<void>;
  /** The database's clock, epoch ms with a fraction. */
  time(): Promise<number>;
  migrate(): Promise<void>;
  close(): Promise<void>;
}
