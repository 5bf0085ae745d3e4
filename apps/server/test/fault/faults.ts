import { setTimeout as sleep } from 'node:timers/promises';
import type { Dice } from './random.js';
import type { Target } from './target.js';
import { type Node, portsTo, type World } from './world.js';

/** Something that was broken, and when. Epoch ms. */
export interface Fault {
  kind: Kind;
  detail: string;
  from: number;
  /** When all was whole again; the pipeline may still be catching up. */
  until: number;
  /** Killed or frozen: connections of that process, `null` where that can't be known. */
  victim?: { name: string; ports: Set<number> | null };
}

export interface Scene {
  world: World;
  target: Target;
  dice: Dice;
}

type Break = (scene: Scene) => Promise<{ detail: string; victim?: Fault['victim'] }>;

const ms = (dice: Dice, least: number, most: number) => dice.between(least * 10, most * 10) * 100;

async function victimOf(
  { world, target, dice }: Scene,
  freezing: boolean,
): Promise<{ node: Node; victim: NonNullable<Fault['victim']> }> {
  const node = dice.pick(world.nodes.filter(({ server }) => server));
  if (freezing) await world.shun(node);
  // Stopped first, so that no call leaves between the look at its connections and the end.
  node.server!.freeze();
  return { node, victim: { name: node.name, ports: await portsTo(target.port, node.server!.pid) } };
}

async function freeze(scene: Scene, forMs: number) {
  const { node, victim } = await victimOf(scene, true);
  await sleep(forMs);
  node.server!.thaw();
  // Calls it had begun may only now get a connection.
  await sleep(300);
  for (const port of (await portsTo(scene.target.port, node.server!.pid)) ?? []) victim.ports?.add(port);
  node.shunned = false;
  return { detail: `${node.name} for ${forMs} ms`, victim };
}

async function kill(scene: Scene, downMs: number) {
  const { node, victim } = await victimOf(scene, false);
  await scene.world.endNode(node, 'SIGKILL');
  await sleep(downMs);
  await scene.world.startNode(node);
  return { detail: `${node.name}, down for ${downMs} ms`, victim };
}

export const faults = {
  'kill -9': (scene) => kill(scene, ms(scene.dice, 4, 12)),
  'kill -9, restarted at once': (scene) => kill(scene, 0),
  'SIGSTOP, short': (scene) => freeze(scene, ms(scene.dice, 3, 7)),
  'SIGSTOP, long': (scene) => freeze(scene, ms(scene.dice, 13, 17)),
  SIGTERM: async ({ world, dice }) => {
    const node = dice.pick(world.nodes);
    const askedAt = Date.now();
    await world.endNode(node, 'SIGTERM');
    const tookMs = Date.now() - askedAt;
    const downMs = ms(dice, 1, 5);
    await sleep(downMs);
    await world.startNode(node);
    return { detail: `${node.name}, gone after ${tookMs} ms, down for ${downMs} ms` };
  },
  'Redis emptied': async ({ world }) => {
    await world.emptyRedis();
    return { detail: 'FLUSHALL' };
  },
  'Redis down': async ({ world, dice }) => {
    const outageMs = ms(dice, 5, 10);
    await world.restartRedis(outageMs);
    return { detail: `for ${outageMs} ms, back empty` };
  },
  'Redis frozen': async ({ world, dice }) => {
    const frozenMs = ms(dice, 3, 8);
    world.redis.freeze();
    await sleep(frozenMs);
    world.redis.thaw();
    return { detail: `for ${frozenMs} ms` };
  },
  'database restarted': async ({ world }) => {
    await world.database!.restart();
    return { detail: 'MariaDB' };
  },
  'database frozen': async ({ world, dice }) => {
    const frozenMs = ms(dice, 3, 12);
    world.database!.freeze();
    await sleep(frozenMs);
    world.database!.thaw();
    return { detail: `for ${frozenMs} ms` };
  },
} satisfies Record<string, Break>;

export type Kind = keyof typeof faults;

/** What the failure table promises of the calls after a fault, ms; DESIGN section 5. */
export const promises: Record<Kind, { late: number; claimed: number | null; countsFrom: 'slot' | 'until' }> = {
  'kill -9': { late: 3_000, claimed: 15_000, countsFrom: 'slot' },
  'kill -9, restarted at once': { late: 3_000, claimed: 15_000, countsFrom: 'slot' },
  'SIGSTOP, short': { late: 3_000, claimed: 15_000, countsFrom: 'slot' },
  'SIGSTOP, long': { late: 3_000, claimed: 15_000, countsFrom: 'slot' },
  SIGTERM: { late: 1_000, claimed: null, countsFrom: 'slot' },
  'Redis emptied': { late: 3_000, claimed: null, countsFrom: 'slot' },
  'Redis down': { late: 3_000, claimed: null, countsFrom: 'slot' },
  'Redis frozen': { late: 3_000, claimed: null, countsFrom: 'slot' },
  'database restarted': { late: 3_000, claimed: null, countsFrom: 'until' },
  'database frozen': { late: 3_000, claimed: null, countsFrom: 'until' },
};

/** Until everything promised has happened, ms: dead nodes' calls are repeated within 15 s. */
export const settlingMs = (kind: Kind): number => (promises[kind].claimed === null ? 8_000 : 17_000);

export async function breakIt(kind: Kind, scene: Scene): Promise<Fault> {
  const from = Date.now();
  const done = await faults[kind](scene);
  return { kind, from, until: Date.now(), ...done };
}
