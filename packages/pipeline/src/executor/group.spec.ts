import { describe, expect, it } from 'vitest';
import { StoreUnavailableError } from '../errors.js';
import { settle } from '../lifecycle/virtual-clock.js';
import { Group } from './group.js';

function setup(limit = 10) {
  const writes: number[][] = [];
  const failures: { waiting: number; message: string }[] = [];
  const pauses: number[] = [];
  const open: { resolve: () => void; reject: (error: Error) => void }[] = [];
  let retry = () => {};
  const group = new Group<number>(
    (items) => {
      writes.push(items);
      return new Promise<void>((resolve, reject) => open.push({ resolve, reject }));
    },
    {
      limit,
      pause: (count) => {
        pauses.push(count);
        return new Promise((resolve) => {
          retry = resolve;
        });
      },
      onFailure: (waiting, error) => failures.push({ waiting, message: error.message }),
      lighten: (item) => item,
    },
  );
  const add = (...items: number[]) => {
    for (const item of items) group.add(item);
    return settle();
  };
  const answer = (error?: Error) => {
    const write = open.shift()!;
    if (error) write.reject(error);
    else write.resolve();
    return settle();
  };
  const again = () => {
    retry();
    return settle();
  };
  return { group, writes, failures, pauses, add, answer, retry: again };
}

describe('Group', () => {
  it('writes what comes in one turn together, and what comes meanwhile with the next write', async () => {
    const { writes, add, answer } = setup();
    await add(1, 2);
    await add(3);
    await add(4, 5);
    expect(writes).toEqual([[1, 2]]);
    await answer();
    expect(writes).toEqual([
      [1, 2],
      [3, 4, 5],
    ]);
  });

  it('writes no more than its limit at once', async () => {
    const { writes, add, answer } = setup(2);
    await add(1, 2, 3, 4, 5);
    await answer();
    await answer();
    expect(writes).toEqual([[1, 2], [3, 4], [5]]);
  });

  it('keeps what could not be written in front, and tries again after each pause', async () => {
    const { group, writes, failures, pauses, add, answer, retry } = setup();
    await add(1, 2);
    await answer(new StoreUnavailableError('mysql', 'gone'));
    expect(failures).toEqual([{ waiting: 2, message: 'mysql: gone' }]);
    await add(3);
    await retry();
    expect(writes.at(-1)).toEqual([1, 2, 3]);
    await answer(new StoreUnavailableError('mysql', 'still gone'));
    expect(pauses).toEqual([1, 2]);
    await retry();
    await answer();
    expect(group.size).toBe(0);
    expect(writes).toHaveLength(3);
  });

  it('is flushed when everything is written, at once when there is nothing', async () => {
    const { group, add, answer } = setup();
    await group.flushed();
    await add(1);
    let flushed = false;
    void group.flushed().then(() => {
      flushed = true;
    });
    await add(2);
    await answer();
    expect(flushed).toBe(false);
    await answer();
    expect(flushed).toBe(true);
  });

  it('lets one refused item block nobody: halves the group until it stands alone, then takes its lighter form', async () => {
    const written: number[] = [];
    const group = new Group<number>(
      async (items) => {
        if (items.includes(7)) throw new Error('data too long');
        written.push(...items);
      },
      {
        limit: 100,
        pause: async () => {},
        onFailure: () => {},
        lighten: () => 70,
      },
    );
    for (let item = 0; item < 20; item++) group.add(item);
    await group.flushed();
    expect(written.sort((a, b) => a - b)).toEqual([
      0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 70,
    ]);
  });

  it('keeps a group together while the store is away, whatever it holds', async () => {
    const sizes: number[] = [];
    let away = 3;
    const group = new Group<number>(
      async (items) => {
        sizes.push(items.length);
        if (away-- > 0) throw new StoreUnavailableError('mysql', 'gone');
      },
      { limit: 100, pause: async () => {}, onFailure: () => {}, lighten: (item) => item },
    );
    for (let item = 0; item < 20; item++) group.add(item);
    await group.flushed();
    expect(sizes).toEqual([20, 20, 20, 20]);
  });
});
