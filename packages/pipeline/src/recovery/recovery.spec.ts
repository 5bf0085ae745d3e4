import { expect, it } from 'vitest';
import { Events } from '../events.js';
import { VirtualClock } from '../lifecycle/virtual-clock.js';
import { TaskStatus } from '../status.js';
import { MemoryStores } from '../testing/memory-stores.js';
import { aTimer, planned } from '../testing/samples.js';
import type { DueTask } from '../timer/task.js';
import { Recovery } from './recovery.js';

async function setup(claims: number) {
  const clock = new VirtualClock();
  const stores = new MemoryStores();
  const events = new Events();
  const placed: DueTask[] = [];
  const world = { mayJudge: true };
  const place = async (tasks: readonly DueTask[]) => void placed.push(...tasks);
  const membership = { mayJudge: () => world.mayJudge };
  const recovery = new Recovery({ tasks: stores, membership, clock, events, place });

  const timer = aTimer();
  stores.timers.set(timer.timerId, timer);
  const node = { nodeId: 'dead', host: 'h', version: '1', roles: ['worker'], bucketsNum: 4, startedAt: 0 };
  await stores.heartbeat(node, clock.now(), 10_000);
  const tasks = await planned(stores, timer, ...Array.from({ length: claims }, (_, i) => clock.now() + i));
  for (const [i, task] of tasks.entries()) {
    const right = { claimId: i + 1, nodeId: 'dead', now: clock.now(), dueBy: clock.now() + 60_000 };
    await stores.claim([task], right);
  }
  const running = () => stores.tasksOf(timer.timerId).filter((task) => task.status === TaskStatus.running).length;
  return { clock, events, recovery, placed, world, running };
}

it('leaves the claims of a node alone while its lease lasts, and gives them back after it', async () => {
  const { clock, events, recovery, placed, running } = await setup(3);
  await clock.advance(10_000);
  await recovery.pass();
  expect(running()).toBe(3);
  const told = events.next('node.recovered');
  await clock.advance(1);
  await recovery.pass();
  expect(await told).toEqual({ tasks: 3 });
  expect(running()).toBe(0);
  expect(placed.map((task) => task.dueAt)).toEqual(Array(3).fill(clock.now()));
});

it('gives back a thousand single claims of slow calls in one pass', async () => {
  const { clock, recovery, placed } = await setup(1_000);
  await clock.advance(10_001);
  await recovery.pass();
  expect(placed).toHaveLength(1_000);
});

it('does nothing while this node may not judge', async () => {
  const { clock, recovery, world, placed, running } = await setup(1);
  world.mayJudge = false;
  await clock.advance(60_000);
  await recovery.pass();
  expect(running()).toBe(1);
  world.mayJudge = true;
  await recovery.pass();
  expect(placed).toHaveLength(1);
});
