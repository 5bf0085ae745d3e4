import { Cron } from 'croner';
import { describe, expect, it } from 'vitest';
import type { DstRule } from '../timer/timer.js';
import { compile } from './recurrence.js';
import { zoneOf } from './zone.js';

/** Random texts, zones and instants, the same on every run: a failure names what to ask again. */
function randomFrom(seed: number) {
  let state = seed;
  const random = () => {
    // mulberry32
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (from: number, to: number) => from + Math.floor(random() * (to - from + 1));
  const pick = <T>(of: readonly T[]): T => of[int(0, of.length - 1)]!;
  return { int, pick };
}
type Rng = ReturnType<typeof randomFrom>;

const ZONES = [
  'UTC',
  'Asia/Shanghai',
  'America/New_York',
  'Europe/Berlin',
  'Australia/Lord_Howe',
  'Pacific/Chatham',
  'Antarctica/Troll',
  'America/Santiago',
  'Africa/Cairo',
  'Asia/Kathmandu',
];
const DAY = 86_400_000;
const START = Date.parse('2027-01-01T00:00:00Z');

/** A field in words every library reads alike: no wrapping, no overlap, no step that covers everything. */
function field(rng: Rng, min: number, max: number): string {
  const low = rng.int(min, max - 2);
  const high = rng.int(low + 1, max);
  return rng.pick([
    '*',
    String(rng.int(min, max)),
    String(rng.int(min, max)),
    `${low}-${high}`,
    `${low},${high}`,
    `*/${rng.int(2, Math.max(2, Math.floor((max - min) / 2)))}`,
    `${low}-${high}/${rng.int(1, high - low)}`,
  ]);
}

function text(rng: Rng): string {
  const time = [rng.pick(['0', '0', '0', field(rng, 0, 59)]), field(rng, 0, 59), field(rng, 0, 23)];
  const days = rng.pick([
    () => ['*', '*'],
    () => [field(rng, 1, 31), '*'],
    () => ['*', field(rng, 0, 6)],
    () => [field(rng, 1, 31), field(rng, 0, 6)],
    () => [rng.pick(['L', 'LW', `${rng.int(1, 28)}W`]), '*'],
    () => ['*', rng.pick([`${rng.int(0, 6)}L`, `${rng.int(0, 6)}#${rng.int(1, 5)}`])],
  ])();
  return [...time, days[0], rng.pick(['*', '*', field(rng, 1, 12)]), days[1]].join(' ');
}

/** An instant near one of the zone's clock changes half of the time, any in ten years otherwise. */
function instant(rng: Rng, zone: string): number {
  const anywhere = START + rng.int(0, 3650 * 24 * 3600) * 1000;
  const { end } = zoneOf(zone)!.at(anywhere / 1000);
  return rng.pick([true, false]) && end < Infinity ? end * 1000 + rng.int(-2 * 86_400, 86_400) * 1000 : anywhere;
}

function ask<T>(times: number, seed: number, question: (rng: Rng, name: string) => T): void {
  for (let i = 0; i < times; i++) question(randomFrom(seed * 100_003 + i), `seed ${seed}, question ${i}`);
}

describe('recurrence', () => {
  it('agrees with croner, clock changes included', () => {
    let compared = 0;
    ask(1500, 1, (rng, name) => {
      const [cron, timezone] = [text(rng), rng.pick(ZONES)];
      const from = instant(rng, timezone);
      // Its rule "no-wildcard" is ours: what has neither * nor / in its time fields is fixed-time.
      const theirs = new Cron(cron, { timezone, fixedTimeRule: 'no-wildcard', paused: true });
      const ours = compile(cron, { timezone, cronDialect: 'unix-seconds' });
      let at: number | null = from;
      for (const expected of theirs.nextRuns(8, new Date(from))) {
        at = ours.next(at!);
        expect(at, `${name}: ${cron} in ${timezone} after ${new Date(from).toISOString()}`).toBe(expected.getTime());
        compared++;
      }
    });
    expect(compared).toBeGreaterThan(8000);
  });

  const rules: DstRule[] = [
    { gap: 'after', overlap: 'first' },
    { gap: 'skip', overlap: 'both' },
    { gap: 'shift', overlap: 'first' },
  ];
  const anySchedule = (rng: Rng) => {
    const [cron, timezone, dst] = [text(rng), rng.pick(ZONES), rng.pick(rules)];
    const recurrence = compile(cron, { timezone, cronDialect: 'unix-seconds', dst });
    return { recurrence, from: instant(rng, timezone), told: `${cron} in ${timezone}, ${JSON.stringify(dst)}` };
  };

  it('gives the same next fire wherever it is asked anew', () => {
    ask(1500, 2, (rng, name) => {
      const { recurrence, from, told } = anySchedule(rng);
      for (let at = from, i = 0; i < 12; i++) {
        const next = recurrence.next(at);
        if (next === null) break;
        expect(next).toBeGreaterThan(at);
        for (let j = 0; j < 3; j++) {
          const between = rng.int(at, next - 1);
          expect(recurrence.next(between), `${name}: ${told} at ${new Date(between).toISOString()}`).toBe(next);
        }
        at = next;
      }
    });
  });

  it('expands windows to what next gives one by one, however they are cut', () => {
    ask(600, 3, (rng, name) => {
      const { recurrence, from, told } = anySchedule(rng);
      const to = from + rng.int(1, 3 * DAY);
      const limit = rng.pick([rng.int(0, 50), 3000]);
      const single: number[] = [];
      for (
        let at = recurrence.next(from - 1);
        at !== null && at < to && single.length < limit;
        at = recurrence.next(at)
      ) {
        single.push(at);
      }
      const cut = rng.int(from, to);
      const first = recurrence.between(from, cut, limit);
      expect(recurrence.between(from, to, limit), `${name}: ${told}`).toEqual(single);
      expect([...first, ...recurrence.between(cut, to, limit - first.length)], `${name}: ${told}, cut`).toEqual(single);
    });
  });

  it('counts @every from the epoch, through clock changes', () => {
    const every = compile('@every 1h30m', { timezone: 'America/New_York' });
    const change = Date.parse('2027-03-14T07:00:00Z');
    const step = 90 * 60_000;
    const fires = every.between(change - DAY, change + DAY, 100);
    expect(fires).toHaveLength(32);
    expect(fires.every((at) => at % step === 0)).toBe(true);
    expect(every.next(fires[3]!)).toBe(fires[4]);
    expect(every.next(fires[3]! + 0.5)).toBe(fires[4]);
  });
});

describe('hostile and odd questions', () => {
  // Milliseconds on an idle machine; the bound only tells "hangs" from "answers".
  const BOUND_MS = 1000;
  it.each([
    ['a date that never comes', '0 0 30 2 *', null],
    ['a date that never comes, every second of it', '* * * 31 2 *', null],
    ['a fifth Sunday in February, last in 2088', '0 0 0 ? 2 1#5 2089-2099', null],
    ['nearest weekday to the 31st of short months', '0 0 0 31W 2,4,6,9,11 ?', null],
    ['the last day there is', '59 59 23 31 12 ? 2099', Date.parse('2100-01-01T04:59:59Z')],
    ['the longest list', `${Array.from({ length: 170 }, (_, i) => i % 60).join(',')} * * * *`, 'fires'],
  ])('answers about %s', (_, cron, expected) => {
    const started = performance.now();
    const recurrence = compile(cron, { timezone: 'America/New_York' });
    const next = recurrence.next(START);
    recurrence.between(-Infinity, Infinity, 10);
    expect(performance.now() - started).toBeLessThan(BOUND_MS);
    if (expected === 'fires') expect(next).toBeGreaterThan(START);
    else expect(next).toBe(expected);
    expect(recurrence.warnings.some((w) => w.code === 'NEVER_FIRES')).toBe(expected === null);
  });

  it('answers when every fire falls into a gap', () => {
    const dst: DstRule = { gap: 'skip', overlap: 'first' };
    const started = performance.now();
    const recurrence = compile('0 30 2 ? 3 1#2', { timezone: 'America/New_York', dst });
    expect(recurrence.next(Date.parse('2026-01-01T00:00:00Z'))).toBeNull();
    expect(performance.now() - started).toBeLessThan(BOUND_MS);
  });

  it('has no fire for instants that are none, before 1970 or after 2099', () => {
    const daily = compile('0 0 * * *', { timezone: 'Asia/Tokyo' });
    expect(daily.next(-Infinity)).toBe(Date.parse('1969-12-31T15:00:00Z'));
    expect(daily.next(Date.parse('2099-12-30T15:00:00Z'))).toBeNull();
    expect(daily.next(Infinity)).toBeNull();
    expect(daily.next(Number.NaN)).toBeNull();
    expect(daily.between(Date.parse('2099-12-29T00:00:00Z'), Infinity, 10)).toHaveLength(2);
    expect(daily.between(START, START, 10)).toEqual([]);
    expect(daily.between(START, START + DAY, 0)).toEqual([]);
  });
});
