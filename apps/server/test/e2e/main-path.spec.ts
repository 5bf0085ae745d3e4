import type { TaskView, TimerView } from '@xtimer/contracts';
import { beforeAll, describe, expect, it } from 'vitest';
import { Api, at, callsOf, expectOnceEach, multiples, openWorlds, runOf, stallMeter, until } from './support.js';

const worlds = await openWorlds();
const EVERY_SECOND = '* * * * * ?';
const NEVER = '0 0 3 1 1 ? 2099';

describe.each(worlds)('$name: a cron becomes callbacks and history', ({ name, missing, receiver, start }) => {
  describe.skipIf(missing).concurrent('', () => {
    let api: Api;
    beforeAll(async () => {
      api = new Api(await start());
    });
    const target = (path = '/ok') => ({ method: 'POST', url: receiver.url + path, body: '{{taskId}}' });

    it('fires each second once, none early, from the second it was created in, and tells the truth about it', async () => {
      const asked = Date.now();
      const timerId = await api.create({ cron: EVERY_SECOND, notifyHTTPParam: target(), enable: true });
      const answered = Date.now();
      await until('six calls', () => callsOf(receiver, timerId).length >= 6);
      await api.pause(timerId);
      const runs = callsOf(receiver, timerId).map(runOf);
      // The second under way when the answer came is the first, unless the answer took us into the next.
      const first = Math.min(...runs);
      expect(first).toBeGreaterThan(asked);
      expect(first).toBeLessThanOrEqual(answered + 1000);
      expectOnceEach(callsOf(receiver, timerId), multiples(1000, first, Math.max(...runs) + 1));
      for (const call of callsOf(receiver, timerId)) {
        expect(call.headers).toMatchObject({
          'idempotency-key': expect.stringContaining(`${timerId}`),
          'x-xtimer-app': 'e2e',
          'x-xtimer-task-id': `${timerId}_${runOf(call)}`,
          'x-xtimer-attempt': '1',
        });
        expect(call.body).toBe(`${timerId}_${runOf(call)}`);
        const row = await api.ended(`${timerId}_${runOf(call)}`);
        expect(row).toMatchObject({
          ...{ status: 2, httpStatus: 200, output: '{"ok":true}', error: null, reason: null, attempt: 1 },
          ...{ runTimer: runOf(call), name: 'e2e', app: 'e2e', origin: 'cron', attempts: [] },
        });
        expect(row.lateness).toBeGreaterThanOrEqual(0);
        // What history says and what the receiver saw differ by the way there.
        expect(row.lateness).toBeLessThanOrEqual(Math.ceil(call.lateness!));
        expect(row.costTime).toBeGreaterThanOrEqual(0);
        expect(Math.abs(row.startedAt! - row.runTimer - row.lateness!)).toBeLessThanOrEqual(1);
        expect(row.finishedAt! - row.startedAt!).toBeLessThanOrEqual(row.costTime! + 1);
      }
    });

    const endings = {
      pause: (timerId: number) => api.pause(timerId),
      delete: (timerId: number) => api.post('/xtimer/deleteTimer', { timerId }),
      edit: (timerId: number) => api.update(timerId, { cron: NEVER }),
      retarget: (timerId: number) => api.update(timerId, { notifyHTTPParam: target('/elsewhere') }),
    };
    it.each(Object.entries(endings))('lets nothing arrive after the answer to %s', async (what, end) => {
      const timerId = await api.create({ cron: EVERY_SECOND, notifyHTTPParam: target('/before'), enable: true });
      const before = () => callsOf(receiver, timerId).filter(({ path }) => path === '/before');
      await until('two calls', () => before().length >= 2);
      // Into the second, where a claim for it may be on its way.
      await at(Math.ceil(Date.now() / 1000) * 1000 - 30);
      const stall = stallMeter();
      await end(timerId);
      const answered = performance.timeOrigin + performance.now();
      const last = Math.max(...before().map(runOf));
      await at(answered + 3_200);
      // Sent before the answer, it may be a moment under way.
      expect(Math.max(...before().map(runOf))).toBeLessThanOrEqual(Math.max(last, answered));
      const onTheWayMs = 200 + stall();
      expect(before().filter(({ receivedAt }) => receivedAt > answered + onTheWayMs)).toEqual([]);
      if (what === 'retarget') {
        const after = callsOf(receiver, timerId).filter(({ path }) => path === '/elsewhere');
        expect(after.length).toBeGreaterThanOrEqual(3);
        const runs = callsOf(receiver, timerId).map(runOf);
        expectOnceEach(callsOf(receiver, timerId), multiples(1000, Math.min(...runs), Math.max(...runs) + 1));
        return;
      }
      const reason = { pause: 'paused', delete: 'deleted', edit: 'edited' }[what];
      const rows = await api.tasks({ timerId, startTime: Math.ceil(answered), endTime: Math.ceil(answered) + 60_000 });
      expect(rows.length).toBeGreaterThan(50);
      for (const row of rows) expect(row).toMatchObject({ status: 4, reason, attempt: 0 });
      // Every instant that was planned has one final state.
      const open = [...(await api.tasks({ timerId, status: 0 })), ...(await api.tasks({ timerId, status: 1 }))];
      expect(open.filter(({ runTimer }) => runTimer < Date.now() + 3_600_000)).toEqual([]);
    });

    it('fires in the current second again after a pause, and refuses a third change within 3 s', async () => {
      const timerId = await api.create({ cron: EVERY_SECOND, notifyHTTPParam: target() });
      expect(await api.timer(timerId)).toMatchObject({ status: 1, nextFireAt: null });
      const asked = Date.now();
      await api.enable(timerId);
      const answered = Date.now();
      const earliest = await until('a call', () => callsOf(receiver, timerId)[0]);
      expect(runOf(earliest)).toBeGreaterThan(asked);
      expect(runOf(earliest)).toBeLessThanOrEqual(answered + 1_000);
      const refused = await api.server.api('/xtimer/unEnableTimer', { method: 'POST', body: { timerId } });
      expect(refused.status === 429 || Date.now() - asked > 3_000).toBe(true);
      await at(Date.now() + 3_000);
      expect((await api.pause(timerId)).status).toBe(1);
      expect((await api.server.api(`/xtimer/enableTimer?app=e2e&timerId=${timerId}`)).status).toBe(429);
    });

    it('plans from now on when it is enabled or edited: a slot that has passed does not fire', async () => {
      const daily = (instant: number) => {
        const [hour, minute, second] = new Date(instant).toISOString().slice(11, 19).split(':').map(Number);
        return `${second} ${minute} ${hour} * * ?`;
      };
      const DAY = 86_400_000;
      const soon = Math.ceil(Date.now() / 1000) * 1000 + 4_000;
      const paused = await api.create({ cron: daily(soon), notifyHTTPParam: target(), enable: true });
      await api.pause(paused);
      const passed = soon - 60_000;
      const later = soon + 5 * 3_600_000;
      const edited = await api.create({ cron: daily(later), notifyHTTPParam: target(), enable: true });
      expect((await api.update(edited, { name: 'renamed', notifyHTTPParam: target('/new') })).nextFireAt).toBe(later);
      const moved = await api.update(edited, { cron: daily(passed) });
      expect(moved).toMatchObject({ status: 2, name: 'renamed', nextFireAt: passed + DAY });
      expect((await api.update(paused, { name: 'renamed' })).status).toBe(1);
      await at(soon + 500);
      expect(await api.enable(paused)).toMatchObject({ status: 2, nextFireAt: soon + DAY });
      await at(soon + 2_500);
      expect([...callsOf(receiver, paused), ...callsOf(receiver, edited)]).toEqual([]);
    });

    it('runs once now, with the body of the run, also while paused', async () => {
      const timerId = await api.create({ cron: NEVER, notifyHTTPParam: target('/echo') });
      const { taskId } = await api.post<{ taskId: string }>('/xtimer/runTimer', { timerId, body: { mine: '✓' } });
      const row = await api.ended(taskId);
      expect(row).toMatchObject({ status: 2, origin: 'manual', payload: '{"mine":"✓"}' });
      expect(callsOf(receiver, timerId).map(({ body }) => body)).toEqual(['{"mine":"✓"}']);
      const plain = await api.post<{ taskId: string }>('/xtimer/runTimer', { app: 'e2e', timerId: String(timerId) });
      await api.ended(plain.taskId);
      expect(callsOf(receiver, timerId).map(({ body }) => body)).toEqual(['{"mine":"✓"}', plain.taskId]);
    });

    it('says of each canceled task what became of it', async () => {
      const timerId = await api.create({ cron: '0/20 * * * * ?', notifyHTTPParam: target('/slow/6000'), enable: true });
      const { taskId: running } = await api.post<{ taskId: string }>('/xtimer/runTimer', { timerId });
      await until('it is called', () => callsOf(receiver, timerId).length > 0);
      const other = await api.create({ cron: NEVER, notifyHTTPParam: target() });
      const { taskId: over } = await api.post<{ taskId: string }>('/xtimer/runTimer', { timerId: other });
      await api.ended(over);
      const [planned] = (await api.tasks({ timerId, status: 0 })).slice(0, 1);
      const unknown = `${timerId}_12345`;
      const ids = [planned!.taskId, running, over, unknown, planned!.taskId];
      const cancel = (body: object) =>
        api.post<{ results: { taskId: string; outcome: string }[] }>('/xtimer/cancelTask', body);
      const { results } = await cancel({ taskIds: ids });
      const outcomes = ['canceled', 'running', 'ended', 'notFound', 'ended'];
      expect(results).toEqual(ids.map((taskId, i) => ({ taskId, outcome: outcomes[i] })));
      expect(await api.task(planned!.taskId)).toMatchObject({ status: 4, reason: 'canceled' });
      expect((await api.ended(running)).status).toBe(2);
      expect((await cancel({ app: 'other', taskId: over })).results[0]!.outcome).toBe('notFound');
    });

    it('pages and filters history', async () => {
      const timerId = await api.create({ cron: EVERY_SECOND, notifyHTTPParam: target(), enable: true });
      await until('four rows', async () => (await api.tasks({ timerId, status: 2 })).length >= 4);
      await api.update(timerId, { enable: false });
      const all = await until('nothing is open', async () => {
        const rows = await api.tasks({ timerId });
        return rows.every(({ status }) => status >= 2) && rows;
      });
      expect(all.map(({ runTimer }) => runTimer)).toEqual(all.map(({ runTimer }) => runTimer).sort((a, b) => b - a));
      expect(new Set(all.map(({ taskId }) => taskId)).size).toBe(all.length);
      const page = (query: object) =>
        api.get<{ list: TaskView[]; nextCursor: string | null }>('/xtimer/getTaskList', { timerId, ...query });
      const pages: TaskView[][] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const got: Awaited<ReturnType<typeof page>> = await page({ pageSize: 7, ...(cursor && { cursor }) });
        pages.push(got.list);
        cursor = pages.length < 4 ? got.nextCursor : null;
      }
      expect(pages.flat()).toEqual(all.slice(0, 28));
      const succeeded = all.filter(({ status }) => status === 2);
      expect(await api.tasks({ timerId, status: 2, pageSize: 3 })).toEqual(succeeded);
      const [newest, oldest] = [succeeded.at(0)!, succeeded.at(-1)!];
      const range = { startTime: oldest.runTimer, endTime: newest.runTimer };
      expect(await api.tasks({ timerId, ...range })).toEqual(succeeded.slice(1));
      const iso = {
        startTime: new Date(range.startTime).toISOString(),
        endTime: new Date(range.endTime).toISOString(),
      };
      expect(await api.tasks({ app: 'e2e', timerId, status: 2, ...iso })).toEqual(succeeded.slice(1));
      expect(await api.tasks({ app: 'nobody', ...range })).toEqual([]);
    });

    it('lists timers by app, name and status, newest first', async () => {
      const app = `list-${name}`;
      const ids: number[] = [];
      for (const n of [1, 2, 3, 4, 5]) {
        const title = n === 5 ? 'Other' : `Report ${n}`;
        ids.push(await api.create({ app, name: title, cron: NEVER, notifyHTTPParam: target(), enable: n === 2 }));
      }
      const list = async (query: Record<string, string | number>) => {
        const found = await api.get<{ list: TimerView[]; total: number }>('/xtimer/getAppTimers', { app, ...query });
        return [found.total, ...found.list.map(({ timerId }) => ids.indexOf(timerId) + 1)];
      };
      expect(await list({})).toEqual([5, 5, 4, 3, 2, 1]);
      expect(await list({ page: 2, pageSize: 2 })).toEqual([5, 3, 2]);
      expect(await list({ name: 'rEPORT' })).toEqual([4, 4, 3, 2, 1]);
      expect(await list({ status: 2 })).toEqual([1, 2]);
      await api.post('/xtimer/deleteTimer', { app, timerId: ids[3] });
      expect(await list({ status: 1, name: 'report' })).toEqual([2, 3, 1]);
    });
  });
});
