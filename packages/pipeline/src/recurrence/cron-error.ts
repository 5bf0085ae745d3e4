/** The part of the schedule that is wrong; `expression`: the text as a whole. */
export type CronField =
  | 'seconds'
  | 'minutes'
  | 'hours'
  | 'dayOfMonth'
  | 'month'
  | 'dayOfWeek'
  | 'year'
  | 'expression'
  | 'timezone';

const LABEL: Record<CronField, string> = {
  seconds: 'seconds',
  minutes: 'minutes',
  hours: 'hours',
  dayOfMonth: 'day of month',
  month: 'month',
  dayOfWeek: 'day of week',
  year: 'year',
  expression: 'cron expression',
  timezone: 'time zone',
};

/** A cron text (or time zone) that is refused: what, where, and what would be right. */
export class CronError extends Error {
  readonly code = 'CRON_INVALID';
  readonly field: CronField;
  /** Index of the offending item in the text as given; `null` when it is the whole text. */
  readonly position: number | null;
  /** The offending item, cut to 60 characters. */
  readonly value: string;
  readonly expected: string;

  constructor(problem: { field: CronField; position?: number | null; value: string; expected: string; hint?: string }) {
    const value = problem.value.length > 60 ? `${problem.value.slice(0, 60)}…` : problem.value;
    const position = problem.position ?? null;
    const where = position === null ? '' : ` at position ${position}`;
    const hint = problem.hint ? `. ${problem.hint}` : '';
    super(
      `${LABEL[problem.field]}: ${JSON.stringify(value)}${where} is not valid; expected ${problem.expected}${hint}`,
    );
    this.name = 'CronError';
    this.field = problem.field;
    this.position = position;
    this.value = value;
    this.expected = problem.expected;
  }
}
