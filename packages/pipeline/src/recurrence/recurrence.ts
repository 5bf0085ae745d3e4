import type { CronDialect, DstRule } from '../timer/timer.js';
import { defaultPolicies } from '../timer/timer.js';
import { CronError } from './cron-error.js';
import {
  type CalendarExpression,
  type CronExpression,
  type CronWarning,
  type IntervalExpression,
  LAST_YEAR,
} from './expression.js';
import { Lru } from './lru.js';
import { parseExpression } from './parse.js';
import { Walk } from './walk.js';
import { type Stretch, type Zone, zoneOf } from './zone.js';

/**
 * Recurrence: which instants a cron text means in a zone. docs/cron.md has the rules.
 *
 * Promises   the next fire is a function of (expression, zone, dst, instant) alone: asking anew after a restart,
 *            in windows or one by one gives the same fires. Every question is answered in bounded time.
 * Leans on   `Walk` for wall times and `Zone` for stretches of equal offset; both are cached.
 */
export interface Recurrence {
  /** The one chosen when `auto` was asked for. */
  readonly dialect: CronDialect;
  /** Readings worth showing to whoever wrote the text; empty for most. */
  readonly warnings: readonly CronWarning[];
  /** What was understood; `describe` puts it into words. */
  readonly expression: CronExpression;
  /** First fire strictly after `after` (epoch ms); `null` when there is none up to the year 2099. */
  next(after: number): number | null;
  /** Fires with `from <= t < to` (epoch ms), ascending, at most `limit`. */
  between(from: number, to: number, limit: number): number[];
}

export interface RecurrenceOptions {
  /** `auto` (default) decides by the number of fields and a `?`. */
  cronDialect?: CronDialect | 'auto';
  /** IANA name, see `isTimeZone`. */
  timezone: string;
  /** What fixed wall-clock times do at clock changes. Default: right after a gap, first pass of an overlap. */
  dst?: DstRule;
}

const DAY = 86_400;
/** Wall years 1970 to 2099 in every zone: one day wider on both sides. */
const FIRST_SECOND = -DAY;
const LAST_SECOND = Date.UTC(LAST_YEAR + 1, 0, 2) / 1000;
/** No clock change moves the wall clock by more than a day or so; beyond this a wall time is surely not reached yet. */
const FAR = 2 * DAY;

/** About 5 KB each: some 50 MB when full. */
const compiled = new Lru<string, Recurrence>(10_000);

/** Throws `CronError`. Compiled forms are shared and cached by (cron, dialect, timezone, dst). */
export function compile(cron: string, options: RecurrenceOptions): Recurrence {
  const { cronDialect = 'auto', timezone, dst = defaultPolicies.dst } = options;
  const key = `${cronDialect}\n${timezone}\n${dst.gap}\n${dst.overlap}\n${cron}`;
  const known = compiled.get(key);
  if (known) return known;
  const expression = parseExpression(cron, cronDialect);
  const zone = zoneOf(timezone);
  if (!zone) {
    const expected = 'an IANA time zone such as UTC, Asia/Shanghai or America/New_York';
    throw new CronError({ field: 'timezone', value: String(timezone), expected });
  }
  return compiled.set(
    key,
    expression.kind === 'interval'
      ? new IntervalRecurrence(expression)
      : new CalendarRecurrence(expression, zone, { ...dst }),
  );
}

class CalendarRecurrence implements Recurrence {
  readonly dialect: CronDialect;
  private readonly walk: Walk;
  private allWarnings: readonly CronWarning[] | null = null;

  constructor(
    readonly expression: CalendarExpression,
    private readonly zone: Zone,
    private readonly dst: DstRule,
  ) {
    this.dialect = expression.dialect;
    this.walk = new Walk(expression);
  }

  /** Worked out when first read, because "never fires" needs a search that firing itself does not. */
  get warnings(): readonly CronWarning[] {
    if (!this.allWarnings) {
      const never: CronWarning = { code: 'NEVER_FIRES', message: 'no date matches this schedule: it never fires' };
      const fires = this.firstFrom(FIRST_SECOND) < LAST_SECOND;
      this.allWarnings = fires ? this.expression.warnings : [...this.expression.warnings, never];
    }
    return this.allWarnings;
  }

  next(after: number): number | null {
    const second = this.firstFrom(Math.max(Math.floor(after / 1000) + 1, FIRST_SECOND));
    return second < LAST_SECOND ? second * 1000 : null;
  }

  between(from: number, to: number, limit: number): number[] {
    const fires: number[] = [];
    const end = Math.min(Math.ceil(to / 1000), LAST_SECOND);
    let cursor = Math.max(Math.ceil(from / 1000), FIRST_SECOND);
    while (cursor < end && fires.length < limit) {
      const first = this.firstFrom(cursor);
      if (first >= end) break;
      const stretch = this.zone.at(first);
      if (first < this.settledFrom(stretch)) {
        fires.push(first * 1000);
        cursor = first + 1;
        continue;
      }
      // No clock change from here to the end of the stretch: local time with one offset.
      const { offset } = stretch;
      cursor = Math.min(stretch.end, end);
      this.walk.expand(first + offset, cursor + offset, offset * 1000, fires, limit);
    }
    return fires;
  }

  /** First fire at or after `from`, epoch seconds; Infinity: none. */
  private firstFrom(from: number): number {
    for (let second = from; second < LAST_SECOND; ) {
      const stretch = this.zone.at(second);
      const fire = this.firstIn(stretch, second);
      if (fire < stretch.end) return fire;
      // Had the clock gone on unchanged, the next fire would be at `fire`; changes move it by less than FAR. Close
      // before a change the next stretch is asked itself, because it may show wall times again that lie behind us.
      second = stretch.end - second > FAR ? Math.max(stretch.end, fire - FAR) : stretch.end;
    }
    return Infinity;
  }

  /** First fire at or after `from` by the clock of this stretch; at or past its end: none in it. Infinity: none at all. */
  private firstIn({ start, offset, before }: Stretch, from: number): number {
    if (this.expression.wildcard || before === offset) return this.walk.next(from + offset) - offset;
    if (before > offset) {
      // Overlap: the wall times up to start + before have been shown once already.
      const wall = this.dst.overlap === 'first' ? Math.max(from + offset, start + before) : from + offset;
      return this.walk.next(wall) - offset;
    }
    const gapEnd = start + offset;
    const regular = this.walk.next(from + offset) - offset;
    if (this.dst.gap === 'shift') {
      const shifted = this.walk.next(from + before);
      return shifted < gapEnd ? Math.min(shifted - before, regular) : regular;
    }
    if (this.dst.gap === 'after' && from === start) {
      // Only what was missed on the date the gap ends on: a skipped day (Samoa, 2011-12-30) is not moved to the next.
      const midnight = Math.floor(gapEnd / DAY) * DAY;
      if (this.walk.next(Math.max(start + before, midnight)) < gapEnd) return start;
    }
    return regular;
  }

  /** From here on a stretch is plain: no fire depends on the change it began with. */
  private settledFrom({ start, offset, before }: Stretch): number {
    return this.expression.wildcard || before === offset ? start : start + Math.abs(offset - before);
  }
}

class IntervalRecurrence implements Recurrence {
  readonly dialect: CronDialect;
  readonly warnings: readonly CronWarning[];
  private readonly everyMs: number;

  constructor(readonly expression: IntervalExpression) {
    this.dialect = expression.dialect;
    this.warnings = expression.warnings;
    this.everyMs = expression.everySeconds * 1000;
  }

  next(after: number): number | null {
    return this.between(Math.floor(after) + 1, Infinity, 1)[0] ?? null;
  }

  between(from: number, to: number, limit: number): number[] {
    const fires: number[] = [];
    const end = Math.min(to, Date.UTC(LAST_YEAR + 1, 0, 1));
    const first = Math.ceil(Math.max(from, 0) / this.everyMs) * this.everyMs;
    for (let at = first; at < end && fires.length < limit; at += this.everyMs) fires.push(at);
    return fires;
  }
}
