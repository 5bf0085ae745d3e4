import type { CalendarExpression, DayToken, WeekdayToken } from './expression.js';

/** Days of a month, counted in plain integers: no Date, no zone. Bit `d` of a mask is day `d` (1 to 31). */

/** Days since 1970-01-01 of a date in the Gregorian calendar. */
export function dayNumber(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return era * 146097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719468;
}

export function dateOf(days: number): { year: number; month: number; day: number } {
  const z = days + 719468;
  const era = Math.floor(z / 146097);
  const dayOfEra = z - era * 146097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36524) - Math.floor(dayOfEra / 146096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const m = Math.floor((5 * dayOfYear + 2) / 153);
  const month = m < 10 ? m + 3 : m - 9;
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * m + 2) / 5) + 1,
  };
}

/** The days of this month on which the expression's day fields match, months and years aside. */
export function matchingDays(expression: CalendarExpression, year: number, month: number): number {
  const first = dayNumber(year, month, 1);
  const length = dayNumber(month === 12 ? year + 1 : year, month === 12 ? 1 : month + 1, 1) - first;
  // 1970-01-01 was a Thursday (4).
  const weekdayOfFirst = (((first + 4) % 7) + 7) % 7;
  const all = (0xffffffff >>> (31 - length)) & ~1;
  const rule = expression.dayRule;
  let mask = rule === 'every' ? all : 0;
  if (rule === 'dayOfMonth' || rule === 'either') {
    for (const day of expression.days) mask |= 1 << day;
    for (const item of expression.items.dayOfMonth) mask |= dayTokenMask(item, length, weekdayOfFirst);
  }
  if (rule === 'dayOfWeek' || rule === 'either') {
    for (const weekday of expression.weekdays) mask |= daysOfWeekday(weekday, weekdayOfFirst);
    for (const item of expression.items.dayOfWeek) mask |= weekdayTokenMask(item, length, weekdayOfFirst);
  }
  return mask & all;
}

function dayTokenMask(item: DayToken | { kind: 'all' | 'range' }, length: number, weekdayOfFirst: number): number {
  if (item.kind === 'last') {
    const day = length - item.before;
    if (day < 1) return 0;
    return 1 << (item.weekday ? nearestWeekday(day, length, weekdayOfFirst) : day);
  }
  if (item.kind === 'nearestWeekday') {
    return item.day > length ? 0 : 1 << nearestWeekday(item.day, length, weekdayOfFirst);
  }
  return 0;
}

/** Monday to Friday nearest to the day, without leaving the month. */
function nearestWeekday(day: number, length: number, weekdayOfFirst: number): number {
  const weekday = (weekdayOfFirst + day - 1) % 7;
  if (weekday === 6) return day === 1 ? 3 : day - 1;
  if (weekday === 0) return day === length ? day - 2 : day + 1;
  return day;
}

function weekdayTokenMask(
  item: WeekdayToken | { kind: 'all' | 'range' },
  length: number,
  weekdayOfFirst: number,
): number {
  if (item.kind !== 'lastOf' && item.kind !== 'nth') return 0;
  const first = 1 + ((item.weekday - weekdayOfFirst + 7) % 7);
  const day = item.kind === 'nth' ? first + (item.nth - 1) * 7 : first + Math.floor((length - first) / 7) * 7;
  return day > length ? 0 : 1 << day;
}

/** All days of the month that fall on the weekday (days past the month's end may be set). */
function daysOfWeekday(weekday: number, weekdayOfFirst: number): number {
  const everySeventh = 1 | (1 << 7) | (1 << 14) | (1 << 21) | (1 << 28);
  return everySeventh << (1 + ((weekday - weekdayOfFirst + 7) % 7));
}
