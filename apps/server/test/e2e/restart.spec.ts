import { describe, expect, it } from 'vitest';
import { Api, at, callsOf, expectOnceEach, multiples, openWorlds, runOf, until } from './support.js';

const worlds = await openWorlds();

describe.concurrent.each(worlds)('$name: one node that ends and comes back', ({ missing, receiver, start }) => {
  it.skipIf(missing)(
    'goes on after a stop and after a kill, with every planned row in its place',
    async () => {
      let api = new Api(await start());
      const create = (cron: string, path: string) =>
        api.create({ cron, enable: true, notifyHTTPParam: { method: 'GET', url: receiver.url + path } });
      const quick = await create('* * * * * ?', '/ok');
      const hourly = await create('0 7/10 * * * ?', '/ok');
      const slow = await create('* * * * * ?', '/slow/1500');
      const from = Math.ceil(Date.now() / 1000) * 1000;
      // The part beyond the next minutes is planned by the migrator's next pass.
      const rows = await until('two hours are planned', async () => {
        const planned = await api.tasks({ timerId: hourly });
        return planned.length >= 6 && planned.map(({ taskId, runTimer, status }) => ({ taskId, runTimer, status }));
      });

      expect(await api.server.stop('SIGTERM')).toMatchObject({ code: 0, signal: null, stderr: '' });
      const stoppedAt = Date.now();
      const keys = () => receiver.calls.map(({ headers }) => headers['idempotency-key']);
      // Slow calls in flight were awaited, so that nothing is repeated after the start.
      expect(new Set(keys()).size).toBe(keys().length);
      expect(receiver.calls.filter(({ receivedAt }) => receivedAt > stoppedAt)).toEqual([]);

      api = new Api(await start());
      expect(await api.timer(quick)).toMatchObject({ status: 2 });
      const kept = await api.tasks({ timerId: hourly, endTime: rows[0]!.runTimer + 1 });
      expect(kept.map(({ taskId, runTimer, status }) => ({ taskId, runTimer, status }))).toEqual(rows);
      await until('the slow timer fires again', () => callsOf(receiver, slow).at(-1)!.receivedAt > stoppedAt + 3_000);
      expect(receiver.stats().doubles.count).toBe(0);

      await at(Math.ceil(Date.now() / 1000) * 1000 + 500);
      const killedAt = performance.timeOrigin + performance.now();
      expect(await api.server.stop('SIGKILL')).toMatchObject({ signal: 'SIGKILL' });
      api = new Api(await start());
      const end = Math.ceil(Date.now() / 1000) * 1000 + 3_000;
      await at(end);
      // Not paused before: a pause also takes back what waits to be called again.
      await until('what was in flight has been called again', async () => {
        const all = await Promise.all(
          [quick, slow].map((timerId) => api.tasks({ timerId, startTime: from, endTime: end })),
        );
        return all.flat().every(({ status }) => status >= 2);
      });
      await Promise.all([quick, slow].map((timerId) => api.pause(timerId)));

      // Shorter than the misfire grace of a minute: every instant of both gaps was made up for, once.
      const before = multiples(1000, from, end);
      for (const timerId of [quick, slow]) {
        const seen = new Set<number>();
        const firsts = callsOf(receiver, timerId).filter((call) => {
          const isFirst = !seen.has(runOf(call));
          seen.add(runOf(call));
          if (isFirst) return runOf(call) >= from && runOf(call) < end;
          // Repeated: only what was in flight at the kill.
          const first = callsOf(receiver, timerId).find((other) => runOf(other) === runOf(call))!;
          expect(first.receivedAt).toBeGreaterThan(killedAt - (timerId === slow ? 2_500 : 1_000));
          expect(first.receivedAt).toBeLessThanOrEqual(killedAt);
          return false;
        });
        expectOnceEach(firsts, before);
        const ended = await api.tasks({ timerId, startTime: from, endTime: end });
        expect(ended.filter(({ status }) => status !== 2)).toEqual([]);
        expect(ended.length).toBe(before.length);
      }
      const moved = await api.tasks({ timerId: hourly, endTime: rows[0]!.runTimer + 1 });
      expect(moved.map(({ taskId }) => taskId)).toEqual(rows.map(({ taskId }) => taskId));
      expect((await api.server.stop()).code).toBe(0);
    },
    180_000,
  );
});
