import { describe, expect, it } from 'vitest';
import { Events } from '../events.js';
import { MemoryStores } from '../testing/memory-stores.js';
import { Membership } from './membership.js';
import { VirtualClock } from './virtual-clock.js';

function setup() {
  const clock = new VirtualClock();
  const stores = new MemoryStores();
  const events = new Events();
  const node = (nodeId: string, roles = ['worker']) => {
    const info = { nodeId, host: nodeId, version: '1', roles, bucketsNum: 8, startedAt: clock.now() };
    return new Membership(stores, info, clock, events);
  };
  /** Beats once a second, as the loops do. */
  const beat = async (ms: number, ...nodes: Membership[]) => {
    for (let past = 0; past < ms; past += 1_000) {
      await clock.advance(1_000);
      for (const each of nodes) await each.pass();
    }
  };
  return { clock, stores, events, node, beat };
}

const gone = new Error('gone');

describe('the lease', () => {
  it('is one while it is renewed, lapses in silence, and comes back under another token', async () => {
    const { clock, node, beat } = setup();
    const a = node('a');
    expect(a.token()).toBeNull();
    await a.pass();
    const first = a.token();
    expect(first).not.toBeNull();
    await beat(30_000, a);
    expect(a.token()).toBe(first);
    await clock.advance(9_999);
    expect(a.token()).toBe(first);
    await clock.advance(1);
    expect(a.token()).toBeNull();
    await a.pass();
    expect(a.token()).not.toBeNull();
    expect(a.token()).not.toBe(first);
  });

  it('counts from when the heartbeat was sent, not from its answer', async () => {
    const { clock, stores, node } = setup();
    const a = node('a');
    const heartbeat = stores.heartbeat.bind(stores);
    stores.heartbeat = async (...args) => {
      await clock.sleepUntil(clock.now() + 4_000);
      return heartbeat(...args);
    };
    const pass = a.pass();
    await clock.advance(4_000);
    await pass;
    await clock.advance(5_999);
    expect(a.token()).not.toBeNull();
    await clock.advance(1);
    expect(a.token()).toBeNull();
  });
});

describe('the right to call others dead', () => {
  it('comes after a whole lease of our own', async () => {
    const { node, beat } = setup();
    const a = node('a');
    await a.pass();
    await beat(9_000, a);
    expect(a.mayJudge()).toBe(false);
    await beat(1_000, a);
    expect(a.mayJudge()).toBe(true);
  });

  it('is lost with a gap, also one that our lease outlived: others may have had no chance to renew theirs', async () => {
    const { clock, stores, node, beat } = setup();
    const a = node('a');
    await a.pass();
    await beat(20_000, a);
    stores.fail('heartbeat', gone);
    await clock.advance(4_000);
    await expect(a.pass()).rejects.toBe(gone);
    expect(a.token()).not.toBeNull();
    expect(a.mayJudge()).toBe(false);
    stores.fail('heartbeat', null);
    await a.pass();
    expect(a.mayJudge()).toBe(false);
    await beat(10_000, a);
    expect(a.mayJudge()).toBe(true);
  });
});

describe('the buckets', () => {
  it('are all of the only node, shared with one that joins, and taken back when it falls silent', async () => {
    const { clock, events, node, beat } = setup();
    const seen: string[] = [];
    events.on('node.joined', ({ nodeId }) => seen.push(`joined ${nodeId}`));
    events.on('node.left', ({ nodeId }) => seen.push(`left ${nodeId}`));
    const [a, b] = [node('a'), node('b')];
    await a.pass();
    expect(a.buckets()).toHaveLength(8);
    await b.pass();
    await a.pass();
    expect([...a.buckets(), ...b.buckets()].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(a.buckets()).toHaveLength(4);
    await clock.advance(1_000);
    await beat(1_000, a);
    expect(a.buckets()).toHaveLength(4);
    await beat(1_000, a);
    expect(a.buckets()).toHaveLength(8);
    expect(seen).toEqual(['joined a', 'joined b', 'left b']);
  });

  it('are for workers only', async () => {
    const { node } = setup();
    const [a, api] = [node('a'), node('b', ['api'])];
    await a.pass();
    await api.pass();
    await a.pass();
    expect(a.buckets()).toHaveLength(8);
    expect(api.buckets()).toEqual([]);
    expect(api.nodes().map((each) => each.nodeId)).toEqual(['a', 'b']);
  });

  it('of a draining node go to the others at once, while its lease goes on', async () => {
    const { node } = setup();
    const [a, b] = [node('a'), node('b')];
    for (const each of [a, b, a]) await each.pass();
    await a.drain();
    await b.pass();
    expect(a.buckets()).toEqual([]);
    expect(a.token()).not.toBeNull();
    expect(b.buckets()).toHaveLength(8);
    await a.leave();
    await b.pass();
    expect(b.nodes().map((each) => each.nodeId)).toEqual(['b']);
  });
});
