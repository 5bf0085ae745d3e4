import { describe, expect, it } from 'vitest';
import { Events } from '../events.js';
import { settle, VirtualClock } from '../lifecycle/virtual-clock.js';
import { FakeBuckets } from '../testing/memory-buckets.js';
import { MemoryStores } from '../testing/memory-stores.js';
import { aTimer, planned } from '../testing/samples.js';
import { IndexKeeper } from './index-keeper.js';

const HORIZON = 60 * 60_000;

function setup() {
  const clock = new VirtualClock();
  const start = clock.now();
  const stores = new MemoryStores();
  const buckets = new FakeBuckets(() => clock.now());
  const events = new Events();
  const seen: string[] = [];
  events.on('index.down', ({ down }) => seen.push(down ? 'down' : 'up'));
  events.on('index.filled', ({ buckets, tasks }) => seen.push(`filled ${buckets} with ${tasks}`));
  events.on('stage.failed', ({ stage }) => seen.push(`${stage} failed`));
  const index = new IndexKeeper(
    { buckets, tasks: stores, membership: { buckets: () => [1, 2] }, clock, events },
    { horizonOf: () => start + HORIZON, pageSize: 2 },
  );
  const check = async () => {
    const answer = await index.check();
    await settle();
    return answer;
  };
  const timer = aTimer({ bucket: 1 });
  stores.timers.set(timer.timerId, timer);
  const plan = (...afterMs: number[]) => planned(stores, timer, ...afterMs.map((ms) => start + ms));
  return { clock, stores, buckets, index, check, plan, seen };
}

describe('filling', () => {
  it('fills what was never filled from the database, page by page, up to the horizon, and once', async () => {
    const { buckets, check, plan, seen } = setup();
    await plan(-1_000, 1_000, 2_000, 3_000, HORIZON - 1, HORIZON);
    expect(await check()).toBe(false);
    expect(buckets.size).toBe(5);
    expect(await check()).toBe(true);
    expect(seen).toEqual(['filled 1,2 with 5']);
  });

  it('fills again after the index was emptied', async () => {
    const { buckets, check, plan } = setup();
    await check();
    await plan(1_000, 2_000);
    buckets.empty();
    expect(await check()).toBe(false);
    expect(buckets.size).toBe(2);
    expect(await check()).toBe(true);
  });

  it('lets nobody wait for it: until it is done each check says that the database must be read', async () => {
    const { stores, check, plan, buckets, seen } = setup();
    await plan(1_000);
    let answer = () => {};
    const notRun = stores.notRun.bind(stores);
    stores.notRun = async (query) => {
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return notRun(query);
    };
    expect(await check()).toBe(false);
    expect(await check()).toBe(false);
    answer();
    await settle();
    expect(buckets.size).toBe(1);
    expect(await check()).toBe(true);
    expect(seen).toHaveLength(1);
  });

  it('starts over when the index is emptied while it is filled', async () => {
    const { stores, buckets, check, plan } = setup();
    await plan(1_000, 2_000, 3_000);
    const notRun = stores.notRun.bind(stores);
    let pages = 0;
    stores.notRun = async (query) => {
      if (++pages === 2) buckets.empty();
      return notRun(query);
    };
    expect(await check()).toBe(false);
    expect(buckets.size).toBeLessThan(3);
    expect(await check()).toBe(false);
    expect(buckets.size).toBe(3);
    expect(await check()).toBe(true);
  });

  it('tells of a filling that failed, and tries again', async () => {
    const { stores, buckets, check, plan, seen } = setup();
    await plan(1_000);
    stores.fail('notRun', new Error('gone'));
    expect(await check()).toBe(false);
    stores.fail('notRun', null);
    expect(await check()).toBe(false);
    expect(buckets.size).toBe(1);
    expect(seen).toEqual(['index failed', 'filled 1,2 with 1']);
  });
});

describe('a store that does not answer', () => {
  it('is told once, and when it is back', async () => {
    const { buckets, check, index, seen } = setup();
    await check();
    buckets.setAway(true);
    expect(await check()).toBe(false);
    expect(await check()).toBe(false);
    expect(index.isDown()).toBe(true);
    buckets.setAway(false);
    expect(await check()).toBe(true);
    expect(seen.slice(1)).toEqual(['down', 'up']);
  });

  it('misses no task: the bucket of a failed addition is filled again', async () => {
    const { buckets, check, index, plan } = setup();
    await check();
    buckets.setAway(true);
    await index.add(await plan(1_000));
    buckets.setAway(false);
    expect(await check()).toBe(false);
    expect(buckets.size).toBe(1);
    expect(await check()).toBe(true);
  });
});

it('leaves what is due beyond the horizon to the database', async () => {
  const { buckets, index, plan } = setup();
  await index.add(await plan(HORIZON - 1, HORIZON));
  expect(buckets.size).toBe(1);
});
