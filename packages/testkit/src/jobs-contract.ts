import {
  type ClaimedTask,
  type DueTask,
  defaultTopicPolicies,
  definitionIdOf,
  type Job,
  type JobStore,
  jobPolicies,
  PARKED_AT,
  type PlannedJob,
  Reason,
  type Task,
  TaskOrigin,
  type TaskRef,
  TaskStatus,
  TimerStatus,
  TOPIC_SPAN,
  type Topic,
  taskIdOf,
  topicIdOf,
} from '@xtimer/pipeline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EMOJI, failed, type OpenStores, retry, setup as setupStores, succeeded } from './stores-setup.js';

export interface OpenJobs extends OpenStores {
  jobs: JobStore;
}

export interface JobsWorld {
  bucketsNum: number;
  /** Another instance on the same, migrated database. */
  open(): Promise<OpenJobs>;
  /** The next topic gets this id, if the engine can be told so. */
  nextTopicId?(topicId: number): Promise<void>;
  close(): Promise<void>;
}

const LAST_TOPIC = 2 ** 21 - 1;
const FAR = 2 ** 51;
/** More than one batch of any engine. */
const MANY = 1_200;

/** What every `JobStore`, and every `TaskStore` that holds jobs, must do. See `storesContract`. */
export function jobsContract(name: string, openWorld: () => Promise<JobsWorld | null>): void {
  describe(`jobs on ${name}`, () => {
    let world: JobsWorld | null = null;
    let one: OpenJobs;
    /** The same database, seen by another node. */
    let two: OpenJobs;

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

    const test = (title: string, body: (t: Setup) => Promise<void>): void =>
      it(title, async (context) => {
        if (!world) return context.skip();
        await body(await setup());
      });

    type Setup = Awaited<ReturnType<typeof setup>>;

    /** A topic of its own in an app of its own, on a day of its own. */
    async function setup() {
      const stores = await setupStores(one, (world as JobsWorld).bucketsNum);
      const { app, t0 } = stores;
      const newTopic = (fields: Partial<Topic> = {}): Parameters<JobStore['createTopic']>[0] => ({
        app,
        topic: 'order-timeout',
        description: EMOJI,
        status: TimerStatus.active,
        notifyHttpParam: { method: 'POST', url: `https://example.com/${EMOJI}`, header: { X: EMOJI }, body: EMOJI },
        policies: defaultTopicPolicies,
        slotAmount: 8,
        createdAt: t0 + 1,
        updatedAt: t0 + 2,
        createdBy: EMOJI,
        updatedBy: EMOJI,
        ...fields,
      });
      const createTopic = async (fields: Partial<Topic> = {}) =>
        (await one.jobs.createTopic(newTopic(fields))) as Topic;
      const topic = await createTopic();
      const draft = (jobId: string, fields: Partial<PlannedJob> = {}): PlannedJob => ({
        jobId,
        payload: `payload of ${jobId}`,
        actionTime: t0 + 1000,
        slotBasis: null,
        maxAttempts: null,
        slot: 3,
        bucket: 2,
        ...fields,
      });
      /** `count` jobs a second apart, from `t0` on. */
      const drafts = (count: number, fields: Partial<PlannedJob> = {}, prefix = 'j') =>
        Array.from({ length: count }, (_, n) => draft(`${prefix}-${n}`, { actionTime: t0 + n * 1000, ...fields }));
      const publish = async (jobs: PlannedJob[], of = topic, on = one) =>
        (await on.jobs.publish(of, jobs, t0)).map((answer) => answer.job);
      const save = async (changes: Partial<Topic>, of = topic) => {
        const current = (await one.jobs.findTopic(of.app, of.topic)) as Topic;
        return (await one.jobs.saveTopic(current, changes)) as Topic;
      };
      const pause = () => save({ status: TimerStatus.inactive });
      const resume = () => save({ status: TimerStatus.active, resumedAt: t0 });
      const claim = (tasks: readonly DueTask[], nodeId?: string, on = one) =>
        on.tasks.claim(tasks, stores.right(nodeId, FAR));
      const waiting = async (to = FAR) =>
        (await one.tasks.notRun({ buckets: stores.buckets, from: t0 - 1000, to, after: null, limit: 10_000 })).filter(
          (task) => topicIdOf(task.timerId) === topic.topicId,
        );
      const found = (jobId: string) => one.jobs.findJob(topic.topicId, jobId) as Promise<Job>;
      const list = (query: Partial<Parameters<JobStore['listJobs']>[0]> = {}) =>
        one.jobs.listJobs({ topicId: topic.topicId, before: null, limit: 10_000, ...query });
      const letGo = async (dueAt = t0 + 5000) => {
        const free: DueTask[] = [];
        for (;;) {
          const page = await one.jobs.unpark(topic.topicId, 100, () => dueAt);
          free.push(...page);
          if (page.length < 100) return free;
        }
      };
      /** Every attempt of the job fails once, with another to follow. */
      const failOnce = async (jobs: readonly DueTask[], dueAt: number) =>
        one.tasks.finish((await claim(jobs)).map((task) => retry(task, dueAt)));
      const more = { newTopic, createTopic, topic, draft, drafts, publish, save, pause, resume, claim, waiting, found };
      return { ...stores, ...more, list, letGo, failOnce };
    }

    describe('topics', () => {
      test('come back as they were written, emoji and all', async ({ topic, newTopic, app }) => {
        const written = { ...newTopic(), topicId: topic.topicId, revision: 1, resumedAt: null };
        expect(topic).toEqual(written);
        expect(await two.jobs.findTopic(app, 'order-timeout')).toEqual(written);
        expect(await two.jobs.findTopic('another app', 'order-timeout')).toBeNull();
        expect(await two.jobs.findTopic(app, 'ORDER-TIMEOUT')).toBeNull();
      });

      test('have one name once in an app', async ({ newTopic, createTopic }) => {
        expect(await two.jobs.createTopic(newTopic())).toBeNull();
        expect(await createTopic({ app: `other-${Math.random()}` })).not.toBeNull();
        const both = await Promise.all([one, two].map((node) => node.jobs.createTopic(newTopic({ topic: EMOJI }))));
        expect(both.filter((topic) => topic !== null)).toHaveLength(1);
      });

      test('are saved by compare-and-set', async ({ topic, app }) => {
        const changes = { description: 'new', slotAmount: 16, resumedAt: 7, status: TimerStatus.inactive };
        const saved = await one.jobs.saveTopic(topic, changes);
        expect(saved).toEqual({ ...topic, ...changes, revision: 2 });
        expect(await two.jobs.findTopic(app, topic.topic)).toEqual(saved);
        expect(await two.jobs.saveTopic(topic, { description: 'late' })).toBeNull();
        const both = await Promise.all(
          [one, two].map((node) => node.jobs.saveTopic(saved as Topic, { description: 'race' })),
        );
        expect(both.filter((answer) => answer !== null)).toHaveLength(1);
      });

      test('free their names when deleted, as often as wanted', async ({ createTopic, save, topic, app }) => {
        const ids = [topic.topicId];
        for (let n = 0; n < 2; n++) {
          expect(await save({ status: TimerStatus.deleted, updatedAt: 5 })).toMatchObject({ status: 0, updatedAt: 5 });
          expect(await one.jobs.findTopic(app, topic.topic)).toBeNull();
          expect(await one.jobs.listTopics({ app, page: 1, pageSize: 9 })).toEqual({ list: [], total: 0 });
          ids.push((await createTopic()).topicId);
        }
        expect(new Set(ids).size).toBe(3);
        const [gone] = await one.timers.definitions([topic.topicId * TOPIC_SPAN]);
        expect(gone).toMatchObject({ topic: topic.topic, revision: 2 });
      });

      test('are listed by app and name', async ({ createTopic, topic, app }) => {
        const [b, a] = [await createTopic({ topic: 'b' }), await createTopic({ topic: 'a' })];
        expect(await one.jobs.listTopics({ app, page: 1, pageSize: 2 })).toEqual({ list: [a, b], total: 3 });
        expect(await one.jobs.listTopics({ app, page: 2, pageSize: 2 })).toEqual({ list: [topic], total: 3 });
        expect((await one.jobs.listTopics({ app: null, page: 1, pageSize: 1 })).total).toBeGreaterThanOrEqual(3);
      });

      test('resumed lately are found while they are active', async ({ topic, save, t0 }) => {
        const ids = async (since: number) => (await two.jobs.resumedSince(since)).map((one) => one.topicId);
        expect(await ids(0)).not.toContain(topic.topicId);
        await save({ resumedAt: t0 });
        expect(await ids(t0)).toContain(topic.topicId);
        expect(await ids(t0 + 1)).not.toContain(topic.topicId);
        await save({ status: TimerStatus.inactive });
        expect(await ids(t0)).not.toContain(topic.topicId);
      });

      test('have definitions beside those of timers', async ({ topic, publish, draft, timer, app }) => {
        const [job] = await publish([draft('a')]);
        const id = definitionIdOf((job as Job).timerId);
        const found = await two.timers.definitions([timer.timerId, id, 2 ** 52]);
        expect(found.map((one) => one.timerId).sort()).toEqual([id, timer.timerId].sort());
        expect(found.find((one) => one.timerId === id)).toEqual({
          timerId: id,
          topic: topic.topic,
          app,
          name: topic.topic,
          revision: 1,
          notifyHttpParam: topic.notifyHttpParam,
          policies: jobPolicies(topic.policies),
          // The fake has no apps.
          signingSecrets: name.includes('fake') ? [] : [expect.stringMatching(/^whsec_/)],
        });
      });
    });

    describe('publish', () => {
      test('writes jobs with their tasks, answers in order', async ({ topic, draft, t0, app, found, waiting }) => {
        const drafts = [
          draft('z', { actionTime: t0 + 9000, payload: EMOJI, maxAttempts: 7 }),
          draft(EMOJI, { actionTime: t0 + 3000, slot: 7, bucket: 1 }),
          draft('a', { actionTime: t0 + 6000 }),
        ];
        const answers = await one.jobs.publish(topic, drafts, t0 + 1);
        expect(answers.map(({ job }) => job.jobId)).toEqual(['z', EMOJI, 'a']);
        for (const [n, { job, created, samePayload }] of answers.entries()) {
          const { slot, bucket, payload, actionTime, jobId } = drafts[n] as PlannedJob;
          expect([created, samePayload]).toEqual([true, true]);
          expect(job).toEqual({
            timerId: expect.any(Number),
            runTimer: actionTime,
            app,
            bucket,
            status: TaskStatus.notRun,
            origin: TaskOrigin.job,
            version: 0,
            dueAt: actionTime,
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
            payload,
            jobId,
            topicId: topic.topicId,
            slot,
            createdAt: t0 + 1,
          });
          expect(topicIdOf(job.timerId)).toBe(topic.topicId);
          expect(job.timerId).not.toBe(topic.topicId * TOPIC_SPAN);
          expect(await found(jobId)).toEqual(job);
          const { jobId: _, topicId: __, slot: ___, createdAt: ____, ...task } = job;
          expect(await two.tasks.find(job)).toEqual(task);
        }
        expect((await waiting()).map((task) => task.runTimer)).toEqual([t0 + 3000, t0 + 6000, t0 + 9000]);
        expect(await one.jobs.publish(topic, [], t0)).toEqual([]);
        expect(await one.jobs.findJob(topic.topicId, 'A')).toBeNull();
      });

      test('gives the job that is there for the same id, and tells another payload', async (t) => {
        const first = await t.publish([t.draft('a', { payload: EMOJI })]);
        const again = [
          t.draft('a', { payload: EMOJI, actionTime: t.t0 + 77_000 }),
          t.draft('b'),
          t.draft('a', { payload: 'other' }),
          t.draft('b', { payload: 'other' }),
          t.draft('b'),
        ];
        const answers = await two.jobs.publish(t.topic, again, t.t0 + 5);
        expect(answers.map(({ created, samePayload }) => [created, samePayload])).toEqual([
          [false, true],
          [true, true],
          [false, false],
          [false, false],
          [false, true],
        ]);
        expect(answers[0]?.job).toEqual(first[0]);
        expect(answers[4]?.job).toEqual(answers[1]?.job);
        expect(await t.waiting()).toHaveLength(2);
        expect(await t.list()).toHaveLength(2);
      });

      test('gives the job as it is now', async ({ publish, draft, claim, topic, t0 }) => {
        const jobs = await publish([draft('a', { actionTime: t0 })]);
        await one.tasks.finish((await claim(jobs)).map((task) => succeeded(task, { output: EMOJI })));
        const [answer] = await two.jobs.publish(topic, [draft('a')], t0);
        expect(answer).toMatchObject({ created: false, job: { status: TaskStatus.succeeded, output: EMOJI } });
      });

      test('the same 500 ids from two nodes at once are 500 jobs', async ({ drafts, topic, t0, waiting }) => {
        const jobs = drafts(500);
        const [a, b, c] = await Promise.all([
          one.jobs.publish(topic, jobs, t0),
          two.jobs.publish(topic, [...jobs].reverse(), t0).then((answers) => answers.reverse()),
          two.jobs.publish(topic, jobs.slice(100, 300), t0),
        ]);
        for (const [n, answer] of a.entries()) {
          const answers = [answer, b[n], ...(n >= 100 && n < 300 ? [c[n - 100]] : [])];
          expect(answers.map((one) => one?.job)).toEqual(answers.map(() => answer.job));
          expect(answers.filter((one) => one?.created)).toHaveLength(1);
          expect(answers.every((one) => one?.samePayload)).toBe(true);
        }
        expect(await waiting()).toHaveLength(500);
      });

      test('no two jobs share an id of a task', async ({ drafts, publish, topic, waiting, createTopic, t0 }) => {
        const other = await createTopic({ topic: 'other' });
        const sets = await Promise.all([
          publish(drafts(MANY, { actionTime: t0 }, 'a')),
          publish(drafts(300, { actionTime: t0 }, 'b')),
          publish(drafts(300, { actionTime: t0 }, 'c'), topic, two),
          publish(drafts(300, { actionTime: t0 }, 'c'), other, two),
        ]);
        const all = sets.flat();
        expect(new Set(all.map((job) => job.timerId)).size).toBe(MANY + 900);
        expect(await waiting()).toHaveLength(MANY + 600);
      });

      test('ids are told apart by every byte', async ({ publish, draft, found }) => {
        const ids = ['a', 'A', 'a ', ' a', 'ä', 'a\u0308', "'; --", '\\', '🎉'.repeat(128)];
        const jobs = await publish(ids.map((id) => draft(id)));
        expect(new Set(jobs.map((job) => job.timerId)).size).toBe(ids.length);
        for (const id of ids) expect((await found(id)).jobId).toBe(id);
      });

      test('payloads of 256 KiB survive, many of them in one call', async ({ publish, draft, topic, t0, claim }) => {
        const payload = (n: number) => `${n}${'🎉'.repeat(2 ** 16 - 1)}\n"\\`;
        const drafts = Array.from({ length: 24 }, (_, n) => draft(`big-${n}`, { payload: payload(n), actionTime: t0 }));
        const jobs = await publish(drafts);
        expect((await claim(jobs)).map((task) => task.payload)).toEqual(drafts.map((one) => one.payload));
        const again = await two.jobs.publish(topic, [drafts[3] as PlannedJob, { ...draft('big-4'), payload: 'x' }], t0);
        expect(again.map((one) => one.samePayload)).toEqual([true, false]);
      });
    });

    describe('claim', () => {
      test('gives jobs beside tasks of timers, in the order asked, once', async (t) => {
        const [task] = await t.plan(1);
        const [a, b] = (await t.publish([t.draft('a', { maxAttempts: 3 }), t.draft('b')])) as [Job, Job];
        await t.save({ description: 'revision 2' });
        const right = t.right();
        const claimed = await one.tasks.claim([b, task as DueTask, a, b], right);
        expect(claimed.map(taskIdOf)).toEqual([b, task as DueTask, a].map(taskIdOf));
        expect(claimed[2]).toEqual({
          timerId: a.timerId,
          runTimer: a.runTimer,
          bucket: a.bucket,
          dueAt: a.dueAt,
          claimId: right.claimId,
          app: t.app,
          attempt: 1,
          origin: TaskOrigin.job,
          payload: a.payload,
          jobId: 'a',
          maxAttempts: 3,
          revision: 2,
        });
        expect(claimed[0]).toMatchObject({ jobId: 'b', maxAttempts: null, revision: 2 });
        expect(await t.claim([a, b], 'node-2', two)).toEqual([]);
        expect(await one.tasks.finish(claimed.map((one) => succeeded(one)))).toHaveLength(3);
        expect((await t.list()).map((job) => job.status)).toEqual([TaskStatus.succeeded, TaskStatus.succeeded]);
      });

      test('refuses jobs of paused and deleted topics: first attempts, retries, replays', async (t) => {
        const jobs = await t.publish(t.drafts(3));
        const [, second, third] = jobs as [Job, Job, Job];
        await t.failOnce([second], second.dueAt + 5000);
        await one.tasks.finish((await t.claim([third])).map((task) => failed(task)));
        expect(await one.tasks.replay([{ ...third, dueAt: third.dueAt + 5000 }])).toHaveLength(1);
        await t.pause();
        expect(await t.claim(jobs)).toEqual([]);
        await t.resume();
        const claimed = await t.claim(jobs);
        expect(claimed.map((task) => task.attempt)).toEqual([1, 2, 2]);
        await one.tasks.unclaim((claimed[0] as ClaimedTask).claimId, claimed);
        await t.save({ status: TimerStatus.deleted });
        expect(await t.claim(jobs)).toEqual([]);
      });

      test('refuses what is due later than it may be', async ({ publish, draft, right, t0 }) => {
        const jobs = await publish([draft('a', { actionTime: t0 + 1000 })]);
        expect(await one.tasks.claim(jobs, right('node-1', t0 + 999))).toEqual([]);
        expect(await one.tasks.claim(jobs, right('node-1', t0 + 1000))).toHaveLength(1);
      });

      test('a job is canceled or called, never both', async (t) => {
        const jobs = await t.publish(t.drafts(60));
        const [claims, cancels] = await Promise.all([
          Promise.all([t.claim(jobs.slice(0, 30)), t.claim(jobs.slice(30), 'node-2', two)]),
          Promise.all(jobs.map((job, n) => (n % 2 ? one : two).tasks.cancel(job, t.t0))),
        ]);
        const claimed = new Set(claims.flat().map(taskIdOf));
        for (const [n, { outcome }] of cancels.entries())
          expect(outcome).toBe(claimed.has(taskIdOf(jobs[n] as Job)) ? 'running' : 'canceled');
      });
    });

    describe('a paused topic', () => {
      test('holds waiting jobs back, retries too; a deleted one cancels them', async (t) => {
        const other = await t.createTopic({ topic: 'active' });
        const jobs = await t.publish(t.drafts(4));
        const [first, second, third, fourth] = jobs as [Job, Job, Job, Job];
        const elsewhere = await t.publish([t.draft('x')], other);
        await t.failOnce([second], t.t0 + 60_000);
        const [running] = await t.claim([third]);
        await one.tasks.cancel(fourth, t.t0);
        await t.pause();
        await one.tasks.cancelObsolete([...jobs, ...elsewhere], t.t0);
        await two.tasks.cancelObsolete([first], t.t0);
        expect(await t.waiting()).toEqual([]);
        expect((await t.list()).reverse().map((job) => [job.status, job.dueAt])).toEqual([
          [TaskStatus.notRun, PARKED_AT],
          [TaskStatus.notRun, PARKED_AT],
          [TaskStatus.running, third.dueAt],
          [TaskStatus.canceled, fourth.dueAt],
        ]);
        expect(await one.tasks.find(elsewhere[0] as Job)).toMatchObject({ dueAt: elsewhere[0]?.dueAt });
        expect(await one.tasks.finish([succeeded(running)])).toHaveLength(1);

        await t.save({ status: TimerStatus.deleted });
        expect(await one.tasks.cancelObsolete(jobs, t.t0 + 7)).toBe(2);
        const gone = { status: TaskStatus.canceled, reason: Reason.deleted, finishedAt: t.t0 + 7 };
        expect((await t.list()).reverse().slice(0, 2)).toMatchObject([gone, gone]);
        expect(await t.letGo()).toEqual([]);
      });

      test('lets them go at the moments asked, no more than asked', async (t) => {
        const other = await t.createTopic({ topic: 'paused too', status: TimerStatus.inactive });
        const elsewhere = await t.publish(t.drafts(3), other);
        const jobs = await t.publish(t.drafts(300));
        await t.pause();
        await one.tasks.cancelObsolete([...jobs, ...elsewhere], t.t0);
        await t.resume();
        const first = await one.jobs.unpark(t.topic.topicId, 200, (index) => t.t0 + 600_000 + index);
        expect(first.map((task) => task.dueAt).sort()).toEqual(first.map((_, n) => t.t0 + 600_000 + n));
        expect(first).toHaveLength(200);
        expect(await t.waiting(t.t0 + 600_000)).toEqual([]);
        const [a, b] = await Promise.all([
          one.jobs.unpark(t.topic.topicId, 100, () => t.t0 + 700_000),
          two.jobs.unpark(t.topic.topicId, 100, () => t.t0 + 700_000),
        ]);
        expect(a.length + b.length).toBe(100);
        expect(await t.letGo()).toEqual([]);
        expect(await t.waiting()).toHaveLength(300);
        expect(new Set([...first, ...a, ...b].map(taskIdOf))).toEqual(new Set(jobs.map(taskIdOf)));
        expect(await t.claim([...first, ...a, ...b])).toHaveLength(300);
        expect(await t.waiting()).toEqual([]);
      });

      test('loses no job when it is resumed while they are held back', async (t) => {
        const jobs = await t.publish(t.drafts(100));
        await t.pause();
        const freed = await Promise.all([
          ...[one, two].map(async (node) => {
            for (let n = 0; n < 100; n += 20) await node.tasks.cancelObsolete(jobs.slice(n, n + 20), t.t0);
            return [];
          }),
          t.resume().then(() => t.letGo()),
        ]);
        // Held back just before the resumption, and seen by nobody yet.
        const late = await t.letGo();
        expect(await t.letGo()).toEqual([]);
        expect(await t.waiting()).toHaveLength(100);
        const doubled = [...freed.flat(), ...late].map(taskIdOf);
        expect(new Set(doubled).size).toBe(doubled.length);
        await two.tasks.cancelObsolete(jobs, t.t0);
        expect(await t.claim(jobs)).toHaveLength(100);
      });
    });

    describe('reschedule', () => {
      test('moves the whole task before its first attempt', async (t) => {
        const [job] = (await t.publish([t.draft('a')])) as [Job];
        const at = t.t0 + 90_000;
        const { runTimer, bucket, dueAt, timerId } = job;
        const moved = { ...job, runTimer: at, dueAt: at };
        expect(await two.jobs.reschedule(t.topic.topicId, 'a', at)).toEqual({
          outcome: 'rescheduled',
          job: moved,
          before: { timerId, runTimer, bucket, dueAt },
        });
        expect(await t.found('a')).toEqual(moved);
        expect(await one.tasks.find(job)).toBeNull();
        expect((await t.waiting()).map((task) => task.runTimer)).toEqual([at]);
        expect(await t.claim([job])).toEqual([]);
        expect(await t.claim([moved])).toHaveLength(1);
      });

      test('moves only the next attempt later on', async (t) => {
        const [job] = (await t.publish([t.draft('a')])) as [Job];
        await t.failOnce([job], t.t0 + 60_000);
        const answer = await one.jobs.reschedule(t.topic.topicId, 'a', t.t0 + 30_000);
        expect(answer).toMatchObject({
          outcome: 'rescheduled',
          job: { runTimer: job.runTimer, dueAt: t.t0 + 30_000, attempt: 1 },
          before: { runTimer: job.runTimer, dueAt: t.t0 + 60_000 },
        });
        expect((await t.waiting()).map((task) => [task.runTimer, task.dueAt])).toEqual([[job.runTimer, t.t0 + 30_000]]);
        expect(await one.tasks.attempts(job)).toHaveLength(1);
        // To its own instant, and away again.
        for (const at of [job.runTimer, t.t0 + 45_000]) {
          await one.jobs.reschedule(t.topic.topicId, 'a', at);
          expect((await t.waiting()).map((task) => task.dueAt)).toEqual([at]);
        }
        expect(await t.claim([job])).toMatchObject([{ attempt: 2 }]);
      });

      test('brings back what is held back', async (t) => {
        const jobs = await t.publish([t.draft('a')]);
        await t.pause();
        await one.tasks.cancelObsolete(jobs, t.t0);
        await one.jobs.reschedule(t.topic.topicId, 'a', t.t0 + 7000);
        expect((await t.waiting()).map((task) => [task.runTimer, task.dueAt])).toEqual([[t.t0 + 7000, t.t0 + 7000]]);
        expect(await t.letGo()).toEqual([]);
      });

      test('tells what runs, what has ended and what is not there', async (t) => {
        const [a, b] = (await t.publish([t.draft('a'), t.draft('b')])) as [Job, Job];
        await t.claim([a]);
        await one.tasks.cancel(b, t.t0);
        const outcome = async (jobId: string) => (await one.jobs.reschedule(t.topic.topicId, jobId, t.t0)).outcome;
        expect([await outcome('a'), await outcome('b'), await outcome('c')]).toEqual(['running', 'ended', 'notFound']);
        expect(await t.found('a')).toMatchObject({ runTimer: a.runTimer, status: TaskStatus.running });
      });

      test('a job is moved or claimed at its old time, never both', async (t) => {
        const jobs = await t.publish(t.drafts(60));
        const [claims, moves] = await Promise.all([
          Promise.all([t.claim(jobs.slice(0, 30)), t.claim(jobs.slice(30), 'node-2', two)]),
          Promise.all(
            jobs.map((job, n) =>
              (n % 2 ? one : two).jobs.reschedule(t.topic.topicId, job.jobId, job.runTimer + 80_000),
            ),
          ),
        ]);
        const claimed = new Set(claims.flat().map(taskIdOf));
        const moved = moves.filter((move) => move.outcome === 'rescheduled').length;
        for (const [n, { outcome }] of moves.entries())
          expect(outcome).toBe(claimed.has(taskIdOf(jobs[n] as Job)) ? 'running' : 'rescheduled');
        expect(claimed.size + moved).toBe(60);
        expect(await t.waiting()).toHaveLength(moved);
        expect(await t.list()).toHaveLength(60);
      });

      test('a job moved by two at once is where the last one put it', async (t) => {
        await t.publish([t.draft('a')]);
        const times = [1, 2, 3, 4].map((n) => t.t0 + n * 10_000);
        const answers = await Promise.all(
          times.map((at, n) => (n % 2 ? one : two).jobs.reschedule(t.topic.topicId, 'a', at)),
        );
        expect(answers.every((answer) => answer.outcome === 'rescheduled')).toBe(true);
        const waiting = await t.waiting();
        expect(waiting.map((task) => task.runTimer)).toEqual([(await t.found('a')).runTimer]);
        expect(times).toContain(waiting[0]?.runTimer);
      });
    });

    describe('recoverDead', () => {
      test('goes by the topic, and by the job’s own limit of attempts', async (t) => {
        const retry = { ...defaultTopicPolicies.retry, maxAttempts: 2 };
        const once = await t.createTopic({
          topic: 'once',
          policies: { ...defaultTopicPolicies, delivery: 'atMostOnce' },
        });
        const twice = await t.createTopic({ topic: 'twice', policies: { ...defaultTopicPolicies, retry } });
        const jobs = [
          ...(await t.publish([t.draft('a')], once)),
          ...(await t.publish(
            [t.draft('b', { maxAttempts: 1 }), t.draft('c'), t.draft('d', { maxAttempts: 3 })],
            twice,
          )),
        ];
        const dead = `dead-${t.topic.topicId}`;
        const die = async () => {
          await one.tasks.heartbeat(t.node(dead), t.t0, 1000);
          const claimed = await t.claim(jobs, dead);
          const ids = new Set(claimed.map(taskIdOf));
          const recovered = await one.tasks.recoverDead(t.t0 + 2000, 10_000);
          return recovered.filter((task) => ids.has(taskIdOf(task))).length;
        };
        const ends = async () => {
          const tasks = await Promise.all(jobs.map((job) => one.tasks.find(job)));
          return tasks.map((task) => [task?.status, task?.error?.split(':')[0]]);
        };
        expect(await die()).toBe(2);
        const [failed, waits] = [TaskStatus.failed, TaskStatus.notRun];
        expect(await ends()).toEqual([
          [failed, 'OUTCOME_UNKNOWN'],
          [failed, 'NODE_LOST'],
          [waits, 'NODE_LOST'],
          [waits, 'NODE_LOST'],
        ]);
        expect(await die()).toBe(1);
        expect((await ends()).map(([status]) => status)).toEqual([failed, failed, failed, waits]);
        expect(await die()).toBe(0);
        expect((await ends()).map(([status]) => status)).toEqual([failed, failed, failed, failed]);
      });
    });

    describe('reading', () => {
      test('pages of a topic, newest action time first', async (t) => {
        const other = await t.createTopic({ topic: 'other' });
        await t.publish(t.drafts(5), other);
        // Five of each share an instant.
        const jobs = await t.publish(t.drafts(20).map((job, n) => ({ ...job, actionTime: t.t0 + (n % 4) * 1000 })));
        const seen: Job[] = [];
        for (let before: TaskRef | null = null; ; before = seen.at(-1) as Job) {
          const page = await t.list({ before, limit: 3 });
          seen.push(...page);
          if (page.length < 3) break;
        }
        const byTime = [...jobs].sort((a, b) => b.runTimer - a.runTimer || b.timerId - a.timerId);
        expect(seen).toEqual(byTime);
        const range = { startTime: t.t0 + 1000, endTime: t.t0 + 3000 };
        expect(await t.list(range)).toEqual(byTime.slice(5, 15));
        expect(await t.list({ ...range, before: byTime[7] as Job })).toEqual(byTime.slice(8, 15));
        expect(await t.list({ ...range, before: byTime[2] as Job })).toEqual(byTime.slice(5, 15));
        const [first] = jobs as [Job];
        await one.tasks.cancel(first, t.t0);
        expect(await t.list({ status: TaskStatus.canceled })).toMatchObject([{ jobId: first.jobId }]);
        expect(await t.list({ jobId: 'j-7' })).toEqual([jobs[7]]);
        expect(await t.list({ jobId: 'j-7', endTime: t.t0 })).toEqual([]);
        expect(await t.list({ jobId: first.jobId, status: TaskStatus.notRun })).toEqual([]);
      });

      test('history and counts of a topic', async (t) => {
        const other = await t.createTopic({ topic: 'other' });
        const elsewhere = await t.publish(t.drafts(2), other);
        await t.plan(3);
        const jobs = await t.publish(t.drafts(6));
        await one.tasks.finish((await t.claim(jobs.slice(0, 2))).map((task) => failed(task)));
        const { topicId } = t.topic;
        const history = async (query: object) =>
          (await one.tasks.history({ app: t.app, topicId, before: null, limit: 100, ...query })).map(taskIdOf);
        const newest = [...jobs].reverse().map(taskIdOf);
        expect(await history({})).toEqual(newest);
        expect(await history({ app: null, before: jobs[4] as Job, limit: 2 })).toEqual(newest.slice(2, 4));
        expect(await history({ startTime: jobs[1]?.runTimer, endTime: jobs[3]?.runTimer })).toEqual(newest.slice(3, 5));
        expect(await history({ status: TaskStatus.failed })).toEqual(newest.slice(4));
        expect(await history({ app: 'another app' })).toEqual([]);
        expect(await history({ timerId: jobs[0]?.timerId })).toEqual(newest.slice(5));
        expect(await history({ timerId: elsewhere[0]?.timerId })).toEqual([]);
        const count = (query: object, most = 100) => one.tasks.count({ app: t.app, topicId, ...query }, most);
        expect(await count({})).toBe(6);
        expect(await count({ status: TaskStatus.failed, endTime: jobs[1]?.runTimer })).toBe(1);
        expect(await count({ timerId: elsewhere[0]?.timerId })).toBe(0);
        expect(await count({ status: TaskStatus.failed }, 5)).toBeNull();
      });

      test('counts of a topic stop where they may', async (t) => {
        const jobs = await t.publish(t.drafts(12));
        await t.claim(jobs.slice(0, 2));
        await one.tasks.finish((await t.claim(jobs.slice(2, 5))).map((task) => failed(task)));
        await t.failOnce(jobs.slice(5, 7), t.t0 + 90_000);
        const count = (most: number) => two.jobs.countJobs(t.topic.topicId, most);
        expect(await count(100)).toEqual({ waiting: 7, running: 2, failed: 3 });
        expect(await count(2)).toEqual({ waiting: 2, running: 2, failed: 2 });
        await t.publish(t.drafts(MANY * 2, {}, 'many'));
        expect((await count(10_000)).waiting).toBe(7 + MANY * 2);
      });

      test('job ids of tasks', async (t) => {
        const [task] = await t.plan(1);
        const jobs = await t.publish(t.drafts(MANY));
        const ids = await two.jobs.jobIds([task as DueTask, ...jobs, { timerId: TOPIC_SPAN * 1000 + 1, runTimer: 5 }]);
        expect(ids).toEqual(new Map(jobs.map((job) => [taskIdOf(job), job.jobId])));
        expect(await one.jobs.jobIds([])).toEqual(new Map());
      });
    });

    describe('cancelJobs', () => {
      test('cancels what waits, by the page, held back and late ones too', async (t) => {
        const other = await t.createTopic({ topic: 'other' });
        await t.publish(t.drafts(3), other);
        const jobs = await t.publish(
          t
            .drafts(400, { actionTime: undefined as never })
            .map((job, n) => ({ ...job, actionTime: t.t0 + (n % 50) * 1000 })),
        );
        await t.claim(jobs.slice(0, 2));
        await t.failOnce(jobs.slice(2, 4), t.t0 + 90_000);
        await t.pause();
        await one.tasks.cancelObsolete(jobs.slice(4, 20), t.t0);
        const all: DueTask[] = [];
        for (const expected of [150, 150]) {
          const page = await one.jobs.cancelJobs(t.topic.topicId, 150, t.t0 + 5);
          expect(page).toHaveLength(expected);
          all.push(...page);
        }
        // Published behind the page before.
        const [late] = (await t.publish([t.draft('late', { actionTime: t.t0 + 9_000_000 })])) as [Job];
        all.push(...(await one.jobs.cancelJobs(t.topic.topicId, 150, t.t0 + 5)));
        expect(new Set(all.map(taskIdOf))).toEqual(new Set([...jobs.slice(2), late].map(taskIdOf)));
        expect(all).toHaveLength(399);
        expect(await one.jobs.cancelJobs(t.topic.topicId, 150, t.t0)).toEqual([]);
        expect(await t.found('j-7')).toMatchObject({
          status: TaskStatus.canceled,
          reason: Reason.deleted,
          finishedAt: t.t0 + 5,
        });
        expect(await t.waiting()).toEqual([]);
        expect((await t.list({ status: TaskStatus.running })).map((job) => job.jobId).sort()).toEqual(['j-0', 'j-1']);
        expect(await t.letGo()).toEqual([]);
        expect(await one.jobs.countJobs(other.topicId, 100)).toMatchObject({ waiting: 3 });
      });
    });

    test('purge takes jobs along with their tasks, and their ids are free again', async (t) => {
      const jobs = await t.publish(t.drafts(4));
      await one.tasks.finish((await t.claim(jobs.slice(0, 3))).map((task) => succeeded(task)));
      expect(await one.tasks.purge(t.t0 + 2000, { only: t.app }, 100)).toBe(2);
      expect((await t.list()).map((job) => job.jobId)).toEqual(['j-3', 'j-2']);
      expect(await t.found('j-0')).toBeNull();
      expect(await one.tasks.purge(t.t0 + 86_000_000, { only: t.app }, 100)).toBe(1);
      const [again, waits] = await one.jobs.publish(t.topic, [t.draft('j-0'), t.draft('j-3')], t.t0);
      expect([again?.created, waits?.created]).toEqual([true, false]);
      expect(await t.found('j-0')).toEqual(again?.job);
    });

    test('ids just below 2^53', async (t) => {
      if (!world?.nextTopicId) return;
      await world.nextTopicId(LAST_TOPIC);
      const topic = (await t.createTopic({ topic: 'last' })) as Topic;
      expect(topic.topicId).toBe(LAST_TOPIC);
      const [job] = (await t.publish([t.draft('a')], topic)) as [Job];
      expect(job.timerId).toBeGreaterThan(2 ** 53 - TOPIC_SPAN);
      const moved = await one.jobs.reschedule(topic.topicId, 'a', t.t0 + 3000);
      const { job: there } = moved as { job: Job };
      expect(await one.tasks.find(there)).toMatchObject({ timerId: job.timerId });
      expect(await one.jobs.jobIds([there])).toEqual(new Map([[taskIdOf(there), 'a']]));
      const [claimed] = await t.claim([there]);
      expect(claimed).toMatchObject({ timerId: job.timerId, runTimer: there.runTimer });
      expect(await one.tasks.finish([succeeded(claimed)])).toHaveLength(1);
      expect((await one.tasks.find(there)) as Task).toMatchObject({ status: TaskStatus.succeeded });
      expect(await one.timers.definitions([definitionIdOf(job.timerId)])).toMatchObject([{ topic: 'last' }]);
    });
  });
}
