import { expect, it } from 'vitest';
import { VirtualClock } from '../lifecycle/virtual-clock.js';
import { seededRandom } from '../testing/random.js';
import { DueQueue } from './due-queue.js';

it('lets every item go once, never early, never out of order, and late only by when it came', async () => {
  for (let seed = 1; seed <= 30; seed++) {
    const random = seededRandom(seed);
    const clock = new VirtualClock(0);
    const released: { due: number; added: number; step: number; at: number }[] = [];
    const queue = new DueQueue<{ due: number; added: number; step: number }>(clock, (items) => {
      released.push(...items.map((item) => ({ ...item, at: clock.now() })));
    });
    let count = 0;
    for (let step = 0; step < 20; step++) {
      for (let i = Math.floor(random() * 8); i > 0; i--) {
        const due = clock.now() + Math.floor(random() * 200) - 20;
        queue.add(due, { due, added: clock.now(), step });
        count++;
      }
      await clock.advance(Math.floor(random() * 40));
    }
    await clock.advance(300);
    const told = `seed ${seed}`;
    expect(released, told).toHaveLength(count);
    for (const item of released) expect(item.at, told).toBe(Math.max(item.due, item.added));
    for (const [i, item] of released.slice(1).entries()) {
      const before = released[i]!;
      if (before.at === item.at && before.step === item.step) expect(before.due, told).toBeLessThanOrEqual(item.due);
    }
  }
});
