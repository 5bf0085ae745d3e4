import type { CalendarExpression, DayToken, PlainItem, WeekdayToken } from './expression.js';

export interface Words {
  interval(everySeconds: number): string;
  calendar(telling: Telling): string;
}

export interface Telling {
  time: ClockTimes | Units;
  dayRule: CalendarExpression['dayRule'];
  dayOfMonth: readonly (Part | DayToken)[];
  dayOfWeek: readonly (Part | WeekdayToken)[];
  /** `null`: every month, every year. */
  months: readonly Part[] | null;
  years: readonly Part[] | null;
}

/** Few enough to name each: "02:30" or, with seconds that are not all 0, "02:30:15". */
export interface ClockTimes {
  kind: 'clock';
  times: readonly string[];
}

export interface Units {
  kind: 'units';
  /** `null` in each: all values. `seconds` is empty when it is just second 0. */
  seconds: readonly Part[] | null;
  minutes: readonly Part[] | null;
  hours: readonly Part[] | null;
}

/** One value, a run of values, or every nth of a run. `whole`: the steps divide the field evenly, so "every n" is exact. */
export type Part =
  | { kind: 'one'; value: number }
  | { kind: 'run'; from: number; to: number }
  | { kind: 'steps'; from: number; to: number; step: number; whole: boolean };

const MOST_CLOCK_TIMES = 6;

/** Decides what to say about an expression, in no language yet. */
export function telling(e: CalendarExpression): Telling {
  return {
    time: timeOf(e),
    dayRule: e.dayRule,
    dayOfMonth: e.items.dayOfMonth.flatMap<Part | DayToken>((item) => (isToken(item) ? [item] : partsOf(item, 1, 31))),
    dayOfWeek: [...runs(e.weekdays), ...e.items.dayOfWeek.filter(isToken)],
    months: e.months.length === 12 ? null : runs(e.months),
    years: e.items.year.some((item) => item.kind === 'all')
      ? null
      : e.items.year.flatMap((i) => partsOf(i, 1970, 2099)),
  };
}

function timeOf(e: CalendarExpression): ClockTimes | Units {
  const { seconds, minutes, hours } = e.items;
  const single = (items: readonly PlainItem[]) => items.every((item) => item.kind === 'range' && item.from === item.to);
  const count = e.seconds.length * e.minutes.length * e.hours.length;
  if (count <= MOST_CLOCK_TIMES && [seconds, minutes, hours].every(single)) {
    const showSeconds = e.seconds.some((second) => second !== 0);
    const times = e.hours.flatMap((hour) =>
      e.minutes.flatMap((minute) =>
        e.seconds.map((second) => [hour, minute, ...(showSeconds ? [second] : [])].map(twoDigits).join(':')),
      ),
    );
    return { kind: 'clock', times };
  }
  const parts = (items: readonly PlainItem[], max: number) =>
    items.some((item) => item.kind === 'all') ? null : items.flatMap((item) => partsOf(item, 0, max));
  const onlyZero = e.seconds.length === 1 && e.seconds[0] === 0;
  return {
    kind: 'units',
    seconds: onlyZero ? [] : parts(seconds, 59),
    minutes: parts(minutes, 59),
    hours: parts(hours, 23),
  };
}

/** A wrapping range is told as it was written: 22 to 2. */
function partsOf(item: PlainItem, min: number, max: number): Part[] {
  if (item.kind === 'all') return [{ kind: 'run', from: min, to: max }];
  const { from, to, step } = item;
  const size = max - min + 1;
  const span = (to - from + size) % size;
  if (from === to || step > span) return [{ kind: 'one', value: from }];
  if (step === 1) return [{ kind: 'run', from, to }];
  const whole = from === min && to === max && size % step === 0;
  return [{ kind: 'steps', from, to, step, whole }];
}

/** Values as runs of three or more, and single ones: weekdays and months are few enough to be named. */
function runs(values: readonly number[]): Part[] {
  const parts: Part[] = [];
  for (let i = 0; i < values.length; ) {
    let last = i;
    while (values[last + 1] === values[last]! + 1) last++;
    if (last - i >= 2) {
      parts.push({ kind: 'run', from: values[i]!, to: values[last]! });
      i = last + 1;
    } else {
      parts.push({ kind: 'one', value: values[i]! });
      i++;
    }
  }
  return parts;
}

function isToken<T extends DayToken | WeekdayToken>(item: PlainItem | T): item is T {
  return item.kind !== 'all' && item.kind !== 'range';
}

export function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
