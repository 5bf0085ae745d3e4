import { type BucketStore, type DueTask, MINUTE_MS, minuteOf, type Slice, type SliceClaim } from '@xtimer/pipeline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

/** An empty store of its own for each test. */
export interface BucketsWorld {
  store: BucketStore;
  /** The store's time, epoch ms. */
  now(): number;
  /** Lets at least so much of the store's time pass. */
  pass(ms: number): Promise<void>;
  end(): Promise<void>;
}

/** What every `TimeBuckets`, `SliceLocks` and `TimeSource` must do, whatever it is made of. */
export function bucketsContract(name: string, open: () => Promise<BucketsWorld>): void {
  describe(`time buckets and locks: ${name}`, () => {
    let world: BucketsWorld;
    let minute: number;
    const slice = (bucket = 7): Slice => ({ bucket, minute });
    const task = (timerId: number, second: number, bucket = 7): DueTask => ({
      timerId,
      runTimer: minute + second * 1000,
      bucket,
      dueAt: minute + second * 1000,
    });
    const idsOf = (tasks: DueTask[]) => tasks.map((each) => each.timerId);
    const dueIds = async (slices = [slice()], before = minute + MINUTE_MS) =>
      idsOf(await world.store.buckets.due(slices, before));

    beforeEach(async () => {
      world = await open();
      minute = minuteOf(world.now()) + 5 * MINUTE_MS;
    });
    afterEach(() => world.end());

    describe('buckets', () => {
      it('hand out what is due, in due order, with all of its fields', async () => {
        const retry: DueTask = { timerId: 3, runTimer: minute - 90_000, bucket: 7, dueAt: minute + 500 };
        await world.store.buckets.add([task(1, 2), task(2, 1), retry]);
        expect(await world.store.buckets.due([slice()], minute + 60_000)).toEqual([retry, task(2, 1), task(1, 2)]);
      });

      it('leave what is due at `before` or later, until its time comes', async () => {
        await world.store.buckets.add([task(1, 1), task(2, 2), task(3, 3)]);
        expect(await dueIds([slice()], minute + 2000)).toEqual([1]);
        expect(await dueIds([slice()], minute + 2001)).toEqual([1, 2]);
        expect(await dueIds([slice()], minute + 3001)).toEqual([1, 2, 3]);
      });

      it('take what is added late, older than what was read already', async () => {
        await world.store.buckets.add([task(1, 1), task(2, 30)]);
        expect(await dueIds([slice()], minute + 20_000)).toEqual([1]);
        await world.store.buckets.remove([task(1, 1)]);
        await world.store.buckets.add([task(3, 0), task(4, 10)]);
        expect(await dueIds([slice()], minute + 20_000)).toEqual([3, 4]);
        expect(await dueIds()).toEqual([3, 4, 2]);
      });

      it('hold a task once however often it is added', async () => {
        await world.store.buckets.add([task(1, 1), task(1, 1)]);
        await world.store.buckets.add([task(1, 1)]);
        expect(await dueIds()).toEqual([1]);
      });

      it('move a task that is added with another due time', async () => {
        await world.store.buckets.add([task(1, 1), task(2, 2)]);
        expect(await dueIds()).toEqual([1, 2]);
        await world.store.buckets.add([{ ...task(1, 1), dueAt: minute + 5000 }]);
        expect(await dueIds([slice()], minute + 5000)).toEqual([2]);
        expect(await world.store.buckets.due([slice()], minute + 60_000)).toEqual([
          task(2, 2),
          { ...task(1, 1), dueAt: minute + 5000 },
        ]);
      });

      it('lose what is removed, and nothing else; absent tasks are no error', async () => {
        await world.store.buckets.add([task(1, 1), task(2, 2), task(3, 3)]);
        await world.store.buckets.remove([task(2, 2), task(9, 9), task(1, 1, 8)]);
        expect(await dueIds()).toEqual([1, 3]);
        await world.store.buckets.remove([task(1, 1), task(3, 3), task(2, 2)]);
        expect(await dueIds()).toEqual([]);
        await world.store.buckets.add([task(2, 4)]);
        expect(await dueIds()).toEqual([2]);
      });

      it('tell apart two instants of one timer', async () => {
        await world.store.buckets.add([task(1, 1), task(1, 2)]);
        await world.store.buckets.remove([task(1, 1)]);
        expect(await world.store.buckets.due([slice()], minute + 60_000)).toEqual([task(1, 2)]);
      });

      it('read many slices in one call, all in due order, empty ones too', async () => {
        const buckets = Array.from({ length: 64 }, (_, bucket) => bucket);
        const tasks = buckets
          .filter((bucket) => bucket % 2 === 0)
          .map((bucket) => task(bucket, 59 - bucket / 2, bucket));
        const next = { ...task(1000, 61, 3) };
        await world.store.buckets.add([...tasks, next]);
        const slices = buckets.map(slice);
        const found = await world.store.buckets.due(slices, minute + 120_000);
        expect(found).toEqual([...tasks].reverse());
        expect(
          await world.store.buckets.due([...slices, { bucket: 3, minute: minute + MINUTE_MS }], minute + 120_000),
        ).toEqual([...tasks].reverse().concat(next));
        await world.store.buckets.remove(tasks);
        expect(await dueIds(slices)).toEqual([]);
      });

      it('take empty calls', async () => {
        await world.store.buckets.add([]);
        await world.store.buckets.remove([]);
        expect(await world.store.buckets.due([], minute)).toEqual([]);
        expect(await world.store.buckets.unfilled([])).toEqual([]);
        await world.store.buckets.beginFill([], 'a');
        expect(await world.store.buckets.endFill([], 'a')).toEqual([]);
        expect(await world.store.locks.acquire([], 'a', 1000)).toEqual([]);
        expect(await world.store.locks.renew([], 'a', 1000)).toEqual([]);
        expect(await world.store.locks.close([], 'a')).toEqual([]);
        await world.store.locks.release([], 'a');
      });

      it('hold 5,000 tasks in one slice', async () => {
        const tasks = Array.from({ length: 5000 }, (_, at) => task(5000 - at, at % 60));
        await world.store.buckets.add(tasks);
        const found = await world.store.buckets.due([slice()], minute + 60_000);
        expect(new Set(idsOf(found)).size).toBe(5000);
        expect(found.map((each) => each.dueAt)).toEqual(tasks.map((each) => each.dueAt).sort((a, b) => a - b));
        await world.store.buckets.remove(tasks.slice(1));
        expect(await dueIds()).toEqual([5000]);
      });

      it('keep ids up to 2^53 and due times with a fraction as they are', async () => {
        const big = { ...task(Number.MAX_SAFE_INTEGER, 1), dueAt: minute + 1000.25 };
        await world.store.buckets.add([big, task(Number.MAX_SAFE_INTEGER - 1, 1)]);
        expect(await world.store.buckets.due([slice()], minute + 1000.5)).toEqual([
          task(Number.MAX_SAFE_INTEGER - 1, 1),
          big,
        ]);
      });
    });

    describe('marks', () => {
      it('name every bucket until its filling has ended, in the order asked', async () => {
        const { buckets } = world.store;
        expect(await buckets.unfilled([9, 7, 8])).toEqual([9, 7, 8]);
        await buckets.beginFill([7, 9], 'a');
        expect(await buckets.unfilled([9, 7, 8])).toEqual([9, 7, 8]);
        expect(await buckets.endFill([7, 9], 'a')).toEqual([true, true]);
        expect(await buckets.unfilled([9, 7, 8])).toEqual([8]);
      });

      it('are refused to a filling that was not begun, is not the last one begun, or has ended', async () => {
        const { buckets } = world.store;
        expect(await buckets.endFill([7], 'a')).toEqual([false]);
        await buckets.beginFill([7], 'a');
        await buckets.beginFill([7], 'b');
        expect(await buckets.endFill([7], 'a')).toEqual([false]);
        expect(await buckets.unfilled([7])).toEqual([7]);
        expect(await buckets.endFill([7], 'b')).toEqual([true]);
        expect(await buckets.unfilled([7])).toEqual([]);
        expect(await buckets.endFill([7], 'b')).toEqual([false]);
        expect(await buckets.unfilled([7])).toEqual([]);
      });

      it('are one for each bucket', async () => {
        const { buckets } = world.store;
        await buckets.beginFill([1, 2, 3], 'a');
        await buckets.beginFill([2], 'b');
        expect(await buckets.endFill([1, 2, 3, 4], 'a')).toEqual([true, false, true, false]);
        expect(await buckets.unfilled([1, 2, 3, 4])).toEqual([2, 4]);
      });

      it('fall when a filled bucket is to be filled again', async () => {
        const { buckets } = world.store;
        for (const token of ['a', 'b']) {
          await buckets.beginFill([7], token);
          expect(await buckets.unfilled([7])).toEqual([7]);
          expect(await buckets.endFill([7], token)).toEqual([true]);
          expect(await buckets.unfilled([7])).toEqual([]);
        }
      });

      it('go to exactly one of several who fill at once', async () => {
        const names = ['a', 'b', 'c', 'd'];
        const { buckets } = world.store;
        await Promise.all(names.map((name) => buckets.beginFill([7], name)));
        const ended = await Promise.all(names.map((name) => buckets.endFill([7], name)));
        expect(ended.flat().sort()).toEqual([false, false, false, true]);
      });

      it('say nothing of what the buckets hold', async () => {
        const { buckets } = world.store;
        await buckets.add([task(1, 1)]);
        expect(await buckets.unfilled([7])).toEqual([7]);
        await buckets.beginFill([7], 'a');
        await buckets.endFill([7], 'a');
        expect(await dueIds()).toEqual([1]);
        await buckets.remove([task(1, 1)]);
        expect(await buckets.unfilled([7])).toEqual([]);
      });
    });

    describe('locks', () => {
      const LONG = 60_000;
      const take = async (owner: string, leaseMs = LONG, of = slice()): Promise<SliceClaim> => {
        const [answer] = await world.store.locks.acquire([of], owner, leaseMs);
        if (answer?.outcome !== 'claimed') throw new Error(`${owner} got ${answer?.outcome}`);
        return answer.claim;
      };
      const outcomes = async (owner: string, slices = [slice()]) =>
        (await world.store.locks.acquire(slices, owner, LONG)).map((answer) => answer.outcome);

      it('go to one owner, who may ask again and keeps the epoch', async () => {
        const claim = await take('a');
        expect(claim).toEqual({ ...slice(), epoch: claim.epoch });
        expect(claim.epoch).toBeGreaterThan(0);
        expect(await outcomes('b')).toEqual(['held']);
        expect(await take('a')).toEqual(claim);
      });

      it('go to exactly one of many who ask at once', async () => {
        const asked = await Promise.all(Array.from({ length: 20 }, (_, index) => outcomes(`owner-${index}`)));
        expect(asked.flat().sort()).toEqual(['claimed', ...Array(19).fill('held')]);
      });

      it('answer for each slice in order', async () => {
        await take('b', LONG, slice(2));
        const [closing] = [await take('b', LONG, slice(4))];
        await world.store.locks.close([closing!], 'b');
        const slices = [1, 2, 3, 4, 5].map(slice);
        expect(await outcomes('a', slices)).toEqual(['claimed', 'held', 'claimed', 'done', 'claimed']);
        const answers = await world.store.locks.acquire(slices, 'a', LONG);
        expect(answers.flatMap((answer) => (answer.outcome === 'claimed' ? [answer.claim.bucket] : []))).toEqual([
          1, 3, 5,
        ]);
      });

      it('lapse, and the next owner gets a higher epoch', async () => {
        const old = await take('a', 50);
        await world.pass(80);
        const taken = await take('b');
        expect(taken.epoch).toBeGreaterThan(old.epoch);
        expect(await world.store.locks.renew([old], 'a', LONG)).toEqual([false]);
        expect(await world.store.locks.close([old], 'a')).toEqual([false]);
        await world.store.locks.release([old], 'a');
        expect(await outcomes('c')).toEqual(['held']);
        expect(await world.store.locks.renew([taken], 'b', LONG)).toEqual([true]);
      });

      it('last as long as they are renewed', async () => {
        const claim = await take('a', 50);
        expect(await world.store.locks.renew([claim], 'a', LONG)).toEqual([true]);
        await world.pass(80);
        expect(await outcomes('b')).toEqual(['held']);
      });

      it('stay with an owner whose lease lapsed while nobody took it', async () => {
        const claim = await take('a', 30);
        await world.pass(60);
        expect(await world.store.locks.renew([claim], 'a', LONG)).toEqual([true]);
        expect(await outcomes('b')).toEqual(['held']);
      });

      it('become done for everybody once closed', async () => {
        const claim = await take('a');
        expect(await world.store.locks.close([claim], 'a')).toEqual([true]);
        expect(await outcomes('a')).toEqual(['done']);
        expect(await outcomes('b')).toEqual(['done']);
        expect(await world.store.locks.renew([claim], 'a', LONG)).toEqual([false]);
        await world.store.locks.release([claim], 'a');
        expect(await outcomes('b')).toEqual(['done']);
      });

      it('refuse a stale epoch, also from the owner of today', async () => {
        const stale = await take('a');
        await world.store.locks.release([stale], 'a');
        const claim = await take('a');
        expect(claim.epoch).toBeGreaterThan(stale.epoch);
        expect(await world.store.locks.close([stale], 'a')).toEqual([false]);
        expect(await world.store.locks.renew([stale, claim], 'a', LONG)).toEqual([false, true]);
        await world.store.locks.release([stale], 'a');
        expect(await outcomes('b')).toEqual(['held']);
      });

      it('are free at once when released', async () => {
        const claims = [await take('a', LONG, slice(1)), await take('a', LONG, slice(2))];
        await world.store.locks.release(claims, 'b');
        expect(await outcomes('b', [slice(1), slice(2)])).toEqual(['held', 'held']);
        await world.store.locks.release(claims, 'a');
        expect(await outcomes('b', [slice(1), slice(2)])).toEqual(['claimed', 'claimed']);
      });

      it('are one for each minute and bucket', async () => {
        await take('a');
        expect(await outcomes('b', [slice(8), { bucket: 7, minute: minute + MINUTE_MS }])).toEqual([
          'claimed',
          'claimed',
        ]);
      });
    });

    it('tells the time, which goes on', async () => {
      const before = world.now();
      const first = await world.store.timeSource.time();
      await world.pass(20);
      const second = await world.store.timeSource.time();
      // Within a second: this host's clock and the store's need not be one.
      expect(Math.abs(first - before)).toBeLessThan(1000);
      expect(second - first).toBeGreaterThanOrEqual(15);
    });
  });
}
