import type { CronDialect } from '../timer/timer.js';

/**
 * A cron text, understood: what the walk steps over and what `describe` puts into words.
 * Weekdays are 0 (Sunday) to 6 here, whatever the dialect counts.
 */
export type CronExpression = CalendarExpression | IntervalExpression;

/** `@every`: elapsed time from 1970-01-01T00:00:00Z. Never looks at a wall clock. */
export interface IntervalExpression {
  readonly kind: 'interval';
  readonly dialect: CronDialect;
  readonly warnings: readonly CronWarning[];
  readonly everySeconds: number;
}

export interface CalendarExpression {
  readonly kind: 'calendar';
  readonly dialect: CronDialect;
  readonly warnings: readonly CronWarning[];
  /** What was written, item by item. */
  readonly items: Readonly<Record<TimeField | 'year', readonly PlainItem[]>> & {
    readonly dayOfMonth: readonly (PlainItem | DayToken)[];
    readonly dayOfWeek: readonly (PlainItem | WeekdayToken)[];
  };
  /** Value sets, ascending. `days` and `weekdays` leave out what tokens say. */
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: readonly number[];
  readonly months: readonly number[];
  readonly weekdays: readonly number[];
  readonly years: readonly number[];
  /** Which day fields decide. `either`: both are restricted, one match is enough. */
  readonly dayRule: 'every' | 'dayOfMonth' | 'dayOfWeek' | 'either';
  /** Seconds, minutes or hours contain `*` or `/`: keeps to real time over clock changes. Otherwise fixed-time. */
  readonly wildcard: boolean;
}

export type TimeField = 'seconds' | 'minutes' | 'hours' | 'month';

/** `*` and `?`, or `a`, `a-b`, `a/n`, `a-b/n`, a step over all; `from > to` wraps around the end of the field. */
export type PlainItem = { kind: 'all' } | { kind: 'range'; from: number; to: number; step: number };

export type DayToken =
  /** `L`, `L-n`, `LW`, `L-nW`: `before` days before the last; `weekday`: the nearest Monday to Friday to it. */
  | { kind: 'last'; before: number; weekday: boolean }
  /** `nW` */
  | { kind: 'nearestWeekday'; day: number };

export type WeekdayToken =
  /** `nL` */
  | { kind: 'lastOf'; weekday: number }
  /** `n#k` */
  | { kind: 'nth'; weekday: number; nth: number };

export interface CronWarning {
  code: 'QUARTZ_WEEKDAY' | 'STEP_WIDER_THAN_FIELD' | 'NEVER_FIRES';
  message: string;
}

export const FIRST_YEAR = 1970;
export const LAST_YEAR = 2099;
