import { setTimeout as sleep } from 'node:timers/promises';
import type { TaskView } from '@xtimer/contracts';
import { breakIt, type Fault, type Kind, promises, settlingMs } from './faults.js';
import { checkLedger, type Ledger, type Violations } from './ledger.js';
import { APP, insist, Load } from './load.js';
import { dice } from './random.js';
import { startTarget } from './target.js';
import { World } from './world.js';

export interface TrialOptions {
  mode: 'clustered' | 'embedded';
  nodes: number;
  seed: number;
  /** Which faults; each round has them all, in an order the dice give. */
  kinds: readonly Kind[];
  /** Rounds go on until then; 0: one round. */
  minutes: number;
}

export interface Outcome {
  violations: Violations & { crashed: string[]; refused: string[] };
  /** For people: counts, lateness by kind of fault, promises kept or missed. */
  report: string;
}

const WARM_UP_MS = 4_000;
/** For what a fault left open; generous, the check itself says how late things were. */
const END_LIMIT_MS = 90_000;

/** Runs a load, breaks one thing after the other, and checks the books. `null`: the stores can't be had here. */
export async function runTrial(options: TrialOptions): Promise<Outcome | null> {
  const { mode, seed, kinds, minutes } = options;
  const random = dice(seed);
  const world = await World.open(mode, options.nodes);
  if (!world) return null;
  const target = await startTarget();
  const stall = stallMeter();
  try {
    const startedAt = Date.now();
    const endAt = startedAt + (10 + 2 * minutes) * 60_000;
    // The users draw from dice of their own: their pace must not change the order of the faults.
    const load = new Load(world, target.url, dice(seed + 1), endAt);
    await load.start();
    await sleep(WARM_UP_MS);

    const faults: Fault[] = [];
    do {
      for (const kind of random.shuffle(kinds)) {
        const fault = await breakIt(kind, { world, target, dice: random });
        faults.push(fault);
        console.log(`${clock(fault.from)} ${kind}: ${fault.detail}`);
        await sleep(settlingMs(kind));
      }
    } while (Date.now() < startedAt + minutes * 60_000);
    await load.stopChanging();

    const to = Math.min(endAt, Math.floor(Date.now() / 1000) * 1000 - 2_000);
    await ended(world, to);
    await load.deleteAll();
    const rows = await history(world, { endTime: to });
    await world.close();
    const ledger = checkLedger({
      timers: load.timers,
      arrivals: target.arrivals,
      rows,
      faults,
      takenOver: world.takenOver,
      alone: options.nodes === 1,
      to,
    });
    const refused = load.mistakes.map(({ message }) => message);
    const violations = { ...ledger.violations, crashed: world.crashes, refused };
    const summary = {
      options,
      ledger,
      faults,
      violations,
      calls: target.arrivals.length,
      seconds: (to - startedAt) / 1000,
    };
    return { violations, report: tell({ ...summary, logged: world.logged, stalledMs: stall(), changes: load }) };
  } finally {
    stall();
    await world.close();
    await target.close();
  }
}

/** Waits until nothing of the past is open, and no longer than it may take: the ledger names what is left. */
async function ended(world: World, to: number): Promise<void> {
  for (const limit = Date.now() + END_LIMIT_MS; Date.now() < limit; await sleep(500)) {
    const [waiting, running] = await Promise.all([0, 1].map((status) => history(world, { status, endTime: to }, 1)));
    if (waiting!.length + running!.length === 0) return;
  }
}

async function history(
  world: World,
  query: Record<string, number>,
  pages = Number.POSITIVE_INFINITY,
): Promise<TaskView[]> {
  const rows: TaskView[] = [];
  let cursor: string | null = '';
  for (let page = 0; page < pages && cursor !== null; page++) {
    const search = new URLSearchParams({ app: APP, pageSize: '200', ...(cursor && { cursor }) });
    for (const [name, value] of Object.entries(query)) search.set(name, String(value));
    const { list, nextCursor }: { list: TaskView[]; nextCursor: string | null } = await insist(
      'getTaskList',
      async () => {
        const answer = await world.api(`/xtimer/getTaskList?${search}`);
        return answer.status === 200 ? answer.data : null;
      },
    );
    rows.push(...list);
    cursor = nextCursor;
  }
  return rows;
}

interface Summary {
  options: TrialOptions;
  ledger: Ledger;
  faults: readonly Fault[];
  violations: Outcome['violations'];
  calls: number;
  seconds: number;
  logged: ReadonlyMap<string, number>;
  stalledMs: number;
  changes: Load;
}

function tell({ options, ledger, faults, violations, calls, seconds, logged, stalledMs, changes }: Summary): string {
  const users = changes.timers.flatMap((timer) => timer.changes);
  const repeated = [...ledger.repeated].map(([{ kind, detail }, count]) => `  ${count} after ${kind} (${detail})`);
  const lateness = [...ledger.lateness].map(([kind, { times, worst, held, worstHeld }]) => {
    const { late, claimed, countsFrom } = promises[kind];
    const verdict = (value: number, bound: number) => `${value} ms of ${bound}: ${value <= bound ? 'ok' : 'missed'}`;
    // Alone, nobody else is there to take over: the time without a node is no lateness of ours.
    const firsts = options.nodes > 1 ? verdict(worst, late) : `${worst} ms`;
    const heldBy =
      claimed === null || held === 0 ? '' : `; held by the victim: ${held}, latest ${verdict(worstHeld, claimed)}`;
    return `  ${kind} (${times} times): latest ${firsts}${countsFrom === 'until' ? ' since it answers' : ''}${heldBy}`;
  });
  const counts = Object.entries(violations).map(([name, list]) => `${name} ${list.length}`);
  return [
    `${options.mode}, ${options.nodes} node(s), seed ${options.seed}: ${Math.round(seconds)} s, ${faults.length} faults, ${users.length} changes by users`,
    `${calls} calls (${Math.round(calls / seconds)} a second); of ${ledger.planned} planned for sure ${ledger.takenBack} were late and taken back by a user; ${ledger.succeeded} succeeded, ${ledger.retried} retries`,
    `undisturbed: latest ${ledger.calm.worst} ms of ${ledger.calm.calls} calls; the target itself stalled ${Math.round(stalledMs)} ms at worst`,
    'latest by kind of fault, in ms:',
    ...lateness,
    `repeated because a node was starved beyond its lease by a busy machine: ${ledger.starved}`,
    repeated.length > 0 ? 'repeated, in flight on a node killed or frozen:' : 'nothing repeated',
    ...repeated,
    `logged: ${[...logged].map(([line, count]) => `${line.slice(0, 100)} ×${count}`).join('; ') || 'nothing'}`,
    `violations: ${counts.join(', ')}`,
    ...Object.entries(violations).flatMap(([name, list]) =>
      list.slice(0, 5).map((what: string) => `  ${name}: ${what}`),
    ),
  ].join('\n');
}

const clock = (at: number) => new Date(at).toISOString().slice(11, 23);

/** The longest time this process did not get to look up, ms. */
function stallMeter(): () => number {
  let worst = 0;
  let before = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    worst = Math.max(worst, now - before - 20);
    before = now;
  }, 20);
  return () => {
    clearInterval(timer);
    return worst;
  };
}
