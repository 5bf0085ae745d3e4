import { describe, expect, it } from 'vitest';
import type { CallbackAnswer } from './executor/ports.js';
import { settle } from './lifecycle/virtual-clock.js';
import { TaskOrigin, TaskStatus, TimerStatus } from './status.js';
import { Cluster, ok, type SeenCall } from './testing/cluster.js';
import { defaultPolicies, type TimerPolicies } from './timer/timer.js';

const HOUR = 3_600_000;

async function setup(...nodes: string[]) {
  const cluster = new Cluster();
  await cluster.start(...(nodes.length > 0 ? nodes : ['a']));
  return { cluster, start: cluster.clock.now() };
}

const policies = (changes: Partial<TimerPolicies>) => ({ policies: { ...defaultPolicies, ...changes } });
const steady = { maxAttempts: 5, initialDelayMs: 1_000, factor: 2, maxDelayMs: 600_000, jitter: 0 };
const answer = (httpStatus: number, headers: Record<string, string> = {}): CallbackAnswer => ({
  httpStatus,
  output: null,
  error: null,
  headers,
});
const attemptsAt = (cluster: Cluster, start: number) => cluster.calls.map((call) => [call.attempt, call.at - start]);

/** Everything off, the sorted sets lost as well; then one node again. */
async function outage(cluster: Cluster, ms: number) {
  for (const node of cluster.nodes.values()) node.kill();
  cluster.buckets.empty();
  await cluster.clock.advance(ms);
  cluster.calls.length = 0;
  await cluster.start('later');
  return cluster.clock.now();
}

describe('retries', () => {
  it('tries again with growing waits and the same task, and keeps each failed attempt', async () => {
    const { cluster, start } = await setup();
    cluster.answer = (call) => (call.attempt < 4 ? answer(503) : ok);
    const timer = await cluster.timer('0 1 10 * * ?', policies({ retry: steady }));
    await cluster.clock.advanceTo(start + 120_000);
    expect(attemptsAt(cluster, start)).toEqual([
      [1, 60_000],
      [2, 61_000],
      [3, 63_000],
      [4, 67_000],
    ]);
    const [task] = cluster.stores.tasksOf(timer.timerId);
    expect(task).toMatchObject({ status: TaskStatus.succeeded, attempt: 4, error: null, lateness: 0 });
    const attempts = await cluster.stores.attempts(task!);
    expect(attempts.map((one) => [one.attempt, one.httpStatus])).toEqual([
      [1, 503],
      [2, 503],
      [3, 503],
    ]);
  });

  it('ends in the dead letters when the attempts are used up', async () => {
    const { cluster, start } = await setup();
    cluster.answer = () => answer(500);
    const timer = await cluster.timer('0 1 10 * * ?', policies({ retry: { ...steady, maxAttempts: 3 } }));
    await cluster.clock.advanceTo(start + 300_000);
    expect(cluster.calls).toHaveLength(3);
    expect(cluster.stores.tasksOf(timer.timerId)[0]).toMatchObject({ status: TaskStatus.failed, attempt: 3 });
  });

  it.each([
    ['410', answer(410)],
    ['489', answer(489)],
    ['the header', answer(503, { 'x-xtimer-no-retry': 'true' })],
    [
      'a blocked address',
      { ...answer(0), httpStatus: null, error: { code: 'CALLBACK_BLOCKED' as const, message: '' } },
    ],
  ])('does not try again after %s', async (_what, response) => {
    const { cluster, start } = await setup();
    cluster.answer = () => response;
    await cluster.timer('0 1 10 * * ?', policies({ retry: steady }));
    await cluster.clock.advanceTo(start + 300_000);
    expect(cluster.calls).toHaveLength(1);
  });

  it('waits as long as the target asks', async () => {
    const { cluster, start } = await setup();
    cluster.answer = (call) =>
      call.attempt === 1
        ? answer(429, { 'retry-after': '20' })
        : call.attempt === 2
          ? answer(503, { 'retry-after': new Date(cluster.clock.now() + 30_000).toUTCString() })
          : ok;
    await cluster.timer('0 1 10 * * ?', policies({ retry: steady }));
    await cluster.clock.advanceTo(start + 300_000);
    expect(attemptsAt(cluster, start)).toEqual([
      [1, 60_000],
      [2, 80_000],
      [3, 110_000],
    ]);
  });

  it('survives the loss of every node and of the sorted sets', async () => {
    const { cluster, start } = await setup();
    cluster.answer = (call) => (call.attempt === 1 ? answer(500) : ok);
    await cluster.timer('0 1 10 * * ?', policies({ retry: { ...steady, initialDelayMs: 600_000 } }));
    await cluster.clock.advanceTo(start + 61_000);
    await outage(cluster, 60_000);
    await cluster.clock.advanceTo(start + 700_000);
    expect(attemptsAt(cluster, start)).toEqual([[2, 660_000]]);
  });

  it('waits in the database when it is due beyond the horizon, and comes on time', async () => {
    const { cluster, start } = await setup();
    cluster.answer = (call) => (call.attempt === 1 ? answer(503, { 'retry-after': String(5 * 3600) }) : ok);
    const timer = await cluster.timer('0 1 10 * * ?', policies({ retry: steady }));
    await cluster.clock.advanceTo(start + 61_000);
    expect(cluster.buckets.size).toBe(0);
    await cluster.clock.advanceTo(start + 6 * HOUR);
    expect(attemptsAt(cluster, start)).toEqual([
      [1, 60_000],
      [2, 60_000 + 5 * HOUR],
    ]);
    expect(cluster.stores.tasksOf(timer.timerId)[0]).toMatchObject({ status: TaskStatus.succeeded });
  });

  it('calls at most once when the timer says so, whatever came of it', async () => {
    const { cluster, start } = await setup();
    cluster.answer = () => ({ ...answer(0), httpStatus: null, error: { code: 'CALLBACK_TIMEOUT', message: 'late' } });
    const timer = await cluster.timer('0 1 10 * * ?', policies({ retry: steady, delivery: 'atMostOnce' }));
    await cluster.clock.advanceTo(start + 300_000);
    expect(cluster.calls).toHaveLength(1);
    expect(cluster.stores.tasksOf(timer.timerId)[0]!.error).toMatch(/^OUTCOME_UNKNOWN/);
  });
});

describe('misfires', () => {
  it('runs only the newest missed slot after an outage, counts the others, and goes on with the next', async () => {
    const { cluster, start } = await setup();
    const timer = await cluster.timer('* * * * * ?');
    await cluster.clock.advanceTo(start + 10_500);
    const back = await outage(cluster, 600_000);
    await cluster.clock.advanceTo(back + 5_500);

    const late = cluster.calls.filter((call) => call.runTimer < back);
    expect(late.map((call) => call.runTimer - start)).toEqual([610_000]);
    expect(cluster.slotsSince(back).slice(-3)).toEqual([3_500, 4_500, 5_500]);
    const skipped = cluster.stores.tasksOf(timer.timerId).filter((task) => task.status === TaskStatus.skipped);
    expect(skipped).toMatchObject([
      { runTimer: start + 11_000, reason: 'misfire', skippedCount: 599, skippedUntil: start + 609_000 },
    ]);
    const overdue = cluster.stores.tasksOf(timer.timerId).filter((task) => task.runTimer < back);
    expect(overdue.filter((task) => task.status === TaskStatus.notRun)).toEqual([]);
  });

  it('covers slots that nobody had planned yet in the same way', async () => {
    const { cluster, start } = await setup();
    const timer = await cluster.timer('0 */10 * * * ?');
    await cluster.clock.advanceTo(start + 10_500);
    const back = await outage(cluster, 5 * HOUR);
    await cluster.clock.advanceTo(back + 15_000);
    expect(cluster.calls.map((call) => call.runTimer - start)).toEqual([5 * HOUR]);
    const skipped = cluster.stores.tasksOf(timer.timerId).filter((task) => task.status === TaskStatus.skipped);
    expect(skipped.reduce((sum, task) => sum + task.skippedCount!, 0)).toBe(29);
    await cluster.clock.advanceTo(back + 601_000);
    expect(cluster.calls.map((call) => call.runTimer - start)).toEqual([5 * HOUR, 5 * HOUR + 600_000]);
  });

  it('runs the newest maxCatchUp in time order, paced, with fireAll; none with skip', async () => {
    const { cluster, start } = await setup();
    const misfire = { policy: 'fireAll', graceMs: 30_000, maxCatchUp: 3 } as const;
    const all = await cluster.timer('0 * * * * ?', policies({ misfire }));
    const none = await cluster.timer('0 * * * * ?', policies({ misfire: { ...misfire, policy: 'skip' } }));
    await cluster.clock.advanceTo(start + 60_500);
    const back = await outage(cluster, 600_000);
    await cluster.clock.advanceTo(back + 5_000);
    expect(cluster.slotsSince(start, all.timerId)).toEqual([540_000, 600_000, 660_000]);
    expect(cluster.slotsSince(start, none.timerId)).toEqual([]);
    const times = cluster.calls.map((call) => call.at);
    expect(times[1]! - times[0]!).toBeGreaterThan(0);
  });

  it('lets what is late by less than the grace run as planned', async () => {
    const { cluster, start } = await setup();
    await cluster.timer('*/10 * * * * ?');
    await cluster.clock.advanceTo(start + 10_500);
    const back = await outage(cluster, 45_000);
    await cluster.clock.advanceTo(back + 1_000);
    expect(cluster.slotsSince(start)).toEqual([20_000, 30_000, 40_000, 50_000]);
  });

  it('never takes a slot that is due in the future', async () => {
    const { cluster, start } = await setup();
    await cluster.timer('0 30 * * * ?');
    await cluster.clock.advanceTo(start + 60_000);
    const back = await outage(cluster, 20 * 60_000);
    await cluster.clock.advanceTo(back + 60_000);
    expect(cluster.calls).toEqual([]);
    await cluster.clock.advanceTo(start + 30 * 60_000 + 1);
    expect(cluster.slotsSince(start)).toEqual([30 * 60_000]);
  });
});

describe('overlap', () => {
  const slow = (cluster: Cluster, ms: number) => async () => {
    await cluster.clock.sleepUntil(cluster.clock.now() + ms);
    return ok;
  };

  it('skips slots while the previous task runs, with the reason', async () => {
    const { cluster, start } = await setup('a', 'b');
    cluster.answer = slow(cluster, 25_000);
    const timer = await cluster.timer('*/10 * * * * ?', policies({ overlap: 'skip' }));
    await cluster.clock.advanceTo(start + 69_000);
    expect(cluster.slotsSince(start)).toEqual([10_000, 40_000]);
    const row = cluster.stores.tasksOf(timer.timerId)[1];
    expect(row).toMatchObject({ status: TaskStatus.skipped, reason: 'overlap' });
  });

  it('lets them wait in turn with queue', async () => {
    const { cluster, start } = await setup('a', 'b');
    cluster.answer = slow(cluster, 15_000);
    await cluster.timer('*/10 * * * * ?', policies({ overlap: 'queue' }));
    await cluster.clock.advanceTo(start + 59_000);
    expect(cluster.slotsSince(start)).toEqual([10_000, 20_000, 30_000, 40_000]);
    const gaps = cluster.calls.slice(1).map((call, i) => call.at - cluster.calls[i]!.at);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(15_000);
  });

  it('is not blocked for good by a run whose node died', async () => {
    const { cluster, start } = await setup('a', 'b');
    let hang: SeenCall | null = null;
    cluster.answer = (call) => {
      if (hang) return ok;
      hang = call;
      return new Promise(() => {});
    };
    await cluster.timer('*/10 * * * * ?', policies({ overlap: 'skip' }));
    await cluster.clock.advanceTo(start + 10_500);
    cluster.nodes.get(hang!.node)!.kill();
    await cluster.clock.advanceTo(start + 60_500);
    expect(cluster.slotsSince(start).slice(-3)).toEqual([40_000, 50_000, 60_000]);
  });

  it('refuses to run a busy timer now, and says why', async () => {
    const { cluster, start } = await setup();
    cluster.answer = () => new Promise(() => {});
    const timer = await cluster.timer('*/10 * * * * ?', policies({ overlap: 'skip' }));
    await cluster.clock.advanceTo(start + 10_500);
    await expect(cluster.commands.runNow('shop', timer.timerId, null, 'test')).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('still running'),
    });
  });
});

describe('limits of a timer', () => {
  it('fires within its window only', async () => {
    const { cluster, start } = await setup();
    const timer = await cluster.timer('*/10 * * * * ?', { startAt: start + 20_000, endAt: start + 40_000 });
    await cluster.clock.advanceTo(start + 120_000);
    expect(cluster.slotsSince(start)).toEqual([20_000, 30_000]);
    expect(await cluster.stores.find(timer.timerId, null)).toMatchObject({ nextFireAt: null });
  });

  it('stops after maxRuns scheduled slots; slots taken back by a pause do not count', async () => {
    const { cluster, start } = await setup();
    const timer = await cluster.timer('*/10 * * * * ?', { maxRuns: 5 });
    await cluster.clock.advanceTo(start + 25_000);
    await cluster.commands.runNow('shop', timer.timerId, null, 'test');
    await cluster.commands.pause('shop', timer.timerId, 'test');
    await cluster.clock.advanceTo(start + 55_000);
    await cluster.commands.enable('shop', timer.timerId, 'test');
    await cluster.clock.advanceTo(start + 300_000);
    const slots = cluster.calls.filter((call) => call.runTimer % 1000 === 0);
    expect(slots.map((call) => call.runTimer - start)).toEqual([10_000, 20_000, 60_000, 70_000, 80_000]);
  });

  it('counts runs rightly across an edit', async () => {
    const { cluster, start } = await setup();
    const timer = await cluster.timer('*/10 * * * * ?', { maxRuns: 4 });
    await cluster.clock.advanceTo(start + 25_000);
    await cluster.commands.update('shop', timer.timerId, { cron: '*/20 * * * * ?' }, 'test');
    await cluster.clock.advanceTo(start + 300_000);
    expect(cluster.slotsSince(start)).toEqual([10_000, 20_000, 40_000, 60_000]);
  });

  it('is paused after its dead letters in a row, and says so', async () => {
    const { cluster, start } = await setup();
    cluster.answer = (call) => (call.runTimer === start + 20_000 ? ok : answer(410));
    const timer = await cluster.timer('*/10 * * * * ?', policies({ pauseAfterFailures: 3 }));
    await cluster.clock.advanceTo(start + 120_000);
    expect(cluster.slotsSince(start)).toEqual([10_000, 20_000, 30_000, 40_000, 50_000]);
    const paused = await cluster.stores.find(timer.timerId, null);
    expect(paused).toMatchObject({
      status: TimerStatus.inactive,
      statusReason: expect.stringContaining('3 dead letters'),
    });
    await cluster.commands.enable('shop', timer.timerId, 'test');
    await cluster.clock.advanceTo(start + 145_000);
    expect(cluster.slotsSince(start).slice(5)).toEqual([130_000, 140_000]);
  });
});

describe('replay and backfill', () => {
  it('replays a dead letter once, with the same task, however often it is asked', async () => {
    const { cluster, start } = await setup();
    let broken = true;
    cluster.answer = () => (broken ? answer(500) : ok);
    const timer = await cluster.timer('0 1 10 * * ?', policies({ retry: { ...steady, maxAttempts: 1 } }));
    await cluster.clock.advanceTo(start + 61_000);
    broken = false;
    const ref = { timerId: timer.timerId, runTimer: start + 60_000 };
    expect(await cluster.commands.replay('shop', [ref, ref], null, 'test')).toEqual(['accepted', 'notRetryable']);
    expect(await cluster.commands.replay('shop', [ref], null, 'test')).toEqual(['notRetryable']);
    await cluster.clock.advance(2_000);
    expect(cluster.calls.map((call) => call.attempt)).toEqual([1, 2]);
    expect(cluster.stores.tasksOf(timer.timerId)[0]).toMatchObject({ status: TaskStatus.succeeded, replayCount: 1 });
    expect(await cluster.commands.replay('other', [ref], null, 'test')).toEqual(['notFound']);
  });

  it('is a dead letter again, with the new reason, when the replay fails', async () => {
    const { cluster, start } = await setup();
    cluster.answer = (call) => answer(call.attempt === 1 ? 500 : 502);
    const timer = await cluster.timer('0 1 10 * * ?', policies({ retry: { ...steady, maxAttempts: 1 } }));
    await cluster.clock.advanceTo(start + 61_000);
    await cluster.commands.replay('shop', [{ timerId: timer.timerId, runTimer: start + 60_000 }], null, 'test');
    await cluster.clock.advance(2_000);
    expect(cluster.stores.tasksOf(timer.timerId)[0]).toMatchObject({
      status: TaskStatus.failed,
      attempt: 2,
      error: expect.stringContaining('502'),
    });
  });

  it('replays all that match at the asked pace, also those of a paused timer', async () => {
    const { cluster, start } = await setup();
    let broken = true;
    cluster.answer = () => (broken ? answer(410) : ok);
    const timer = await cluster.timer('* * * * * ?');
    await cluster.clock.advanceTo(start + 30_500);
    await cluster.commands.pause('shop', timer.timerId, 'test');
    broken = false;
    cluster.calls.length = 0;
    const count = await cluster.commands.replayMatching({ app: 'shop', timerId: timer.timerId }, 5, 'test');
    expect(count).toEqual({ matched: 30, accepted: 30 });
    await cluster.clock.advance(3_000);
    expect(cluster.calls.length).toBeGreaterThanOrEqual(14);
    expect(cluster.calls.length).toBeLessThanOrEqual(16);
    await cluster.clock.advance(5_000);
    expect(cluster.calls).toHaveLength(30);
    expect(cluster.doubled()).toEqual([]);
  });

  it('runs past slots that have no row, paced, and says what was there already', async () => {
    const { cluster, start } = await setup();
    const timer = await cluster.timer('0 * * * * ?');
    await cluster.clock.advanceTo(start + 121_000);
    const from = start - 10 * 60_000;
    expect(await cluster.commands.backfill('shop', timer.timerId, from, start + 121_000, 'test')).toEqual({
      created: 11,
      existing: 2,
    });
    await cluster.clock.advance(5_000);
    expect(cluster.calls).toHaveLength(13);
    expect(cluster.stores.tasksOf(timer.timerId)[0]).toMatchObject({ origin: TaskOrigin.backfill, status: 2 });
    await expect(cluster.commands.backfill('shop', timer.timerId, 0, start, 'test')).rejects.toMatchObject({
      code: 'INVALID',
      data: { field: 'endTime' },
    });
  });

  it('cancels all waiting tasks that match', async () => {
    const { cluster, start } = await setup();
    const timer = await cluster.timer('0 * * * * ?');
    const filter = { app: 'shop', timerId: timer.timerId, endTime: start + 10 * 60_000 };
    await settle();
    const { matched, accepted } = await cluster.commands.cancelMatching(filter, 'test');
    expect(accepted).toBe(matched);
    await cluster.clock.advanceTo(start + 11 * 60_000 + 1);
    expect(cluster.slotsSince(start)[0]).toBeGreaterThanOrEqual((accepted + 1) * 60_000);
  });
});
