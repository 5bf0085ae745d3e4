import { TaskOrigin } from '@xtimer/pipeline';
import { expect, it } from 'vitest';
import { setup, timer, type World } from './support.js';

/** Far ahead, so that nothing is due. */
const START = Date.UTC(2040, 0, 1);

async function planned({ stores, post }: World, offsets: readonly number[]): Promise<number> {
  const { timerId } = (await post('/xtimer/createTimer', timer({ name: 'wörk 😀' }))).json.data;
  await stores.database.tasks.plan(offsets.map((offset) => task(timerId, START + offset)));
  return timerId;
}

const task = (timerId: number, runTimer: number) => ({
  ...{ timerId, runTimer, app: 'shop', bucket: timerId % 16, version: 1, origin: TaskOrigin.manual },
  ...{ dueAt: runTimer, payload: null },
});

it('pages through a time range: every row once, while new ones arrive', async () => {
  const world = await setup();
  const { get, stores } = world;
  // 23 inside, 5 outside; one exactly on each bound.
  const inside = Array.from({ length: 23 }, (_, at) => at * 1_000);
  const timerId = await planned(world, [...inside, -1, -1_000, 23_000, 23_001, 99_000]);
  const range = `timerId=${timerId}&startTime=${START}&endTime=${START + 23_000}&pageSize=10`;

  const pages: string[][] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const { data }: { data: { list: { taskId: string }[]; nextCursor: string | null } } = (
      await get(`/xtimer/getTaskList?${range}${cursor && `&cursor=${cursor}`}`)
    ).json;
    pages.push(data.list.map((one) => one.taskId));
    cursor = data.nextCursor;
    await stores.database.tasks.plan([task(timerId, START + 22_000 + pages.length)]);
  }
  expect(pages.map((page) => page.length)).toEqual([10, 10, 3]);
  expect(pages.flat()).toEqual(inside.map((offset) => `${timerId}_${START + offset}`).reverse());
});

it('shows a task with its attempts, cancels it once, and names what is unknown', async () => {
  const world = await setup();
  const { get, post } = world;
  const timerId = await planned(world, [0, 1]);
  const taskId = `${timerId}_${START}`;
  expect((await get(`/xtimer/getTask?taskId=${taskId}`)).json.data).toMatchObject({
    ...{ taskId, timerId, app: 'shop', name: 'wörk 😀', runTimer: START, dueAt: START, status: 0, attempt: 0 },
    ...{ origin: 'manual', reason: null, output: null, attempts: [] },
  });
  expect((await get(`/xtimer/getTask?app=other&taskId=${taskId}`)).status).toBe(404);
  expect((await get(`/xtimer/getTask?taskId=nonsense`)).json.data.field).toBe('taskId');

  const unknown = `${timerId}_5`;
  const canceled = await post('/xtimer/cancelTask', { taskIds: [taskId, unknown] });
  expect(canceled.json.data.results).toEqual([
    { taskId, outcome: 'canceled' },
    { taskId: unknown, outcome: 'notFound' },
  ]);
  expect((await post('/xtimer/cancelTask', { taskId })).json.data.results).toEqual([{ taskId, outcome: 'ended' }]);
  expect((await get(`/xtimer/getTask?taskId=${taskId}`)).json.data).toMatchObject({ status: 4, reason: 'canceled' });
  const left = (await get(`/xtimer/getTaskList?app=shop&status=0`)).json.data.list;
  expect(left.map((one: { runTimer: number }) => one.runTimer)).toEqual([START + 1]);

  for (const body of [{}, { taskId, taskIds: [taskId] }, { taskIds: [] }, { taskIds: ['x'] }]) {
    expect((await post('/xtimer/cancelTask', body)).status, JSON.stringify(body)).toBe(400);
  }
});

it('runs a timer now with another body', async () => {
  const { get, post, stores } = await setup();
  const { timerId } = (await post('/xtimer/createTimer', timer())).json.data;
  const { taskId } = (await post('/xtimer/runTimer', { timerId, body: { a: '😀' } })).json.data;
  expect(taskId).toMatch(new RegExp(`^${timerId}_\\d+$`));
  expect((await get(`/xtimer/getTask?taskId=${taskId}`)).json.data).toMatchObject({
    origin: 'manual',
    payload: '{"a":"😀"}',
  });
  expect((await post('/xtimer/runTimer', { timerId: timerId + 1 })).status).toBe(404);
  expect(await stores.database.tasks.find({ timerId, runTimer: Number(taskId.split('_')[1]) })).not.toBeNull();
});
