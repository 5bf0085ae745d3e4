/** FNV-1a, 32 bit: spreads short texts well enough to rank nodes, and is the same everywhere. */
export function hash32(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  // FNV leaves near-equal texts close together; this last mix (murmur3's) scatters them.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * Which node looks after which bucket: rendezvous hashing with a bounded load, so that no node has more than
 * one bucket above another and few buckets move when a node comes or goes. Every node computes the same
 * answer from the same list. Resolves to the buckets of `nodeId`, ascending.
 */
export function bucketsFor(nodeId: string, liveNodes: readonly string[], bucketsNum: number): number[] {
  const nodes = [...new Set(liveNodes)].sort();
  if (nodes.length === 0) return [];
  const room = new Map(nodes.map((node) => [node, Math.ceil(bucketsNum / nodes.length)]));
  // The first `bucketsNum % n` full shares are ceil, the rest floor: once those are given out, the room shrinks.
  let largeShares = bucketsNum % nodes.length || nodes.length;
  const load = new Map(nodes.map((node) => [node, 0]));
  const mine: number[] = [];
  for (let bucket = 0; bucket < bucketsNum; bucket++) {
    let best = '';
    let bestRank = -1;
    for (const node of nodes) {
      const rank = hash32(`${node}|${bucket}`);
      if (rank > bestRank && load.get(node)! < room.get(node)!) {
        best = node;
        bestRank = rank;
      }
    }
    const taken = load.get(best)! + 1;
    load.set(best, taken);
    if (taken === Math.ceil(bucketsNum / nodes.length) && --largeShares === 0) {
      for (const node of nodes) if (load.get(node)! < taken) room.set(node, Math.floor(bucketsNum / nodes.length));
    }
    if (best === nodeId) mine.push(bucket);
  }
  return mine;
}
