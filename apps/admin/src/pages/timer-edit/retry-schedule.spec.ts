import { backoffMs, defaultPolicies } from '@xtimer/pipeline';
import { expect, it } from 'vitest';
import { retrySchedule } from './retry-schedule.js';

it('draws the waits that the executor makes', () => {
  for (const change of [{}, { factor: 10, maxAttempts: 9 }, { initialDelayMs: 0 }, { factor: 1, maxDelayMs: 500 }]) {
    const retry = { ...defaultPolicies.retry, ...change };
    const [first, ...later] = retrySchedule(retry);
    expect(first).toEqual({ attempt: 1, waitMs: 0, afterMs: 0 });
    expect(later.length).toBe(retry.maxAttempts - 1);
    // A random of one half leaves the jitter out.
    expect(later.map(({ waitMs }) => waitMs)).toEqual(later.map((_, i) => backoffMs(retry, i + 1, () => 0.5)));
    expect(later.at(-1)!.afterMs).toBe(later.reduce((sum, { waitMs }) => sum + waitMs, 0));
  }
});
