import { describe, expect, it } from 'vitest';
import { TaskStatus, TimerStatus } from '../status.js';
import { Cluster, ok } from '../testing/cluster.js';
import { defaultTopicPolicies, isJob, type NewJob, PARKED_AT, slotOf, topicIdOf } from './job.js';

const HOUR = 3_600_000;

async function setup(...nodes: string[]) {
  const cluster = new Cluster();
  await cluster.start(...(nodes.length > 0 ? nodes : ['a']));
  const topic = await cluster.jobs.createTopic(
    {
      app: 'shop',
      topic: 'order-timeout',
      description: '',
      notifyHttpParam: { method: 'POST', url: 'http://target.example/cancel', header: {}, body: null },
      policies: { ...defaultTopicPolicies, retry: { ...defaultTopicPolicies.retry, jitter: 0 } },
      slotAmount: 8,
      status: TimerStatus.active,
    },
    'test',
  );
  const start = cluster.clock.now();
  const publish = (changes: Partial<NewJob> & { actionTime: number }) =>
    cluster.jobs.publish('shop', 'order-timeout', {
      jobId: null,
      payload: '{"order":1}',
      slotBasis: null,
      maxAttempts: null,
      ...changes,
    });
  return { cluster, topic, start, publish };
}

const settled = async <T>(cluster: Cluster, promise: Promise<T>): Promise<T> => {
  await cluster.clock.advance(0);
  return promise;
};

describe('a job', () => {
  it('is called once, at its millisecond, with its payload', async () => {
    const { cluster, start, publish } = await setup('a', 'b');
    await settled(cluster, publish({ actionTime: start + 1_234, payload: 'now' }));
    await settled(cluster, publish({ actionTime: start + 15 * 60_000 + 7, payload: 'later' }));
    await cluster.clock.advanceTo(start + 16 * 60_000);
    expect(cluster.calls.map((call) => [call.at - start, call.payload])).toEqual([
      [1_234, 'now'],
      [15 * 60_000 + 7, 'later'],
    ]);
    expect(cluster.calls.every((call) => isJob(call.timerId))).toBe(true);
  });

  it('fires at once when its time is past', async () => {
    const { cluster, start, publish } = await setup();
    await settled(cluster, publish({ actionTime: start - HOUR }));
    await cluster.clock.advance(50);
    expect(cluster.calls).toHaveLength(1);
  });

  it('waits in the database when it is due beyond the horizon, and comes on time', async () => {
    const { cluster, start, publish } = await setup();
    await settled(cluster, publish({ actionTime: start + 30 * HOUR + 5 }));
    expect(cluster.buckets.size).toBe(0);
    await cluster.clock.advanceTo(start + 31 * HOUR);
    expect(cluster.calls.map((call) => call.at - start)).toEqual([30 * HOUR + 5]);
  });

  it('is one job however often it is published; another payload under its id is refused', async () => {
    const { cluster, start, publish } = await setup();
    const actionTime = start + 60_000;
    const both = Promise.all([publish({ jobId: 'o-1', actionTime }), publish({ jobId: 'o-1', actionTime })]);
    const [first, second] = await settled(cluster, both);
    expect([first.created, second.created]).toEqual([true, false]);
    expect(second.job).toEqual(first.job);
    await expect(publish({ jobId: 'o-1', actionTime, payload: 'other' })).rejects.toMatchObject({
      code: 'CONFLICT',
      data: { field: 'jobId' },
    });
    await cluster.clock.advanceTo(start + 120_000);
    expect(cluster.calls).toHaveLength(1);
    expect((await settled(cluster, publish({ jobId: 'o-1', actionTime }))).job.status).toBe(TaskStatus.succeeded);
  });

  it('lands in the slot of its basis', async () => {
    const { cluster, topic, start, publish } = await setup();
    const at = start + HOUR;
    const jobs = await settled(
      cluster,
      Promise.all([1, 2, 3].map(() => publish({ actionTime: at, slotBasis: 'customer-7' }))),
    );
    expect(new Set(jobs.map(({ job }) => job.slot))).toEqual(new Set([slotOf('customer-7', topic.slotAmount)]));
    expect(new Set(jobs.map(({ job }) => job.bucket)).size).toBe(1);
    expect(jobs.every(({ job }) => topicIdOf(job.timerId) === topic.topicId)).toBe(true);
  });

  it('is tried again, at most as often as itself says, and is a dead letter then', async () => {
    const { cluster, start, publish } = await setup();
    cluster.answer = () => ({ ...ok, httpStatus: 500 });
    const { job } = await settled(cluster, publish({ actionTime: start + 1_000, maxAttempts: 2, jobId: 'o-2' }));
    await cluster.clock.advanceTo(start + 60_000);
    expect(cluster.calls.map((call) => call.attempt)).toEqual([1, 2]);
    const dead = await cluster.jobs.findJob('shop', 'order-timeout', 'o-2');
    expect(dead).toMatchObject({ status: TaskStatus.failed, timerId: job.timerId });
  });

  it('is canceled or called, never both, and the answer says which', async () => {
    const { cluster, start, publish } = await setup();
    cluster.answer = async () => {
      await cluster.clock.sleepUntil(cluster.clock.now() + 5_000);
      return ok;
    };
    await settled(cluster, publish({ jobId: 'o-3', actionTime: start + 10_000 }));
    await settled(cluster, publish({ jobId: 'o-4', actionTime: start + 10_000 }));
    await cluster.clock.advanceTo(start + 5_000);
    expect((await cluster.jobs.cancel('shop', 'order-timeout', 'o-3')).outcome).toBe('canceled');
    await cluster.clock.advanceTo(start + 12_000);
    expect((await cluster.jobs.cancel('shop', 'order-timeout', 'o-4')).outcome).toBe('running');
    await cluster.clock.advanceTo(start + 20_000);
    expect((await cluster.jobs.cancel('shop', 'order-timeout', 'o-4')).outcome).toBe('ended');
    expect(cluster.calls).toHaveLength(1);
  });

  it('moves to another time, earlier or later', async () => {
    const { cluster, start, publish } = await setup();
    await settled(cluster, publish({ jobId: 'later', actionTime: start + 10_000 }));
    await settled(cluster, publish({ jobId: 'sooner', actionTime: start + 10 * HOUR }));
    await cluster.jobs.reschedule('shop', 'order-timeout', 'later', start + 20_000);
    const moved = await cluster.jobs.reschedule('shop', 'order-timeout', 'sooner', start + 5_000);
    expect(moved).toMatchObject({ outcome: 'rescheduled', job: { runTimer: start + 5_000 } });
    await cluster.clock.advanceTo(start + 60_000);
    expect(cluster.calls.map((call) => call.at - start)).toEqual([5_000, 20_000]);
    expect((await cluster.jobs.reschedule('shop', 'order-timeout', 'later', start + 90_000)).outcome).toBe('ended');
  });
});

describe('a topic', () => {
  it('holds its jobs back while it is paused, at no cost, and lets them go at a pace', async () => {
    const { cluster, start, publish } = await setup('a', 'b');
    await settled(
      cluster,
      Promise.all(Array.from({ length: 50 }, (_, i) => publish({ actionTime: start + 10_000 + i }))),
    );
    await cluster.jobs.updateTopic('shop', 'order-timeout', { status: TimerStatus.inactive }, 'test');
    await cluster.clock.advanceTo(start + 5 * 60_000);
    expect(cluster.calls).toEqual([]);
    expect([...cluster.stores.rows.values()].every((row) => row.dueAt === PARKED_AT)).toBe(true);
    const resumed = cluster.clock.now();
    await cluster.jobs.updateTopic('shop', 'order-timeout', { status: TimerStatus.active }, 'test');
    await cluster.clock.advance(2_000);
    expect(cluster.calls).toHaveLength(50);
    expect(Math.max(...cluster.calls.map((call) => call.at - resumed))).toBeGreaterThan(300);
    expect(cluster.doubled()).toEqual([]);
  });

  it('is deleted only with a word about its waiting jobs', async () => {
    const { cluster, start, publish } = await setup();
    await settled(cluster, publish({ jobId: 'o-5', actionTime: start + 10_000 }));
    await expect(cluster.jobs.deleteTopic('shop', 'order-timeout', false, 'test')).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('1 waiting job'),
    });
    expect(await cluster.jobs.deleteTopic('shop', 'order-timeout', true, 'test')).toBe(1);
    await cluster.clock.advanceTo(start + 60_000);
    expect(cluster.calls).toEqual([]);
    await expect(cluster.jobs.findTopic('shop', 'order-timeout')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('that is not there is named with those that are', async () => {
    const { cluster, start } = await setup();
    const job = { jobId: null, payload: '', actionTime: start, slotBasis: null, maxAttempts: null };
    await expect(cluster.jobs.publish('shop', 'order-timout', job)).rejects.toMatchObject({
      code: 'NOT_FOUND',
      data: { expected: 'one of order-timeout' },
    });
  });

  it('has one name once in an app', async () => {
    const { cluster, topic } = await setup();
    await expect(cluster.jobs.createTopic(topic, 'test')).rejects.toMatchObject({ code: 'CONFLICT' });
  });
});
