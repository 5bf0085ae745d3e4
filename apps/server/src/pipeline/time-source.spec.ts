import { SharedClock, StoreUnavailableError } from '@xtimer/pipeline';
import { afterEach, expect, it, vi } from 'vitest';
import { sharedTime } from './time-source.js';

afterEach(() => void vi.restoreAllMocks());

/** A store whose clock is `aheadMs` ahead of this host's; down, it takes `timeoutMs` to say so. */
function store(aheadMs: number, timeoutMs = 0) {
  const state = { down: false, asked: 0 };
  const time = async () => {
    state.asked++;
    if (state.down) {
      await new Promise((resolve) => setTimeout(resolve, timeoutMs));
      throw new StoreUnavailableError('redis', 'no answer');
    }
    return performance.timeOrigin + performance.now() + aheadMs;
  };
  return { state, time };
}

it('follows the database while the bucket store is silent, and the store again afterwards', async () => {
  const [redis, database] = [store(10_000, 200), store(30_000)];
  const clock = new SharedClock(sharedTime(redis, database));
  const aheadMs = async () => {
    await clock.synchronize();
    return clock.now() - performance.timeOrigin - performance.now();
  };
  expect(await aheadMs()).toBeCloseTo(10_000, -1);
  expect(database.state.asked).toBe(0);

  redis.state.down = true;
  redis.state.asked = 0;
  // The wait for the silent store is not taken for distance to the database.
  expect(await aheadMs()).toBeCloseTo(30_000, -1);
  expect(redis.state.asked).toBe(1);

  redis.state.down = false;
  expect(await aheadMs()).toBeCloseTo(30_000, -1);
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + 5_000);
  expect(await aheadMs()).toBeCloseTo(10_000, -1);
});

it('has no answer when both are silent', async () => {
  const [redis, database] = [store(0), store(0)];
  redis.state.down = true;
  database.state.down = true;
  await expect(sharedTime(redis, database).time()).rejects.toThrow('no answer');
});
