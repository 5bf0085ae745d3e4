import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { callLine, disagreements, historyTable, plannedDisagreements } from './demo-checks.mjs';
import { realWorld } from './demo-timers.mjs';
import { inRoot } from './repo.mjs';

const row = (values) => ({ taskId: '1_1000', attempt: 1, status: 2, httpStatus: 200, lateness: 1, ...values });
const call = (taskId) => ({ headers: { 'x-xtimer-task-id': taskId } });

describe('history against the receiver', () => {
  it('agrees when each finished task was called as often as it says', () => {
    const rows = [row(), row({ taskId: '1_2000', attempt: 2, status: 3, httpStatus: 500 })];
    expect(disagreements(rows, [call('1_1000'), call('1_2000'), call('1_2000')])).toEqual([]);
  });

  it.each([
    [
      'a callback that never arrived',
      [row(), row({ taskId: '1_2000' })],
      ['1_1000'],
      /1_2000: history says 1 .* saw 0/,
    ],
    ['a callback that came twice', [row()], ['1_1000', '1_1000'], /1_1000: history says 1 .* saw 2/],
    ['a callback without a result', [row()], ['1_1000', '1_2000'], /1_2000: the receiver saw a call, history has no/],
    ['a success that was a 500', [row({ httpStatus: 500 })], ['1_1000'], /HTTP 500, but succeeded/],
    ['a failure that was a 200', [row({ status: 3 })], ['1_1000'], /HTTP 200, but failed/],
    ['a call before its time', [row({ lateness: -2 })], ['1_1000'], /called 2 ms early/],
    ['a call long after it', [row({ lateness: 44_000 })], ['1_1000'], /called 44000 ms late/],
    ['no callback at all', [], [], /no callback at all/],
  ])('names %s', (_, rows, taskIds, problem) => {
    expect(disagreements(rows, taskIds.map(call))).toEqual([expect.stringMatching(problem)]);
  });
});

describe('the real schedules', () => {
  const schedule = { name: 'x', cron: '* * * * *', dialect: 'unix', timezone: 'UTC', start: '1970-01-01T00:00:00Z' };
  const timers = [{ timerId: '1', registeredAt: 0, definition: { name: 'x' } }];
  const [first, second, third] = [60_000, 120_000, 180_000];
  const check = ({
    next = ['1970-01-01T00:01:00Z', '1970-01-01T00:02:00Z'],
    planned = [first, second],
    nextFireAt = third,
  }) => {
    const api = {
      get: async () => ({ nextFireAt }),
      post: async (_, { count }) => ({ next: [first, second, third].slice(0, count === 100 ? 3 : 2) }),
      tasks: async ({ endTime }) => planned.filter((at) => at < endTime).map((runTimer) => ({ runTimer })),
    };
    return plannedDisagreements(api, timers, [{ ...schedule, next }]);
  };

  it('agree with the vectors and with what is planned', async () => {
    expect(await check({})).toEqual([]);
    expect(await check({ planned: [first], nextFireAt: second })).toEqual([]);
    expect(await check({ planned: [], nextFireAt: first })).toEqual([]);
  });

  it.each([
    ['fires that are not those of the vector', { next: ['1970-01-01T00:01:00Z'] }, /test vector/],
    ['a fire that is not planned', { planned: [first] }, /planned are .*01:00.000Z, .*03:00.000Z, the schedule says/],
    ['a planned fire that is not due', { planned: [first, first + 1, second] }, /01:00.001Z/],
  ])('name %s', async (_, world, problem) => {
    expect(await check(world)).toEqual([expect.stringMatching(problem)]);
  });

  it('are taken from the test vectors', () => {
    const cases = ['unix', 'quartz'].flatMap((dialect) =>
      JSON.parse(readFileSync(inRoot(`packages/testkit/cases/cron/${dialect}.json`), 'utf8')),
    );
    for (const { name: _, cron, timezone, ...rest } of realWorld) {
      expect(cases).toContainEqual(expect.objectContaining({ expr: cron, tz: timezone, ...rest }));
    }
  });
});

it('tells a call in one line', () => {
  const line = callLine({
    receivedAt: Date.UTC(2026, 10, 30, 22, 4, 5, 3),
    method: 'POST',
    path: '/orders',
    headers: { 'x-xtimer-task-id': '7_1' },
    body: 'x'.repeat(100),
    lateness: 2.6,
  });
  expect(line).toMatch(/^22:04:05\.003 {4}\+3 ms {2}POST {3}\/orders {10}7_1 {2}x{60}…$/);
});

it('shows history oldest first, a missing output by its error', () => {
  const rows = [
    row({ taskId: '2_2', name: 'b', runTimer: 2, timerId: 2, lateness: 1, costTime: 5, output: 'ok' }),
    row({ taskId: '1_1', name: 'a', runTimer: 1, timerId: 1, status: 3, httpStatus: null, error: 'CALLBACK_REFUSED' }),
  ];
  expect(historyTable(rows).split('\n').slice(2)).toEqual([
    expect.stringMatching(/^1_1 .* failed +CALLBACK_REFUSED$/),
    expect.stringMatching(/^2_2 .* 200 +succeeded +ok$/),
  ]);
});
