import { describe, expect, it } from 'vitest';
import { minuteOf } from '../buckets/buckets.js';
import { IndexKeeper } from '../buckets/index-keeper.js';
import { Events } from '../events.js';
import { settle, VirtualClock } from '../lifecycle/virtual-clock.js';
import { FakeBuckets } from '../testing/memory-buckets.js';
import { MemoryStores } from '../testing/memory-stores.js';
import { aTimer, planned } from '../testing/samples.js';
import type { DueTask } from '../timer/task.js';
import { Trigger } from './trigger.js';

async function setup() {
  const clock = new VirtualClock();
  const start = clock.now();
  const stores = new MemoryStores();
  const buckets = new FakeBuckets(() => clock.now());
  const membership = { buckets: () => [1] };
  const ports = { buckets, tasks: stores, membership, clock };
  const index = new IndexKeeper(
    { ...ports, events: new Events() },
    { horizonOf: () => start + 3_600_000, pageSize: 1_000 },
  );
  const handed: number[] = [];
  const submit = (tasks: readonly DueTask[]) => handed.push(...tasks.map((task) => task.runTimer - start));
  const held = () => [{ bucket: 1, minute: minuteOf(clock.now()) }];
  const trigger = new Trigger({ ...ports, index, held, submit });
  const timer = aTimer({ bucket: 1 });
  stores.timers.set(timer.timerId, timer);
  /** In the database only. */
  const plan = (...afterMs: number[]) => planned(stores, timer, ...afterMs.map((ms) => start + ms));
  /** What one pass hands over, ms after the start, ascending. */
  const pass = async () => {
    handed.length = 0;
    await trigger.pass();
    await settle();
    return [...new Set(handed)].sort((a, b) => a - b);
  };
  await pass();
  return { clock, stores, buckets, plan, pass };
}

describe('from the sorted sets', () => {
  it('hands over what is due within the next two seconds, and nothing later', async () => {
    const { buckets, plan, pass } = await setup();
    await buckets.add(await plan(0, 1_999, 2_000, 30_000));
    expect(await pass()).toEqual([0, 1_999]);
  });

  it('hands over what was added late, and again until it is removed', async () => {
    const { clock, buckets, plan, pass } = await setup();
    await clock.advance(20_000);
    const tasks = await plan(5_000, 20_500);
    await buckets.add(tasks);
    expect(await pass()).toEqual([5_000, 20_500]);
    expect(await pass()).toEqual([5_000, 20_500]);
    await buckets.remove(tasks);
    await clock.advance(1_000);
    expect((await pass()).filter((at) => at === 20_500)).toEqual([]);
  });
});

describe('from the database', () => {
  it('finds within seconds what never reached the sorted sets', async () => {
    const { clock, plan, pass } = await setup();
    await plan(500);
    expect(await pass()).toEqual([]);
    await clock.advance(1_000);
    expect(await pass()).toEqual([]);
    await clock.advance(2_000);
    expect(await pass()).toEqual([500]);
  });

  it('reads page by page while the sorted sets are away, ahead as well, and from them again afterwards', async () => {
    const { clock, buckets, stores, plan, pass } = await setup();
    await plan(...Array.from({ length: 2_500 }, (_, i) => i));
    buckets.setAway(true);
    expect(await pass()).toHaveLength(2_000);
    buckets.setAway(false);
    await clock.advance(1_000);
    await pass();
    stores.fail('notRun', new Error('must not be read'));
    expect(await pass()).toEqual([]);
  });

  it('reads it at once when the sorted sets were emptied, and while they are being filled', async () => {
    const { buckets, stores, plan, pass } = await setup();
    await buckets.add(await plan(1_000, 1_500));
    buckets.empty();
    let filled = () => {};
    const notRun = stores.notRun.bind(stores);
    stores.notRun = async (query) => {
      // The filling reads far ahead and takes its time.
      if (query.to - query.from > 60_000) {
        await new Promise<void>((resolve) => {
          filled = resolve;
        });
      }
      return notRun(query);
    };
    expect(await pass()).toEqual([1_000, 1_500]);
    expect(await pass()).toEqual([1_000, 1_500]);
    filled();
    await settle();
    expect(buckets.size).toBe(2);
  });
});
