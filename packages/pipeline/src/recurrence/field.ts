import type { CronDialect } from '../timer/timer.js';
import { CronError, type CronField } from './cron-error.js';
import {
  type CronWarning,
  type DayToken,
  FIRST_YEAR,
  LAST_YEAR,
  type PlainItem,
  type WeekdayToken,
} from './expression.js';

/**
 * One field of a cron text, read strictly: every list item is one of the listed forms or is refused with its
 * position. Weekday digits leave here as 0 (Sunday) to 6, or 7 where a crontab range ends on Sunday.
 */
export interface FieldText {
  readonly name: Exclude<CronField, 'expression' | 'timezone'>;
  readonly text: string;
  /** Where it starts in the whole text. */
  readonly position: number;
}

export interface ParsedField {
  readonly plain: readonly PlainItem[];
  readonly tokens: readonly (DayToken | WeekdayToken)[];
  /** `*`, `?` or `*` with step 1: leaves the other day field to decide. */
  readonly unrestricted: boolean;
  readonly question: boolean;
  /** A weekday was written as a digit. */
  readonly digits: boolean;
  readonly warnings: readonly CronWarning[];
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

/** First and last value as written, how many there are, and what the errors say is right. */
const LIMITS: Record<FieldText['name'], { min: number; max: number; size: number; expected: string }> = {
  seconds: { min: 0, max: 59, size: 60, expected: 'numbers from 0 to 59, *, a-b, a/n or */n, joined by commas' },
  minutes: { min: 0, max: 59, size: 60, expected: 'numbers from 0 to 59, *, a-b, a/n or */n, joined by commas' },
  hours: { min: 0, max: 23, size: 24, expected: 'numbers from 0 to 23, *, a-b, a/n or */n, joined by commas' },
  dayOfMonth: { min: 1, max: 31, size: 31, expected: 'days from 1 to 31, *, ?, a-b, a/n, */n, L, L-n, LW, nW or L-nW' },
  month: { min: 1, max: 12, size: 12, expected: 'months from 1 to 12 or JAN to DEC, *, a-b, a/n or */n' },
  dayOfWeek: {
    min: 0,
    max: 7,
    size: 7,
    expected: 'weekdays from 0 to 7 (0 and 7: Sunday) or SUN to SAT, *, ?, a-b, a/n, */n, nL or n#k',
  },
  year: {
    min: FIRST_YEAR,
    max: LAST_YEAR,
    size: LAST_YEAR - FIRST_YEAR + 1,
    expected: `years from ${FIRST_YEAR} to ${LAST_YEAR}, *, a-b, a/n or */n`,
  },
};
const QUARTZ_WEEKDAY = {
  min: 1,
  max: 7,
  size: 7,
  expected: 'weekdays from 1 (Sunday) to 7 (Saturday) or SUN to SAT, *, ?, a-b, a/n, */n, nL or n#k',
};

const PLAIN = /^(?:(\*)|([A-Z]+|\d+)(?:-([A-Z]+|\d+))?)(?:\/(\d+))?$/;
const LAST_DAY = /^L(?:-(\d+))?(W)?$/;
const NEAREST_WEEKDAY = /^(\d+)W$/;
const LAST_WEEKDAY = /^([A-Z]+|\d+)L$/;
const NTH_WEEKDAY = /^([A-Z]+|\d+)#(\d+)$/;

export function parseField(field: FieldText, dialect: CronDialect): ParsedField {
  const quartz = dialect === 'quartz';
  const limits = field.name === 'dayOfWeek' && quartz ? QUARTZ_WEEKDAY : LIMITS[field.name];
  const names = field.name === 'month' ? MONTHS : field.name === 'dayOfWeek' ? WEEKDAYS : [];
  const plain: PlainItem[] = [];
  const tokens: (DayToken | WeekdayToken)[] = [];
  const warnings: CronWarning[] = [];
  let unrestricted = false;
  let digits = false;

  if (field.text === '?' && (field.name === 'dayOfMonth' || field.name === 'dayOfWeek')) {
    return { plain: [{ kind: 'all' }], tokens, unrestricted: true, question: true, digits, warnings };
  }

  let position = field.position;
  for (const written of field.text.split(',')) {
    readItem(written, position);
    position += written.length + 1;
  }
  return { plain, tokens, unrestricted, question: false, digits, warnings };

  function readItem(written: string, at: number): void {
    const item = written.toUpperCase();
    const refuse = (expected = limits.expected, hint?: string): never => {
      throw new CronError({ field: field.name, position: at, value: written, expected, hint });
    };
    if (item === '') refuse('no empty list item');
    if (/\d{5}/.test(item)) refuse('numbers of at most four digits');

    /** The number a digit or name stands for; weekdays counted from Sunday = 0. */
    const numberOf = (text: string): number => {
      if (/^\d/.test(text)) {
        const value = Number(text);
        if (value < limits.min || value > limits.max) refuse();
        if (field.name !== 'dayOfWeek') return value;
        digits = true;
        return value - (quartz ? 1 : 0);
      }
      const index = names.indexOf(text);
      if (index < 0) {
        const short = names.find((name) => text.startsWith(name));
        refuse(
          limits.expected,
          short && text.length > 3 && /^[A-Z]+$/.test(text) ? `Names have three letters: ${short}` : undefined,
        );
      }
      return field.name === 'month' ? index + 1 : index;
    };

    if (field.name === 'dayOfMonth' && readDayToken(item, refuse)) return;
    if (field.name === 'dayOfWeek' && readWeekdayToken(item, refuse, numberOf)) return;

    const match = PLAIN.exec(item);
    if (!match) {
      const question = item.includes('?');
      refuse(question ? `? alone, and only as day of month or day of week` : limits.expected);
      return;
    }
    const [, star, first, last, stepText] = match;
    const step = stepText === undefined ? 1 : Number(stepText);
    if (step === 0) refuse('a step of at least 1');
    if (quartz && field.name !== 'year' && step > limits.max) {
      refuse(`a step of at most ${limits.max}, as Quartz allows`);
    }
    if (field.name !== 'year' && step > limits.size) refuse(`a step of at most ${limits.size}`);
    if (step === limits.size) {
      warnings.push({
        code: 'STEP_WIDER_THAN_FIELD',
        message: `${field.name}: the step in ${item} is as wide as the field, so only its first value is used`,
      });
    }
    if (star) {
      if (step === 1) {
        unrestricted = true;
        plain.push({ kind: 'all' });
        return;
      }
      const shift = field.name === 'dayOfWeek' ? limits.min : 0;
      // A crontab weekday field has seven values: 7 only repeats Sunday.
      const to = field.name === 'dayOfWeek' ? 6 : limits.max;
      plain.push({ kind: 'range', from: limits.min - shift, to, step });
      return;
    }
    const from = numberOf(first!);
    const end = limits.max - (field.name === 'dayOfWeek' && quartz ? 1 : 0);
    const to = last !== undefined ? numberOf(last) : stepText !== undefined ? end : from;
    if (from > to && field.name === 'year') refuse('a range of years that runs forwards');
    // Overnight and over the weekend ranges wrap; a crontab's minutes running backwards are a slip (field case 30).
    if (from > to && !quartz && (field.name === 'minutes' || field.name === 'seconds')) {
      refuse(`a range of ${field.name} that runs forwards`);
    }
    plain.push({ kind: 'range', from, to, step });
  }

  function readDayToken(item: string, refuse: (expected: string) => never): boolean {
    const lastDay = LAST_DAY.exec(item);
    if (lastDay) {
      const before = Number(lastDay[1] ?? 0);
      if (before > 30) refuse('an offset of at most 30 days: L-1 to L-30');
      tokens.push({ kind: 'last', before, weekday: lastDay[2] !== undefined });
      return true;
    }
    const nearest = NEAREST_WEEKDAY.exec(item);
    if (!nearest) return false;
    const day = Number(nearest[1]);
    if (day < 1 || day > 31) refuse('a day from 1 to 31 before W');
    tokens.push({ kind: 'nearestWeekday', day });
    return true;
  }

  function readWeekdayToken(
    item: string,
    refuse: (expected: string) => never,
    numberOf: (text: string) => number,
  ): boolean {
    if (item === 'L') {
      plain.push({ kind: 'range', from: 6, to: 6, step: 1 });
      return true;
    }
    const last = LAST_WEEKDAY.exec(item);
    if (last) {
      tokens.push({ kind: 'lastOf', weekday: numberOf(last[1]!) % 7 });
      return true;
    }
    const nth = NTH_WEEKDAY.exec(item);
    if (!nth) return false;
    const k = Number(nth[2]);
    if (k < 1 || k > 5) refuse('an occurrence from #1 to #5');
    tokens.push({ kind: 'nth', weekday: numberOf(nth[1]!) % 7, nth: k });
    return true;
  }
}

/** The values of plain items, ascending, each once; wrapping ranges wrap. */
export function valuesOf(name: FieldText['name'], items: readonly PlainItem[]): readonly number[] {
  if (items.some((item) => item.kind === 'all')) return ALL_VALUES[name];
  const { min, size } = LIMITS[name];
  const values = new Set<number>();
  for (const item of items) {
    if (item.kind === 'all') continue;
    const to = item.from > item.to ? item.to + size : item.to;
    for (let value = item.from; value <= to; value += item.step) values.add(((value - min) % size) + min);
  }
  return [...values].sort((a, b) => a - b);
}

const allOf = (name: FieldText['name']) => Array.from({ length: LIMITS[name].size }, (_, i) => LIMITS[name].min + i);
const ALL_VALUES: Record<FieldText['name'], readonly number[]> = {
  seconds: allOf('seconds'),
  minutes: allOf('minutes'),
  hours: allOf('hours'),
  dayOfMonth: allOf('dayOfMonth'),
  month: allOf('month'),
  dayOfWeek: allOf('dayOfWeek'),
  year: allOf('year'),
};
