import { describe, expect, it } from 'vitest';
import { Events } from '../events.js';
import { VirtualClock } from '../lifecycle/virtual-clock.js';
import { TaskStatus } from '../status.js';
import { FakeBuckets } from '../testing/memory-buckets.js';
import { MemoryStores } from '../testing/memory-stores.js';
import { aTimer, planned } from '../testing/samples.js';
import { type DueTask, taskIdOf } from '../timer/task.js';
import { defaultSchedulerOptions, Scheduler } from './scheduler.js';
import { wantedSlices } from './slices.js';

const MINUTE = 60_000;

function setup() {
  const clock = new VirtualClock();
  const stores = new MemoryStores();
  const locks = new FakeBuckets(() => clock.now());
  const start = clock.now();

  const node = (nodeId: string, own: number[]) => {
    const world = { own, submitted: [] as DueTask[], lost: [] as string[] };
    const events = new Events();
    events.on('slice.lost', (slice) => world.lost.push(`${slice.bucket}@${(slice.minute - start) / MINUTE}`));
    const scheduler = new Scheduler(
      {
        locks,
        tasks: stores,
        membership: { buckets: () => world.own },
        clock,
        events,
        submit: (tasks) => world.submitted.push(...tasks),
      },
      { ...defaultSchedulerOptions, nodeId, bucketsNum: 2 },
    );
    /** Held slices as `bucket@minute`, minutes counted from the start. */
    const held = () =>
      scheduler
        .held()
        .map((slice) => `${slice.bucket}@${(slice.minute - start) / MINUTE}`)
        .sort();
    return Object.assign(world, { scheduler, pass: () => scheduler.pass(), held });
  };
  type Node = ReturnType<typeof node>;

  /** Passes every half second, as the loops do. */
  const beat = async (ms: number, ...nodes: Node[]) => {
    for (let past = 0; past < ms; past += 500) {
      await clock.advance(500);
      for (const each of nodes) await each.pass();
    }
  };
  const timer = aTimer({ timerId: 4, bucket: 0 });
  stores.timers.set(timer.timerId, timer);
  const plan = (...afterMs: number[]) => planned(stores, timer, ...afterMs.map((ms) => start + ms));
  const run = (task: DueTask) => Object.assign(stores.rows.get(taskIdOf(task))!, { status: TaskStatus.succeeded });
  const mark = async (bucket = 0) => (await stores.completeUntil([bucket])).get(bucket);
  return { clock, stores, locks, start, node, beat, plan, run, mark };
}

describe('which slices', () => {
  const timing = { aheadMs: 3_000, graceMs: 1_500 };
  const wanted = (second: number, own: number[]) =>
    wantedSlices(second * 1000, own, 2, timing).map((slice) => `${slice.bucket}@${slice.minute / MINUTE}`);

  it('of its own buckets the previous and the current minute, shortly before it starts also the next', () => {
    expect(wanted(90, [0, 1])).toEqual(['0@0', '0@1', '1@0', '1@1']);
    expect(wanted(117, [0])).toEqual(['0@0', '0@1', '0@2', '1@1', '1@0']);
  });

  it('of other buckets only what was left alone for the grace', () => {
    expect(wanted(61.4, [0])).toEqual(['0@0', '0@1', '1@0']);
    expect(wanted(61.5, [0])).toEqual(['0@0', '0@1', '1@1', '1@0']);
  });
});

describe('taking', () => {
  it('takes its own slices, the next minute before it starts, and leaves those of a living node to it', async () => {
    const { node, beat } = setup();
    const [a, b] = [node('a', [0]), node('b', [1])];
    await a.pass();
    await b.pass();
    await beat(2_000, a, b);
    expect(a.held()).toContain('0@0');
    expect(b.held()).toContain('1@0');
    await beat(55_500, a, b);
    expect(a.held()).toContain('0@1');
    expect(b.held()).toContain('1@1');
    expect(a.held()).not.toContain('1@0');
  });

  it('takes the slices of a dead node within three seconds, and reads what it left', async () => {
    const { node, beat, plan } = setup();
    const [a, b] = [node('a', [0]), node('b', [1])];
    await a.pass();
    await b.pass();
    await beat(10_000, a, b);
    const tasks = await plan(9_000, 10_500, 30_000);
    await beat(2_500, b);
    expect(b.held()).toContain('0@0');
    expect(b.submitted).toEqual(tasks.slice(0, 2));
  });

  it('gives its slices to a newcomer with the next pass', async () => {
    const { node, beat } = setup();
    const [a, b] = [node('a', [0, 1]), node('b', [1])];
    await a.pass();
    await beat(10_000, a);
    a.own = [0];
    await beat(500, a, b);
    expect(a.held()).toEqual(['0@0']);
    expect(b.held()).toContain('1@0');
    await beat(5_000, a, b);
    expect(a.held()).toEqual(['0@0']);
  });

  it('hands everything over at once when it is released', async () => {
    const { node } = setup();
    const [a, b] = [node('a', [0, 1]), node('b', [0, 1])];
    await a.pass();
    await b.pass();
    expect(b.held()).toEqual([]);
    await a.scheduler.release();
    expect(a.held()).toEqual([]);
    await b.pass();
    expect(b.held()).toContain('0@0');
    expect(b.held()).toContain('1@0');
  });

  it('notices a lost slice, takes it again and replays it when the locks were emptied', async () => {
    const { node, beat, plan, locks } = setup();
    const a = node('a', [0]);
    await a.pass();
    await beat(5_000, a);
    const [task] = await plan(4_000);
    a.submitted = [];
    locks.empty();
    await a.pass();
    expect(a.lost).toContain('0@0');
    expect(a.held()).toContain('0@0');
    expect(a.submitted).toEqual([task]);
  });
});

describe('closing', () => {
  it('closes a minute only when the database holds nothing of it that has not run', async () => {
    const { node, beat, plan, run, mark, start } = setup();
    const a = node('a', [0]);
    await a.pass();
    const [task] = await plan(59_999);
    await beat(61_000, a);
    expect(a.held()).toContain('0@0');
    a.submitted = [];
    await beat(500, a);
    expect(a.submitted).toEqual([task]);
    expect(a.held()).toContain('0@0');
    expect(await mark()).toBeLessThanOrEqual(start);
    run(task!);
    await beat(500, a);
    expect(a.held()).toContain('0@1');
    expect(a.held()).not.toContain('0@0');
    expect(await mark()).toBe(start + MINUTE);
  });

  it('is done for everybody', async () => {
    const { node, beat } = setup();
    const [a, b] = [node('a', [0, 1]), node('b', [])];
    await a.pass();
    await beat(62_000, a);
    await a.scheduler.release();
    await b.pass();
    expect(b.held()).not.toContain('0@0');
    expect(b.held()).toContain('0@1');
  });

  it('does not move the mark over an older minute of its own that is still open', async () => {
    const { node, beat, plan, run, mark, start } = setup();
    const a = node('a', [0]);
    await a.pass();
    const [open] = await plan(30_000);
    await beat(2 * MINUTE + 2_000, a);
    expect(a.held()).toContain('0@0');
    expect(a.held()).not.toContain('0@1');
    expect(await mark()).toBeLessThanOrEqual(start);
    run(open!);
    await beat(MINUTE, a);
    expect(await mark()).toBe(start + 3 * MINUTE);
  });

  it('does not move the mark over an older minute that another node holds, and finds what that one left', async () => {
    const { node, beat, plan, run, mark, start } = setup();
    const [a, b] = [node('a', [0]), node('b', [])];
    await a.pass();
    const [open] = await plan(30_000);
    await beat(2 * MINUTE + 10_000, a);
    // The node dies with minute 0 still open; nobody asks for the lock of that minute any more.
    b.own = [0, 1];
    await beat(2 * MINUTE, b);
    expect(b.held()).not.toContain('0@0');
    expect(await mark()).toBeLessThanOrEqual(start);
    b.submitted = [];
    await beat(MINUTE, b);
    expect(b.submitted).toContainEqual(open);
    run(open!);
    await beat(MINUTE, b);
    expect(await mark()).toBe(start + 6 * MINUTE);
  });

  it('keeps a slice whose closing came too late to its new owner', async () => {
    const { clock, node, beat, mark, start } = setup();
    const [a, b] = [node('a', [0]), node('b', [0])];
    await a.pass();
    await beat(59_000, a);
    await clock.advance(3_000);
    await b.pass();
    expect(b.held()).toContain('0@1');
    await a.pass();
    expect(a.held()).not.toContain('0@0');
    expect(await mark()).toBe(start + MINUTE);
  });

  it('reads the past once for all buckets that became its own together', async () => {
    const { node, stores, start } = setup();
    const from: { buckets: readonly number[]; from: number }[] = [];
    const notRun = stores.notRun.bind(stores);
    stores.notRun = (query) => {
      from.push({ buckets: query.buckets, from: query.from });
      return notRun(query);
    };
    await stores.setCompleteUntil(new Map([0, 1].map((bucket) => [bucket, start - 5 * MINUTE])));
    await node('a', [0, 1]).pass();
    expect(from).toEqual([{ buckets: [0, 1], from: start - 5 * MINUTE }]);
  });
});
