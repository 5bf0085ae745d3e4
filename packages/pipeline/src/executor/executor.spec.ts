import { describe, expect, it } from 'vitest';
import { Events } from '../events.js';
import { settle, VirtualClock } from '../lifecycle/virtual-clock.js';
import { TaskStatus, TimerStatus } from '../status.js';
import { ok } from '../testing/cluster.js';
import { FakeBuckets } from '../testing/memory-buckets.js';
import { MemoryStores } from '../testing/memory-stores.js';
import { seededRandom } from '../testing/random.js';
import { aTimer, planned } from '../testing/samples.js';
import type { Timer } from '../timer/timer.js';
import { Definitions } from './definitions.js';
import { defaultExecutorOptions, Executor, type ExecutorOptions } from './executor.js';
import type { CallbackAnswer } from './ports.js';

const gone = new Error('gone');
const aborted: CallbackAnswer = {
  httpStatus: null,
  output: null,
  error: { code: 'CALLBACK_ABORTED', message: 'cut' },
  headers: {},
};

function setup(options: Partial<ExecutorOptions> = {}) {
  const clock = new VirtualClock();
  const start = clock.now();
  const stores = new MemoryStores();
  const buckets = new FakeBuckets(() => clock.now());
  const events = new Events();
  const seen: string[] = [];
  for (const name of ['task.finished', 'task.outcomeLost', 'task.leaseLost', 'stage.failed'] as const) {
    events.on(name, () => seen.push(name));
  }
  const world = { token: 1 as number | null, misfires: (_timerId: number): void => {} };
  const calls: { timerId: number; at: number; answer: (answer?: CallbackAnswer) => Promise<void> }[] = [];
  /** `null`: the test answers each call by hand. */
  const receiver = { answer: ok as CallbackAnswer | null };
  const executor = new Executor(
    {
      tasks: stores,
      buckets,
      callbacks: {
        call: ({ timerId }, _definition, signal) =>
          new Promise((resolve) => {
            const answer = (given = ok) => {
              resolve(given);
              return settle();
            };
            calls.push({ timerId, at: clock.now() - start, answer });
            if (receiver.answer) resolve(receiver.answer);
            else signal.addEventListener('abort', () => resolve(aborted));
          }),
      },
      definitions: new Definitions(stores),
      catchUp: { settle: async (timerId) => world.misfires(timerId) },
      place: async () => {},
      lease: { token: () => world.token },
      clock,
      random: seededRandom(1),
      events,
    },
    { ...defaultExecutorOptions, nodeId: 'a', ...options },
  );
  const timer = (timerId: number, changes: Parameters<typeof aTimer>[0] = {}) => {
    const created = aTimer({ timerId, ...changes });
    stores.timers.set(timerId, created);
    return created;
  };
  const at = (host: string) => ({ method: 'POST' as const, url: `http://${host}/`, header: {}, body: null });
  const plan = (of: Timer, ...afterMs: number[]) => planned(stores, of, ...afterMs.map((ms) => start + ms));
  const statuses = (timerId = 1) => stores.tasksOf(timerId).map((task) => task.status);
  return { clock, start, stores, buckets, executor, receiver, calls, seen, world, timer, at, plan, statuses };
}

describe('claiming', () => {
  it('claims what falls due together in one group, a moment before, and calls each at its millisecond', async () => {
    const { clock, stores, executor, calls, timer, plan, statuses } = setup();
    const groups: number[] = [];
    const claim = stores.claim.bind(stores);
    stores.claim = (tasks, right) => {
      groups.push(tasks.length);
      return claim(tasks, right);
    };
    executor.submit(await plan(timer(1), 1_000, 1_001, 1_500));
    await clock.advance(949);
    expect(groups).toEqual([]);
    await clock.advance(1_000);
    expect(groups).toEqual([1, 1, 1]);
    expect(calls.map((call) => call.at)).toEqual([1_000, 1_001, 1_500]);
    expect(statuses()).toEqual(Array(3).fill(TaskStatus.succeeded));
  });

  it('claims the next group, all that fell due meanwhile, when one claim is through', async () => {
    const { clock, stores, executor, timer, plan } = setup();
    const groups: number[] = [];
    const claim = stores.claim.bind(stores);
    stores.claim = async (tasks, right) => {
      groups.push(tasks.length);
      await clock.sleepUntil(clock.now() + 100);
      return claim(tasks, right);
    };
    executor.submit(await plan(timer(1), ...Array.from({ length: 90 }, (_, i) => 1_000 + i)));
    await clock.advance(2_000);
    expect(groups).toEqual([1, 89]);
  });

  it('calls a task once however often it is handed over', async () => {
    const { clock, executor, calls, timer, plan } = setup();
    const tasks = await plan(timer(1), 500);
    for (let i = 0; i < 5; i++) executor.submit(tasks);
    await clock.advance(500);
    executor.submit(tasks);
    await clock.advance(5_000);
    executor.submit(tasks);
    await clock.advance(5_000);
    expect(calls).toHaveLength(1);
  });

  it('gives what is refused for good its final state, and takes it out of the index', async () => {
    const { clock, buckets, executor, calls, timer, plan, statuses } = setup();
    const paused = timer(1);
    const tasks = await plan(paused, 500);
    await buckets.add(tasks);
    paused.status = TimerStatus.inactive;
    executor.submit(tasks);
    await clock.advance(1_000);
    expect(calls).toEqual([]);
    expect(statuses()).toEqual([TaskStatus.canceled]);
    expect(buckets.size).toBe(0);
  });

  it('ends a claim whose answer got lost before anyone tries again', async () => {
    const { clock, stores, executor, calls, timer, plan, statuses } = setup();
    const tasks = await plan(timer(1), 500);
    const claim = stores.claim.bind(stores);
    stores.claim = async (wanted, right) => {
      await claim(wanted, right);
      stores.fail('unclaim', gone);
      throw gone;
    };
    executor.submit(tasks);
    await clock.advance(1_000);
    stores.claim = claim;
    executor.submit(tasks);
    await clock.advance(1_000);
    expect(statuses()).toEqual([TaskStatus.running]);
    expect(calls).toEqual([]);
    stores.fail('unclaim', null);
    await clock.advance(1_000);
    expect(statuses()).toEqual([TaskStatus.notRun]);
    executor.submit(tasks);
    await clock.advance(1_000);
    expect(calls).toHaveLength(1);
    expect(stores.tasksOf(1)[0]).toMatchObject({ status: TaskStatus.succeeded, attempt: 1 });
  });

  it('claims nothing without a lease', async () => {
    const { clock, executor, calls, world, timer, plan, statuses } = setup();
    world.token = null;
    const tasks = await plan(timer(1), 500);
    executor.submit(tasks);
    await clock.advance(1_000);
    expect(statuses()).toEqual([TaskStatus.notRun]);
    world.token = 2;
    executor.submit(tasks);
    await clock.advance(1_000);
    expect(calls).toHaveLength(1);
  });

  it('lets a timer that can’t be settled hold up no other', async () => {
    const { clock, executor, calls, seen, world, timer, plan } = setup();
    await clock.advance(600_000);
    world.misfires = (timerId) => {
      if (timerId === 1) throw new Error('bad row');
    };
    executor.submit([...(await plan(timer(1), 0)), ...(await plan(timer(2), 600_100))]);
    await clock.advance(1_000);
    expect(calls.map((call) => call.timerId)).toEqual([2]);
    expect(seen).toContain('stage.failed');
  });
});

describe('calling', () => {
  it('does not call, and gives the task back, when the lease lapsed after the claim', async () => {
    const { clock, executor, calls, seen, world, timer, plan, statuses } = setup();
    const tasks = await plan(timer(1), 500);
    executor.submit(tasks);
    await clock.advance(460);
    expect(statuses()).toEqual([TaskStatus.running]);
    // A lease that lapsed and came back, before anybody could recover the claim.
    world.token = 2;
    await clock.advance(100);
    expect(calls).toEqual([]);
    expect(seen).toEqual(['task.leaseLost']);
    expect(statuses()).toEqual([TaskStatus.notRun]);
    executor.submit(tasks);
    await clock.advance(100);
    expect(calls).toHaveLength(1);
  });

  it('lets a host that never answers delay nobody else', async () => {
    const { clock, executor, receiver, calls, timer, at, plan } = setup({ concurrency: 10, perHost: 4 });
    receiver.answer = null;
    const slow = timer(1, { notifyHttpParam: at('slow.example') });
    const quick = timer(2, { notifyHttpParam: at('quick.example') });
    executor.submit(await plan(slow, ...Array.from({ length: 200 }, (_, i) => i)));
    await clock.advance(1_000);
    expect(calls).toHaveLength(4);
    executor.submit(await plan(quick, 1_500, 1_600));
    await clock.advance(1_000);
    expect(calls.slice(4)).toMatchObject([
      { timerId: 2, at: 1_500 },
      { timerId: 2, at: 1_600 },
    ]);
  });

  it('never has more calls on their way than the node may have, and leaves the rest to other nodes', async () => {
    const { clock, executor, receiver, calls, timer, at, plan, statuses } = setup({ concurrency: 3, perHost: 2 });
    receiver.answer = null;
    for (let id = 1; id <= 8; id++) {
      executor.submit(await plan(timer(id, { notifyHttpParam: at(`host${id}.example`) }), 100));
    }
    await clock.advance(1_000);
    expect(calls).toHaveLength(3);
    const all = Array.from({ length: 8 }, (_, i) => statuses(i + 1)[0]);
    expect(all.filter((status) => status === TaskStatus.notRun)).toHaveLength(2);
    await calls[0]!.answer();
    await settle();
    expect(calls).toHaveLength(4);
  });
});

describe('results', () => {
  it('are kept while the database is away, and written when it is back', async () => {
    const { clock, stores, executor, calls, seen, timer, plan, statuses } = setup();
    executor.submit(await plan(timer(1), 500));
    await clock.advance(460);
    stores.fail('finish', gone);
    await clock.advance(60_000);
    expect(statuses()).toEqual([TaskStatus.running]);
    stores.fail('finish', null);
    await clock.advance(1_000);
    expect(statuses()).toEqual([TaskStatus.succeeded]);
    expect(calls).toHaveLength(1);
    expect(seen).toEqual(['task.finished']);
  });

  it('of a claim that others took back are dropped', async () => {
    const { clock, stores, executor, receiver, calls, seen, timer, plan } = setup();
    receiver.answer = null;
    executor.submit(await plan(timer(1), 500));
    await clock.advance(1_000);
    await stores.leave('a');
    await clock.advance(120_000);
    expect(await stores.recoverDead(clock.now(), 10)).toHaveLength(1);
    await calls[0]!.answer();
    await clock.advance(100);
    expect(seen).toEqual(['task.outcomeLost']);
    expect(stores.tasksOf(1)[0]).toMatchObject({ status: TaskStatus.notRun, httpStatus: null });
  });
});

describe('stopping', () => {
  it('takes nothing more, waits for calls in flight and writes their results', async () => {
    const { clock, executor, receiver, calls, timer, plan, statuses } = setup();
    receiver.answer = null;
    executor.submit(await plan(timer(1), 500, 5_000));
    await clock.advance(1_000);
    let stopped = false;
    const stop = executor.stop(30_000).then(() => {
      stopped = true;
    });
    executor.submit(await plan(timer(2), 1_100));
    await clock.advance(9_000);
    expect(stopped).toBe(false);
    await calls[0]!.answer();
    await stop;
    expect(calls).toHaveLength(1);
    expect([...statuses(1), ...statuses(2)]).toEqual([TaskStatus.succeeded, TaskStatus.notRun, TaskStatus.notRun]);
  });

  it('is over at once when nothing is in flight', async () => {
    const { executor } = setup();
    await executor.stop(30_000);
  });

  it('cuts what lasts longer than the grace: a cut call stays claimed, one never sent is given back', async () => {
    const { clock, executor, receiver, calls, timer, plan, statuses } = setup({ perHost: 1, concurrency: 1 });
    receiver.answer = null;
    for (const id of [1, 2, 3]) executor.submit(await plan(timer(id), 500));
    await clock.advance(500);
    // That the host answers fast lets it have one more task than it has calls.
    await calls[0]!.answer();
    await clock.advance(5);
    expect([...statuses(2), ...statuses(3)]).toEqual([TaskStatus.running, TaskStatus.running]);
    const stop = executor.stop(10_000);
    await clock.advance(10_000);
    await stop;
    expect(calls).toHaveLength(2);
    expect([...statuses(2), ...statuses(3)].sort()).toEqual([TaskStatus.notRun, TaskStatus.running]);
  });

  it('does not wait for ever for a database that is away', async () => {
    const { clock, stores, executor, timer, plan } = setup();
    executor.submit(await plan(timer(1), 500));
    stores.fail('finish', gone);
    await clock.advance(1_000);
    let stopped = false;
    void executor.stop(1_000).then(() => {
      stopped = true;
    });
    await clock.advance(4_000);
    expect(stopped).toBe(false);
    await clock.advance(1_000);
    expect(stopped).toBe(true);
  });
});
