import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../lifecycle/virtual-clock.js';
import { DueQueue } from './due-queue.js';

function setup() {
  const clock = new VirtualClock(0);
  const released: { item: number; at: number }[] = [];
  const queue = new DueQueue<number>(clock, (items) => {
    released.push(...items.map((item) => ({ item, at: clock.now() })));
  });
  return { clock, queue, released };
}

describe('DueQueue', () => {
  it('lets each item go at its instant, in order, whatever order they came in', async () => {
    const { clock, queue, released } = setup();
    for (const at of [300, 100, 200, 100]) queue.add(at, at);
    await clock.advanceTo(99);
    expect(released).toEqual([]);
    await clock.advanceTo(1000);
    expect(released).toEqual([100, 100, 200, 300].map((at) => ({ item: at, at })));
    expect(queue.size).toBe(0);
  });

  it('lets go what is overdue at once, but not inside `add`', async () => {
    const { clock, queue, released } = setup();
    await clock.advanceTo(50);
    queue.add(10, 1);
    expect(released).toEqual([]);
    await clock.advanceTo(50);
    expect(released).toEqual([{ item: 1, at: 50 }]);
  });

  it('arms anew for an item that is due before the one it waits for', async () => {
    const { clock, queue, released } = setup();
    queue.add(500, 500);
    await clock.advanceTo(100);
    queue.add(200, 200);
    await clock.advanceTo(300);
    expect(released).toEqual([{ item: 200, at: 200 }]);
  });

  it('takes items that come while others are let go', async () => {
    const clock = new VirtualClock(0);
    const released: number[] = [];
    const queue = new DueQueue<number>(clock, (items) => {
      for (const item of items) {
        released.push(item);
        if (item < 5) queue.add(clock.now() + 10, item + 1);
      }
    });
    queue.add(10, 1);
    await clock.advanceTo(100);
    expect(released).toEqual([1, 2, 3, 4, 5]);
  });

  it('gives everything back and stays usable', async () => {
    const { clock, queue, released } = setup();
    queue.add(10, 1);
    queue.add(20, 2);
    expect(queue.clear().sort()).toEqual([1, 2]);
    await clock.advanceTo(30);
    expect(released).toEqual([]);
    queue.add(40, 3);
    await clock.advanceTo(50);
    expect(released).toEqual([{ item: 3, at: 40 }]);
  });
});
