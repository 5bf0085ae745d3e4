import { describe, expect, it } from 'vitest';
import { Api, at, callsOf, latest, multiples, openWorld, runOf, stallMeter, until } from './support.js';

const { missing, receiver, start } = await openWorld('clustered');
const SLOW_MS = 1_500;

describe.skipIf(missing)('three nodes', () => {
  it('start together on an empty database; one stops, one is killed: nothing is lost, little is repeated', async () => {
    const nodes = await Promise.all([1, 2, 3].map((n) => start({ XTIMER_NODE_ID: `n${n}` })));
    const apis = nodes.map((node) => new Api(node));
    const create = (i: number, cron: string, path: string) =>
      apis[i % 3]!.create({
        app: 'handover',
        cron,
        enable: true,
        notifyHTTPParam: { method: 'GET', url: receiver.url + path },
      });
    const quick = await Promise.all(Array.from({ length: 20 }, (_, i) => create(i, '*/2 * * * * ?', '/ok')));
    const slow = await Promise.all(Array.from({ length: 10 }, (_, i) => create(i, '* * * * * ?', `/slow/${SLOW_MS}`)));
    const from = Math.ceil(Date.now() / 2000) * 2000;
    const inSpan = (a: number, b: number) => receiver.calls.filter((call) => runOf(call) >= a && runOf(call) < b);
    const keysOf = (calls: { headers: Record<string, unknown> }[]) =>
      calls.map(({ headers }) => headers['idempotency-key']);
    await at(from + 6_000);

    // A clean stop in the middle of a second, with slow calls in flight.
    let stall = stallMeter();
    await at(Math.ceil(Date.now() / 1000) * 1000 + 600);
    const stoppedAt = Date.now();
    expect(await nodes[0]!.stop('SIGTERM')).toMatchObject({ code: 0 });
    await at(Date.now() + 4_000);
    const quiet = Math.floor(Date.now() / 2000) * 2000;
    await at(quiet + 1_000);
    let stalledMs = stall();
    const aroundStop = inSpan(from, quiet);
    expect(new Set(keysOf(aroundStop)).size).toBe(aroundStop.length);
    for (const timerId of quick) expectRuns(timerId, from, quiet, 2000);
    for (const timerId of slow) expectRuns(timerId, from, quiet, 1000);
    console.log(`SIGTERM at ${stoppedAt}: latest ${latest(aroundStop)} ms, stalled ${stalledMs} ms`);
    expect(latest(aroundStop)).toBeLessThanOrEqual(1_000 + stalledMs);

    // A crash, with slow calls in flight.
    stall = stallMeter();
    await at(Math.ceil(Date.now() / 1000) * 1000 + 600);
    const killedAt = performance.timeOrigin + performance.now();
    await nodes[1]!.stop('SIGKILL');
    await at(killedAt + 8_000);
    const end = Math.floor(Date.now() / 2000) * 2000;
    // Not paused before: a pause also takes back what waits to be called again.
    await until('all have ended', async () => {
      const open = [0, 1].map((status) => apis[2]!.tasks({ app: 'handover', status, startTime: from, endTime: end }));
      return (await Promise.all(open)).flat().length === 0;
    });
    await Promise.all([...quick, ...slow].map((timerId) => apis[2]!.pause(timerId)));
    stalledMs = stall();
    const calls = inSpan(quiet, end);
    const first = new Map<unknown, (typeof calls)[number]>();
    const repeated: typeof calls = [];
    for (const call of calls) {
      const key = call.headers['idempotency-key'];
      if (first.has(key)) repeated.push(call);
      else first.set(key, call);
    }
    const firsts = [...first.values()];
    for (const timerId of quick) expectRuns(timerId, quiet, end, 2000, firsts);
    for (const timerId of slow) expectRuns(timerId, quiet, end, 1000, firsts);
    console.log(`SIGKILL: latest ${latest(firsts)} ms, ${repeated.length} repeated, stalled ${stalledMs} ms`);
    expect(latest(firsts)).toBeLessThanOrEqual(3_000 + stalledMs);
    // The slow calls of the dead node were cut; their results can't have been written.
    expect(repeated.length).toBeGreaterThan(0);
    for (const call of repeated) {
      const before = first.get(call.headers['idempotency-key'])!;
      expect(before.receivedAt).toBeLessThanOrEqual(killedAt);
      expect(before.receivedAt).toBeGreaterThan(killedAt - SLOW_MS - 1_000);
      expect(call.receivedAt).toBeLessThanOrEqual(killedAt + 15_000 + stalledMs);
    }
    for (const timerId of [...quick, ...slow]) {
      const rows = await apis[2]!.tasks({ timerId, startTime: from, endTime: end });
      expect(rows.filter(({ status }) => status !== 2)).toEqual([]);
    }

    // Had the clean stop cut a call, recovery would have repeated it by now.
    const beforeStop = inSpan(from, stoppedAt);
    expect(new Set(keysOf(beforeStop)).size).toBe(beforeStop.length);
    const rowsBefore = await apis[2]!.tasks({ app: 'handover', startTime: from, endTime: stoppedAt });
    expect(rowsBefore.filter(({ attempt }) => attempt !== 1)).toEqual([]);

    function expectRuns(timerId: number, a: number, b: number, step: number, among = receiver.calls): void {
      const runs = callsOf(receiver, timerId)
        .filter((call) => among.some(({ seq }) => seq === call.seq))
        .map(runOf);
      expect(runs.filter((run) => run >= a && run < b).sort((x, y) => x - y)).toEqual(multiples(step, a, b));
    }
  }, 240_000);
});
