import { readFile } from 'node:fs/promises';
import type { CronPreview, TimerView } from '@xtimer/contracts';
import { Cron } from 'croner';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { Api, at, callsOf, expectOnceEach, multiples, openWorld, openWorlds, runOf, until } from './support.js';

interface Case {
  expr: string;
  dialect: string;
  tz: string;
  start: string;
  next: string[];
  ends?: boolean;
}
interface RealWorld {
  name: string;
  cron: string;
  dialect: string;
  timezone: string;
}

const root = new URL('../../../../', import.meta.url);
const read = async <T>(path: string): Promise<T> => JSON.parse(await readFile(new URL(path, root), 'utf8'));
const cases = (
  await Promise.all(['unix', 'quartz'].map((name) => read<Case[]>(`packages/testkit/cases/cron/${name}.json`)))
).flat();
const realWorld = await read<RealWorld[]>('scripts/lib/real-world.json');

/** `0/15` and `6L` are written `0-59/15` and `FRI#L` there. */
const forCroner = (quartz: string): string => quartz.replace(/\b(\d+)\/(\d+)/g, '$1-59/$2').replace('6L', 'FRI#L');

const HOUR = 3_600_000;
const worlds = await openWorlds();

describe.each(worlds)('$name: schedules of the real world', ({ missing, receiver, start }) => {
  it.skipIf(missing)(
    'are taken, previewed as the vectors say, and planned as another program computes them',
    async () => {
      const api = new Api(await start());
      const notifyHTTPParam = { method: 'GET', url: `${receiver.url}/ok` };
      const ask = async ({ expr, dialect, tz, start: from, next, ends }: Case) => {
        const schedule = { cron: expr, cronDialect: dialect, timezone: tz };
        const preview = await api.post<z.output<typeof CronPreview>>('/xtimer/previewCron', {
          ...schedule,
          from,
          count: Math.max(1, next.length),
        });
        expect(
          preview.next.map((fire) => new Date(fire).toISOString().replace('.000', '')),
          `${expr} in ${tz}`,
        ).toEqual(next);
        if (ends) expect(preview.ends, `${expr} in ${tz}`).toBe(true);
        // Stored, not only previewed; the text comes back as it was typed.
        if (next.length < 6) return;
        const timerId = await api.create({ app: 'vectors', notifyHTTPParam, ...schedule, enable: true });
        expect(await api.timer(timerId)).toMatchObject(schedule);
      };
      for (let i = 0; i < cases.length; i += 10) await Promise.all(cases.slice(i, i + 10).map(ask));

      const asked = Date.now();
      const due: [string, number, RealWorld][] = [];
      for (const real of realWorld) {
        const { name, cron, dialect: cronDialect, timezone } = real;
        const timer = { app: 'real', name, cron, cronDialect, timezone, notifyHTTPParam, enable: true };
        due.push([name, await api.create(timer), real]);
      }
      // Every bucket is planned for at least an hour ahead, at most two.
      const hour = asked + HOUR;
      for (const [name, timerId] of due) {
        await until(`an hour of ${name} is planned`, async () => (await api.timer(timerId)).nextFireAt! >= hour);
      }
      let seen = 0;
      for (const [name, timerId, { cron, timezone, dialect }] of due) {
        const rows = await api.tasks({ timerId });
        // All before `nextFireAt` has its row.
        const { createdAt, nextFireAt } = await api.timer(timerId);
        for (const { runTimer } of rows) expect(runTimer).toBeLessThan(Date.now() + 2 * HOUR);
        const text = dialect === 'quartz' ? forCroner(cron) : cron;
        const other = new Cron(text, { timezone, legacyMode: true });
        const expected: number[] = [];
        for (let fire = other.nextRun(new Date(createdAt)); fire && +fire < nextFireAt!; fire = other.nextRun(fire)) {
          expected.push(+fire);
        }
        expect(rows.map(({ runTimer }) => runTimer).reverse(), name).toEqual(expected);
        seen += expected.length;
      }
      expect(seen).toBeGreaterThan(360);
      expect((await api.server.stop()).code).toBe(0);
    },
    180_000,
  );
});

const cluster = await openWorld('clustered');
describe.skipIf(cluster.missing)('nodes in different host zones', () => {
  it('plan the same instants and fire each once', async () => {
    const zones = ['UTC', 'America/New_York', 'Asia/Tokyo'];
    const apis = (await Promise.all(zones.map((TZ) => cluster.start({ TZ })))).map((node) => new Api(node));
    const notifyHTTPParam = { method: 'GET', url: `${cluster.receiver.url}/ok` };
    const look = async (api: Api, i: number) => {
      const midnight = { cron: '0 0 0 * * ?', notifyHTTPParam, enable: true };
      const inShanghai = await api.create({ ...midnight, timezone: 'Asia/Shanghai' });
      const inDefault = await api.create(midnight);
      const even = await api.create({ cron: '0/2 * * * * ?', notifyHTTPParam, enable: true });
      const from = Math.ceil(Date.now() / 2000) * 2000;
      for (const other of apis) {
        const planned = await other.tasks({ timerId: inShanghai });
        const views: TimerView[] = await Promise.all([inShanghai, inDefault].map((timerId) => other.timer(timerId)));
        expect(views.map(({ timezone }) => timezone)).toEqual(['Asia/Shanghai', 'UTC']);
        expect(planned.map(({ runTimer }) => (runTimer / HOUR) % 24)).toEqual(planned.map(() => 16));
        expect((views[0]!.nextFireAt! / HOUR) % 24).toBe(16);
        expect((views[1]!.nextFireAt! / HOUR) % 24).toBe(0);
        const preview = async (timezone?: string) =>
          (await other.post<{ next: number[] }>('/xtimer/previewCron', { cron: midnight.cron, timezone, count: 3 }))
            .next;
        for (const fire of await preview('Asia/Shanghai')) expect((fire / HOUR) % 24).toBe(16);
        for (const fire of await preview()) expect((fire / HOUR) % 24).toBe(0);
      }
      await until(
        'three calls',
        () => callsOf(cluster.receiver, even).filter((call) => runOf(call) >= from).length > 2,
      );
      const to = from + 4_000;
      await at(to);
      await apis[(i + 1) % 3]!.pause(even);
      const calls = callsOf(cluster.receiver, even).filter((call) => runOf(call) >= from && runOf(call) < to);
      expectOnceEach(calls, multiples(2000, from, to));
      const [row] = calls;
      const taskId = String(row!.headers['x-xtimer-task-id']);
      // One instant, whoever tells it.
      const told = await Promise.all(apis.map((other) => other.ended(taskId)));
      expect(told[1]).toEqual(told[0]);
      expect(told[2]).toEqual(told[0]);
      expect(told[0]!.runTimer).toBe(runOf(row!));
    };
    await Promise.all(apis.map(look));
  }, 120_000);
});
