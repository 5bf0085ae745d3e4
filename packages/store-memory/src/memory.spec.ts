import { type DueTask, MINUTE_MS, minuteOf } from '@xtimer/pipeline';
import { bucketsContract } from '@xtimer/testkit';
import { describe, expect, it } from 'vitest';
import { openMemory } from './index.js';

function setup() {
  let now = Date.UTC(2026, 9, 22, 9, 30, 12, 345);
  const store = openMemory({ now: () => now });
  const pass = async (ms: number) => {
    now += ms;
  };
  return { store, now: () => now, pass, end: () => store.close() };
}

bucketsContract('memory', async () => setup());

describe('memory', () => {
  it('forgets a slice an hour after its minute', async () => {
    const { store, now, pass } = setup();
    const minute = minuteOf(now()) + MINUTE_MS;
    const task: DueTask = { timerId: 1, runTimer: minute, bucket: 3, dueAt: minute };
    await store.buckets.add([task]);
    await pass(minute + 61 * MINUTE_MS - 1 - now());
    expect(await store.buckets.due([{ bucket: 3, minute }], now())).toEqual([task]);
    await pass(1000);
    expect(await store.buckets.due([{ bucket: 3, minute }], now())).toEqual([]);
  });

  it('forgets a done mark and an old epoch after their time', async () => {
    const { store, now, pass } = setup();
    const slice = { bucket: 3, minute: minuteOf(now()) };
    const [answer] = await store.locks.acquire([slice], 'a', 1000);
    if (answer?.outcome !== 'claimed') throw new Error('not claimed');
    await store.locks.close([answer.claim], 'a');
    await pass(599_999);
    expect(await store.locks.acquire([slice], 'b', 1000)).toEqual([{ outcome: 'done' }]);
    await pass(1);
    expect(await store.locks.acquire([slice], 'b', 1000)).toEqual([
      { outcome: 'claimed', claim: { ...slice, epoch: 1 } },
    ]);
  });

  it('walks a minute of 100,000 tasks second by second, with late additions, each handed out once', async () => {
    const { store, now } = setup();
    const minute = minuteOf(now()) + MINUTE_MS;
    const tasks = Array.from({ length: 100_000 }, (_, at) => {
      const dueAt = minute + ((at * 7919) % 60_000);
      return { timerId: at + 1, runTimer: dueAt, bucket: 0, dueAt };
    });
    await store.buckets.add(tasks);
    let taken = 0;
    for (let second = 1; second <= 60; second++) {
      const due = await store.buckets.due([{ bucket: 0, minute }], minute + second * 1000);
      taken += due.length;
      await store.buckets.remove(due);
      await store.buckets.add([{ timerId: 200_000 + second, runTimer: minute, bucket: 0, dueAt: minute + 59_999 }]);
    }
    expect(taken).toBe(100_000 + 59);
  });
});
