import { describe, expect, it } from 'vitest';
import { settle } from '../lifecycle/virtual-clock.js';
import { TaskStatus, TimerStatus } from '../status.js';
import { Cluster } from '../testing/cluster.js';
import type { Timer } from './timer.js';

const MINUTE = 60_000;

async function setup() {
  const cluster = new Cluster();
  await cluster.start('a');
  const { stores, clock } = cluster;
  const start = clock.now();
  /** Before the next `times` saves somebody else changes the timer, by another node's commands. */
  const overtaken = (times: number, change: (timer: Timer) => Partial<Timer> = () => ({})) => {
    const save = stores.save.bind(stores);
    let left = times;
    stores.save = async (timer, changes, options) => {
      if (left-- > 0) await save((await stores.find(timer.timerId, null))!, change(timer), { obsoletesPlanned: false });
      return save(timer, changes, options);
    };
  };
  const stored = async (timer: Timer) => (await stores.find(timer.timerId, null, { withDeleted: true }))!;
  return { cluster, commands: cluster.commands, clock, stores, start, overtaken, stored };
}

describe('a change that is overtaken by another', () => {
  it('starts over with the timer as it now is, and loses nothing of either', async () => {
    const { cluster, commands, overtaken, stored } = await setup();
    const timer = await cluster.timer('0 0 * * * ?');
    overtaken(2, () => ({ name: 'by another' }));
    await commands.update('shop', timer.timerId, { description: 'by us' }, 'test');
    expect(await stored(timer)).toMatchObject({ name: 'by another', description: 'by us' });
  });

  it('gives up with a conflict when it is overtaken all the time', async () => {
    const { cluster, commands, overtaken } = await setup();
    const timer = await cluster.timer('0 0 * * * ?');
    overtaken(1_000);
    const update = commands.update('shop', timer.timerId, { description: 'by us' }, 'test');
    await expect(update).rejects.toMatchObject({ code: 'CONFLICT' });
  });

  it('pauses once when two pause at once', async () => {
    const { cluster, commands, stored } = await setup();
    const timer = await cluster.timer('0 0 * * * ?');
    const both = await Promise.all([1, 2].map(() => commands.pause('shop', timer.timerId, 'test')));
    expect(both.map((answer) => answer.status)).toEqual([TimerStatus.inactive, TimerStatus.inactive]);
    expect((await stored(timer)).version).toBe(2);
  });

  it('finds the timer gone when it was deleted meanwhile', async () => {
    const { cluster, commands, overtaken, stored } = await setup();
    const timer = await cluster.timer('0 0 * * * ?');
    overtaken(1, () => ({ status: TimerStatus.deleted }));
    await expect(commands.enable('shop', timer.timerId, 'test')).resolves.toMatchObject({ timerId: timer.timerId });
    const pause = commands.pause('shop', timer.timerId, 'test');
    await expect(pause).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect((await stored(timer)).status).toBe(TimerStatus.deleted);
  });

  it('keeps firing when a new schedule with counted runs is saved while somebody renames the timer', async () => {
    const { cluster, commands, clock, stores, start, stored } = await setup();
    const timer = await cluster.timer('0 * * * * ?', { maxRuns: 10 });
    const countPlanned = stores.countPlanned.bind(stores);
    stores.countPlanned = async (timerId, now) => {
      stores.countPlanned = countPlanned;
      await commands.update('shop', timerId, { name: 'renamed' }, 'test');
      return countPlanned(timerId, now);
    };
    await commands.update('shop', timer.timerId, { cron: '30 * * * * ?' }, 'test');
    expect(await stored(timer)).toMatchObject({ name: 'renamed' });
    await clock.advanceTo(start + 20 * MINUTE);
    expect(cluster.slotsSince(start)).toEqual(Array.from({ length: 10 }, (_, i) => i * MINUTE + 30_000));
  });
});

describe('what belongs to another app', () => {
  it('is not there', async () => {
    const { cluster, commands, start } = await setup();
    const timer = await cluster.timer('0 * * * * ?');
    const id = timer.timerId;
    const refused = { code: 'NOT_FOUND', data: { field: 'timerId', value: id } };
    await expect(commands.enable('other', id, 'test')).rejects.toMatchObject(refused);
    await expect(commands.pause('other', id, 'test')).rejects.toMatchObject(refused);
    await expect(commands.update('other', id, { name: 'x' }, 'test')).rejects.toMatchObject(refused);
    await expect(commands.delete('other', id, 'test')).rejects.toMatchObject(refused);
    await expect(commands.runNow('other', id, null, 'test')).rejects.toMatchObject(refused);
    expect(await commands.findTask('other', { timerId: id, runTimer: start + MINUTE })).toBeNull();
    expect(await commands.findTask(null, { timerId: id, runTimer: start + MINUTE })).not.toBeNull();
  });
});

describe('an edit', () => {
  it('that changes nothing of the schedule leaves planned tasks alone', async () => {
    const { cluster, commands, stores } = await setup();
    const timer = await cluster.timer('0 * * * * ?');
    const before = stores.tasksOf(timer.timerId);
    const edited = await commands.update('shop', timer.timerId, { name: 'new', cron: timer.cron }, 'test');
    expect(edited).toMatchObject({ name: 'new', version: timer.version, updatedBy: 'test' });
    expect(stores.tasksOf(timer.timerId)).toEqual(before);
  });

  it('of an inactive timer plans nothing', async () => {
    const { cluster, commands, stores } = await setup();
    const timer = await cluster.timer('0 * * * * ?', { enable: false });
    const edited = await commands.update('shop', timer.timerId, { cron: '* * * * * ?' }, 'test');
    expect(edited).toMatchObject({ status: TimerStatus.inactive, nextFireAt: null });
    expect(stores.tasksOf(timer.timerId)).toEqual([]);
  });

  it('may enable and pause as well, and then counts as a change', async () => {
    const { cluster, commands } = await setup();
    const timer = await cluster.timer('0 * * * * ?', { enable: false });
    const enabled = await commands.update('shop', timer.timerId, { name: 'on', enable: true }, 'test');
    expect(enabled).toMatchObject({ name: 'on', status: TimerStatus.active });
    const pause = commands.update('shop', timer.timerId, { enable: false }, 'test');
    await expect(pause).rejects.toMatchObject({ code: 'TOO_MANY_CHANGES' });
  });

  it('merges policies one by one', async () => {
    const { cluster, commands } = await setup();
    const timer = await cluster.timer('0 * * * * ?');
    const edited = await commands.update('shop', timer.timerId, { policies: { timeoutMs: 500 } }, 'test');
    expect(edited.policies).toEqual({ ...timer.policies, timeoutMs: 500 });
  });
});

describe('what a dead node left half done', () => {
  it('is planned by the migrator when a new timer’s planning failed', async () => {
    const { cluster, clock, stores, start } = await setup();
    stores.fail('plan', new Error('died'));
    // It is stored, so its creator is not told to try again.
    const timer = await cluster.timer('0 * * * * ?');
    expect(stores.tasksOf(timer.timerId)).toEqual([]);
    stores.fail('plan', null);
    await clock.advanceTo(start + 3 * MINUTE + 500);
    expect(cluster.slotsSince(start)).toEqual([MINUTE, 2 * MINUTE, 3 * MINUTE]);
  });

  it('is never sent after a pause whose tidying failed', async () => {
    const { cluster, commands, clock, stores, start } = await setup();
    const timer = await cluster.timer('* * * * * ?');
    await clock.advanceTo(start + 2_500);
    stores.fail('cancelPlanned', new Error('died'));
    await expect(commands.pause('shop', timer.timerId, 'test')).rejects.toThrow('died');
    await clock.advanceTo(start + 10_000);
    await settle();
    expect(cluster.slotsSince(start)).toEqual([1_000, 2_000]);
    expect(stores.tasksOf(timer.timerId)[4]).toMatchObject({ status: TaskStatus.canceled, reason: 'paused' });
  });
});

describe('running now', () => {
  it('gives each call a task of its own, never on a slot of the cron', async () => {
    const { cluster, commands, clock, start } = await setup();
    const timer = await cluster.timer('* * * * * ?');
    const refs = [];
    for (let i = 0; i < 3; i++) refs.push(await commands.runNow('shop', timer.timerId, String(i), 'test'));
    expect(refs.map((ref) => ref.runTimer - start)).toEqual([1, 2, 3]);
    await clock.advance(100);
    expect(cluster.calls.map((call) => call.payload)).toEqual(['0', '1', '2']);
  });
});
