import type { TaskView } from '@xtimer/contracts';
import { type Fault, promises } from './faults.js';
import { type Change, hasSlot, type LoadTimer } from './load.js';
import type { Arrival } from './target.js';

/** Our clock and the nodes' may differ by this at the moment of a change, ms. */
const SKEW_MS = 5;
/** A call answered this long before its node was stopped may not have its result in the database yet, ms. */
const WRITING_MS = 1_000;
/** A change takes back what is late, and a minute's lateness is the misfire rule's, ms. */
const TAKEN_BACK_MS = 60_000;

/** What was broken, by task; each list must be empty. */
export interface Violations {
  /** Planned and neither called nor taken back by a user's change, or without a row. */
  lost: string[];
  /** Called before its instant. */
  early: string[];
  /** Called again although nobody had been turned away or died. */
  doubled: string[];
  /** Called although no schedule has this instant, or after the answer to a pause, an edit or a deletion. */
  unplanned: string[];
  /** Past, and neither succeeded nor canceled. */
  unfinished: string[];
  /** History and target disagree. */
  mismatched: string[];
}

export interface Lateness {
  times: number;
  calls: number;
  /** First calls, by slot or since the database is back, ms. */
  worst: number;
  /** What the victim held: called again, or for the first time by others, ms after the fault. */
  held: number;
  worstHeld: number;
}

export interface Ledger {
  planned: number;
  succeeded: number;
  /** Retries after a 503. */
  retried: number;
  /** Late in a fault, and canceled by a user's pause, edit or deletion meanwhile. */
  takenBack: number;
  /** Repeated because their node was killed or frozen, by fault. */
  repeated: Map<Fault, number>;
  /** Repeated because their node had no time to renew its lease, and says so in its log. */
  starved: number;
  calm: { calls: number; worst: number };
  lateness: Map<Fault['kind'], Lateness>;
  violations: Violations;
}

export interface Evidence {
  timers: readonly LoadTimer[];
  arrivals: readonly Arrival[];
  rows: readonly TaskView[];
  faults: readonly Fault[];
  takenOver: ReadonlySet<string>;
  /** One node: nobody takes over before it is back, so what it held counts from then. */
  alone: boolean;
  /** Slots before it have had their time. */
  to: number;
}

/** Compares what was planned, by plain arithmetic, with what the target saw and what history says. */
export function checkLedger({ timers, arrivals, rows, faults, takenOver, alone, to }: Evidence): Ledger {
  const violations: Violations = { lost: [], early: [], doubled: [], unplanned: [], unfinished: [], mismatched: [] };
  const ledger: Ledger = {
    ...{ planned: 0, succeeded: 0, retried: 0, takenBack: 0, starved: 0, repeated: new Map(), violations },
    calm: { calls: 0, worst: 0 },
    lateness: new Map(),
  };
  for (const { kind } of faults) latenessOf(kind).times++;
  const callsOf = groupBy(arrivals, ({ ref, runTimer }) => `${ref} ${runTimer}`);
  const rowsOf = groupBy(rows, ({ timerId, runTimer }) => `${timerId} ${runTimer}`);

  for (const timer of timers) {
    const first = Math.floor(timer.changes[0]!.askedAt / 1000) * 1000;
    for (let slot = first; slot < to; slot += 1000) checkSlot(timer, slot);
  }
  // What is left belongs to no second of any timer of ours.
  for (const [name, calls] of callsOf) if (calls[0]!.runTimer < to) violations.unplanned.push(`called: ${name}`);
  for (const [name, [row]] of rowsOf) if (row!.status !== 4) violations.unplanned.push(`in history: ${name}`);
  return ledger;

  function checkSlot({ ref, timerId, changes }: LoadTimer, slot: number): void {
    const calls = take(callsOf, `${ref} ${slot}`).sort((a, b) => a.at - b.at);
    const found = take(rowsOf, `${timerId} ${slot}`);
    const [row] = found;
    const expected = expectation(changes, slot);
    const name = `${ref} ${timerId}_${slot}`;
    const say = (list: keyof Violations, what: string) =>
      violations[list].push(
        `${name} ${what}; row ${row ? `${row.status} ${row.reason ?? ''} attempt ${row.attempt} ${row.error ?? ''}` : 'none'}; calls ${JSON.stringify(calls.map(({ ref: _, runTimer: __, ...call }) => call))}; ${near(faults, slot)}`,
      );

    if (expected === 'must') ledger.planned++;
    if (found.length > 1) say('mismatched', 'has several rows');
    if (expected === 'not' && (calls.length > 0 || (row && row.status !== 4))) say('unplanned', 'was not planned');
    if (expected === 'must' && !row) say('lost', 'has no row');
    if (row && row.status < 2) say('unfinished', 'did not end');
    if (row && (row.status === 3 || row.status === 5)) say('lost', 'did not succeed');
    if (row?.status === 4 && expected === 'must') {
      const takenBack = changes.some(
        ({ what, askedAt, answeredAt }) =>
          what !== 'created' && answeredAt >= slot - SKEW_MS && askedAt <= slot + TAKEN_BACK_MS,
      );
      if (takenBack) ledger.takenBack++;
      else say('lost', 'was canceled by nobody');
    }
    if (row?.status === 2) {
      ledger.succeeded++;
      if (!calls.some(({ status }) => status === 200)) say('mismatched', 'succeeded without a call');
      else if (Math.max(...calls.map(({ attempt }) => attempt)) !== row.attempt)
        say('mismatched', 'counts other attempts');
    }
    if (!row && calls.length > 0 && expected !== 'must') say('mismatched', 'was called and has no row');
    if (calls.length === 0) return;

    if (calls.some(({ at }) => at < slot)) say('early', `by ${slot - calls[0]!.at} ms`);
    if (new Set(calls.map(({ key }) => key)).size > 1) say('doubled', 'had several keys');
    measure(calls[0]!, slot);
    for (const [i, call] of calls.entries()) {
      const before = calls[i - 1];
      if (!before) continue;
      if (before.status === 503 && call.attempt > before.attempt) {
        ledger.retried++;
        continue;
      }
      const fault = faults.find((one) => wasInFlight(one, before) || wasInFlight(one, call));
      if (!fault && takenOver.has(`${timerId}_${slot}`)) {
        ledger.starved++;
        continue;
      }
      if (!fault) {
        say('doubled', 'was repeated');
        continue;
      }
      ledger.repeated.set(fault, (ledger.repeated.get(fault) ?? 0) + 1);
      const lateness = latenessOf(fault.kind);
      lateness.held++;
      lateness.worstHeld = Math.max(lateness.worstHeld, call.at - (alone ? fault.until : fault.from));
    }
  }

  function measure(call: Arrival, slot: number): void {
    const fault = faults.findLast(({ from }) => from <= call.at);
    if (!fault) {
      ledger.calm = { calls: ledger.calm.calls + 1, worst: Math.max(ledger.calm.worst, call.at - slot) };
      return;
    }
    const lateness = latenessOf(fault.kind);
    // A first call that is no first attempt: the victim had claimed it, and did not get to call.
    if (fault.victim && (call.attempt > 1 || (fault.victim.ports?.has(call.port) && slot <= fault.until))) {
      lateness.held++;
      lateness.worstHeld = Math.max(lateness.worstHeld, call.at - Math.max(slot, alone ? fault.until : fault.from));
      return;
    }
    const since = promises[fault.kind].countsFrom === 'until' ? Math.max(slot, fault.until) : slot;
    lateness.calls++;
    lateness.worst = Math.max(lateness.worst, call.at - since);
  }

  function latenessOf(kind: Fault['kind']): Lateness {
    let found = ledger.lateness.get(kind);
    if (!found) {
      found = { times: 0, calls: 0, worst: 0, held: 0, worstHeld: 0 };
      ledger.lateness.set(kind, found);
    }
    return found;
  }
}

/** Whether this instant must be called, may be (a change was on its way), or must not. */
export function expectation(changes: readonly Change[], slot: number): 'must' | 'may' | 'not' {
  let schedule: Change['schedule'] = null;
  for (const change of changes) {
    if (slot > change.answeredAt + SKEW_MS) {
      schedule = change.schedule;
      continue;
    }
    if (slot < change.askedAt - SKEW_MS) break;
    const either = [schedule, change.schedule].some((one) => one && hasSlot(one, slot));
    return either ? 'may' : 'not';
  }
  return schedule && hasSlot(schedule, slot) ? 'must' : 'not';
}

/** A call of the process that was killed or frozen, not known to have ended by then. */
function wasInFlight({ victim, from, until }: Fault, { port, at, answeredAt }: Arrival): boolean {
  if (!victim || (victim.ports && !victim.ports.has(port))) return false;
  return at <= until + WRITING_MS && (answeredAt === null || answeredAt >= from - WRITING_MS);
}

const near = (faults: readonly Fault[], slot: number): string => {
  const fault = faults.findLast(({ from }) => from <= slot + 1000);
  return fault
    ? `${slot - fault.from} ms after ${fault.kind} (${fault.detail}), healed ${fault.until - slot} ms later`
    : 'before any fault';
};

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

function take<T>(groups: Map<string, T[]>, key: string): T[] {
  const group = groups.get(key) ?? [];
  groups.delete(key);
  return group;
}
