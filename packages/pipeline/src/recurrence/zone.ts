import { Lru } from './lru.js';

/**
 * Offsets of a time zone over time: the only place that knows where they come from (the ICU data of this Node
 * release, through Intl). All instants are whole epoch seconds.
 */
export interface Zone {
  /** The stretch of equal offset that holds the instant. */
  at(second: number): Stretch;
}

export interface Stretch {
  /**
   * Inclusive. The clock change itself, or, when that was more than two days before the year began, some moment
   * later on, and then `before` equals `offset`.
   */
  readonly start: number;
  /** Exclusive: the next change, or the end of the year. */
  readonly end: number;
  /** Wall time minus instant, seconds. */
  readonly offset: number;
  /** The offset just before `start`. */
  readonly before: number;
}

const DAY = 86_400;
/** A change's gap and overlap reach at most a day past it (Samoa skipped a whole day); two to be safe. */
const REACH = 2 * DAY;
/** Shorter than any stretch of equal offset since 1970: the shortest lasted seven days (Recife, October 2000). */
const PROBE = 5 * DAY;

const UTC: Zone = { at: () => UTC_STRETCH };
const UTC_STRETCH: Stretch = { start: -Infinity, end: Infinity, offset: 0, before: 0 };

/** IANA has about 600 names; each holds an Intl formatter and the years asked for. */
const zones = new Lru<string, Zone>(1_300);

/** The zone, or `null` when the name is none. */
export function zoneOf(name: string): Zone | null {
  const known = zones.get(name);
  if (known) return known;
  if (!isWellFormed(name)) return null;
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
    const { timeZone } = format.resolvedOptions();
    // Intl ignores case, IANA does not: one spelling, so that a name means one thing everywhere.
    if (timeZone !== name && timeZone.toLowerCase() === name.toLowerCase()) return null;
    return zones.set(name, timeZone === 'UTC' ? UTC : new IntlZone(format));
  } catch {
    return null;
  }
}

/** A name of the IANA database that this Node release knows, in its own spelling; `UTC` too. No offsets such as +08:00. */
export function isTimeZone(name: string): boolean {
  return zoneOf(name) !== null;
}

/** The three-letter names that are IANA's. ICU knows more (CST, IST, PST …), each with several meanings in the world. */
const SHORT_NAMES = new Set('CET EET EST GMT HST MET MST PRC ROC ROK UCT UTC WET'.split(' '));

function isWellFormed(name: string): boolean {
  if (typeof name !== 'string' || name.length > 50) return false;
  if (/^[A-Z]{3}$/.test(name)) return SHORT_NAMES.has(name);
  if (name.startsWith('SystemV/')) return false;
  return /^[A-Z][A-Za-z0-9_+-]*(\/[A-Z][A-Za-z0-9_+-]*){0,2}$/.test(name);
}

class IntlZone implements Zone {
  private readonly years = new Map<number, readonly Stretch[]>();
  private last: Stretch = { start: 0, end: 0, offset: 0, before: 0 };

  constructor(private readonly format: Intl.DateTimeFormat) {}

  at(second: number): Stretch {
    if (second >= this.last.start && second < this.last.end) return this.last;
    const year = new Date(second * 1000).getUTCFullYear();
    let stretches = this.years.get(year);
    if (!stretches) {
      stretches = this.readYear(year);
      this.years.set(year, stretches);
    }
    this.last = stretches.find((stretch) => second < stretch.end)!;
    return this.last;
  }

  /** Begins `REACH` early, so that a change at the end of December still has its true start here. */
  private readYear(year: number): Stretch[] {
    const yearEnd = Date.UTC(year + 1, 0, 1) / 1000;
    const stretches: Stretch[] = [];
    let start = Date.UTC(year, 0, 1) / 1000 - REACH;
    let offset = this.offsetAt(start);
    let before = offset;
    for (let probed = start; probed < yearEnd; ) {
      const probe = Math.min(probed + PROBE, yearEnd);
      const found = this.offsetAt(probe);
      if (found !== offset) {
        const change = this.changeBetween(probed, probe, offset);
        // At yearEnd itself the next year's list has it, because that one begins earlier.
        if (change === yearEnd) break;
        stretches.push({ start, end: change, offset, before });
        before = offset;
        start = change;
        offset = this.offsetAt(change);
        probed = change;
      } else {
        probed = probe;
      }
    }
    stretches.push({ start, end: yearEnd, offset, before });
    return stretches;
  }

  /** The first second in (from, to] whose offset is no longer `offset`. */
  private changeBetween(from: number, to: number, offset: number): number {
    let [low, high] = [from, to];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.offsetAt(middle) === offset) low = middle;
      else high = middle;
    }
    return high;
  }

  /** Reads "1/2/2027, GMT-04:30", "…, GMT-00:44:30" or "…, GMT". */
  private offsetAt(second: number): number {
    const match = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(this.format.format(second * 1000))!;
    const [, sign, hours = 0, minutes = 0, seconds = 0] = match;
    const size = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
    return sign === '-' ? -size : size;
  }
}
