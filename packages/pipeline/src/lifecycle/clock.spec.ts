import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SharedClock } from './clock.js';

/** This host: `monotonic` is what performance.now says; setTimeout fires when told. */
let monotonic = 0;

beforeEach(() => {
  monotonic = 1_000;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.spyOn(performance, 'now').mockImplementation(() => monotonic);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const hostTime = () => performance.timeOrigin + monotonic;

/** Answers in turn: the way there and the way back take their time, the store's clock is off by `skew`. */
function sourceWith(skew: number, ...trips: { there: number; back: number }[]) {
  return {
    time: async () => {
      const { there, back } = trips.length > 1 ? trips.shift()! : trips[0]!;
      monotonic += there;
      const time = hostTime() + skew;
      monotonic += back;
      return time;
    },
  };
}

describe('synchronizing', () => {
  it('takes over the time of the source, whatever this host says', async () => {
    const clock = new SharedClock(sourceWith(-30_000, { there: 1, back: 1 }));
    expect(clock.now()).toBeCloseTo(hostTime(), 3);
    expect(await clock.synchronize()).toBeCloseTo(-30_000, 3);
    expect(clock.now()).toBeCloseTo(hostTime() - 30_000, 3);
    expect(await clock.synchronize()).toBe(0);
  });

  it('believes the quickest answer', async () => {
    const slow = { there: 400, back: 0 };
    const clock = new SharedClock(sourceWith(5_000, slow, { there: 1, back: 1 }, slow));
    await clock.synchronize();
    expect(clock.now() - hostTime()).toBeCloseTo(5_000, 3);
  });

  it('is off by no more than half the round trip with a source that is slow one way only', async () => {
    const clock = new SharedClock(sourceWith(1_000, { there: 300, back: 0 }));
    await clock.synchronize();
    expect(Math.abs(clock.now() - hostTime() - 1_000)).toBeLessThanOrEqual(150.001);
  });

  it('learns nothing from a difference within the uncertainty', async () => {
    const clock = new SharedClock(sourceWith(4, { there: 5, back: 5 }));
    expect(await clock.synchronize()).toBe(0);
    expect(clock.now()).toBeCloseTo(hostTime(), 3);
  });

  it('keeps its time when the source does not answer', async () => {
    const clock = new SharedClock({ time: () => Promise.reject(new Error('gone')) });
    await expect(clock.synchronize()).rejects.toThrow('gone');
    expect(clock.now()).toBeCloseTo(hostTime(), 3);
  });
});

describe('scheduling', () => {
  const pass = (ms: number) => {
    monotonic += ms;
    vi.advanceTimersByTime(ms);
  };

  it('never runs early, also when setTimeout does', () => {
    const clock = new SharedClock(sourceWith(0, { there: 0, back: 0 }));
    const runs: number[] = [];
    const at = clock.now() + 20.4;
    clock.schedule(at, () => runs.push(clock.now()));
    monotonic += 20.2;
    vi.advanceTimersByTime(21);
    expect(runs).toEqual([]);
    pass(1);
    expect(runs).toHaveLength(1);
    expect(runs[0]).toBeGreaterThanOrEqual(at);
  });

  it('runs what has passed soon, but not inside the call; and not when taken back', () => {
    const clock = new SharedClock(sourceWith(0, { there: 0, back: 0 }));
    const runs: string[] = [];
    clock.schedule(clock.now() - 1_000, () => runs.push('past'));
    const cancel = clock.schedule(clock.now() + 10, () => runs.push('taken back'));
    expect(runs).toEqual([]);
    cancel();
    pass(50);
    expect(runs).toEqual(['past']);
  });

  it('waits longer than setTimeout can count', () => {
    const clock = new SharedClock(sourceWith(0, { there: 0, back: 0 }));
    let ran = false;
    const month = 31 * 86_400_000;
    clock.schedule(clock.now() + month, () => {
      ran = true;
    });
    pass(2 ** 31 - 1);
    expect(ran).toBe(false);
    pass(month - (2 ** 31 - 1));
    expect(ran).toBe(true);
  });

  it('sleeps until the moment, or until the signal', async () => {
    const clock = new SharedClock(sourceWith(0, { there: 0, back: 0 }));
    await clock.sleepUntil(clock.now());
    const cut = new AbortController();
    const slept = clock.sleepUntil(clock.now() + 60_000, cut.signal);
    cut.abort();
    await slept;
    expect(vi.getTimerCount()).toBe(0);
    await clock.sleepUntil(clock.now() + 60_000, cut.signal);
  });
});
