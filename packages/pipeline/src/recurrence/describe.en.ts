import type { DayToken, WeekdayToken } from './expression.js';
import type { Part, Telling, Units, Words } from './telling.js';
import { twoDigits } from './telling.js';

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = 'January February March April May June July August September October November December'.split(' ');
const ORDINALS = ['', 'first', 'second', 'third', 'fourth', 'fifth'];

export const english: Words = {
  interval: (everySeconds) => `Every ${duration(everySeconds)}, counted from 1970-01-01 00:00 UTC`,

  calendar(telling) {
    const { time } = telling;
    const days = daysIn(telling);
    const parts = [
      time.kind === 'clock' ? `at ${list(time.times)}` : unitsIn(time),
      // "Every 5 minutes" says it all; "At 02:30" does not.
      days ?? (time.kind === 'clock' || (time.hours !== null && time.hours.length > 0) ? 'every day' : null),
      telling.months && `in ${list(telling.months.map((part) => said(part, (month) => MONTHS[month - 1]!)))}`,
      telling.years && `in ${list(telling.years.map((part) => said(part, String, 'year')))}`,
    ];
    const text = parts.filter((part) => part !== null).join(', ');
    return text[0]!.toUpperCase() + text.slice(1);
  },
};

function duration(seconds: number): string {
  const units: [number, string][] = [
    [Math.floor(seconds / 3600), 'hour'],
    [Math.floor((seconds % 3600) / 60), 'minute'],
    [seconds % 60, 'second'],
  ];
  const set = units.filter(([count]) => count > 0);
  if (set.length === 1 && set[0]![0] === 1) return set[0]![1];
  return list(set.map(([count, unit]) => `${count} ${unit}${count === 1 ? '' : 's'}`));
}

function unitsIn({ seconds, minutes, hours }: Units): string {
  const parts: string[] = [];
  if (seconds === null) parts.push('every second');
  else if (seconds.length > 0) parts.push(within(seconds, 'second'));
  if (minutes !== null) parts.push(within(minutes, 'minute'));
  else if (seconds !== null) parts.push(parts.length > 0 ? 'of every minute' : 'every minute');

  const exactMinutes = minutes !== null && !isEvery(minutes);
  if (hours === null) {
    if (exactMinutes) parts.push('of every hour');
  } else if (isEvery(hours)) {
    parts.push(
      exactMinutes
        ? `of every ${ordinal(hours[0]!.step)} hour from 00`
        : `in every ${ordinal(hours[0]!.step)} hour from 00`,
    );
  } else {
    const spoken = list(hours.map((part) => said(part, twoDigits, 'hour')));
    parts.push(`${exactMinutes ? 'of' : 'during'} ${plural(hours) ? 'hours' : 'hour'} ${spoken}`);
  }
  return parts.join(', ').replaceAll(', of ', ' of ');
}

/** "every 5 minutes", "at minutes 0 and 30". */
function within(parts: readonly Part[], unit: string): string {
  if (isEvery(parts)) return `every ${parts[0]!.step} ${unit}s`;
  return `at ${unit}${plural(parts) ? 's' : ''} ${list(parts.map((part) => said(part, String, unit)))}`;
}

function isEvery(parts: readonly Part[]): parts is readonly [Extract<Part, { kind: 'steps' }>] {
  const [only] = parts;
  return parts.length === 1 && only!.kind === 'steps' && only!.whole;
}

function plural(parts: readonly Part[]): boolean {
  return parts.length > 1 || parts[0]!.kind !== 'one';
}

function said(part: Part, name: (value: number) => string, unit = 'one'): string {
  if (part.kind === 'one') return name(part.value);
  const run = `${name(part.from)} through ${name(part.to)}`;
  return part.kind === 'run' ? run : `${run} (every ${ordinal(part.step)} ${unit})`;
}

function daysIn({ dayRule, dayOfMonth, dayOfWeek }: Telling): string | null {
  const ofMonth = () => daysOfMonth(dayOfMonth);
  const ofWeek = () => `on ${list(dayOfWeek.map(weekdayPart), 'and')}`;
  switch (dayRule) {
    case 'every':
      return null;
    case 'dayOfMonth':
      return ofMonth();
    case 'dayOfWeek':
      return ofWeek();
    case 'either':
      return `${ofMonth()} or ${ofWeek()}`;
  }
}

function daysOfMonth(items: readonly (Part | DayToken)[]): string {
  const plain = items.filter((item) => item.kind === 'one' || item.kind === 'run' || item.kind === 'steps');
  const tokens = items.filter((item) => item.kind === 'last' || item.kind === 'nearestWeekday');
  const parts = tokens.map(dayToken);
  if (plain.length > 0) {
    parts.unshift(`day${plural(plain) ? 's' : ''} ${list(plain.map((part) => said(part, String, 'day')))}`);
  }
  return `on ${list(parts)} of the month`;
}

function dayToken(token: DayToken): string {
  if (token.kind === 'nearestWeekday') return `the working day (Monday to Friday) nearest day ${token.day}`;
  const { before, weekday } = token;
  if (before === 0) return weekday ? 'the last working day (Monday to Friday)' : 'the last day';
  const day = `the day ${before} day${before === 1 ? '' : 's'} before the last`;
  return weekday ? `the working day (Monday to Friday) nearest ${day}` : day;
}

function weekdayPart(part: Part | WeekdayToken): string {
  if (part.kind === 'lastOf') return `the last ${WEEKDAYS[part.weekday]} of the month`;
  if (part.kind === 'nth') return `the ${ORDINALS[part.nth]} ${WEEKDAYS[part.weekday]} of the month`;
  return said(part, (weekday) => WEEKDAYS[weekday]!);
}

function ordinal(n: number): string {
  const teen = n % 100 >= 11 && n % 100 <= 13;
  return `${n}${teen ? 'th' : (['th', 'st', 'nd', 'rd'][n % 10] ?? 'th')}`;
}

function list(parts: readonly string[], last = 'and'): string {
  return parts.length < 2 ? (parts[0] ?? '') : `${parts.slice(0, -1).join(', ')} ${last} ${parts.at(-1)}`;
}
