import { expect, it } from 'vitest';
import { XtimerError } from './error.js';
import { retryAfterMsOf, retryDelayMs } from './retry.js';

const answered = (status: number, retryAfterMs: number | null = null) =>
  new XtimerError({ code: status * 100, status, message: 'no', retryAfterMs });
const broken = (cause: unknown) => new XtimerError({ code: 'NETWORK', message: 'no', cause });
const because = (fields: object) => new TypeError('fetch failed', { cause: Object.assign(new Error('x'), fields) });

it('repeats safe calls after what passes, and nothing else', () => {
  for (const failure of [answered(502), answered(503), answered(504), answered(429, 0), broken(because({}))]) {
    expect(retryDelayMs(true, failure, 1), failure.message).not.toBeNull();
  }
  const timeout = new XtimerError({ code: 'TIMEOUT', message: 'no' });
  for (const failure of [answered(429), answered(500), answered(400), answered(404), answered(200), timeout]) {
    expect(retryDelayMs(true, failure, 1)).toBeNull();
  }
});

it('repeats a change only when no connection came to be', () => {
  const refused = Object.assign(new Error('x'), { code: 'ECONNREFUSED', syscall: 'connect' });
  const reset = Object.assign(new Error('x'), { code: 'ECONNRESET', syscall: 'read' });
  for (const cause of [refused, because({ code: 'ENOTFOUND' }), because({ code: 'UND_ERR_CONNECT_TIMEOUT' })]) {
    expect(retryDelayMs(false, broken(cause), 1)).not.toBeNull();
  }
  const eachAddress = (...errors: Error[]) => new TypeError('fetch failed', { cause: new AggregateError(errors) });
  expect(retryDelayMs(false, broken(eachAddress(refused, refused)), 1)).not.toBeNull();
  for (const cause of [
    reset,
    eachAddress(refused, reset),
    eachAddress(),
    new TypeError('Failed to fetch'),
    undefined,
  ]) {
    expect(retryDelayMs(false, broken(cause), 1)).toBeNull();
  }
  for (const failure of [answered(503, 0), answered(429, 0)]) expect(retryDelayMs(false, failure, 1)).toBeNull();
});

it('waits longer each time within bounds, or as long as it is asked to', () => {
  const delays = (random: number) =>
    [1, 2, 3, 9].map((attempt) => retryDelayMs(true, answered(503), attempt, () => random));
  expect(delays(0)).toEqual([100, 200, 400, 2_500]);
  expect(delays(1)).toEqual([200, 400, 800, 5_000]);
  expect(retryDelayMs(true, answered(429, 3_000), 1, () => 0)).toBe(3_000);
});

it('reads Retry-After in both its forms', () => {
  const now = Date.UTC(2026, 9, 22, 17, 30);
  expect(retryAfterMsOf('3', now)).toBe(3_000);
  expect(retryAfterMsOf('Thu, 22 Oct 2026 17:30:05 GMT', now)).toBe(5_000);
  expect(retryAfterMsOf('Thu, 22 Oct 2026 17:00:00 GMT', now)).toBe(0);
  expect(retryAfterMsOf('soon', now)).toBeNull();
  expect(retryAfterMsOf(null, now)).toBeNull();
});
