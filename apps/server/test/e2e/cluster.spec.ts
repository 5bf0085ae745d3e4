import type { TimerList as TimerListSchema } from '@xtimer/contracts';
import type { TestServer } from '@xtimer/testkit';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { Api, at, callsOf, expectOnceEach, latest, multiples, openWorld, runOf, stallMeter, until } from './support.js';

const { env, missing, receiver, start } = await openWorld('clustered');

type TimerList = z.output<typeof TimerListSchema>;

/** Debug, so that each node's log names the tasks it finished. */
const nodes = (...names: string[]) =>
  Promise.all(names.map((name) => start({ ...env, XTIMER_NODE_ID: name, XTIMER_LOG_LEVEL: 'debug' })));
const finishedBy = (node: TestServer) => node.log().filter(({ msg }) => msg === 'task finished').length;

describe.skipIf(missing)('two nodes', () => {
  let apis: Api[] = [];

  it('start together on an empty database, call each planned second once, and share the work', async () => {
    const pair = await nodes('a', 'b');
    apis = pair.map((node) => new Api(node));
    const notifyHTTPParam = { method: 'POST', url: `${receiver.url}/ok`, body: '{{taskId}}' };
    const timers = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        apis[i % 2]!.create({ app: 'many', cron: '*/2 * * * * ?', notifyHTTPParam, enable: true }),
      ),
    );
    // The first expansion, 720,000 rows, is not what is measured.
    const nextFires = async (page: number) =>
      (await apis[0]!.get<TimerList>('/xtimer/getAppTimers', { app: 'many', pageSize: 100, page })).list.map(
        ({ nextFireAt }) => nextFireAt!,
      );
    await until(
      'an hour is planned',
      async () => Math.min(...(await nextFires(1)), ...(await nextFires(2))) > Date.now() + 3_600_000,
      120_000,
    );
    const from = Math.ceil(Date.now() / 2000) * 2000;
    const to = from + 120_000;
    const stall = stallMeter();
    await at(to + 2_000);
    const stalledMs = stall();

    const planned = multiples(2000, from, to);
    const inWindow = receiver.calls.filter((call) => runOf(call) >= from && runOf(call) < to);
    for (const timerId of timers) {
      expectOnceEach(
        callsOf(receiver, timerId).filter((call) => inWindow.includes(call)),
        planned,
      );
    }
    expect(receiver.stats().doubles).toEqual({ count: 0, keys: [] });
    const { lateness } = receiver.stats();
    const shares = pair.map((node) => finishedBy(node));
    console.log(
      `${inWindow.length} calls: lateness ${JSON.stringify(lateness)}, stalled ${stalledMs} ms, shares ${shares}`,
    );
    expect(latest(inWindow)).toBeLessThanOrEqual(2_000 + stalledMs);
    // 16 buckets over two nodes: eight each.
    for (const share of shares) expect(share).toBeGreaterThan(receiver.calls.length * 0.3);

    const rows = await until('history has them all', async () => {
      const found = await apis[1]!.tasks({ app: 'many', status: 2, startTime: from, endTime: to });
      return found.length === planned.length * timers.length && found;
    });
    expect(new Set(rows.map(({ taskId }) => taskId)).size).toBe(rows.length);
    for (const node of pair) expect(node.log().filter(({ level }) => Number(level) >= 50)).toEqual([]);
  }, 400_000);

  // The 200 go on beside it.
  it('keep paused what was paused and run one schedule after ten edits, also after a restart', async () => {
    const target = (path: string) => ({ method: 'POST', url: receiver.url + path });
    const create = (cron: string, path: string) =>
      apis[0]!.create({ cron, notifyHTTPParam: target(path), enable: true });
    const paused = await Promise.all(Array.from({ length: 20 }, () => create('* * * * * ?', '/paused')));
    const edited = await create('0/5 * * * * ?', '/edited');
    const answers = new Map<number, number>();
    const toggle = async (timerId: number, i: number) => {
      await at(Date.now() + Math.random() * 1_000);
      await apis[i % 2]!.pause(timerId);
      await at(Date.now() + 3_050);
      await apis[(i + 1) % 2]!.enable(timerId);
      await at(Date.now() + 3_050 + Math.random() * 1_000);
      await apis[i % 2]!.pause(timerId);
      answers.set(timerId, performance.timeOrigin + performance.now());
    };
    const edit = async () => {
      for (const n of [3, 4, 6, 8, 9, 2, 11, 12, 13, 7]) {
        await apis[n % 2]!.update(edited, { cron: `0/${n} * * * * ?` });
      }
      return Date.now();
    };
    const [editedAt] = await Promise.all([edit(), ...paused.map(toggle)]);

    await Promise.all(apis.map(async ({ server }) => expect((await server.stop()).code).toBe(0)));
    apis = (await nodes('a2', 'b2')).map((node) => new Api(node));
    const end = Date.now() + 8_000;
    await at(end + 1_500);
    for (const timerId of paused) {
      const late = callsOf(receiver, timerId).filter((call) => runOf(call) > answers.get(timerId)!);
      expect(late, `timer ${timerId} was paused at ${answers.get(timerId)}`).toEqual([]);
      expect((await apis[0]!.timer(timerId)).status).toBe(1);
    }
    const sevens = multiples(1000, Math.ceil(editedAt / 1000) * 1000, end).filter(
      (run) => ((run / 1000) % 60) % 7 === 0,
    );
    const calls = callsOf(receiver, edited).filter((call) => runOf(call) >= editedAt && runOf(call) < end);
    expectOnceEach(calls, sevens);
    expect(receiver.stats().doubles.count).toBe(0);
  }, 240_000);
});
