import { expect, it } from 'vitest';
import { MemoryStores } from '../testing/memory-stores.js';
import { aTimer } from '../testing/samples.js';
import { Definitions } from './definitions.js';

function setup(capacity?: number) {
  const stores = new MemoryStores();
  for (let timerId = 1; timerId <= 5; timerId++) stores.timers.set(timerId, aTimer({ timerId }));
  const asked: number[][] = [];
  const definitions = stores.definitions.bind(stores);
  stores.definitions = async (ids) => {
    asked.push([...ids]);
    return definitions(ids);
  };
  const rename = (timerId: number, name: string) =>
    Object.assign(stores.timers.get(timerId)!, { name, revision: stores.timers.get(timerId)!.revision + 1 });
  return { stores, asked, rename, cache: new Definitions(stores, capacity) };
}

it('asks once for what is missing, and leaves unknown ids out', async () => {
  const { cache, asked } = setup();
  await cache.load([1, 2, 2, 99]);
  await cache.load([1, 2, 3]);
  expect(asked).toEqual([[1, 2, 99], [3]]);
  expect(cache.peek(2)).toMatchObject({ timerId: 2, name: 'sample' });
  expect(cache.peek(99)).toBeUndefined();
});

it('reads anew what is older than the revision of the claim', async () => {
  const { cache, asked, rename } = setup();
  await cache.load([1, 2]);
  rename(1, 'edited');
  await cache.load([1, 2]);
  expect(cache.peek(1)!.name).toBe('sample');
  await cache.load(
    [1, 2],
    new Map([
      [1, 2],
      [2, 1],
    ]),
  );
  expect(cache.peek(1)!.name).toBe('edited');
  expect(asked).toEqual([[1, 2], [1]]);
});

it('never goes back to an older copy when answers overtake one another', async () => {
  const { cache, stores, rename } = setup();
  const quick = stores.definitions;
  let answer = () => {};
  stores.definitions = async (ids) => {
    const old = await quick(ids);
    await new Promise<void>((resolve) => {
      answer = resolve;
    });
    return old;
  };
  const slow = cache.load([1]);
  await Promise.resolve().then(() => {});
  stores.definitions = quick;
  rename(1, 'edited');
  await cache.load([1], new Map([[1, 2]]));
  answer();
  await slow;
  expect(cache.peek(1)!.name).toBe('edited');
});

it('drops what was not used for the longest time', async () => {
  const { cache } = setup(3);
  await cache.load([1, 2, 3]);
  await cache.load([1]);
  await cache.load([4]);
  expect([1, 2, 3, 4].map((id) => cache.peek(id)?.timerId)).toEqual([1, undefined, 3, 4]);
});
