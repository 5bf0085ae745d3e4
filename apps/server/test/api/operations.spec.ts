import { readFile } from 'node:fs/promises';
import { Pipeline, Reason, StoreUnavailableError, TaskOrigin } from '@xtimer/pipeline';
import { expect, it, vi } from 'vitest';
import { Cadence } from '../../src/pipeline/cadence.js';
import { Housekeeping } from '../../src/pipeline/housekeeping.js';
import { receiver, recorded, setup, timer, type World } from './support.js';

const DAY_MS = 86_400_000;

/** Ended tasks of this age. */
async function ended({ stores, post }: World, app: string, days: number, count: number): Promise<number> {
  const { timerId } = (await post('/xtimer/createTimer', timer({ app }))).json.data;
  const oldest = Date.now() - days * DAY_MS;
  const tasks = Array.from({ length: count }, (_, at) => ({
    ...{ timerId, runTimer: oldest + at, app, bucket: timerId % 16, version: 1, origin: TaskOrigin.cron },
    ...{ dueAt: oldest + at, payload: null },
  }));
  await stores.database.tasks.plan(tasks);
  await stores.database.tasks.skip(tasks, Reason.overlap, Date.now());
  return timerId;
}

const put = ({ send }: World, url: string, body: unknown) =>
  send({ method: 'PUT', url, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

const metric = (text: string, line: string) =>
  Number(
    text
      .split('\n')
      .find((one) => one.startsWith(`${line} `))
      ?.slice(line.length + 1),
  );

it('keeps the number of days of an app', async () => {
  const world = await setup();
  const { get, post } = world;
  expect((await get('/apps/shop')).status).toBe(404);
  expect((await put(world, '/apps/shop', { historyRetentionDays: 7 })).status).toBe(404);
  await post('/xtimer/createTimer', timer());
  expect((await get('/apps/shop')).json.data).toEqual({ app: 'shop', historyRetentionDays: null });
  const set = await put(world, '/apps/shop', { historyRetentionDays: 7 });
  expect(set).toMatchObject({ status: 200, json: { data: { app: 'shop', historyRetentionDays: 7 } } });
  expect((await put(world, '/apps/shop', {})).json.data.historyRetentionDays).toBe(7);
  expect((await put(world, '/apps/shop', { historyRetentionDays: null })).json.data.historyRetentionDays).toBeNull();
  for (const historyRetentionDays of [0, 3_651, 1.5, '7']) {
    const answer = await put(world, '/apps/shop', { historyRetentionDays });
    expect([answer.status, answer.json.data.field]).toEqual([400, 'historyRetentionDays']);
  }
  expect((await put(world, '/apps/shop', { days: 7 })).json.data.field).toBe('days');
});

it('deletes what is older than its app keeps, batch by batch, and tells', async () => {
  const world = await setup({ XTIMER_HISTORY_RETENTION_DAYS: '20' });
  const { app, get, stores } = world;
  const short = await ended(world, 'short', 10, 3);
  const long = await ended(world, 'long', 40, 3);
  const usual = await ended(world, 'usual', 40, 1_200);
  const fresh = await ended(world, 'usual', 10, 3);
  await put(world, '/apps/short', { historyRetentionDays: 7 });
  await put(world, '/apps/long', { historyRetentionDays: 50 });
  const purge = vi.spyOn(stores.database.tasks, 'purge');
  const purged = app.get(Pipeline).events.next('history.purged');
  await app.get(Housekeeping).everyNowAndThen();

  expect(await purged).toMatchObject({ tasks: 1_203, complete: true });
  expect(purge.mock.calls.length).toBeGreaterThanOrEqual(5);
  expect(Math.max(...purge.mock.calls.map(([, , limit]) => limit))).toBeLessThanOrEqual(1_000);
  const left = async (timerId: number) => (await get(`/xtimer/getTaskList?timerId=${timerId}`)).json.data.list.length;
  expect(await Promise.all([short, long, usual, fresh].map(left))).toEqual([0, 3, 0, 3]);
  expect(metric((await get('/metrics')).text, 'xtimer_history_purged_total')).toBe(1_203);
});

it('leaves deleting to the node that looks after bucket 0', async () => {
  const { app, stores } = await setup();
  const purge = vi.spyOn(stores.database.tasks, 'purge');
  const buckets = vi.spyOn(app.get(Pipeline).membership, 'buckets').mockReturnValue([1, 2]);
  await app.get(Housekeeping).everyNowAndThen();
  expect(purge).not.toHaveBeenCalled();
  buckets.mockRestore();
  await app.get(Housekeeping).everyNowAndThen();
  expect(purge).toHaveBeenCalled();
});

it('ends a pass that is under way when the node stops', async () => {
  const { app, stores } = await setup();
  const started = new Promise<void>((resolve) => {
    // As if there were no end of old tasks.
    vi.spyOn(stores.database.tasks, 'purge').mockImplementation(async (_before, _apps, limit) => {
      resolve();
      return limit;
    });
  });
  const pass = app.get(Housekeeping).everyNowAndThen();
  await started;
  await app.close();
  await pass;
});

it('tells Prometheus what happened', async () => {
  const world = await setup();
  const { app, get, post } = world;
  const { told, notifyHTTPParam } = await receiver(200);
  const retry = { maxAttempts: 2, initialDelayMs: 1, jitter: 0 };
  const { timerId } = (await post('/xtimer/createTimer', timer({ notifyHTTPParam, retry }))).json.data;
  const good = recorded(world, 1);
  await post('/xtimer/runTimer', { timerId });
  await good;
  told.status = 500;
  const bad = recorded(world, 2);
  await post('/xtimer/runTimer', { timerId });
  await bad;
  const { events } = app.get(Pipeline);
  events.emit('timer.caughtUp', { timerId, kept: 1, skipped: 41 });
  events.emit('task.skipped', { timerId, runTimer: 1, reason: Reason.overlap });
  events.emit('node.recovered', { tasks: 5 });

  const { headers, status, text } = await get('/metrics');
  expect(status).toBe(200);
  expect(headers['content-type']).toMatch(/^text\/plain; version=/);
  for (const [line, value] of [
    ['xtimer_tasks_finished_total{outcome="succeeded"}', 1],
    ['xtimer_tasks_finished_total{outcome="failed"}', 1],
    ['xtimer_attempts_total{code="OK"}', 1],
    ['xtimer_attempts_total{code="HTTP_STATUS"}', 2],
    ['xtimer_retries_total', 1],
    ['xtimer_lateness_seconds_count', 2],
    ['xtimer_lateness_seconds_bucket{le="5"}', 2],
    ['xtimer_callback_duration_seconds_count', 3],
    ['xtimer_tasks_claimed_total', 3],
    ['xtimer_tasks_skipped_total{reason="misfire"}', 41],
    ['xtimer_tasks_skipped_total{reason="overlap"}', 1],
    ['xtimer_tasks_recovered_total', 5],
    ['xtimer_nodes_alive', 1],
    ['xtimer_callbacks_in_flight', 0],
    ['xtimer_results_waiting', 0],
    ['xtimer_index_down', 0],
  ] as const) {
    expect(metric(text, line), line).toBe(value);
  }
  expect(metric(text, 'xtimer_slices_held')).toBeGreaterThan(0);
  expect(Math.abs(metric(text, 'xtimer_clock_error_seconds'))).toBeLessThan(1);
  expect(metric(text, 'xtimer_nodejs_eventloop_lag_p99_seconds')).toBeGreaterThanOrEqual(0);
});

it("follows the database's clock while the bucket store is silent, and shows a host that is off", async () => {
  const { app, get, stores } = await setup();
  vi.spyOn(stores.buckets.timeSource, 'time').mockRejectedValue(new StoreUnavailableError('redis', 'no answer'));
  vi.spyOn(stores.database.timeSource, 'time').mockImplementation(async () => Date.now() + 5_000);
  const warned = app.get(Pipeline).events.next('clock.off');
  await app.get(Cadence).synchronizeClock();
  expect((await warned).hostErrorMs).toBeCloseTo(-5_000, -2);
  expect(metric((await get('/metrics')).text, 'xtimer_clock_error_seconds')).toBeCloseTo(-5, 1);
});

it('keeps the metrics of two nodes in one process apart', async () => {
  const [a, b] = [await setup(), await setup()];
  a.app.get(Pipeline).events.emit('node.recovered', { tasks: 5 });
  const recovered = async ({ get }: World) => metric((await get('/metrics')).text, 'xtimer_tasks_recovered_total');
  expect([await recovered(a), await recovered(b)]).toEqual([5, 0]);
});

it('documents every metric', async () => {
  const { get } = await setup();
  const page = await readFile(new URL('../../../../docs/operations.md', import.meta.url), 'utf8');
  const names = [...(await get('/metrics')).text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!);
  expect(names.length).toBeGreaterThan(20);
  const own = names.filter((name) => !/^xtimer_(process|nodejs)_/.test(name));
  expect(own.filter((name) => !page.includes(`\`${name}`))).toEqual([]);
  const documented = [...page.matchAll(/`(xtimer_\w+)/g)].map(([, name]) => name!);
  expect(documented.filter((name) => !names.includes(name))).toEqual([]);
});
