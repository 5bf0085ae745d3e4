import { describe, expect, it } from 'vitest';
import { Lanes } from './lanes.js';

function setup(limits: { perNode: number; perHost: number }) {
  const clock = { time: 0, now: () => clock.time };
  const lanes = new Lanes<string>(clock, limits);
  const started: string[] = [];
  const enqueue = (host: string, count: number) => {
    for (let i = 0; i < count; i++) lanes.enqueue(host, `${host}${i}`);
  };
  const call = (host: string, name = host) => lanes.call(host, () => started.push(name));
  const end = (host: string) => {
    lanes.callEnded(host);
    lanes.release(host);
  };
  return { clock, lanes, started, enqueue, call, end };
}

describe('taking', () => {
  it('gives each lane its turn, in the order of the lane', () => {
    const { lanes, enqueue } = setup({ perNode: 100, perHost: 2 });
    enqueue('a', 5);
    enqueue('b', 1);
    expect(lanes.take(100)).toEqual(['a0', 'a1', 'b0']);
    expect(lanes.take(100)).toEqual([]);
    lanes.release('a');
    expect(lanes.take(100)).toEqual(['a2']);
  });

  it('takes no more than asked, and goes on with the next lane', () => {
    const { lanes, enqueue } = setup({ perNode: 100, perHost: 10 });
    enqueue('a', 4);
    enqueue('b', 4);
    expect(lanes.take(3)).toEqual(['a0', 'a1', 'a2']);
    expect(lanes.take(3)).toEqual(['b0', 'b1', 'b2']);
    expect(lanes.take(3)).toEqual(['a3', 'b3']);
  });

  it('a host that answers nothing holds its own lane only', () => {
    const { lanes, enqueue } = setup({ perNode: 100, perHost: 3 });
    enqueue('slow', 1000);
    expect(lanes.take(1000)).toHaveLength(3);
    enqueue('quick', 2);
    expect(lanes.take(1000)).toEqual(['quick0', 'quick1']);
  });

  it('lets a host that answers fast have as many more as it lately answered', () => {
    const { clock, lanes, enqueue, call, end } = setup({ perNode: 100, perHost: 2 });
    enqueue('a', 50);
    lanes.take(100);
    for (let i = 0; i < 2; i++) call('a');
    for (let i = 0; i < 2; i++) end('a');
    expect(lanes.take(100)).toHaveLength(4);
    // After two windows without an answer the pace is forgotten.
    clock.time = 250;
    lanes.release('a');
    expect(lanes.take(100)).toEqual([]);
  });

  it('stops at twice the calls of the node', () => {
    const { lanes } = setup({ perNode: 3, perHost: 100 });
    for (let i = 0; i < 10; i++) lanes.enqueue(`host${i}`, String(i));
    expect(lanes.take(100)).toHaveLength(6);
    expect(lanes.inFlight).toBe(6);
  });
});

describe('calling', () => {
  it('starts at once while the host has calls free, then as each ends, in order', () => {
    const { started, call, lanes } = setup({ perNode: 100, perHost: 1 });
    call('a', 'first');
    call('a', 'second');
    call('a', 'third');
    expect(started).toEqual(['first']);
    lanes.callEnded('a');
    expect(started).toEqual(['first', 'second']);
    lanes.callEnded('a');
    expect(started).toEqual(['first', 'second', 'third']);
  });

  it('never has more calls on their way than the node may have, over all hosts', () => {
    const { started, call, lanes } = setup({ perNode: 2, perHost: 2 });
    for (const host of ['a', 'a', 'a', 'b', 'c']) call(host);
    expect(started).toEqual(['a', 'a']);
    lanes.callEnded('a');
    lanes.callEnded('a');
    expect(started.slice(2)).toEqual(['b', 'c']);
    lanes.callEnded('b');
    expect(started.at(-1)).toBe('a');
    expect(started).toHaveLength(5);
  });

  it('a host at its own limit leaves the free calls to others', () => {
    const { started, call } = setup({ perNode: 10, perHost: 1 });
    for (const host of ['slow', 'slow', 'slow', 'quick']) call(host);
    expect(started).toEqual(['slow', 'quick']);
  });
});
