import {
  type ClaimedTask,
  defaultPolicies,
  type PlannedTask,
  Reason,
  TaskOrigin,
  TaskStatus,
  type Timer,
  TimerStatus,
} from '@xtimer/pipeline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deliveryContract } from './delivery-contract.js';
import {
  EMOJI,
  failed,
  mine,
  newTimer,
  type OpenStores,
  retry,
  type StoresSetup,
  setup,
  succeeded,
} from './stores-setup.js';

export type { OpenStores } from './stores-setup.js';

export interface StoresWorld {
  bucketsNum: number;
  /** Another instance on the same, migrated database. */
  open(): Promise<OpenStores>;
  close(): Promise<void>;
}

/**
 * What every `TimerStore` and `TaskStore` must do. `openWorld` resolves to `null` when the engine is missing
 * here: the suite is then skipped.
 */
export function storesContract(name: string, openWorld: () => Promise<StoresWorld | null>): void {
  describe(`stores on ${name}`, () => {
    let world: StoresWorld | null = null;
    let one: OpenStores;
    /** The same database, seen by another node. */
    let two: OpenStores;

    beforeAll(async () => {
      world = await openWorld();
      if (!world) return;
      one = await world.open();
      two = await world.open();
    });
    afterAll(async () => {
      await one?.close();
      await two?.close();
      await world?.close();
    });

    const test = (title: string, body: (t: StoresSetup) => Promise<void>): void =>
      it(title, async (context) => {
        if (!world) return context.skip();
        await body(await setup(one, world.bucketsNum));
      });

    describe('timers', () => {
      test('come back as they were written, emoji and all', async ({ app, t0, create }) => {
        const fields = {
          ...newTimer(app, t0),
          statusReason: EMOJI,
          startAt: t0,
          endAt: t0 + 1,
          maxRuns: 7,
          toggledAt: t0,
        };
        const timer = await create(fields);
        expect(timer).toEqual({
          ...fields,
          timerId: timer.timerId,
          bucket: timer.timerId % (world as StoresWorld).bucketsNum,
          version: 1,
          revision: 1,
        });
        expect(await two.timers.find(timer.timerId, app)).toEqual(timer);
      });

      test('are found by their own app only, and deleted ones on request only', async ({ timer, app }) => {
        expect(await one.timers.find(timer.timerId, 'another')).toBeNull();
        expect(await one.timers.find(timer.timerId, null)).toEqual(timer);
        expect(await one.timers.find(2 ** 50, null)).toBeNull();
        const gone = await one.timers.save(timer, { status: TimerStatus.deleted }, { obsoletesPlanned: true });
        expect(await one.timers.find(timer.timerId, app)).toBeNull();
        expect(await one.timers.find(timer.timerId, app, { withDeleted: true })).toEqual(gone);
        expect(await one.timers.list({ app, page: 1, pageSize: 10 })).toEqual({ list: [], total: 0 });
      });

      test('save by compare-and-set on the revision', async ({ timer, t0 }) => {
        const changes = {
          name: `${EMOJI}2`,
          notifyHttpParam: { ...timer.notifyHttpParam, body: null },
          nextFireAt: null,
        };
        const saved = await one.timers.save(timer, changes, { obsoletesPlanned: false });
        expect(saved).toEqual({ ...timer, ...changes, revision: 2 });
        expect(await two.timers.save(timer, { name: 'late' }, { obsoletesPlanned: true })).toBeNull();
        const obsoleting = await two.timers.save(saved as Timer, { startAt: t0 }, { obsoletesPlanned: true });
        expect(obsoleting).toMatchObject({ version: 2, revision: 3, startAt: t0, name: `${EMOJI}2` });
      });

      test('of many concurrent saves exactly one wins', async ({ timer }) => {
        const saves = Array.from({ length: 10 }, (_, n) =>
          (n % 2 ? one : two).timers.save(timer, { description: String(n) }, { obsoletesPlanned: true }),
        );
        const won = (await Promise.all(saves)).filter((saved) => saved !== null);
        expect(won).toHaveLength(1);
        expect(await one.timers.find(timer.timerId, null)).toEqual(won[0]);
      });

      test('list by page, status and part of the name whatever its case', async ({ app, timer, create }) => {
        const names = ['Äpfel 100%', 'äPFEL 1000', 'Birnen_1', 'BirnenX1'];
        const made: Timer[] = [];
        for (const n of names) made.push(await create({ name: n, status: TimerStatus.inactive }));
        const ids = async (query: object) =>
          (await one.timers.list({ app, page: 1, pageSize: 10, ...query })).list.map((found) => found.timerId);
        const [apple, apples, pear, pears] = made.map((t) => t.timerId) as [number, number, number, number];
        expect(await ids({})).toEqual([pears, pear, apples, apple, timer.timerId]);
        expect(await ids({ name: 'ÄPFEL' })).toEqual([apples, apple]);
        expect(await ids({ name: '100%' })).toEqual([apple]);
        expect(await ids({ name: 'n_1' })).toEqual([pear]);
        expect(await ids({ status: TimerStatus.active })).toEqual([timer.timerId]);
        const page = await one.timers.list({ app, page: 2, pageSize: 2 });
        expect(page).toMatchObject({ total: 5, list: [{ timerId: apples }, { timerId: apple }] });
      });

      test('due for planning: active, of the bucket, before the horizon, paged in order', async ({ t0, create }) => {
        const first = await create({ nextFireAt: t0 + 1 });
        const same: Timer[] = [first];
        while (same.length < 4) {
          const next = await create({ nextFireAt: t0 + 1 });
          if (next.bucket === first.bucket) same.push(next);
          else await one.timers.save(next, { status: TimerStatus.inactive }, { obsoletesPlanned: true });
        }
        const [, , third, fourth] = same as [Timer, Timer, Timer, Timer];
        await one.timers.save(third, { nextFireAt: t0 + 5 }, { obsoletesPlanned: false });
        await one.timers.save(fourth, { status: TimerStatus.inactive }, { obsoletesPlanned: true });
        const due = async (horizon: number, after: { nextFireAt: number; timerId: number } | null, limit = 100) =>
          (await one.timers.dueForPlanning(first.bucket, horizon, after, limit))
            .filter((timer) => same.some((ours) => ours.timerId === timer.timerId))
            .map((timer) => timer.timerId);
        const cursor = { nextFireAt: t0, timerId: 0 };
        expect(await due(t0 + 1, cursor)).toEqual([]);
        expect(await due(t0 + 5, cursor)).toEqual([first.timerId, same[1]?.timerId]);
        expect(await due(t0 + 6, cursor)).toEqual([first.timerId, same[1]?.timerId, third.timerId]);
        expect(await due(t0 + 6, { nextFireAt: t0 + 1, timerId: first.timerId }, 1)).toEqual([same[1]?.timerId]);
        expect(await due(t0 + 6, { nextFireAt: t0 + 5, timerId: third.timerId })).toEqual([]);
      });

      test('advance by compare-and-set on version and nextFireAt, answers in order', async ({ timer, t0, create }) => {
        const other = await create({ nextFireAt: null });
        const move = { timerId: timer.timerId, version: 1, from: t0, to: t0 + 60_000, planned: 3 };
        expect(
          await one.timers.advance([
            { ...move, version: 2 },
            { ...move, from: t0 + 1 },
            move,
            move,
            { ...move, from: t0 + 60_000, to: null, planned: 2 },
            { ...move, timerId: other.timerId, from: null, to: t0 },
            { ...move, timerId: 2 ** 50 },
          ]),
        ).toEqual([false, false, true, false, true, true, false]);
        expect(await one.timers.find(timer.timerId, null)).toMatchObject({
          nextFireAt: null,
          plannedRuns: 5,
          revision: 1,
        });
        expect(await one.timers.find(other.timerId, null)).toMatchObject({ nextFireAt: t0, plannedRuns: 3 });
        expect(await one.timers.advance([])).toEqual([]);
      });

      test('definitions carry the callback, the policies and the signing secret, deleted timers too', async (t) => {
        await one.timers.save(t.timer, { status: TimerStatus.deleted }, { obsoletesPlanned: true });
        const [definition, ...more] = await one.timers.definitions([t.timer.timerId, 2 ** 50]);
        expect(more).toEqual([]);
        expect(definition).toEqual({
          timerId: t.timer.timerId,
          topic: null,
          app: t.app,
          name: t.timer.name,
          revision: 2,
          notifyHttpParam: t.timer.notifyHttpParam,
          policies: t.timer.policies,
          signingSecrets: [expect.stringMatching(/^whsec_[A-Za-z0-9+/]{32}$/)],
        });
        expect(await one.timers.definitions([])).toEqual([]);
      });
    });

    describe('plan', () => {
      test('writes tasks that wait at their instant', async ({ plannedTasks, waiting, t0, timer }) => {
        const tasks = plannedTasks(2500, { payload: EMOJI });
        await one.tasks.plan([...tasks].reverse());
        expect(await waiting()).toEqual(
          tasks.map((t) => ({ timerId: t.timerId, runTimer: t.runTimer, bucket: t.bucket, dueAt: t.dueAt })),
        );
        expect(await one.tasks.find({ timerId: timer.timerId, runTimer: t0 })).toEqual({
          timerId: timer.timerId,
          runTimer: t0,
          app: timer.app,
          bucket: timer.bucket,
          status: TaskStatus.notRun,
          origin: TaskOrigin.cron,
          version: 1,
          dueAt: t0,
          attempt: 0,
          costTime: null,
          lateness: null,
          httpStatus: null,
          output: null,
          error: null,
          reason: null,
          skippedCount: null,
          skippedUntil: null,
          replayCount: 0,
          startedAt: null,
          finishedAt: null,
          payload: EMOJI,
        });
        await one.tasks.plan([]);
      });

      test('leaves rows alone that run or have ended, and older versions', async ({
        plan,
        plannedTasks,
        claim,
        history,
      }) => {
        const tasks = await plan(6);
        const [a, b, c, d] = await claim(tasks.slice(0, 4));
        await one.tasks.finish([succeeded(b), failed(c), retry(d, (d as ClaimedTask).dueAt + 5000)]);
        await one.tasks.cancel(tasks[4] as PlannedTask, 1);
        expect(a).toBeDefined();
        const before = await history();
        await one.tasks.plan(plannedTasks(6, { version: 1, payload: 'again', dueAt: 1 }));
        expect(await history()).toEqual(before);
        await one.tasks.plan(plannedTasks(6, { version: 0, payload: 'older', dueAt: 1 }));
        expect(await history()).toEqual(before);
        // A newer version touches what waits, and of that nothing but the version.
        await one.tasks.plan(plannedTasks(6, { version: 2, payload: 'newer', dueAt: 1 }));
        expect(await history()).toEqual(
          before.map((task) => (task.status === TaskStatus.notRun ? { ...task, version: 2 } : task)),
        );
      });

      for (const reason of Object.values(Reason)) {
        const revives = reason === 'edited' || reason === 'paused';
        test(`${revives ? 'revives' : 'never revives'} what was canceled as ${reason}`, async (t) => {
          await t.plan(2);
          await one.tasks.cancelPlanned(t.timer.timerId, { beforeVersion: null, withRetries: true, reason, now: t.t0 });
          await one.tasks.plan(t.plannedTasks(2));
          expect(await t.statuses()).toEqual([TaskStatus.canceled, TaskStatus.canceled]);
          await one.tasks.plan(t.plannedTasks(2, { version: 2, payload: 'new' }));
          if (!revives) return expect(await t.statuses()).toEqual([TaskStatus.canceled, TaskStatus.canceled]);
          const found = await t.history();
          expect(found).toHaveLength(2);
          for (const task of found)
            expect(task).toMatchObject({
              status: TaskStatus.notRun,
              version: 2,
              payload: 'new',
              reason: null,
              finishedAt: null,
            });
          expect(await t.waiting()).toHaveLength(2);
        });
      }

      test('a paced task waits at dueAt, not at its instant', async ({ plan, waiting, t0, claim }) => {
        const tasks = await plan(3, { dueAt: t0 + 600_000, origin: TaskOrigin.backfill });
        expect(await waiting(t0, t0 + 600_000)).toEqual([]);
        expect((await waiting(t0 + 600_000, t0 + 600_001)).map((task) => task.runTimer)).toEqual([
          t0,
          t0 + 1000,
          t0 + 2000,
        ]);
        expect(await claim(tasks)).toHaveLength(3);
        expect(await waiting()).toEqual([]);
      });
    });

    describe('claim', () => {
      test('gives the right to call, once, in the order asked', async ({ plan, claim, right, waiting, timer, t0 }) => {
        const tasks = await plan(3, { payload: EMOJI });
        const [a, b, c] = tasks as [PlannedTask, PlannedTask, PlannedTask];
        const granted = right();
        expect(await one.tasks.claim([c, a, c], granted)).toEqual(
          [c, a].map((task) => ({
            timerId: timer.timerId,
            runTimer: task.runTimer,
            bucket: timer.bucket,
            dueAt: task.dueAt,
            claimId: granted.claimId,
            app: timer.app,
            attempt: 1,
            jobId: null,
            maxAttempts: null,
            origin: TaskOrigin.cron,
            payload: EMOJI,
            revision: timer.revision,
          })),
        );
        expect((await claim(tasks)).map((task) => task.runTimer)).toEqual([b.runTimer]);
        expect(await claim(tasks)).toEqual([]);
        expect(await claim([])).toEqual([]);
        expect(await claim([{ ...a, runTimer: t0 - 1 }])).toEqual([]);
        expect(await waiting()).toEqual([]);
      });

      test('two nodes that want the same 500 get each task once', async ({ plan, right }) => {
        const tasks = await plan(500);
        const half = tasks.filter((_, n) => n % 2 === 0);
        const claims = await Promise.all([
          one.tasks.claim(tasks, right('a')),
          two.tasks.claim([...tasks].reverse(), right('b')),
          one.tasks.claim(half, right('a')),
          two.tasks.claim(tasks, right('b')),
        ]);
        const runs = claims.flat().map((task) => task.runTimer);
        expect(runs.sort()).toEqual(tasks.map((task) => task.runTimer));
      });

      test('more tasks than fit one statement', async ({ plan, claim }) => {
        const claimed = await claim(await plan(2200));
        expect(claimed).toHaveLength(2200);
        expect(await one.tasks.finish(claimed.map((task) => succeeded(task)))).toHaveLength(2200);
      });

      test('refuses what is due later than dueBy', async ({ plan, right, t0, waiting }) => {
        const tasks = await plan(3);
        const claimed = await one.tasks.claim(tasks, right('node-1', t0 + 1000));
        expect(claimed.map((task) => task.runTimer)).toEqual([t0, t0 + 1000]);
        expect(await waiting()).toHaveLength(1);
      });

      // The timer's state, its version moved on, what the task is, whether the claim is granted.
      const rules: [number, boolean, 'first' | 'retry' | 'manual' | 'backfill', boolean][] = [
        [TimerStatus.active, false, 'first', true],
        [TimerStatus.active, true, 'first', false],
        [TimerStatus.active, true, 'retry', true],
        [TimerStatus.active, true, 'manual', true],
        [TimerStatus.active, true, 'backfill', true],
        [TimerStatus.inactive, false, 'first', false],
        [TimerStatus.inactive, true, 'retry', false],
        [TimerStatus.inactive, true, 'manual', true],
        [TimerStatus.inactive, true, 'backfill', true],
        [TimerStatus.deleted, false, 'first', false],
        [TimerStatus.deleted, true, 'retry', false],
        [TimerStatus.deleted, true, 'manual', false],
        [TimerStatus.deleted, true, 'backfill', false],
      ];
      for (const [status, moved, kind, granted] of rules) {
        const state = Object.entries(TimerStatus).find(([, value]) => value === status)?.[0];
        test(`${state} timer${moved ? ', new version' : ''}: ${kind} task ${granted ? 'granted' : 'refused and obsolete'}`, async (t) => {
          const origin =
            kind === 'manual' ? TaskOrigin.manual : kind === 'backfill' ? TaskOrigin.backfill : TaskOrigin.cron;
          const tasks = await t.plan(2, { origin });
          if (kind === 'retry')
            await one.tasks.finish((await t.claim(tasks)).map((task) => retry(task, t.t0 + 60_000)));
          await one.timers.save(t.timer, { status: status as Timer['status'] }, { obsoletesPlanned: moved });
          const retryTasks = kind === 'retry' ? tasks.map((task) => ({ ...task, dueAt: t.t0 + 60_000 })) : tasks;
          if (granted) {
            expect(await one.tasks.cancelObsolete(tasks, t.t0)).toBe(0);
            const claimed = await t.claim(retryTasks);
            expect(claimed).toHaveLength(2);
            expect(claimed[0]).toMatchObject({ attempt: kind === 'retry' ? 2 : 1, revision: 2 });
          } else {
            expect(await t.claim(retryTasks)).toEqual([]);
            expect(await one.tasks.cancelObsolete(tasks, t.t0 + 7)).toBe(2);
            const reason = { deleted: 'deleted', inactive: 'paused', active: 'edited' }[state as 'deleted'];
            for (const task of await t.history())
              expect(task).toMatchObject({ status: TaskStatus.canceled, reason, finishedAt: t.t0 + 7 });
          }
          expect(await t.waiting()).toEqual([]);
          expect(await one.tasks.cancelObsolete(tasks, t.t0)).toBe(0);
        });
      }

      test('racing with a pause: each task is either claimed or canceled', async ({
        plan,
        right,
        timer,
        t0,
        statuses,
      }) => {
        const tasks = await plan(300);
        const pause = async () => {
          const paused = await two.timers.save(timer, { status: TimerStatus.inactive }, { obsoletesPlanned: true });
          return two.tasks.cancelPlanned(timer.timerId, {
            beforeVersion: (paused as Timer).version,
            withRetries: true,
            reason: Reason.paused,
            now: t0,
          });
        };
        const chunks = Array.from({ length: 30 }, (_, n) => tasks.slice(n * 10, n * 10 + 10));
        const [canceled, ...claimed] = await Promise.all([
          pause(),
          ...chunks.map((chunk) => one.tasks.claim(chunk, right())),
        ]);
        const runs = [...canceled, ...claimed.flat()].map((task) => task.runTimer).sort();
        expect(runs).toEqual(tasks.map((task) => task.runTimer));
        const found = await statuses();
        expect(found.filter((status) => status === TaskStatus.canceled)).toHaveLength(canceled.length);
        expect(found.filter((status) => status === TaskStatus.running)).toHaveLength(claimed.flat().length);
      });
    });

    describe('finish', () => {
      test('writes results, failed attempts and waiting retries', async ({ plan, claim, timer, t0, waiting }) => {
        const [a, b, c, d] = await claim(await plan(4));
        const results = [
          succeeded(a, { output: EMOJI, lateness: 3 }),
          failed(b, { output: EMOJI, error: `E: ${EMOJI}`, httpStatus: 500 }),
          retry(c, t0 + 60_000, { httpStatus: null, lateness: 4 }),
          { ...succeeded(d), status: TaskStatus.skipped, reason: Reason.overlap },
        ];
        const refs = results.map(({ timerId, runTimer }) => ({ timerId, runTimer }));
        expect(await one.tasks.finish(results)).toEqual(refs);
        const [found, lost, again, skipped] = await Promise.all(refs.map((ref) => one.tasks.find(ref)));
        const times = { startedAt: t0 + 1, costTime: 6, attempt: 1 };
        expect(found).toMatchObject({
          ...times,
          status: 2,
          output: EMOJI,
          lateness: 3,
          httpStatus: 200,
          error: null,
          finishedAt: t0 + 8,
        });
        expect(lost).toMatchObject({ ...times, status: 3, output: EMOJI, error: `E: ${EMOJI}`, httpStatus: 500 });
        expect(again).toMatchObject({
          ...times,
          status: 0,
          dueAt: t0 + 60_000,
          finishedAt: null,
          lateness: 4,
          error: 'E: no',
        });
        expect(skipped).toMatchObject({ status: 5, reason: 'overlap' });
        const attempts = await Promise.all(refs.map((ref) => one.tasks.attempts(ref)));
        const attempt = { attempt: 1, startedAt: t0 + 1, costTime: 6 };
        expect(attempts).toEqual([
          [],
          [{ ...attempt, httpStatus: 500, error: `E: ${EMOJI}`, output: EMOJI }],
          [{ ...attempt, httpStatus: null, error: 'E: no', output: null }],
          [],
        ]);
        expect(await waiting(t0 - 1, t0 + 60_000)).toEqual([]);
        expect(await waiting(t0 + 60_000, t0 + 60_001)).toEqual([
          { timerId: timer.timerId, runTimer: t0 + 2000, bucket: timer.bucket, dueAt: t0 + 60_000 },
        ]);
      });

      test('lateness is that of the first attempt; attempts count on', async ({ plan, claim, t0, timer }) => {
        const tasks = await plan(1);
        const ref = { timerId: timer.timerId, runTimer: t0 };
        for (const attempt of [1, 2, 3]) {
          const [task] = await claim(tasks);
          expect(task?.attempt).toBe(attempt);
          const lateness = attempt === 1 ? 9 : 1000;
          await one.tasks.finish([
            attempt < 3 ? retry(task, t0 + attempt * 1000, { lateness }) : succeeded(task, { lateness }),
          ]);
        }
        expect(await one.tasks.find(ref)).toMatchObject({ status: 2, attempt: 3, lateness: 9, error: null });
        expect((await one.tasks.attempts(ref)).map((attempt) => attempt.attempt)).toEqual([1, 2]);
      });

      test('a claim that no longer holds the row writes nothing', async ({ plan, claim, history }) => {
        const tasks = await plan(4);
        const claimed = await claim(tasks);
        const [a, b, c, d] = claimed as [ClaimedTask, ClaimedTask, ClaimedTask, ClaimedTask];
        await one.tasks.unclaim(b.claimId, [b, c]);
        const [again] = await claim([tasks[1] as PlannedTask]);
        const before = await history();
        expect(
          await two.tasks.finish([failed(b), retry(c, 1), { ...succeeded(a), claimId: a.claimId + 1_000_000 }]),
        ).toEqual([]);
        const stranger = { ...succeeded(a), claimId: a.claimId + 1_000_000 };
        expect(await two.tasks.finish([succeeded(b), succeeded(c), stranger])).toEqual([]);
        expect(await history()).toEqual(before);
        expect(await one.tasks.attempts(b)).toEqual([]);
        // Beside them, those that do hold theirs are written.
        expect(await one.tasks.finish([succeeded(a), succeeded(b), succeeded(again)])).toHaveLength(2);
        expect(await one.tasks.finish([failed(d), failed(c)])).toEqual([{ timerId: d.timerId, runTimer: d.runTimer }]);
        expect(await one.tasks.attempts(c)).toEqual([]);
        expect(await one.tasks.finish([])).toEqual([]);
      });

      test('repeated after a lost answer it tells what stands and doubles nothing', async (t) => {
        const { t0, timer, waiting } = t;
        const [a, b, c] = await t.claim(await t.plan(3));
        const results = [failed(a), retry(b, t0 + 5000), succeeded(c)];
        const refs = results.map(({ timerId, runTimer }) => ({ timerId, runTimer }));
        await one.tasks.finish(results);
        expect(await two.tasks.finish(results)).toEqual([refs[0], refs[2]]);
        expect(await two.tasks.finish([succeeded(c)])).toEqual([refs[2]]);
        expect(await two.tasks.finish([succeeded(a), failed(c)])).toEqual([]);
        expect(await one.tasks.attempts({ timerId: timer.timerId, runTimer: t0 })).toHaveLength(1);
        expect(await waiting()).toHaveLength(1);
      });

      test('text that no database likes is kept as far as it is text', async ({ plan, claim, history }) => {
        const claimed = await claim(await plan(2));
        const odd = `a\0b\ud800c${'x'.repeat(70_000)}🎉`;
        await one.tasks.finish([
          succeeded(claimed[0], { output: odd }),
          failed(claimed[1], { output: odd, error: odd }),
        ]);
        const kept = odd.replace(/[\0\ud800](?![\udc00-\udfff])/g, '\ufffd');
        const [b, a] = await history();
        expect(a?.output).toBe(kept);
        expect(b?.output).toBe(kept);
        expect(b?.error).toBe(kept.slice(0, b?.error?.length));
        expect(b?.error?.length).toBeGreaterThan(1000);
      });
    });

    describe('unclaim', () => {
      test('gives tasks back, the attempt uncounted, where they waited', async ({ plan, claim, t0, waiting }) => {
        const tasks = await plan(3);
        const before = await claim([tasks[2] as PlannedTask]);
        await one.tasks.finish(before.map((task) => retry(task, t0 + 9000)));
        const claimed = await claim(tasks);
        await one.tasks.unclaim((claimed[0] as ClaimedTask).claimId, claimed.slice(1));
        expect((await waiting()).map((task) => [task.runTimer, task.dueAt])).toEqual([
          [t0 + 1000, t0 + 1000],
          [t0 + 2000, t0 + 9000],
        ]);
        expect((await claim(tasks)).map((task) => task.attempt)).toEqual([1, 2]);
        // The one that was kept can still be finished.
        expect(await one.tasks.finish([succeeded(claimed[0])])).toHaveLength(1);
      });

      test('after a claim without an answer nothing of it remains', async ({ plan, right, waiting, node, t0 }) => {
        const tasks = await plan(5);
        const lost = right('node-x');
        // Another instance made the claim: this one never saw its answer.
        await two.tasks.heartbeat(node('node-x'), t0, 1000);
        expect(await two.tasks.claim(tasks, lost)).toHaveLength(5);
        await one.tasks.unclaim(lost.claimId, tasks);
        expect(await waiting()).toHaveLength(5);
        await one.tasks.unclaim(lost.claimId + 100_000, tasks);
        expect(await waiting()).toHaveLength(5);
      });
    });

    describe('notRun', () => {
      test('pages over first attempts and retries together, in key order', async ({
        plan,
        claim,
        t0,
        timer,
        buckets,
      }) => {
        const tasks = await plan(40);
        const retried = await claim(tasks.filter((_, n) => n % 3 === 0));
        await one.tasks.finish(retried.map((task) => retry(task, t0 + 20_000)));
        await one.tasks.cancel(tasks[1] as PlannedTask, t0);
        const got: number[] = [];
        let after = null;
        for (;;) {
          const page = await one.tasks.notRun({ buckets, from: t0, to: t0 + 100_000, after, limit: 7 });
          got.push(...page.map((task) => task.runTimer));
          if (page.length < 7) break;
          const last = page[6] as (typeof page)[number];
          after = { timerId: last.timerId, runTimer: last.runTimer };
        }
        expect(got).toEqual(tasks.filter((_, n) => n !== 1).map((task) => task.runTimer));
        const others = buckets.filter((bucket) => bucket !== timer.bucket);
        expect(
          await one.tasks.notRun({ buckets: others, from: t0, to: t0 + 100_000, after: null, limit: 100 }),
        ).toEqual([]);
        expect(await one.tasks.notRun({ buckets: [], from: t0, to: t0 + 100_000, after: null, limit: 100 })).toEqual(
          [],
        );
      });

      test('from is inclusive, to exclusive, both on dueAt', async ({ plan, waiting, t0 }) => {
        await plan(3);
        expect((await waiting(t0, t0 + 2000)).map((task) => task.dueAt)).toEqual([t0, t0 + 1000]);
        expect((await waiting(t0 + 1, t0 + 2001)).map((task) => task.dueAt)).toEqual([t0 + 1000, t0 + 2000]);
      });

      test('keeps timers apart that share an instant', async ({ create, plannedTasks, t0, buckets }) => {
        const timers = [await create(), await create(), await create()];
        await one.tasks.plan(timers.flatMap((timer) => plannedTasks(2, {}, timer)));
        const after = { timerId: (timers[0] as Timer).timerId, runTimer: t0 };
        const page = await one.tasks.notRun({ buckets, from: t0, to: t0 + 1001, after, limit: 3 });
        expect(page.map((task) => [task.timerId, task.runTimer - t0])).toEqual([
          [timers[1]?.timerId, 0],
          [timers[2]?.timerId, 0],
          [timers[0]?.timerId, 1000],
        ]);
      });
    });

    describe('cancel', () => {
      test('one task: the answer is what really happened', async ({ plan, claim, t0, timer, waiting }) => {
        const tasks = await plan(3);
        const [a, b] = await claim(tasks.slice(0, 2));
        await one.tasks.finish([succeeded(b)]);
        const outcomes = [];
        for (const task of tasks) outcomes.push(await one.tasks.cancel(task, t0 + 5));
        expect(outcomes).toEqual([
          { outcome: 'running', task: null },
          { outcome: 'ended', task: null },
          {
            outcome: 'canceled',
            task: { timerId: timer.timerId, runTimer: t0 + 2000, bucket: timer.bucket, dueAt: t0 + 2000 },
          },
        ]);
        expect(await one.tasks.cancel({ timerId: timer.timerId, runTimer: 1 }, t0)).toEqual({
          outcome: 'notFound',
          task: null,
        });
        expect(await one.tasks.find(tasks[2] as PlannedTask)).toMatchObject({
          status: 4,
          reason: 'canceled',
          finishedAt: t0 + 5,
        });
        await one.tasks.finish([retry(a, t0 + 60_000)]);
        expect(await one.tasks.cancel(tasks[0] as PlannedTask, t0)).toMatchObject({
          outcome: 'canceled',
          task: { dueAt: t0 + 60_000 },
        });
        expect(await waiting()).toEqual([]);
      });

      test('planned ones of a timer: by version, with or without retries', async (t) => {
        const tasks = await t.plan(6);
        const [a] = await t.claim(tasks.slice(0, 1));
        await one.tasks.finish([retry(a, t.t0 + 60_000)]);
        await t.claim(tasks.slice(1, 2));
        await one.tasks.plan(t.plannedTasks(6, { version: 2 }).slice(4));
        const options = { reason: Reason.edited, now: t.t0 };
        const runs = (found: { runTimer: number }[]) => found.map((task) => (task.runTimer - t.t0) / 1000).sort();
        const cancel = async (beforeVersion: number | null, withRetries: boolean) =>
          runs(await one.tasks.cancelPlanned(t.timer.timerId, { ...options, beforeVersion, withRetries }));
        expect(await cancel(1, true)).toEqual([]);
        expect(await cancel(2, false)).toEqual([2, 3]);
        expect(await cancel(null, false)).toEqual([4, 5]);
        expect(await cancel(null, true)).toEqual([0]);
        expect(await t.waiting()).toEqual([]);
        expect(await t.statuses()).toEqual([4, 1, 4, 4, 4, 4]);
      });

      test('planned ones of a timer before an instant only', async (t) => {
        const tasks = await t.plan(4);
        const before = (tasks[2] as PlannedTask).runTimer;
        const options = { beforeVersion: null, withRetries: true, reason: Reason.paused, now: t.t0, before };
        expect(await one.tasks.cancelPlanned(t.timer.timerId, options)).toHaveLength(2);
        expect(await t.statuses()).toEqual([4, 4, 0, 0]);
      });

      test('an edit leaves manual and backfill tasks alone, a deletion does not', async (t) => {
        await t.plan(2, { origin: TaskOrigin.manual });
        const ask = { withRetries: true, now: t.t0 };
        expect(
          await one.tasks.cancelPlanned(t.timer.timerId, { ...ask, beforeVersion: 9, reason: Reason.edited }),
        ).toEqual([]);
        const deleted = await one.tasks.cancelPlanned(t.timer.timerId, {
          ...ask,
          beforeVersion: null,
          reason: Reason.deleted,
        });
        expect(deleted).toHaveLength(2);
      });

      test('claimedAhead: the latest claimed task that is not due yet', async ({ plan, claim, timer, t0 }) => {
        const claimed = await claim((await plan(5)).slice(0, 3));
        expect(await one.tasks.claimedAhead(timer.timerId, t0 + 500)).toBe(t0 + 2000);
        expect(await one.tasks.claimedAhead(timer.timerId, t0 + 2000)).toBeNull();
        await one.tasks.finish([succeeded(claimed[2])]);
        expect(await one.tasks.claimedAhead(timer.timerId, t0 + 500)).toBe(t0 + 1000);
      });
    });

    describe('history', () => {
      test('newest first by every filter, paged by key', async ({ app, create, plannedTasks, claim, t0, timer }) => {
        const other = await create();
        const mine = plannedTasks(10);
        const theirs = plannedTasks(10, { origin: TaskOrigin.manual }, other);
        await one.tasks.plan([...mine, ...theirs]);
        await one.tasks.finish((await claim(mine.slice(0, 4))).map((task) => failed(task)));
        const ask = async (query: object) =>
          (await one.tasks.history({ app, before: null, limit: 100, ...query })).map((task) => [
            task.timerId === timer.timerId ? 'mine' : 'theirs',
            (task.runTimer - t0) / 1000,
          ]);
        const all = Array.from({ length: 10 }, (_, n) => [
          ['theirs', 9 - n],
          ['mine', 9 - n],
        ]).flat();
        expect(await ask({})).toEqual(all);
        expect(await ask({ app: null, startTime: t0, endTime: t0 + 80_000_000 })).toEqual(all);
        expect(await ask({ limit: 3 })).toEqual(all.slice(0, 3));
        expect(await ask({ before: { timerId: other.timerId, runTimer: t0 + 8000 }, limit: 3 })).toEqual(
          all.slice(3, 6),
        );
        expect(await ask({ timerId: timer.timerId, status: TaskStatus.failed })).toEqual(
          [3, 2, 1, 0].map((n) => ['mine', n]),
        );
        expect(await ask({ origin: TaskOrigin.manual, startTime: t0 + 2000, endTime: t0 + 4000 })).toEqual([
          ['theirs', 3],
          ['theirs', 2],
        ]);
        expect(
          await ask({ app: null, timerId: other.timerId, before: { timerId: other.timerId, runTimer: t0 + 1000 } }),
        ).toEqual([['theirs', 0]]);
        expect(await ask({ app: 'nobody' })).toEqual([]);
      });

      test('a count is exact, or null when the range is too long to be looked at', async (t) => {
        const { app, create, plannedTasks, claim, t0, timer } = t;
        const other = await create();
        const mine = plannedTasks(10);
        await one.tasks.plan([...mine, ...plannedTasks(5, { origin: TaskOrigin.manual }, other)]);
        await one.tasks.finish((await claim(mine.slice(0, 4))).map((task) => failed(task)));
        const count = (query: object, most = 15) => one.tasks.count({ app, ...query }, most);
        expect(await count({})).toBe(15);
        expect(await count({}, 14)).toBeNull();
        expect(await count({ timerId: timer.timerId }, 10)).toBe(10);
        expect(await count({ timerId: timer.timerId, status: TaskStatus.failed }, 10)).toBe(4);
        expect(await count({ timerId: timer.timerId, status: TaskStatus.failed }, 9)).toBeNull();
        expect(await count({ startTime: t0 + 3000, endTime: t0 + 5000 }, 4)).toBe(4);
        expect(await count({ app: null, startTime: t0, endTime: t0 + 5000, origin: TaskOrigin.manual })).toBe(5);
        expect(await count({ app: 'nobody' })).toBe(0);
        expect(await count({ app: 'nobody', timerId: timer.timerId })).toBe(0);
      });
    });

    describe('nodes', () => {
      test('a heartbeat registers the node and names the living', async ({ node, t0, timer }) => {
        const [a, b] = [`a-${timer.timerId}`, `b-${timer.timerId}`];
        await one.tasks.heartbeat(node(a), t0, 1000);
        const seen = await two.tasks.heartbeat({ ...node(b), bucketsNum: 9 }, t0 + 500, 1000);
        const ours = seen.filter((found) => found.nodeId === a || found.nodeId === b);
        expect(ours).toEqual([
          { ...node(a), heartbeatAt: t0, leaseUntil: t0 + 1000 },
          { ...node(b), bucketsNum: 9, heartbeatAt: t0 + 500, leaseUntil: t0 + 1500 },
        ]);
        const later = await two.tasks.heartbeat(node(b), t0 + 1200, 1000);
        expect(later.map((found) => found.nodeId)).not.toContain(a);
        await one.tasks.leave(b);
        expect((await one.tasks.heartbeat(node(a), t0 + 1300, 1000)).map((found) => found.nodeId)).not.toContain(b);
      });

      test('what a dead node had claimed is called again, its results refused', async (t) => {
        const dead = `dead-${t.timer.timerId}`;
        await one.tasks.heartbeat(t.node(dead), t.t0, 1000);
        const tasks = await t.plan(4);
        const claimed = await t.claim(tasks, dead);
        await one.tasks.finish([succeeded(claimed[3])]);
        expect(mine(await two.tasks.recoverDead(t.t0 + 1000, 1000), t)).toEqual([]);
        const now = t.t0 + 1001;
        const recovered = mine(await two.tasks.recoverDead(now, 1000), t);
        expect(recovered).toEqual(
          tasks.slice(0, 3).map(({ timerId, runTimer, bucket }) => ({ timerId, runTimer, bucket, dueAt: now })),
        );
        expect(await t.waiting()).toEqual(recovered);
        expect(await one.tasks.attempts(tasks[0] as PlannedTask)).toMatchObject([
          {
            attempt: 1,
            httpStatus: null,
            error: expect.stringMatching(/^NODE_LOST: .*died while the call was in flight/),
          },
        ]);
        expect(await one.tasks.finish(claimed.slice(0, 3).map((task) => succeeded(task)))).toEqual([]);
        expect((await t.claim(tasks)).map((task) => task.attempt)).toEqual([2, 2, 2]);
        expect(mine(await two.tasks.recoverDead(now + 1, 1000), t)).toEqual([]);
      });

      test('two nodes that recover at once double nothing', async (t) => {
        const dead = `dead-${t.timer.timerId}`;
        await one.tasks.heartbeat(t.node(dead), t.t0, 1000);
        const tasks = await t.plan(100);
        for (let n = 0; n < 100; n += 10) await t.claim(tasks.slice(n, n + 10), dead);
        const both = await Promise.all(
          [one, two, one, two].map((stores) => stores.tasks.recoverDead(t.t0 + 2000, 1000)),
        );
        expect(
          mine(both.flat(), t)
            .map((task) => task.runTimer)
            .sort(),
        ).toEqual(tasks.map((task) => task.runTimer));
        expect(await one.tasks.attempts(tasks[50] as PlannedTask)).toHaveLength(1);
        expect(await t.waiting()).toHaveLength(100);
      });

      test('limit counts claims', async (t) => {
        const dead = `dead-${t.timer.timerId}`;
        // Nothing else may be dead, or it would use up the limit.
        await one.tasks.recoverDead(t.t0, 100_000);
        await one.tasks.heartbeat(t.node(dead), t.t0, 1000);
        const tasks = await t.plan(6);
        for (let n = 0; n < 6; n += 2) await t.claim(tasks.slice(n, n + 2), dead);
        const sizes = [];
        for (let n = 0; n < 3; n++) sizes.push((await one.tasks.recoverDead(t.t0 + 2000, 2)).length);
        expect(sizes).toEqual([4, 2, 0]);
      });

      test('at most once: the outcome stays unknown; attempts used up: the node was lost', async (t) => {
        const once = await t.create({ policies: { ...defaultPolicies, delivery: 'atMostOnce' } });
        const single = await t.create({
          policies: { ...defaultPolicies, retry: { ...defaultPolicies.retry, maxAttempts: 1 } },
        });
        const tasks = [...t.plannedTasks(1, {}, once), ...t.plannedTasks(1, {}, single)];
        await one.tasks.plan(tasks);
        const dead = `dead-${t.timer.timerId}`;
        await one.tasks.heartbeat(t.node(dead), t.t0, 1000);
        expect(await t.claim(tasks, dead)).toHaveLength(2);
        const recovered = await one.tasks.recoverDead(t.t0 + 2000, 1000);
        expect(recovered.filter((task) => task.timerId === once.timerId || task.timerId === single.timerId)).toEqual(
          [],
        );
        for (const [task, code] of [
          [tasks[0], 'OUTCOME_UNKNOWN: '],
          [tasks[1], 'NODE_LOST: '],
        ] as [PlannedTask, string][]) {
          const found = await one.tasks.find(task);
          expect(found).toMatchObject({ status: TaskStatus.failed, finishedAt: t.t0 + 2000 });
          expect(found?.error?.startsWith(code)).toBe(true);
          expect(await one.tasks.attempts(task)).toMatchObject([{ attempt: 1, error: found?.error }]);
        }
      });

      test('calls in flight of a node that left are recovered at once', async (t) => {
        const gone = `gone-${t.timer.timerId}`;
        await one.tasks.heartbeat(t.node(gone), t.t0, 100_000);
        await t.claim(await t.plan(2), gone);
        await one.tasks.leave(gone);
        expect(mine(await two.tasks.recoverDead(t.t0 + 1, 1000), t)).toHaveLength(2);
      });

      test('a retry that died with its node waits in one place only', async (t) => {
        const dead = `dead-${t.timer.timerId}`;
        await one.tasks.heartbeat(t.node(dead), t.t0, 1000);
        const tasks = await t.plan(1);
        await one.tasks.finish((await t.claim(tasks)).map((task) => retry(task, t.t0 + 500)));
        await t.claim(tasks, dead);
        await one.tasks.recoverDead(t.t0 + 3000, 1000);
        expect((await t.waiting()).map((task) => task.dueAt)).toEqual([t.t0 + 3000]);
      });
    });

    deliveryContract(test, () => [one, two]);

    test('bucket progress only moves on', async ({ t0 }) => {
      await one.tasks.setCompleteUntil(
        new Map([
          [0, t0],
          [1, t0],
        ]),
      );
      await two.tasks.setCompleteUntil(
        new Map([
          [0, t0 - 1],
          [1, t0 + 1],
        ]),
      );
      await two.tasks.setCompleteUntil(new Map());
      expect(await one.tasks.completeUntil([0, 1, 65_000])).toEqual(
        new Map([
          [0, t0],
          [1, t0 + 1],
        ]),
      );
      expect(await one.tasks.completeUntil([])).toEqual(new Map());
    });
  });
}
