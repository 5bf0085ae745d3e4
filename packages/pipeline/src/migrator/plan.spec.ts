import { describe, expect, it } from 'vitest';
import { aTimer } from '../testing/samples.js';
import { horizonOf, STEP_MS } from './horizon.js';
import { firesBetween, firstFireAfter, runsLeft, spreadOffset } from './plan.js';

const t0 = Date.parse('2027-01-15T10:00:00Z');
const minute = 60_000;
const cron = '0 * * * * ?';

describe('the first fire', () => {
  it('lies strictly after the moment', () => {
    expect(firstFireAfter(aTimer({ cron }), t0)).toBe(t0 + minute);
    expect(firstFireAfter(aTimer({ cron }), t0 - 1)).toBe(t0);
  });

  it('is not before startAt, but may be at it', () => {
    expect(firstFireAfter(aTimer({ cron, startAt: t0 + 5 * minute }), t0)).toBe(t0 + 5 * minute);
    expect(firstFireAfter(aTimer({ cron, startAt: t0 + 5 * minute + 1 }), t0)).toBe(t0 + 6 * minute);
  });

  it('is before endAt, never at it', () => {
    expect(firstFireAfter(aTimer({ cron, endAt: t0 + minute }), t0)).toBeNull();
    expect(firstFireAfter(aTimer({ cron, endAt: t0 + minute + 1 }), t0)).toBe(t0 + minute);
  });

  it('is none when the runs are used up, or the schedule has ended', () => {
    expect(firstFireAfter(aTimer({ cron, maxRuns: 3, plannedRuns: 2 }), t0)).toBe(t0 + minute);
    expect(firstFireAfter(aTimer({ cron, maxRuns: 3, plannedRuns: 3 }), t0)).toBeNull();
    expect(firstFireAfter(aTimer({ cron: '0 0 0 1 1 ? 2026' }), t0)).toBeNull();
  });
});

describe('the fires of a window', () => {
  it('start at `from` and end before `to`', () => {
    const fires = firesBetween(aTimer({ cron }), t0, t0 + 3 * minute, 100);
    expect(fires).toEqual([t0, t0 + minute, t0 + 2 * minute]);
    expect(firesBetween(aTimer({ cron }), t0, t0, 100)).toEqual([]);
  });

  it('keep to startAt, endAt and the runs left', () => {
    const timer = aTimer({ cron, startAt: t0 + minute, endAt: t0 + 4 * minute });
    expect(firesBetween(timer, t0, t0 + 60 * minute, 100)).toEqual([1, 2, 3].map((n) => t0 + n * minute));
    expect(firesBetween(timer, t0, t0 + 60 * minute, 2)).toEqual([1, 2].map((n) => t0 + n * minute));
    expect(firesBetween(timer, t0, t0 + 60 * minute, 0)).toEqual([]);
    expect(firesBetween(timer, t0 + 4 * minute, t0 + 60 * minute, 100)).toEqual([]);
  });

  it('count what is left of maxRuns', () => {
    expect(runsLeft(aTimer())).toBe(Number.POSITIVE_INFINITY);
    expect(runsLeft(aTimer({ maxRuns: 5, plannedRuns: 2 }))).toBe(3);
    expect(runsLeft(aTimer({ maxRuns: 5, plannedRuns: 9 }))).toBe(0);
  });
});

describe('a spread', () => {
  const policies = { spreadMs: 5 * minute };
  const timer = aTimer({ timerId: 42, cron, policies });

  it('moves all fires by one offset of the timer, below its width', () => {
    const offset = spreadOffset(42, 5 * minute);
    expect(offset).toBeGreaterThan(0);
    expect(offset).toBeLessThan(5 * minute);
    expect(spreadOffset(42, 0)).toBe(0);
    const first = firstFireAfter(timer, t0)!;
    expect((first - offset) % minute).toBe(0);
    expect(first).toBeGreaterThan(t0);
    expect(first - t0).toBeLessThanOrEqual(minute);
    expect(firesBetween(timer, first, first + 3 * minute, 9)).toEqual([first, first + minute, first + 2 * minute]);
  });

  it('differs between timers', () => {
    const offsets = Array.from({ length: 100 }, (_, id) => spreadOffset(id, 60_000));
    expect(new Set(offsets).size).toBeGreaterThan(90);
    expect(offsets.filter((offset) => offset < 30_000).length).toBeGreaterThan(30);
  });

  it('keeps fires within validity', () => {
    const first = firstFireAfter(timer, t0)!;
    expect(firstFireAfter({ ...timer, endAt: first }, t0)).toBeNull();
    expect(firesBetween({ ...timer, startAt: first + 1 }, t0, first + minute, 9)).toEqual([]);
  });
});

describe('the horizon of a bucket', () => {
  it('is one to two steps ahead at any moment, and moves by one step an hour', () => {
    for (let bucket = 0; bucket < 16; bucket++) {
      const moves = new Set<number>();
      for (let at = t0; at < t0 + STEP_MS; at += minute) {
        const ahead = horizonOf(bucket, 16, at) - at;
        expect(ahead).toBeGreaterThan(STEP_MS);
        expect(ahead).toBeLessThanOrEqual(2 * STEP_MS);
        moves.add(horizonOf(bucket, 16, at));
      }
      expect(moves.size).toBeLessThanOrEqual(2);
    }
  });

  it('moves for each bucket at its own minute of the hour', () => {
    const moments = Array.from({ length: 16 }, (_, bucket) => horizonOf(bucket, 16, t0) % STEP_MS);
    expect(moments).toEqual(Array.from({ length: 16 }, (_, bucket) => (bucket * STEP_MS) / 16));
  });
});
