import { describe, expect, it } from 'vitest';
import { settle } from './lifecycle/virtual-clock.js';
import { TaskStatus, TimerStatus } from './status.js';
import { Cluster, ok } from './testing/cluster.js';
import { defaultPolicies } from './timer/timer.js';

const seconds = (from: number, to: number, step = 1) =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => (from + i * step) * 1000);

async function setup(...nodes: string[]) {
  const cluster = new Cluster();
  await cluster.start(...(nodes.length > 0 ? nodes : ['a']));
  return { cluster, start: cluster.clock.now() };
}

describe('one node', () => {
  it('fires a timer enabled now from its next second on, each slot once, at its millisecond', async () => {
    const { cluster, start } = await setup();
    const timer = await cluster.timer('* * * * * ?');
    await cluster.clock.advanceTo(start + 150_500);

    expect(cluster.slotsSince(start)).toEqual(seconds(1, 150));
    expect(cluster.calls.every((call) => call.at === call.runTimer)).toBe(true);
    const tasks = cluster.stores.tasksOf(timer.timerId).filter((task) => task.runTimer < cluster.clock.now());
    expect(new Set(tasks.map((task) => task.status))).toEqual(new Set([TaskStatus.succeeded]));
    expect(tasks[0]).toMatchObject({
      httpStatus: 200,
      output: 'ok',
      lateness: 0,
      costTime: 0,
      attempt: 1,
      error: null,
    });
  });

  it('expands at least one hour ahead and goes on after two', async () => {
    const { cluster, start } = await setup();
    const timer = await cluster.timer('0 * * * * ?');
    await cluster.clock.advance(11_000);
    const planned = cluster.stores.tasksOf(timer.timerId);
    expect(planned.at(-1)!.runTimer).toBeGreaterThanOrEqual(start + 59 * 60_000);
    expect(planned.at(-1)!.runTimer).toBeLessThan(start + 120 * 60_000);

    await cluster.clock.advanceTo(start + 150 * 60_000);
    expect(cluster.slotsSince(start)).toEqual(seconds(60, 150 * 60, 60));
  });

  it('costs the migrator nothing for what is due later', async () => {
    const { cluster } = await setup();
    await cluster.timer('0 0 0 1 1 ?');
    expect(cluster.stores.rows.size).toBe(0);
    expect(cluster.buckets.size).toBe(0);
  });

  it('empties the sorted sets as it claims', async () => {
    const { cluster } = await setup();
    const timer = await cluster.timer('* * * * * ?');
    await cluster.clock.advance(5_000);
    await cluster.commands.pause('shop', timer.timerId, 'test');
    await settle();
    expect(cluster.buckets.size).toBe(0);
  });

  it('records what the target answered as failed, with the reason', async () => {
    const { cluster } = await setup();
    cluster.answer = () => ({ httpStatus: 500, output: '{"ok":true}', error: null, headers: {} });
    const timer = await cluster.timer('*/5 * * * * ?', {
      policies: { ...defaultPolicies, retry: { ...defaultPolicies.retry, maxAttempts: 1 } },
    });
    await cluster.clock.advance(5_500);
    const [task] = cluster.stores.tasksOf(timer.timerId);
    expect(task).toMatchObject({ status: TaskStatus.failed, httpStatus: 500, output: '{"ok":true}' });
    expect(task!.error).toContain('HTTP_STATUS');
  });

  it('waits at the sorted sets for nothing: a target that answers late delays no other', async () => {
    const { cluster, start } = await setup();
    cluster.answer = async (call) => {
      if (call.body === 'slow') await cluster.clock.sleepUntil(cluster.clock.now() + 30_000);
      return ok;
    };
    for (let i = 0; i < 150; i++) {
      await cluster.timer('*/30 * * * * ?', {
        notifyHttpParam: { method: 'POST', url: 'http://slow.example/', header: {}, body: 'slow' },
      });
    }
    const quick = await cluster.timer('* * * * * ?');
    await cluster.clock.advanceTo(start + 40_500);
    const calls = cluster.calls.filter((call) => call.timerId === quick.timerId);
    expect(calls).toHaveLength(40);
    expect(Math.max(...calls.map((call) => call.at - call.runTimer))).toBe(0);
  });
});

describe('changes take effect at once', () => {
  it('sends nothing after the answer to a pause, and leaves canceled rows with the reason', async () => {
    const { cluster, start } = await setup();
    const timer = await cluster.timer('* * * * * ?');
    await cluster.clock.advanceTo(start + 5_960);
    const paused = cluster.commands.pause('shop', timer.timerId, 'test');
    // The slot of second 6 was claimed already, 50 ms ahead: the answer waits until it is sent.
    await cluster.clock.advanceTo(start + 6_030);
    expect((await paused).status).toBe(TimerStatus.inactive);
    const before = cluster.calls.length;
    await cluster.clock.advance(20_000);
    expect(cluster.calls).toHaveLength(before);
    expect(cluster.slotsSince(start)).toEqual(seconds(1, 6));
    const canceled = cluster.stores.tasksOf(timer.timerId).filter((task) => task.runTimer > start + 6_000);
    expect(new Set(canceled.map((task) => [task.status, task.reason].join()))).toEqual(new Set(['4,paused']));
  });

  it('plans from now on when enabled again: slots of the pause are not caught up', async () => {
    const { cluster, start } = await setup();
    const timer = await cluster.timer('* * * * * ?');
    await cluster.clock.advanceTo(start + 3_500);
    await cluster.commands.pause('shop', timer.timerId, 'test');
    await cluster.clock.advanceTo(start + 13_500);
    await cluster.commands.enable('shop', timer.timerId, 'test');
    await cluster.clock.advanceTo(start + 20_500);
    expect(cluster.slotsSince(start)).toEqual([...seconds(1, 3), ...seconds(14, 20)]);
  });

  it('replaces the schedule by an edit; slots both have stay planned', async () => {
    const { cluster, start } = await setup();
    const timer = await cluster.timer('*/5 * * * * ?');
    await cluster.clock.advanceTo(start + 1_500);
    await cluster.commands.update('shop', timer.timerId, { cron: '*/10 * * * * ?' }, 'test');
    const rows = cluster.stores.tasksOf(timer.timerId);
    expect(rows[0]).toMatchObject({ runTimer: start + 5_000, status: TaskStatus.canceled, reason: 'edited' });
    expect(rows[1]).toMatchObject({ runTimer: start + 10_000, status: TaskStatus.notRun, version: 2 });
    await cluster.clock.advanceTo(start + 30_500);
    expect(cluster.slotsSince(start)).toEqual([10_000, 20_000, 30_000]);
  });

  it('uses an edited callback for tasks planned before the edit', async () => {
    const { cluster, start } = await setup();
    const timer = await cluster.timer('*/5 * * * * ?');
    await cluster.clock.advanceTo(start + 5_500);
    const notifyHttpParam = { ...timer.notifyHttpParam, body: 'new' };
    await cluster.commands.update('shop', timer.timerId, { notifyHttpParam }, 'test');
    await cluster.clock.advanceTo(start + 10_500);
    expect(cluster.calls.map((call) => call.body)).toEqual([null, 'new']);
  });

  it('sends nothing to the old callback after the answer to its edit', async () => {
    const { cluster, start } = await setup();
    const timer = await cluster.timer('* * * * * ?');
    await cluster.clock.advanceTo(start + 5_960);
    // The slot of second 6 was claimed already, with the old callback.
    const notifyHttpParam = { ...timer.notifyHttpParam, body: 'new' };
    const edited = cluster.commands
      .update('shop', timer.timerId, { notifyHttpParam }, 'test')
      .then(() => cluster.clock.now());
    await cluster.clock.advanceTo(start + 9_500);
    expect(await edited).toBeGreaterThanOrEqual(start + 6_000);
    expect(cluster.calls.slice(5).map((call) => call.body)).toEqual([null, 'new', 'new', 'new']);
  });

  it('never makes a past instant due by an edit', async () => {
    const { cluster, start } = await setup();
    const timer = await cluster.timer('0 0 23 * * ?');
    await cluster.commands.update('shop', timer.timerId, { cron: '0 0 9 * * ?' }, 'test');
    await cluster.clock.advance(60_000);
    expect(cluster.calls).toEqual([]);
    const edited = await cluster.stores.find(timer.timerId, 'shop');
    expect(edited!.nextFireAt).toBe(start + 23 * 3_600_000);
  });

  it('cancels what is planned when a timer is deleted, and keeps its history', async () => {
    const { cluster, start } = await setup();
    const timer = await cluster.timer('* * * * * ?');
    await cluster.clock.advanceTo(start + 2_500);
    await cluster.commands.delete('shop', timer.timerId, 'test');
    await cluster.clock.advanceTo(start + 10_000);
    expect(cluster.slotsSince(start)).toEqual(seconds(1, 2));
    expect(await cluster.stores.find(timer.timerId, 'shop')).toBeNull();
    expect(cluster.stores.tasksOf(timer.timerId)[2]).toMatchObject({ status: TaskStatus.canceled, reason: 'deleted' });
  });

  it('allows one enabling or pausing in three seconds; no-ops do not count', async () => {
    const { cluster } = await setup();
    const timer = await cluster.timer('* * * * * ?');
    await cluster.commands.enable('shop', timer.timerId, 'test');
    await cluster.commands.pause('shop', timer.timerId, 'test');
    await expect(cluster.commands.enable('shop', timer.timerId, 'test')).rejects.toMatchObject({
      code: 'TOO_MANY_CHANGES',
    });
    await cluster.clock.advance(3_000);
    expect((await cluster.commands.enable('shop', timer.timerId, 'test')).status).toBe(TimerStatus.active);
  });

  it('runs a timer now, also an inactive one, with its own body', async () => {
    const { cluster } = await setup();
    const timer = await cluster.timer('0 0 0 1 1 ?', { enable: false });
    const ref = await cluster.commands.runNow('shop', timer.timerId, 'once', 'test');
    await cluster.clock.advance(100);
    expect(cluster.calls).toMatchObject([{ ...ref, payload: 'once' }]);
  });

  it('answers a cancellation with what really happened', async () => {
    const { cluster, start } = await setup();
    cluster.answer = () => new Promise(() => {});
    const timer = await cluster.timer('*/5 * * * * ?');
    await cluster.clock.advanceTo(start + 5_500);
    const ref = (runTimer: number) => ({ timerId: timer.timerId, runTimer });
    const refs = [ref(start + 5_000), ref(start + 10_000), ref(start + 1), ref(start + 10_000)];
    expect(await cluster.commands.cancel('shop', refs, 'test')).toEqual(['running', 'canceled', 'notFound', 'ended']);
    expect(await cluster.commands.cancel('other', [ref(start + 15_000)], 'test')).toEqual(['notFound']);
    await cluster.clock.advanceTo(start + 15_500);
    expect(cluster.slotsSince(start)).toEqual([5_000, 15_000]);
  });
});

describe('several nodes', () => {
  it('call each slot exactly once and share the work evenly', async () => {
    const { cluster, start } = await setup('a', 'b');
    for (let i = 0; i < 20; i++) await cluster.timer('*/2 * * * * ?');
    await cluster.clock.advanceTo(start + 120_500);
    expect(cluster.calls).toHaveLength(20 * 60);
    expect(cluster.doubled()).toEqual([]);
    expect(cluster.calls.every((call) => call.at === call.runTimer)).toBe(true);
    const byA = cluster.calls.filter((call) => call.node === 'a').length;
    expect(byA / cluster.calls.length).toBeGreaterThan(0.4);
    expect(byA / cluster.calls.length).toBeLessThan(0.6);
  });

  it('take over from a killed node within 3 s, and repeat what it had in flight within 15 s', async () => {
    const { cluster, start } = await setup('a', 'b');
    for (let i = 0; i < 8; i++) await cluster.timer('* * * * * ?');
    await cluster.clock.advanceTo(start + 69_990);
    // Second 70 is claimed on both nodes already; what "a" claimed is never sent by it.
    cluster.nodes.get('a')!.kill();
    await cluster.clock.advanceTo(start + 100_500);
    const once = new Map(cluster.calls.map((call) => [`${call.timerId}_${call.runTimer}`, call]));
    expect(once.size).toBe(8 * 100);
    expect(cluster.doubled()).toEqual([]);
    const late = [...once.values()].filter((call) => call.at > call.runTimer);
    const inFlight = late.filter((call) => call.attempt === 2);
    expect(inFlight.length).toBeGreaterThan(0);
    expect(Math.max(...inFlight.map((call) => call.at - call.runTimer))).toBeLessThan(15_000);
    expect(Math.max(...late.filter((call) => call.attempt === 1).map((call) => call.at - call.runTimer))).toBeLessThan(
      3_000,
    );
  });

  it('hand over at once when a node stops cleanly', async () => {
    const { cluster, start } = await setup('a', 'b');
    for (let i = 0; i < 8; i++) await cluster.timer('* * * * * ?');
    await cluster.clock.advanceTo(start + 30_300);
    const stopped = cluster.nodes.get('a')!.pipeline.stop(1_000);
    await cluster.clock.advanceTo(start + 45_500);
    await stopped;
    expect(cluster.calls).toHaveLength(8 * 45);
    expect(cluster.doubled()).toEqual([]);
    expect(Math.max(...cluster.calls.map((call) => call.at - call.runTimer))).toBeLessThanOrEqual(1_000);
  });

  it('let no second winner through when a node freezes and wakes up', async () => {
    const { cluster, start } = await setup('a', 'b');
    let wake = () => {};
    cluster.answer = (call) =>
      call.node === 'a' && call.attempt === 1 && call.runTimer === start + 5_000
        ? new Promise((resolve) => {
            wake = () => resolve({ httpStatus: 500, output: 'late', error: null, headers: {} });
          })
        : ok;
    for (let i = 0; i < 8; i++) await cluster.timer('*/5 * * * * ?');
    await cluster.clock.advanceTo(start + 5_500);
    const frozen = cluster.calls.find((call) => call.node === 'a' && call.runTimer === start + 5_000)!;
    // Its heartbeat stops, the process does not know.
    await cluster.nodes.get('a')!.pipeline.loops.heartbeat.stop();
    await cluster.clock.advanceTo(start + 20_500);
    wake();
    await settle();
    expect(cluster.stores.tasksOf(frozen.timerId)[0]).toMatchObject({
      runTimer: start + 5_000,
      status: TaskStatus.succeeded,
      attempt: 2,
    });
  });
});

describe('stores in trouble', () => {
  it('loses nothing and is at most 3 s late when the sorted sets are emptied', async () => {
    const { cluster, start } = await setup('a', 'b');
    for (let i = 0; i < 4; i++) await cluster.timer('* * * * * ?');
    await cluster.clock.advanceTo(start + 20_700);
    cluster.buckets.empty();
    await cluster.clock.advanceTo(start + 90_500);
    expect(cluster.calls).toHaveLength(4 * 90);
    expect(cluster.doubled()).toEqual([]);
    expect(Math.max(...cluster.calls.map((call) => call.at - call.runTimer))).toBeLessThan(3_000);
  });

  it('fires from the database while the sorted sets are away, and from them again afterwards', async () => {
    const { cluster, start } = await setup('a', 'b');
    for (let i = 0; i < 4; i++) await cluster.timer('* * * * * ?');
    await cluster.clock.advanceTo(start + 20_700);
    cluster.buckets.setAway(true);
    await cluster.clock.advanceTo(start + 50_700);
    cluster.buckets.setAway(false);
    await cluster.clock.advanceTo(start + 120_500);
    expect(cluster.calls).toHaveLength(4 * 120);
    expect(cluster.doubled()).toEqual([]);
    expect(Math.max(...cluster.calls.map((call) => call.at - call.runTimer))).toBeLessThan(3_000);
  });

  it('writes results of calls made while the database was away, and repeats none of them', async () => {
    const { cluster, start } = await setup();
    let release = () => {};
    cluster.answer = (call) =>
      call.runTimer === start + 5_000
        ? new Promise((resolve) => {
            release = () => resolve(ok);
          })
        : ok;
    const timer = await cluster.timer('*/5 * * * * ?');
    await cluster.clock.advanceTo(start + 6_000);
    cluster.stores.fail('*', new Error('gone'));
    release();
    await cluster.clock.advanceTo(start + 36_000);
    cluster.stores.fail('*', null);
    await cluster.clock.advanceTo(start + 39_000);
    expect(cluster.stores.tasksOf(timer.timerId)[0]).toMatchObject({ status: TaskStatus.succeeded, attempt: 1 });
    expect(cluster.doubled()).toEqual([]);
    expect(cluster.slotsSince(start).sort((a, b) => a - b)).toEqual(seconds(5, 35, 5));
  });

  it('starts again from the database alone', async () => {
    const { cluster, start } = await setup();
    await cluster.timer('* * * * * ?');
    await cluster.clock.advanceTo(start + 10_500);
    cluster.nodes.get('a')!.kill();
    cluster.buckets.empty();
    await cluster.start('b');
    await cluster.clock.advanceTo(start + 80_500);
    expect(cluster.slotsSince(start).sort((a, b) => a - b)).toEqual(seconds(1, 80));
    expect(cluster.doubled()).toEqual([]);
  });
});
