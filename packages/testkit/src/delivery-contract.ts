import {
  type ClaimedTask,
  type Misfire,
  type PlannedTask,
  Reason,
  TaskOrigin,
  TaskStatus,
  type Timer,
  TimerStatus,
  taskIdOf,
} from '@xtimer/pipeline';
import { describe, expect } from 'vitest';
import { failed, type OpenStores, retry, type StoresSetup, succeeded } from './stores-setup.js';

/** What overlap rules, misfires, replays and retention ask of the stores. Part of `storesContract`. */
export function deliveryContract(
  test: (title: string, body: (t: StoresSetup) => Promise<void>) => void,
  stores: () => [one: OpenStores, two: OpenStores],
): void {
  const both = () => stores().map((each) => each.tasks) as [OpenStores['tasks'], OpenStores['tasks']];

  describe('timers that run one task at a time', () => {
    const exclusive = (t: StoresSetup, timers: Timer[] = [t.timer], nodeId?: string) => ({
      ...t.right(nodeId),
      exclusive: new Set(timers.map((timer) => timer.timerId)),
    });

    test('the earliest task wins; the others have to wait', async (t) => {
      const [one, two] = both();
      const [a, b, c] = (await t.plan(3)) as [PlannedTask, PlannedTask, PlannedTask];
      const [first, ...more] = await one.claim([c, b, a], exclusive(t));
      expect(more).toEqual([]);
      expect(first).toMatchObject({ runTimer: a.runTimer, attempt: 1 });
      expect(await two.running(t.timer.timerId)).toEqual({ timerId: t.timer.timerId, runTimer: a.runTimer });
      expect(await two.claim([b, c], exclusive(t))).toEqual([]);
      expect(await one.cancelObsolete([b, c], t.t0)).toBe(0);
      expect(await two.finish([succeeded(first)])).toHaveLength(1);
      expect(await one.running(t.timer.timerId)).toBeNull();
      expect(await one.claim([b, c], exclusive(t))).toMatchObject([{ runTimer: b.runTimer }]);
    });

    const waysOut: Record<string, (t: StoresSetup, task: ClaimedTask) => Promise<unknown>> = {
      succeeded: (_, task) => both()[0].finish([succeeded(task)]),
      failed: (_, task) => both()[1].finish([failed(task)]),
      'waiting for a retry': (t, task) => both()[0].finish([retry(task, t.t0 + 60_000)]),
      unclaimed: (_, task) => both()[0].unclaim(task.claimId, [task]),
      'unclaimed by another instance': (_, task) => both()[1].unclaim(task.claimId, [task]),
      'recovered from a dead node': (t) => both()[1].recoverDead(t.t0 + 5000, 1000),
    };
    for (const [way, out] of Object.entries(waysOut)) {
      test(`a task that is ${way} makes way for the next`, async (t) => {
        const [one] = both();
        await one.heartbeat(t.node('dying'), t.t0, 1000);
        const [a, b] = (await t.plan(2)) as [PlannedTask, PlannedTask];
        const [task] = await one.claim([a], exclusive(t, [t.timer], 'dying'));
        await out(t, task as ClaimedTask);
        expect(await one.running(t.timer.timerId)).toBeNull();
        expect(await one.claim([b], exclusive(t))).toHaveLength(1);
        expect(await one.running(t.timer.timerId)).toMatchObject({ runTimer: b.runTimer });
        expect(await one.claim([a], exclusive(t))).toEqual([]);
      });
    }

    test('a retry keeps its turn like any other', async (t) => {
      const [one] = both();
      const [a, b] = (await t.plan(2)) as [PlannedTask, PlannedTask];
      for (const attempt of [1, 2, 3]) {
        const [task] = await one.claim([b, a], exclusive(t));
        expect(task).toMatchObject({ runTimer: a.runTimer, attempt });
        await one.finish([retry(task, t.t0 + attempt)]);
      }
    });

    test('what can’t run does not stand in the way of what can', async (t) => {
      const [one] = both();
      const [a, b, c] = (await t.plan(3)) as [PlannedTask, PlannedTask, PlannedTask];
      await one.cancel(a, t.t0);
      await one.finish((await t.claim([b])).map((task) => retry(task, t.t0 + 80_000_000)));
      const right = { ...exclusive(t), dueBy: t.t0 + 60_000 };
      expect(await one.claim([a, b, c], right)).toMatchObject([{ runTimer: c.runTimer }]);
    });

    test('others in the same call are not held up; theirs are not known as running', async (t) => {
      const [one, two] = both();
      const other = await t.create();
      const mine = await t.plan(1300);
      const theirs = await t.plan(1300, {}, other);
      const claimed = await one.claim([...mine, ...theirs], exclusive(t));
      expect(claimed.map(taskIdOf)).toEqual([mine[0] as PlannedTask, ...theirs].map(taskIdOf));
      expect(await two.running(other.timerId)).toBeNull();
      expect(await two.claim([], exclusive(t))).toEqual([]);
    });

    test('nodes that race for many timers again and again never run two tasks of one', async (t) => {
      const timers = [t.timer, ...(await Promise.all(Array.from({ length: 14 }, () => t.create())))];
      const tasks: PlannedTask[] = [];
      for (const timer of timers) tasks.push(...(await t.plan(6, {}, timer)));
      let left = tasks.length;
      for (let round = 0; left > 0; round++) {
        expect(round).toBeLessThanOrEqual(6);
        const claims = await Promise.all(
          Array.from({ length: 6 }, (_, n) => {
            const some = tasks.filter((_task, i) => (i + n + round) % 3 !== 0);
            return both()[n % 2]?.claim(n % 4 < 2 ? some : some.reverse(), exclusive(t, timers)) ?? [];
          }),
        );
        const won = claims.flat();
        expect(new Set(won.map((task) => task.timerId)).size).toBe(won.length);
        for (const task of won.slice(0, 3))
          expect(await both()[0].running(task.timerId)).toEqual({ timerId: task.timerId, runTimer: task.runTimer });
        // Ending and claiming at the same time, in opposite orders.
        const halves = [won.filter((_, n) => n % 2 === 0), won.filter((_, n) => n % 2 === 1)];
        const [, , meanwhile] = await Promise.all([
          both()[0].finish((halves[0] ?? []).map((task) => succeeded(task))),
          both()[1].finish((halves[1] ?? []).reverse().map((task) => failed(task))),
          both()[1].claim([...tasks].reverse(), exclusive(t, timers)),
        ]);
        expect(new Set(meanwhile.map((task) => task.timerId)).size).toBe(meanwhile.length);
        await both()[0].finish(meanwhile.map((task) => succeeded(task)));
        left -= won.length + meanwhile.length;
      }
      const found = await both()[0].history({ app: t.app, before: null, limit: 1000 });
      expect(found.filter((task) => task.attempt !== 1)).toEqual([]);
    });
  });

  describe('misfires', () => {
    const decision = (t: StoresSetup, fields: Partial<Misfire>): Misfire => ({
      timerId: t.timer.timerId,
      app: t.app,
      bucket: t.timer.bucket,
      version: t.timer.version,
      keep: [],
      skip: null,
      unplanned: 0,
      now: t.t0 + 100_000,
      ...fields,
    });
    const at = (t: StoresSetup, second: number) => t.t0 + second * 1000;
    /** Every task as `[second, status, skippedCount, up to second]`, oldest first. */
    const rows = async (t: StoresSetup) =>
      (await t.history())
        .reverse()
        .map((task) => [
          (task.runTimer - t.t0) / 1000,
          task.status,
          ...(task.skippedUntil === null ? [] : [task.skippedCount, (task.skippedUntil - t.t0) / 1000]),
        ]);

    test('overdue: slots of the cron before their first attempt, ascending', async (t) => {
      const [one] = both();
      const tasks = await t.plan(8);
      await one.finish((await t.claim(tasks.slice(1, 2))).map((task) => retry(task, t.t0 + 9000)));
      await t.claim(tasks.slice(2, 3));
      await one.cancel(tasks[3] as PlannedTask, t.t0);
      await one.cancel(tasks[4] as PlannedTask, t.t0);
      await one.replay([{ ...(tasks[4] as PlannedTask), dueAt: t.t0 + 1 }]);
      await one.plan([{ ...(tasks[0] as PlannedTask), runTimer: t.t0 + 500, origin: TaskOrigin.manual }]);
      const overdue = async (since: number, before: number, limit = 100) =>
        (await one.overdue(t.timer.timerId, since, before, limit)).map((ref) => (ref.runTimer - t.t0) / 1000);
      expect(await overdue(t.t0, at(t, 7))).toEqual([0, 5, 6]);
      expect(await overdue(t.t0 + 1, at(t, 100))).toEqual([5, 6, 7]);
      expect(await overdue(t.t0, at(t, 100), 2)).toEqual([0, 5]);
      expect(await one.overdue(t.timer.timerId, at(t, 5), at(t, 6), 1)).toEqual([
        { timerId: t.timer.timerId, runTimer: at(t, 5) },
      ]);
    });

    test('overdue: more than fit one answer', async (t) => {
      const [one] = both();
      const tasks = await t.plan(12_000);
      const refs = await one.overdue(t.timer.timerId, t.t0, at(t, 20_000), 11_500);
      expect(refs.map((ref) => ref.runTimer)).toEqual(tasks.slice(0, 11_500).map((task) => task.runTimer));
    });

    test('one row stands for all that are left out; what is kept waits for its turn', async (t) => {
      const [one] = both();
      await t.plan(2300);
      const keep = [2298, 2299].map((second) => ({ runTimer: at(t, second), dueAt: t.t0 + 5_000_000 + second }));
      const waiting = await one.misfire(
        decision(t, { keep, skip: { from: at(t, 3), until: at(t, 2297) }, unplanned: 0 }),
      );
      const { timerId, bucket } = t.timer;
      expect(waiting).toEqual(keep.map(({ runTimer, dueAt }) => ({ timerId, runTimer, bucket, dueAt })));
      expect(await rows(t)).toEqual([
        [0, 0],
        [1, 0],
        [2, 0],
        [3, 5, 2295, 2297],
        [2298, 0],
        [2299, 0],
      ]);
      expect(await one.find({ timerId, runTimer: at(t, 3) })).toMatchObject({
        reason: 'misfire',
        finishedAt: t.t0 + 100_000,
      });
      expect(await t.waiting(t.t0, at(t, 4000))).toHaveLength(3);
      expect(await t.waiting(at(t, 5000))).toEqual(waiting);
      // Kept again at another time, they wait in one place only.
      const again = await one.misfire(decision(t, { keep: [{ runTimer: at(t, 2299), dueAt: at(t, 9000) }] }));
      expect(again).toMatchObject([{ runTimer: at(t, 2299), dueAt: at(t, 9000) }]);
      expect((await t.waiting(at(t, 5000))).map((task) => task.dueAt)).toEqual([keep[0]?.dueAt, at(t, 9000)]);
      expect(
        await t.claim(waiting.map((task) => ({ ...(t.plannedTasks(1)[0] as PlannedTask), ...task }))),
      ).toHaveLength(2);
      expect(await t.waiting(at(t, 5000))).toEqual([]);
    });

    test('slots nobody planned: kept ones come into being, the others are counted once', async (t) => {
      const [one, two] = both();
      const skipping = decision(t, {
        keep: [{ runTimer: at(t, 9), dueAt: at(t, 100) }],
        skip: { from: at(t, 0), until: at(t, 8) },
        unplanned: 9,
      });
      expect(await one.misfire(skipping)).toMatchObject([{ runTimer: at(t, 9), dueAt: at(t, 100) }]);
      expect(await rows(t)).toEqual([
        [0, 5, 9, 8],
        [9, 0],
      ]);
      // Somebody who did not know decides the same, wholly or in part.
      await two.misfire(skipping);
      await two.misfire({ ...skipping, skip: { from: at(t, 4), until: at(t, 8) }, unplanned: 5 });
      expect(await rows(t)).toEqual([
        [0, 5, 9, 8],
        [9, 0],
      ]);
      const [task] = await t.claim([{ ...(t.plannedTasks(10)[9] as PlannedTask), dueAt: at(t, 100) }]);
      expect(task).toMatchObject({ attempt: 1, origin: TaskOrigin.cron });
      expect(await one.misfire(skipping)).toEqual([]);
    });

    test('planned and unplanned ones count together', async (t) => {
      await t.plan(5);
      await both()[0].misfire(decision(t, { skip: { from: t.t0, until: at(t, 99) }, unplanned: 95 }));
      expect(await rows(t)).toEqual([[0, 5, 100, 99]]);
    });

    test('what runs or has ended stays as it is', async (t) => {
      const [one] = both();
      const tasks = await t.plan(6);
      const [a, b] = await t.claim([tasks[0] as PlannedTask, tasks[2] as PlannedTask]);
      await one.finish([succeeded(b)]);
      await one.cancel(tasks[5] as PlannedTask, t.t0);
      const keep = [{ runTimer: at(t, 5), dueAt: at(t, 50) }];
      expect(await one.misfire(decision(t, { keep, skip: { from: t.t0, until: at(t, 4) } }))).toEqual([]);
      expect(await rows(t)).toEqual([
        [0, 1],
        [1, 5, 3, 4],
        [2, 2],
        [5, 4],
      ]);
      // None is left, only some that never had a row: the first instant is taken.
      await one.misfire(decision(t, { skip: { from: t.t0, until: at(t, 20) }, unplanned: 15 }));
      expect(await rows(t)).toEqual([
        [0, 1],
        [1, 5, 3, 4],
        [2, 2],
        [5, 4],
        [20, 5, 15, 20],
      ]);
      await one.misfire(decision(t, { skip: { from: t.t0, until: at(t, 20) }, unplanned: 15 }));
      expect(await rows(t)).toHaveLength(5);
      expect(await one.finish([succeeded(a)])).toHaveLength(1);
      expect(await one.misfire(decision(t, {}))).toEqual([]);
    });

    test('while tasks are claimed each slot runs, is kept or is counted', async (t) => {
      const tasks = await t.plan(300);
      const keep = [{ runTimer: at(t, 299), dueAt: at(t, 500) }];
      const skipping = decision(t, { keep, skip: { from: t.t0, until: at(t, 298) } });
      const chunks = Array.from({ length: 30 }, (_, n) => tasks.slice(n * 10, n * 10 + 10).reverse());
      const [waiting, ...claimed] = await Promise.all([
        both()[1].misfire(skipping),
        ...chunks.map((chunk, n) => both()[n % 2]?.claim(chunk, { ...t.right(), dueBy: at(t, 499) }) ?? []),
      ]);
      const found = await t.history();
      const running = found.filter((task) => task.status === TaskStatus.running);
      expect(running).toHaveLength(claimed.flat().length);
      const skipped = found.reduce((sum, task) => sum + (task.skippedCount ?? 0), 0);
      expect(running.length + skipped + waiting.length).toBe(300);
    });

    test('two nodes that settle the same count once', async (t) => {
      await t.plan(40);
      const planned = decision(t, {
        keep: [{ runTimer: at(t, 39), dueAt: at(t, 500) }],
        skip: { from: t.t0, until: at(t, 38) },
      });
      const unplanned = decision(t, { skip: { from: at(t, 1000), until: at(t, 1999) }, unplanned: 1000 });
      for (const each of [planned, unplanned])
        await Promise.all([0, 1, 0, 1].map((n) => both()[n as 0 | 1].misfire(each)));
      expect(await rows(t)).toEqual([
        [0, 5, 39, 38],
        [39, 0],
        [1000, 5, 1000, 1999],
      ]);
      expect(await t.waiting(t.t0, at(t, 2000))).toHaveLength(1);
    });
  });

  test('skip: what has not run, with the reason; retries no longer wait', async (t) => {
    const [one] = both();
    const tasks = await t.plan(4);
    await one.finish((await t.claim(tasks.slice(0, 1))).map((task) => retry(task, t.t0 + 9000)));
    await t.claim(tasks.slice(1, 2));
    const refs = [...tasks, { timerId: t.timer.timerId, runTimer: 1 }, tasks[0] as PlannedTask];
    expect(await one.skip(refs, Reason.overlap, t.t0 + 7.5)).toBe(3);
    expect(await one.skip(refs, Reason.overlap, t.t0)).toBe(0);
    expect(await t.statuses()).toEqual([5, 1, 5, 5]);
    expect(await one.find(tasks[2] as PlannedTask)).toMatchObject({
      reason: 'overlap',
      finishedAt: t.t0 + 7,
      skippedCount: null,
    });
    expect(await t.waiting()).toEqual([]);
    expect(await one.skip([], Reason.overlap, t.t0)).toBe(0);
  });

  describe('replay', () => {
    /** Failed, canceled and skipped tasks, one of each. */
    async function deadLetters(t: StoresSetup) {
      const [one] = both();
      const tasks = (await t.plan(3)) as [PlannedTask, PlannedTask, PlannedTask];
      await one.finish((await t.claim(tasks.slice(0, 1))).map((task) => failed(task)));
      await one.cancel(tasks[1], t.t0);
      await one.skip([tasks[2]], Reason.overlap, t.t0);
      return tasks;
    }
    const paced = (t: StoresSetup, tasks: readonly PlannedTask[]) =>
      tasks.map(({ timerId, runTimer }, n) => ({ timerId, runTimer, dueAt: t.t0 + 60_000 + n * 100 }));

    test('failed, canceled and skipped tasks wait again; others stay', async (t) => {
      const [one] = both();
      const tasks = await deadLetters(t);
      const more = t.plannedTasks(7).slice(3);
      await one.plan(more);
      const [ended, running] = await t.claim(more.slice(1, 3));
      await one.finish([succeeded(ended)]);
      const refs = [...paced(t, [...tasks, ...more]), { timerId: t.timer.timerId, runTimer: 1, dueAt: 1 }];
      const waiting = await one.replay([...refs, { ...(refs[0] as (typeof refs)[number]), dueAt: 1 }]);
      expect(waiting).toEqual(refs.slice(0, 3).map((ref) => ({ ...ref, bucket: t.timer.bucket })));
      expect(await t.waiting(t.t0 + 60_000, t.t0 + 70_000)).toEqual(waiting);
      expect(await t.statuses()).toEqual([0, 0, 0, 0, 2, 1, 0]);
      for (const task of (await t.history()).slice(-3))
        expect(task).toMatchObject({ replayCount: 1, reason: null, finishedAt: null });
      expect(await one.replay(refs)).toEqual([]);
      expect(await one.replay([])).toEqual([]);
      expect(await one.finish([succeeded(running)])).toHaveLength(1);
      const again = await t.claim(tasks);
      expect(again.map((task) => task.attempt)).toEqual([2, 1, 1]);
      expect(await one.finish([failed(again[0])])).toHaveLength(1);
      expect(await one.attempts(tasks[0])).toMatchObject([{ attempt: 1 }, { attempt: 2 }]);
      expect(await one.replay(refs.slice(0, 1))).toHaveLength(1);
      expect(await one.find(tasks[0])).toMatchObject({ replayCount: 2, attempt: 2 });
    });

    test('pressed many times at once it counts once', async (t) => {
      const [one] = both();
      const tasks = await t.plan(250);
      await one.finish((await t.claim(tasks)).map((task) => failed(task)));
      const refs = paced(t, tasks);
      const presses = await Promise.all(
        Array.from({ length: 6 }, (_, n) => both()[n % 2]?.replay(n % 4 < 2 ? refs : [...refs].reverse()) ?? []),
      );
      expect(presses.flat().map(taskIdOf).sort()).toEqual(tasks.map(taskIdOf).sort());
      expect((await t.history()).filter((task) => task.replayCount !== 1)).toEqual([]);
      expect(await t.waiting()).toHaveLength(250);
    });

    test('only needs a timer that is not deleted', async (t) => {
      const [one] = both();
      const { timers } = stores()[0];
      const tasks = await deadLetters(t);
      await one.replay(paced(t, tasks));
      const paused = await timers.save(t.timer, { status: TimerStatus.inactive }, { obsoletesPlanned: true });
      expect(await one.cancelObsolete(tasks, t.t0)).toBe(0);
      const edit = { beforeVersion: 2, withRetries: false, reason: Reason.edited, now: t.t0 };
      expect(await one.cancelPlanned(t.timer.timerId, edit)).toEqual([]);
      expect(await t.claim(tasks.slice(0, 2))).toHaveLength(2);
      await timers.save(paused as Timer, { status: TimerStatus.deleted }, { obsoletesPlanned: true });
      expect(await t.claim(tasks.slice(2))).toEqual([]);
      expect(await one.cancelObsolete(tasks, t.t0)).toBe(1);
      expect(await one.find(tasks[2])).toMatchObject({ status: TaskStatus.canceled, reason: 'deleted' });
      expect(await t.waiting()).toEqual([]);
    });

    test('a late result of the call before is refused', async (t) => {
      const [one] = both();
      const [task] = await t.claim(await t.plan(1));
      await one.finish([failed(task)]);
      await one.replay(paced(t, [t.plannedTasks(1)[0] as PlannedTask]));
      expect(await one.finish([failed(task), succeeded(task)])).toEqual([]);
      expect(await one.finish([retry(task, t.t0 + 5)])).toEqual([]);
      expect(await t.statuses()).toEqual([TaskStatus.notRun]);
    });

    test('races with cancel and claim: one of them has the task', async (t) => {
      const tasks = await t.plan(60);
      await both()[0].finish((await t.claim(tasks)).map((task) => failed(task)));
      const [, claimed, ...canceled] = await Promise.all([
        both()[0].replay(paced(t, tasks)),
        both()[1].claim([...tasks].reverse(), t.right()),
        ...tasks.map((task) => both()[1].cancel(task, t.t0)),
      ]);
      const found = await t.history();
      const count = (status: number) => found.filter((task) => task.status === status).length;
      expect(count(TaskStatus.running)).toBe(claimed.length);
      expect(count(TaskStatus.canceled)).toBe(canceled.filter((answer) => answer.outcome === 'canceled').length);
      expect(await t.waiting()).toHaveLength(count(TaskStatus.notRun));
    });
  });

  test('existing: those that have a row, in the order asked', async (t) => {
    const tasks = await t.plan(1100);
    const refs = tasks.map(({ timerId, runTimer }) => ({ timerId, runTimer })).reverse();
    const missing = { timerId: t.timer.timerId, runTimer: t.t0 + 1 };
    expect(await both()[0].existing([missing, ...refs])).toEqual(refs);
    expect(await both()[0].existing([])).toEqual([]);
  });

  test('countPlanned: what canceling gives back', async (t) => {
    const [one] = both();
    const tasks = await t.plan(6);
    await one.finish((await t.claim(tasks.slice(0, 1))).map((task) => retry(task, t.t0 + 9000)));
    await t.claim(tasks.slice(1, 2));
    await one.cancel(tasks[2] as PlannedTask, t.t0);
    await one.plan([{ ...(tasks[0] as PlannedTask), runTimer: t.t0 + 500, origin: TaskOrigin.manual }]);
    // A slot kept for later, and long past.
    const { timerId, bucket, version } = t.timer;
    const keep = [{ runTimer: t.t0 - 20_000_000, dueAt: t.t0 + 5000 }];
    await one.misfire({ timerId, app: t.app, bucket, version, keep, skip: null, unplanned: 0, now: t.t0 });
    expect(await one.countPlanned(timerId, t.t0)).toBe(4);
    const options = { beforeVersion: null, withRetries: false, reason: Reason.paused, now: t.t0 };
    expect(await one.cancelPlanned(timerId, options)).toHaveLength(5);
    expect(await one.countPlanned(timerId, t.t0)).toBe(0);
  });

  test('notRun without what the cron itself brings', async (t) => {
    const [one] = both();
    const tasks = await t.plan(6);
    await one.finish((await t.claim(tasks.slice(0, 1))).map((task) => retry(task, t.t0 + 2000)));
    await one.plan([
      { ...(tasks[1] as PlannedTask), runTimer: t.t0 + 1, dueAt: t.t0 + 3000, origin: TaskOrigin.backfill },
    ]);
    await one.plan([
      { ...(tasks[1] as PlannedTask), runTimer: t.t0 + 2500, dueAt: t.t0 + 2500, origin: TaskOrigin.job },
    ]);
    await one.cancel(tasks[5] as PlannedTask, t.t0);
    await one.replay([{ ...(tasks[5] as PlannedTask), dueAt: t.t0 + 5000 }]);
    const ask = async (exceptCron: boolean, limit = 100) =>
      (await one.notRun({ buckets: [t.timer.bucket], from: t.t0, to: t.t0 + 6000, after: null, limit, exceptCron }))
        .filter((task) => task.timerId === t.timer.timerId)
        .map((task) => task.dueAt - t.t0);
    expect(await ask(true)).toEqual([2000, 3000, 2500, 5000]);
    expect(await ask(true, 2)).toEqual([2000, 3000]);
    expect(await ask(false)).toEqual([2000, 3000, 1000, 2000, 2500, 3000, 4000, 5000]);
  });

  describe('purge', () => {
    test('deletes old ended tasks and their attempts, a batch at a time', async (t) => {
      const [one] = both();
      const tasks = await t.plan(2600);
      const claimed = await t.claim(tasks.slice(0, 2500));
      await one.finish(claimed.slice(1).map((task, n) => (n % 2 ? failed(task) : succeeded(task))));
      const purge = (before: number, limit: number) => one.purge(before, { only: t.app }, limit);
      expect(await purge(t.t0 + 2_400_000, 1500)).toBe(1500);
      expect(await one.attempts(tasks[2] as PlannedTask)).toEqual([]);
      expect(await one.attempts(tasks[2002] as PlannedTask)).toHaveLength(1);
      expect(await purge(t.t0 + 2_400_000, 1500)).toBe(899);
      expect(await purge(t.t0 + 2_400_000, 1500)).toBe(0);
      expect((await t.history()).map((task) => (task.runTimer - t.t0) / 1000).reverse()).toEqual([
        0,
        ...Array.from({ length: 200 }, (_, n) => 2400 + n),
      ]);
      expect(await one.finish([succeeded(claimed[0])])).toHaveLength(1);
      expect(await t.waiting()).toHaveLength(100);
    });

    test('of all apps but those that keep theirs for another time', async (t) => {
      const [one] = both();
      const apps = [1, 2, 3, 4].map((n) => `${t.app}-${n}`);
      for (const app of apps) {
        const timer = await t.create({ app });
        await t.plan(5, { app }, timer);
        const options = { beforeVersion: null, withRetries: true, reason: Reason.paused, now: t.t0 };
        await one.cancelPlanned(timer.timerId, options);
      }
      const left = () =>
        Promise.all(apps.map(async (app) => (await one.history({ app, before: null, limit: 100 })).length));
      // What other tests have left behind.
      await one.purge(t.t0, { except: [] }, 1_000_000);
      const [kept, ...others] = apps as [string, string, string, string];
      expect(await one.purge(t.t0 + 3000, { except: [kept, others[2]] }, 4)).toBe(4);
      expect(await one.purge(t.t0 + 3000, { except: [kept, others[2]] }, 4)).toBe(2);
      expect(await left()).toEqual([5, 2, 2, 5]);
      expect(await one.purge(t.t0 + 3000, { only: kept }, 100)).toBe(3);
      expect(await one.purge(t.t0 + 3000, { except: [] }, 100)).toBe(3);
      expect(await left()).toEqual([2, 2, 2, 2]);
    });

    test('beside claims, results and replays nothing that lives is lost', async (t) => {
      const [one, two] = both();
      const tasks = await t.plan(400);
      await one.finish((await t.claim(tasks.slice(0, 200))).map((task) => failed(task)));
      const refs = tasks.slice(0, 200).map(({ timerId, runTimer }) => ({ timerId, runTimer, dueAt: t.t0 + 900_000 }));
      const purges = async () => {
        let deleted = 0;
        for (let n = 0; n < 20; n++) deleted += await two.purge(t.t0 + 86_000_000, { only: t.app }, 30);
        return deleted;
      };
      const work = async () => {
        for (let n = 200; n < 400; n += 20)
          await one.finish((await t.claim(tasks.slice(n, n + 20))).map((task) => failed(task)));
      };
      const [deleted, replayed] = await Promise.all([purges(), one.replay([...refs].reverse()), work(), purges()]);
      const found = await t.history();
      expect(found.length).toBeLessThanOrEqual(400 - deleted);
      expect(await t.waiting()).toHaveLength(replayed.length);
      while ((await two.purge(t.t0 + 86_000_000, { only: t.app }, 100)) > 0);
      expect((await t.history()).map((task) => task.replayCount)).toEqual(replayed.map(() => 1));
      for (const task of tasks.slice(200, 210)) expect(await one.attempts(task)).toEqual([]);
    });
  });

  test('countFailure: dead letters in a row; the timer itself does not change', async (t) => {
    const [a, b] = stores().map((each) => each.timers) as [OpenStores['timers'], OpenStores['timers']];
    const { timerId } = t.timer;
    expect(await a.countFailure(timerId, false)).toBe(0);
    const counts = await Promise.all(Array.from({ length: 6 }, (_, n) => (n % 2 ? a : b).countFailure(timerId, true)));
    expect(counts.sort()).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await a.countFailure(timerId, false)).toBe(0);
    expect(await b.countFailure(timerId, true)).toBe(1);
    expect(await a.find(timerId, null)).toEqual(t.timer);
  });
}
