import { Pipeline, TaskOrigin } from '@xtimer/pipeline';
import { expect, it } from 'vitest';
import { receiver, recorded, setup, timer, type World } from './support.js';

/** Far ahead, so that nothing is due. */
const START = Date.UTC(2040, 0, 1);

async function planned({ stores, post }: World, count: number): Promise<{ timerId: number; ids: string[] }> {
  const { timerId } = (await post('/xtimer/createTimer', timer())).json.data;
  const runTimers = Array.from({ length: count }, (_, at) => START + at);
  await stores.database.tasks.plan(
    runTimers.map((runTimer) => ({
      ...{ timerId, runTimer, app: 'shop', bucket: timerId % 16, version: 1, origin: TaskOrigin.manual },
      ...{ dueAt: runTimer, payload: null },
    })),
  );
  return { timerId, ids: runTimers.map((runTimer) => `${timerId}_${runTimer}`) };
}

it('replays dead letters: one, many, and all that match, each with its own key and its count', async () => {
  const world = await setup();
  const { get, post } = world;
  const { told, notifyHTTPParam } = await receiver(489);
  const { timerId } = (await post('/xtimer/createTimer', timer({ notifyHTTPParam }))).json.data;
  const dead = recorded(world, 3);
  const ids: string[] = [];
  for (let at = 0; at < 3; at++) ids.push((await post('/xtimer/runTimer', { timerId })).json.data.taskId);
  await dead;
  const failed = (await get(`/xtimer/getTaskList?timerId=${timerId}&status=3`)).json.data.list;
  expect(failed).toHaveLength(3);
  const keys = [...told.keys].sort();

  told.status = 200;
  const two = recorded(world, 2);
  const unknown = `${timerId}_5`;
  const retried = await post('/xtimer/retryTask', { app: 'shop', taskIds: [ids[0], ids[1], unknown, ids[0]] });
  expect(retried).toMatchObject({ status: 200 });
  expect(retried.json.data.results.map((one: { outcome: string }) => one.outcome)).toEqual([
    ...['accepted', 'accepted', 'notFound', 'notRetryable'],
  ]);
  await two;
  const last = recorded(world, 1);
  const filter = { app: 'shop', timerId, startTime: START - 1e12, endTime: new Date(START).toISOString() };
  expect((await post('/xtimer/retryTask', { filter, ratePerSecond: 1 })).json.data).toEqual({
    matched: 1,
    accepted: 1,
  });
  await last;

  expect([...told.keys].sort()).toEqual([...keys, ...keys].sort());
  for (const taskId of ids) {
    expect((await get(`/xtimer/getTask?taskId=${taskId}`)).json.data).toMatchObject({
      ...{ status: 2, replayCount: 1, attempt: 2, attempts: [{ attempt: 1, httpStatus: 489 }] },
    });
  }
  const [done] = (await post('/xtimer/retryTask', { taskId: ids[0] })).json.data.results;
  expect(done).toEqual({ taskId: ids[0], outcome: 'notRetryable' });
  expect((await post('/xtimer/retryTask', { filter: { app: 'other' } })).json.data).toEqual({
    matched: 0,
    accepted: 0,
  });
  const foreign = await post('/xtimer/retryTask', { app: 'other', taskId: ids[0] });
  expect(foreign.json.data.results).toEqual([{ taskId: ids[0], outcome: 'notFound' }]);
});

it('paces a replay', async () => {
  const world = await setup();
  const { post, stores } = world;
  const { timerId, ids } = await planned(world, 10);
  await post('/xtimer/cancelTask', { taskIds: ids });
  const answer = await post('/xtimer/retryTask', {
    filter: { app: 'shop', timerId, status: 4 },
    ratePerSecond: 2,
  });
  expect(answer.json.data).toEqual({ matched: 10, accepted: 10 });
  const tasks = await stores.database.tasks.history({ app: 'shop', timerId, before: null, limit: 20 });
  const due = tasks.filter((task) => task.attempt === 0).map((task) => task.dueAt);
  expect(Math.max(...due) - Math.min(...due)).toBeGreaterThanOrEqual(3_000);
});

it('cancels all waiting tasks that match', async () => {
  const world = await setup();
  const { get, post } = world;
  const { timerId } = await planned(world, 10);
  const filter = { app: 'shop', timerId, startTime: START + 2, endTime: START + 5 };
  expect((await post('/xtimer/cancelTask', { filter })).json.data).toEqual({ matched: 3, accepted: 3 });
  expect((await post('/xtimer/cancelTask', { filter })).json.data).toEqual({ matched: 0, accepted: 0 });
  const left = (await get(`/xtimer/getTaskList?timerId=${timerId}&status=0`)).json.data.list;
  expect(left.map((task: { runTimer: number }) => task.runTimer - START)).toEqual([9, 8, 7, 6, 5, 1, 0]);
});

it('names what is wrong about a choice of tasks', async () => {
  const { post } = await setup();
  const many = Array.from({ length: 1_001 }, (_, at) => `1_${at}`);
  const cases: [path: string, body: object, field: string][] = [
    ['retryTask', {}, 'taskId'],
    ['retryTask', { taskId: '1_1', filter: { app: 'shop' } }, 'taskId'],
    ['cancelTask', { taskIds: ['1_1'], filter: { app: 'shop' } }, 'taskId'],
    ['retryTask', { taskIds: many }, 'taskIds'],
    ['retryTask', { filter: {} }, 'filter.app'],
    ['retryTask', { filter: 'all' }, 'filter'],
    ['retryTask', { filter: { app: 'shop', colour: 1 } }, 'filter.colour'],
    ['retryTask', { filter: { app: 'shop', status: 2 } }, 'filter.status'],
    ['cancelTask', { filter: { app: 'shop', status: 1 } }, 'filter.status'],
    ['retryTask', { filter: { app: 'shop', startTime: 2, endTime: 2 } }, 'filter.endTime'],
    ['retryTask', { app: 'other', filter: { app: 'shop' } }, 'app'],
    ['retryTask', { taskId: '1_1', ratePerSecond: 0 }, 'ratePerSecond'],
    ['cancelTask', { taskId: '1_1', ratePerSecond: 5 }, 'ratePerSecond'],
    ['backfillTimer', { timerId: 1, startTime: 2, endTime: 1 }, 'endTime'],
    ['backfillTimer', { timerId: 1, startTime: 1 }, 'endTime'],
  ];
  for (const [path, body, field] of cases) {
    const answer = await post(`/xtimer/${path}`, body);
    expect([answer.status, answer.json.data.field], JSON.stringify(body).slice(0, 100)).toEqual([400, field]);
  }
});

it('runs the past slots of a range that have no task, with their own origin', async () => {
  const world = await setup();
  const { get, post } = world;
  const { told, notifyHTTPParam } = await receiver();
  const { timerId } = (await post('/xtimer/createTimer', timer({ cron: '0 0 * * * ?', notifyHTTPParam }))).json.data;
  const startTime = Date.UTC(2026, 0, 1);
  const range = { timerId, startTime, endTime: startTime + 3 * 3_600_000 };
  const ended = recorded(world, 3);
  expect((await post('/xtimer/backfillTimer', range)).json.data).toEqual({ created: 3, existing: 0 });
  await ended;
  expect(told.keys).toHaveLength(3);
  const { list } = (await get(`/xtimer/getTaskList?timerId=${timerId}`)).json.data;
  expect(list.map((task: { runTimer: number }) => (task.runTimer - startTime) / 3_600_000)).toEqual([2, 1, 0]);
  expect(list[0]).toMatchObject({ origin: 'backfill', status: 2 });

  const more = { timerId, startTime, endTime: '2026-01-01T04:00:00Z' };
  expect((await post('/xtimer/backfillTimer', more)).json.data).toEqual({ created: 1, existing: 3 });
  for (const wrong of [{ endTime: START }, { endTime: startTime + 2_000 * 3_600_000 }]) {
    const answer = await post('/xtimer/backfillTimer', { ...range, ...wrong });
    expect([answer.status, answer.json.data.field], answer.text).toEqual([400, 'endTime']);
  }
  expect((await post('/xtimer/backfillTimer', { ...range, app: 'other' })).status).toBe(404);
});

it('pauses a timer after failures in a row, says why, and forgets the reason when it is enabled', async () => {
  const world = await setup();
  const { app, get, post } = world;
  const { notifyHTTPParam } = await receiver(410);
  const fields = { notifyHTTPParam, pauseAfterFailures: 2, enable: true };
  const { timerId } = (await post('/xtimer/createTimer', timer(fields))).json.data;
  const paused = app.get(Pipeline).events.next('timer.paused');
  for (let at = 0; at < 2; at++) {
    const ended = recorded(world, 1);
    await post('/xtimer/runTimer', { timerId });
    await ended;
  }
  await paused;
  const shown = (await get(`/xtimer/getTimer?timerId=${timerId}`)).json.data;
  expect(shown).toMatchObject({
    status: 1,
    pauseAfterFailures: 2,
    statusReason: expect.stringMatching(/2 dead letters/),
  });
  expect((await get(`/xtimer/enableTimer?timerId=${timerId}`)).json.data).toMatchObject({
    ...{ status: 2, statusReason: null },
  });
  const changed = await post('/xtimer/updateTimer', { timerId, pauseAfterFailures: null });
  expect(changed.json.data.pauseAfterFailures).toBeNull();
  for (const pauseAfterFailures of [0, -1, 1.5, '3']) {
    const answer = await post('/xtimer/updateTimer', { timerId, pauseAfterFailures });
    expect([answer.status, answer.json.data.field]).toEqual([400, 'pauseAfterFailures']);
  }
});

it('gives the total of a time range that is not too long, and no other', async () => {
  const world = await setup();
  const { get, post } = world;
  const { timerId, ids } = await planned(world, 10_001);
  await post('/xtimer/cancelTask', { taskIds: ids.slice(0, 7) });
  const total = async (query: string) =>
    (await get(`/xtimer/getTaskList?timerId=${timerId}&pageSize=5${query}`)).json.data.total;
  expect(await total('')).toBeNull();
  expect(await total(`&startTime=${START}`)).toBeNull();
  expect(await total(`&startTime=${START}&endTime=${START + 10_000}`)).toBe(10_000);
  expect(await total(`&startTime=${START}&endTime=${START + 10_000}&status=4`)).toBe(7);
  expect(await total(`&startTime=${START}&endTime=${START + 10_001}&status=4`)).toBeNull();
  expect(await total(`&startTime=${START - 9}&endTime=${START}`)).toBe(0);
});
