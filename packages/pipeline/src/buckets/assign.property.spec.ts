import { expect, it } from 'vitest';
import { seededRandom } from '../testing/random.js';
import { bucketsFor } from './assign.js';

const random = seededRandom(7);
const worlds = Array.from({ length: 40 }, (_, seed) => ({
  bucketsNum: 1 + Math.floor(random() * 256),
  nodes: Array.from(
    { length: 1 + Math.floor(random() * 12) },
    (_, i) => `host-${seed}-${i}-${Math.floor(random() * 1e6)}`,
  ),
}));

/** The node of each bucket. */
function ownersOf(nodes: string[], bucketsNum: number): Map<number, string> {
  return new Map(nodes.flatMap((node) => bucketsFor(node, nodes, bucketsNum).map((bucket) => [bucket, node] as const)));
}

it('gives every bucket to exactly one node, and no node more than one above another', () => {
  for (const { nodes, bucketsNum } of worlds) {
    const shares = nodes.map((node) => bucketsFor(node, nodes, bucketsNum));
    expect(shares.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: bucketsNum }, (_, bucket) => bucket));
    const sizes = shares.map((share) => share.length);
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
  }
});

it('is the same for every order of the list, and nothing for a node that is not on it', () => {
  for (const { nodes, bucketsNum } of worlds) {
    const shuffled = [...nodes, nodes[0]!].reverse();
    expect(bucketsFor(nodes[0]!, shuffled, bucketsNum)).toEqual(bucketsFor(nodes[0]!, nodes, bucketsNum));
    expect(bucketsFor('stranger', nodes, bucketsNum)).toEqual([]);
  }
  expect(bucketsFor('a', [], 8)).toEqual([]);
});

it('moves few buckets when a node comes or goes: its own share and about as many again', () => {
  let moved = 0;
  let least = 0;
  for (const { nodes, bucketsNum } of worlds) {
    const before = ownersOf(nodes, bucketsNum);
    const after = ownersOf([...nodes, 'newcomer'], bucketsNum);
    moved += [...before].filter(([bucket, owner]) => after.get(bucket) !== owner).length;
    least += Math.floor(bucketsNum / (nodes.length + 1));
  }
  expect(moved).toBeLessThan(2 * least);
});
