/** Moments and durations for the screen. Moments are epoch ms; zones are IANA names. */

export interface UnitWords {
  ms: string;
  s: string;
  min: string;
  h: string;
  d: string;
}

export interface RelativeWords {
  units: UnitWords;
  now: string;
  ahead(span: string): string;
  ago(span: string): string;
}

export const viewerZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

const formats = new Map<string, Intl.DateTimeFormat>();

function formatIn(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-GB', {
      ...{ timeZone: zone, hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit' },
      ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'longOffset' },
    });
    formats.set(zone, format);
  }
  return format;
}

function partsIn(at: number, zone: string): Record<string, string> {
  return Object.fromEntries(
    formatIn(zone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
}

export function isZone(zone: string): boolean {
  try {
    formatIn(zone);
    return true;
  } catch {
    return false;
  }
}

/** `2026-10-22 17:30:00` as a clock in that zone shows it. */
export function wallClock(at: number, zone: string): string {
  const { year, month, day, hour, minute, second } = partsIn(at, zone);
  return `${year}-${month}-${day} ${hour}:${minute}:${second}`;
}

/** `UTC+8`, `UTC-3:30`, `UTC`. */
export function offsetOf(at: number, zone: string): string {
  const name = partsIn(at, zone).timeZoneName ?? 'GMT';
  return name
    .replace('GMT', 'UTC')
    .replace(
      /([+-])0?(\d+):(\d\d)/,
      (_, sign, hours, minutes) => `${sign}${hours}${minutes === '00' ? '' : `:${minutes}`}`,
    )
    .replace(/^UTC[+-]0$/, 'UTC');
}

/** Both clocks show the same at this moment, whatever the zones are called. */
export const clocksAgree = (at: number, one: string, other: string): boolean =>
  one === other || wallClock(at, one) === wallClock(at, other);

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `850 ms`, `1.24 s`, `2 min 5 s`, `3 h 10 min`, `4 d 2 h`: two units at most. */
export function duration(ms: number, units: UnitWords): string {
  const size = Math.abs(ms);
  if (size < SECOND) return `${Math.round(ms)} ${units.ms}`;
  if (size < 10 * SECOND) return `${Number((ms / SECOND).toFixed(2))} ${units.s}`;
  if (size < MINUTE) return `${Number((ms / SECOND).toFixed(1))} ${units.s}`;
  return `${ms < 0 ? '-' : ''}${wholeUnits(size, units)}`;
}

/** Whole units, the largest two: what a countdown shows. */
function wholeUnits(ms: number, units: UnitWords): string {
  const steps: [number, string][] = [
    [DAY, units.d],
    [HOUR, units.h],
    [MINUTE, units.min],
    [SECOND, units.s],
  ];
  const first = steps.findIndex(([size]) => ms >= size);
  if (first === -1) return `0 ${units.s}`;
  let rest = ms;
  return steps
    .slice(first, first + 2)
    .map(([size, unit]) => {
      const count = Math.floor(rest / size);
      rest -= count * size;
      return count > 0 ? `${count} ${unit}` : '';
    })
    .filter((part) => part !== '')
    .join(' ');
}

/** `in 3 min 20 s`, `2 d ago`, `now`. */
export function relative(at: number, now: number, words: RelativeWords): string {
  const distance = at - now;
  if (Math.abs(distance) < SECOND) return words.now;
  const span = wholeUnits(Math.abs(distance), words.units);
  return distance > 0 ? words.ahead(span) : words.ago(span);
}

/** For `<input type="datetime-local">`, in the viewer's zone; '' for none. */
export function toLocalInput(at: number | null): string {
  return at === null ? '' : wallClock(at, viewerZone).replace(' ', 'T');
}

/** `null` when the field is empty or not filled in yet. */
export function fromLocalInput(text: string): number | null {
  const at = /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) ? new Date(text).getTime() : Number.NaN;
  return Number.isNaN(at) ? null : at;
}
