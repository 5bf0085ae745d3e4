import { CronExpressionParser } from 'cron-parser';
import type { CronDialect } from '../timer/timer.js';
import { CronError } from './cron-error.js';
import type {
  CalendarExpression,
  CronExpression,
  CronWarning,
  DayToken,
  PlainItem,
  WeekdayToken,
} from './expression.js';
import { type FieldText, valuesOf } from './field.js';
import { normalise, type ParsedFields } from './normalise.js';

const LONGEST_MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Text to expression. cron-parser gives the value sets of the plain items; tokens and years are ours. Throws `CronError`. */
export function parseExpression(cron: string, dialect: CronDialect | 'auto'): CronExpression {
  const normalised = normalise(cron, dialect);
  if (normalised.kind === 'interval') return { ...normalised, warnings: [] };
  const { texts, fields } = normalised;

  const months = valuesOf('month', fields.month.plain);
  const daysPlain = fields.dayOfMonth.plain;
  // cron-parser refuses a date that never comes (30 February); here it is valid and never fires.
  const reachable = valuesOf('dayOfMonth', daysPlain).some((day) =>
    months.some((m) => day <= LONGEST_MONTH_DAYS[m - 1]!),
  );
  const sets = plainSets(cron, [
    cronParserField('seconds', fields.seconds.plain),
    cronParserField('minutes', fields.minutes.plain),
    cronParserField('hours', fields.hours.plain),
    reachable ? cronParserField('dayOfMonth', daysPlain) : '*',
    cronParserField('month', fields.month.plain),
    cronParserField('dayOfWeek', fields.dayOfWeek.plain),
  ]);
  const tokens = { days: fields.dayOfMonth.tokens as DayToken[], weekdays: fields.dayOfWeek.tokens as WeekdayToken[] };
  return {
    kind: 'calendar',
    dialect: normalised.dialect,
    warnings: warningsOf(normalised.dialect, normalised.guessed, fields),
    items: {
      seconds: fields.seconds.plain,
      minutes: fields.minutes.plain,
      hours: fields.hours.plain,
      month: fields.month.plain,
      year: fields.year.plain,
      dayOfMonth: [...daysPlain, ...tokens.days],
      dayOfWeek: [...fields.dayOfWeek.plain, ...tokens.weekdays],
    },
    ...sets,
    days: reachable ? sets.days : [],
    weekdays: fields.dayOfWeek.plain.length > 0 ? sets.weekdays : [],
    years: valuesOf('year', fields.year.plain),
    dayRule: dayRuleOf(fields),
    wildcard: /[*/]/.test(texts.seconds + texts.minutes + texts.hours),
  };
}

/**
 * A field as cron-parser takes it. One plain item goes as it is; lists and wrapping ranges are written out, because
 * cron-parser refuses overlapping items and ranges that wrap. `*` for a field that holds tokens only.
 */
function cronParserField(name: FieldText['name'], items: readonly PlainItem[]): string {
  const [only] = items;
  if (!only || items.some((item) => item.kind === 'all')) return '*';
  if (items.length > 1 || only.kind === 'all' || only.from > only.to || only.to === only.from) {
    return valuesOf(name, items).join(',');
  }
  return `${only.from}-${only.to}${only.step === 1 ? '' : `/${only.step}`}`;
}

function plainSets(cron: string, fields: readonly string[]) {
  const numbers = (values: readonly unknown[]) => values.filter((value) => typeof value === 'number');
  try {
    // Only parsed, never asked for a date: its iterator's answers around clock changes depend on when it is asked.
    const parsed = CronExpressionParser.parse(fields.join(' ')).fields;
    return {
      seconds: numbers(parsed.second.values),
      minutes: numbers(parsed.minute.values),
      hours: numbers(parsed.hour.values),
      days: numbers(parsed.dayOfMonth.values),
      months: numbers(parsed.month.values),
      weekdays: [...new Set(numbers(parsed.dayOfWeek.values).map((day) => day % 7))].sort((a, b) => a - b),
    };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CronError({ field: 'expression', value: cron, expected: `fields cron-parser takes (${reason})` });
  }
}

function dayRuleOf({ dayOfMonth, dayOfWeek }: ParsedFields): CalendarExpression['dayRule'] {
  if (dayOfMonth.unrestricted) return dayOfWeek.unrestricted ? 'every' : 'dayOfWeek';
  return dayOfWeek.unrestricted ? 'dayOfMonth' : 'either';
}

function warningsOf(dialect: CronDialect, guessed: boolean, fields: ParsedFields): CronWarning[] {
  const warnings = Object.values(fields).flatMap((field) => field.warnings);
  if (dialect === 'quartz' && guessed && fields.dayOfWeek.digits) {
    warnings.push({
      code: 'QUARTZ_WEEKDAY',
      message:
        'dayOfWeek: digits are read as Quartz counts them (1 is Sunday, 7 is Saturday); write names such as MON, or set cronDialect to unix-seconds, if you meant 0 or 7 for Sunday',
    });
  }
  return warnings;
}
