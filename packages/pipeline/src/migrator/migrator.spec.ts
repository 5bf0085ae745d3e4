import { describe, expect, it } from 'vitest';
import { StoreUnavailableError } from '../errors.js';
import { Events } from '../events.js';
import { VirtualClock } from '../lifecycle/virtual-clock.js';
import { TaskStatus, TimerStatus } from '../status.js';
import { MemoryStores } from '../testing/memory-stores.js';
import { aTimer } from '../testing/samples.js';
import { type DueTask, type PlannedTask, taskIdOf } from '../timer/task.js';
import { horizonOf } from './horizon.js';
import { defaultMigratorOptions, Migrator, type MigratorOptions } from './migrator.js';

const MINUTE = 60_000;
const BUCKETS = 4;

function setup(options: Partial<MigratorOptions> = {}) {
  const clock = new VirtualClock();
  const start = clock.now();
  const stores = new MemoryStores(BUCKETS);
  const events = new Events();
  const asideIds: number[] = [];
  events.on('migrator.timerSetAside', ({ timerId }) => asideIds.push(timerId));
  const writes: PlannedTask[][] = [];
  const plan = stores.plan.bind(stores);
  stores.plan = async (tasks) => {
    writes.push([...tasks]);
    return plan(tasks);
  };
  const indexed: DueTask[] = [];
  const submitted: DueTask[] = [];
  const settled: number[] = [];
  const world = { settle: async (_timerId: number) => {} };
  const migrator = new Migrator(
    {
      timers: stores,
      tasks: stores,
      jobs: { letGoResumed: async () => {} },
      firing: () => false,
      catchUp: {
        settle: async (timerId) => {
          settled.push(timerId);
          await world.settle(timerId);
        },
      },
      index: {
        add: async (tasks) => void indexed.push(...tasks),
        remove: async (tasks) => {
          const gone = new Set(tasks.map(taskIdOf));
          indexed.splice(0, indexed.length, ...indexed.filter((task) => !gone.has(taskIdOf(task))));
        },
      },
      membership: { buckets: () => [0, 1, 2, 3] },
      clock,
      events,
      submit: (tasks) => submitted.push(...tasks),
    },
    { ...defaultMigratorOptions, bucketsNum: BUCKETS, ...options },
  );
  const timer = (timerId: number, changes: Parameters<typeof aTimer>[0] = {}) => {
    const created = aTimer({ timerId, bucket: timerId % BUCKETS, cron: '0 * * * * ?', nextFireAt: start, ...changes });
    stores.timers.set(timerId, created);
    return created;
  };
  const pass = (signal = new AbortController().signal) => migrator.pass(signal);
  const horizon = (bucket: number) => horizonOf(bucket, BUCKETS, clock.now());
  return { clock, start, stores, migrator, timer, pass, horizon, writes, indexed, submitted, settled, asideIds, world };
}

describe('a pass', () => {
  it('expands each bucket up to its own horizon: rows, sorted sets, and the mark behind them', async () => {
    const { start, stores, timer, pass, horizon, indexed } = setup();
    for (const id of [4, 5, 6, 7]) timer(id);
    await pass();
    for (const id of [4, 5, 6, 7]) {
      const tasks = stores.tasksOf(id);
      expect(tasks[0]!.runTimer).toBe(start);
      expect(tasks).toHaveLength((horizon(id % BUCKETS) - start) / MINUTE);
      expect(stores.timers.get(id)).toMatchObject({ nextFireAt: horizon(id % BUCKETS), plannedRuns: tasks.length });
    }
    expect(new Set([4, 5, 6, 7].map((id) => stores.tasksOf(id).length)).size).toBe(4);
    expect(indexed).toHaveLength(stores.rows.size);
  });

  it('reads page by page, and does nothing more when all is planned', async () => {
    const { stores, timer, pass, writes } = setup({ pageSize: 3 });
    for (let i = 1; i <= 10; i++) timer(i * BUCKETS);
    await pass();
    for (let i = 1; i <= 10; i++) expect(stores.tasksOf(i * BUCKETS).length).toBeGreaterThan(60);
    writes.length = 0;
    await pass();
    expect(writes).toEqual([]);
  });

  it('writes the tasks of a page in time order, in batches, and no row twice', async () => {
    const { stores, timer, pass, writes } = setup({ batchSize: 100, windowRows: 400 });
    timer(4, { cron: '* * * * * ?' });
    timer(8, { cron: '*/7 * * * * ?' });
    timer(12);
    await pass();
    const rows = writes.flat();
    expect(rows).toHaveLength(stores.rows.size);
    expect(rows.map((row) => row.runTimer)).toEqual(rows.map((row) => row.runTimer).sort((a, b) => a - b));
    expect(Math.max(...writes.map((batch) => batch.length))).toBe(100);
  });

  it('gives what is due within moments to the executor as well', async () => {
    const { start, timer, pass, submitted } = setup();
    timer(4, { cron: '* * * * * ?' });
    await pass();
    expect(submitted.map((task) => task.runTimer - start)).toEqual([0, 1_000]);
  });

  it('stops between pages when it is told to', async () => {
    const { stores, timer, pass } = setup({ pageSize: 1 });
    for (const id of [4, 8, 5]) timer(id);
    const cut = new AbortController();
    const advance = stores.advance.bind(stores);
    stores.advance = async (moves) => {
      cut.abort();
      return advance(moves);
    };
    await pass(cut.signal);
    const lengths = [4, 8, 5].map((id) => stores.tasksOf(id).length > 0);
    expect(lengths).toEqual([true, false, false]);
    stores.advance = advance;
    await pass();
    for (const id of [4, 8, 5]) expect(stores.tasksOf(id).length).toBeGreaterThan(60);
  });

  it('keeps to maxRuns over several passes', async () => {
    const { clock, stores, timer, pass, start } = setup();
    timer(4, { maxRuns: 150 });
    await pass();
    expect(stores.tasksOf(4).length).toBeLessThan(150);
    await clock.advance(60 * MINUTE);
    await pass();
    await clock.advance(60 * MINUTE);
    await pass();
    expect(stores.tasksOf(4)).toHaveLength(150);
    expect(stores.tasksOf(4).at(-1)!.runTimer).toBe(start + 149 * MINUTE);
    expect(stores.timers.get(4)!.nextFireAt).toBeNull();
  });

  it('leaves no slot out when a quiet time is followed by a dense one', async () => {
    const { start, stores, timer, pass, horizon } = setup();
    // Days behind: nobody planned since. Its grace says that all of it is still to run.
    const from = start - 3 * 86_400_000;
    const policies = { misfire: { policy: 'fireAll' as const, graceMs: 30 * 86_400_000, maxCatchUp: 100 } };
    timer(4, { cron: '0 0 0 * * ?', nextFireAt: from, policies });
    timer(8, { cron: '* * 0-9 15 1 ?', nextFireAt: from, policies });
    await pass();
    expect(stores.tasksOf(4)).toHaveLength(3);
    expect(stores.tasksOf(8)).toHaveLength(10 * 3_600);
    expect(stores.timers.get(8)!.nextFireAt).toBeGreaterThan(horizon(0));
  });
});

describe('a step that is repeated', () => {
  for (const step of ['plan', 'advance'] as const) {
    it(`does no harm when a pass died at ${step}`, async () => {
      const { stores, timer, pass, horizon, start } = setup();
      timer(4);
      stores.fail(step, new Error('died'));
      await expect(pass()).rejects.toThrow('died');
      expect(stores.timers.get(4)!.nextFireAt).toBe(start);
      stores.fail(step, null);
      await pass();
      const planned = (horizon(0) - start) / MINUTE;
      expect(stores.tasksOf(4)).toHaveLength(planned);
      expect(stores.timers.get(4)).toMatchObject({ nextFireAt: horizon(0), plannedRuns: planned });
    });
  }

  it('does no harm when two nodes plan the same bucket', async () => {
    const { stores, timer, pass, horizon, start } = setup();
    timer(4);
    await Promise.all([pass(), pass()]);
    expect(stores.timers.get(4)!.plannedRuns).toBe((horizon(0) - start) / MINUTE);
    expect(stores.tasksOf(4).every((task) => task.status === TaskStatus.notRun)).toBe(true);
  });
});

describe('a timer that changes meanwhile', () => {
  const changes = [
    { what: 'edited', change: {}, reason: 'edited' },
    { what: 'paused', change: { status: TimerStatus.inactive, nextFireAt: null }, reason: 'paused' },
    { what: 'deleted', change: { status: TimerStatus.deleted, nextFireAt: null }, reason: 'deleted' },
  ];
  for (const { what, change, reason } of changes) {
    it(`is left to who ${what} it, and rows of its old version are canceled`, async () => {
      const { stores, timer, pass, indexed } = setup();
      const old = timer(4);
      const plan = stores.plan.bind(stores);
      stores.plan = async (tasks) => {
        stores.plan = plan;
        await plan(tasks);
        await stores.save({ ...old }, change, { obsoletesPlanned: true });
      };
      await pass();
      const ended = new Set(stores.tasksOf(4).map((task) => [task.status, task.reason].join()));
      expect(ended).toEqual(new Set([`${TaskStatus.canceled},${reason}`]));
      expect(stores.timers.get(4)).toMatchObject({ version: 2, plannedRuns: 0 });
      // A slot the edit may have kept has the same place in the sorted sets.
      if (reason !== 'edited') expect(indexed).toEqual([]);
    });
  }
});

describe('a bad row', () => {
  it('is set aside, and the others go on', async () => {
    const { stores, timer, pass, asideIds } = setup();
    timer(4, { cron: 'no cron' });
    timer(8);
    timer(5);
    await pass();
    expect(asideIds).toEqual([4]);
    expect(stores.tasksOf(4)).toEqual([]);
    expect(stores.tasksOf(8).length).toBeGreaterThan(60);
    expect(stores.tasksOf(5).length).toBeGreaterThan(60);
  });

  it('is set aside also when its missed slots can’t be settled', async () => {
    const { start, stores, timer, pass, asideIds, settled, world } = setup();
    timer(4, { nextFireAt: start - 60 * MINUTE });
    timer(8);
    world.settle = async () => {
      throw new Error('no cron');
    };
    await pass();
    expect(settled).toEqual([4]);
    expect(asideIds).toEqual([4]);
    expect(stores.tasksOf(4)).toEqual([]);
    expect(stores.tasksOf(8).length).toBeGreaterThan(60);
  });

  it('is not what a database that is away makes of it', async () => {
    const { start, timer, pass, asideIds, world } = setup();
    timer(4, { nextFireAt: start - 60 * MINUTE });
    world.settle = async () => {
      throw new StoreUnavailableError('database', 'gone');
    };
    await expect(pass()).rejects.toThrow('gone');
    expect(asideIds).toEqual([]);
  });
});

describe('planning now', () => {
  it('goes as far as it is asked; the next pass does the rest', async () => {
    const { start, stores, migrator, timer, pass, horizon } = setup();
    await migrator.planNow({ ...timer(4) }, start + 5 * MINUTE);
    expect(stores.tasksOf(4)).toHaveLength(5);
    expect(stores.timers.get(4)!.nextFireAt).toBe(start + 5 * MINUTE);
    await pass();
    expect(stores.tasksOf(4)).toHaveLength((horizon(0) - start) / MINUTE);
  });

  it('never goes beyond the horizon, and does nothing for a timer without a next fire', async () => {
    const { stores, migrator, timer, horizon } = setup();
    await migrator.planNow({ ...timer(4) });
    expect(stores.tasksOf(4).at(-1)!.runTimer).toBe(horizon(0) - MINUTE);
    await migrator.planNow({ ...timer(8, { nextFireAt: null }) });
    expect(stores.tasksOf(8)).toEqual([]);
  });
});
