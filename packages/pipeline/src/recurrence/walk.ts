import { dateOf, dayNumber, matchingDays } from './day-rules.js';
import { type CalendarExpression, FIRST_YEAR, LAST_YEAR } from './expression.js';

const DAY = 86_400;

/**
 * Steps over the wall times an expression matches. A wall time is seconds since 1970-01-01 00:00:00 as a clock
 * on the wall shows it; this file knows no zone.
 *
 * Promises   every answer is found in at most 130 × 12 month steps, also when there is none.
 */
export class Walk {
  private readonly nextSecond: readonly number[];
  private readonly nextMinute: readonly number[];
  private readonly nextHour: readonly number[];
  private readonly nextMonth: readonly number[];
  /** Empty: every year. */
  private readonly nextYear: readonly number[];
  private readonly firstTime: number;
  /** The last answer of `nextDay`, which holds for every day from `askedDay` to it: windows ask the same days again. */
  private askedDay = 0;
  private answeredDay = -1;

  constructor(private readonly expression: CalendarExpression) {
    this.nextSecond = nextTable(expression.seconds, 0, 60);
    this.nextMinute = nextTable(expression.minutes, 0, 60);
    this.nextHour = nextTable(expression.hours, 0, 24);
    this.nextMonth = nextTable(expression.months, 0, 13);
    const everyYear = expression.years.length === LAST_YEAR - FIRST_YEAR + 1;
    this.nextYear = everyYear ? [] : nextTable(expression.years, FIRST_YEAR, LAST_YEAR + 1);
    this.firstTime = this.nextTime(0);
  }

  /** The first matching wall time at or after `wall`; Infinity when there is none up to the last year. */
  next(wall: number): number {
    const from = Math.max(wall, 0);
    const today = Math.floor(from / DAY);
    let day = this.nextDay(today);
    if (day === today) {
      const time = this.nextTime(from - day * DAY);
      if (time >= 0) return day * DAY + time;
      day = this.nextDay(today + 1);
    }
    return day < 0 ? Infinity : day * DAY + this.firstTime;
  }

  /** Appends the matching wall times of [from, to), as `wall * 1000 - shiftMs`, until `out` holds `limit`. */
  expand(from: number, to: number, shiftMs: number, out: number[], limit: number): void {
    const { seconds, minutes, hours } = this.expression;
    for (let day = this.nextDay(Math.max(0, Math.floor(from / DAY))); day >= 0; day = this.nextDay(day + 1)) {
      const midnight = day * DAY;
      if (midnight >= to) return;
      for (const hour of hours) {
        const hourStart = midnight + hour * 3600;
        if (hourStart + 3600 <= from) continue;
        if (hourStart >= to) return;
        for (const minute of minutes) {
          const minuteStart = hourStart + minute * 60;
          if (minuteStart + 60 <= from) continue;
          if (minuteStart >= to) return;
          for (const second of seconds) {
            const wall = minuteStart + second;
            if (wall < from) continue;
            if (wall >= to || out.length >= limit) return;
            out.push(wall * 1000 - shiftMs);
          }
        }
      }
    }
  }

  /** The first matching time of day at or after `time`, seconds; -1: none left today. */
  private nextTime(time: number): number {
    const hour = Math.floor(time / 3600);
    if (this.nextHour[hour] === hour) {
      const minute = Math.floor((time - hour * 3600) / 60);
      if (this.nextMinute[minute] === minute) {
        const second = this.nextSecond[time - hour * 3600 - minute * 60]!;
        if (second >= 0) return hour * 3600 + minute * 60 + second;
      }
      const later = this.nextMinute[minute + 1]!;
      if (later >= 0) return hour * 3600 + later * 60 + this.nextSecond[0]!;
    }
    const later = this.nextHour[hour + 1]!;
    return later < 0 ? -1 : later * 3600 + this.nextMinute[0]! * 60 + this.nextSecond[0]!;
  }

  /** The first matching day at or after `day`, in days since 1970-01-01; -1: none. */
  private nextDay(day: number): number {
    if (day >= this.askedDay && day <= this.answeredDay) return this.answeredDay;
    const answer = this.searchDay(day);
    this.askedDay = day;
    this.answeredDay = answer;
    return answer;
  }

  private searchDay(from: number): number {
    let { year, month, day } = dateOf(from);
    while (year <= LAST_YEAR) {
      const wantedYear = this.nextYear[year - FIRST_YEAR] ?? year;
      if (wantedYear < 0) return -1;
      if (wantedYear > year) [year, month, day] = [wantedYear, 1, 1];
      const wantedMonth = this.nextMonth[month]!;
      if (wantedMonth < 0) {
        [year, month, day] = [year + 1, 1, 1];
        continue;
      }
      if (wantedMonth > month) [month, day] = [wantedMonth, 1];
      const mask = matchingDays(this.expression, year, month) & (-1 << day);
      // mask & -mask keeps the lowest bit; 31 - clz32 is its index.
      if (mask !== 0) return dayNumber(year, month, 31 - Math.clz32(mask & -mask));
      [month, day] = [month + 1, 1];
    }
    return -1;
  }
}

/** `table[i - first]`: the smallest of `values` (ascending) that is at least `i`, or -1; one entry past `last` included. */
function nextTable(values: readonly number[], first: number, last: number): readonly number[] {
  // Plain arrays: typed ones of this size live outside the heap, and thousands of them slow the collector down.
  const table: number[] = new Array(last - first + 2).fill(-1);
  let i = first;
  for (const value of values) {
    while (i <= value) table[i++ - first] = value;
  }
  return table;
}
