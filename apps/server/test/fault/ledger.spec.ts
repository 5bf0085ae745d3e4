import type { TaskView } from '@xtimer/contracts';
import { expect, it } from 'vitest';
import type { Fault } from './faults.js';
import { checkLedger, type Violations } from './ledger.js';
import type { LoadTimer } from './load.js';
import type { Arrival } from './target.js';

const START = 1_700_000_000_000 - (1_700_000_000_000 % 60_000);
const SLOT = START + 1_000;

const timer: LoadTimer = {
  ref: 't1',
  timerId: 1,
  changes: [
    {
      what: 'created',
      askedAt: START + 100,
      answeredAt: START + 200,
      schedule: { cron: '* * * * * ?', first: 0, step: 1 },
    },
  ],
};
const call = (more: Partial<Arrival> = {}): Arrival => ({
  ...{ ref: 't1', runTimer: SLOT, key: '1_1', attempt: 1, at: SLOT + 3, port: 9, status: 200, answeredAt: SLOT + 4 },
  ...more,
});
const row = (more: Partial<TaskView> = {}) =>
  ({ timerId: 1, runTimer: SLOT, status: 2, attempt: 1, reason: null, error: null, ...more }) as TaskView;
const killed: Fault = {
  ...{ kind: 'kill -9', detail: 'n1', from: SLOT + 10, until: SLOT + 20 },
  victim: { name: 'n1', ports: new Set([9]) },
};

function broken({ arrivals = [call()], rows = [row()], timers = [timer], faults = [] as Fault[], to = SLOT + 500 }) {
  const { violations } = checkLedger({ timers, arrivals, rows, faults, takenOver: new Set(), alone: false, to });
  return (Object.keys(violations) as (keyof Violations)[]).filter((name) => violations[name].length > 0);
}

const unanswered = call({ status: null, answeredAt: null });
const again = call({ attempt: 2, at: SLOT + 9_000, port: 7 });
const paused = {
  ...timer,
  changes: [
    ...timer.changes,
    { what: 'paused' as const, askedAt: START + 600, answeredAt: START + 700, schedule: null },
  ],
};

it.each([
  ['nothing', {}, []],
  ['a slot without a row and a call', { rows: [], arrivals: [] }, ['lost']],
  ['a row nobody called', { arrivals: [] }, ['mismatched']],
  ['a dead letter', { rows: [row({ status: 3 })] }, ['lost']],
  ['a cancellation by nobody', { rows: [row({ status: 4, reason: 'edited' })], arrivals: [] }, ['lost']],
  ['a row that did not end', { rows: [row({ status: 1 })] }, ['unfinished']],
  ['a call before its instant', { arrivals: [call({ at: SLOT - 1 })] }, ['early']],
  ['a second call', { arrivals: [call(), again], rows: [row({ attempt: 2 })] }, ['doubled']],
  [
    'a second call under another key',
    { arrivals: [unanswered, { ...again, key: '1_2' }], rows: [row({ attempt: 2 })], faults: [killed] },
    ['doubled'],
  ],
  ['a retry after 503', { arrivals: [call({ status: 503 }), again], rows: [row({ attempt: 2 })] }, []],
  [
    'a repeat of what a killed node had in flight',
    { arrivals: [unanswered, again], rows: [row({ attempt: 2 })], faults: [killed] },
    [],
  ],
  [
    'a repeat of what another node had in flight',
    { arrivals: [{ ...unanswered, port: 8 }, again], rows: [row({ attempt: 2 })], faults: [killed] },
    ['doubled'],
  ],
  ['a call after the answer to a pause', { timers: [paused] }, ['unplanned']],
  ['a call of an instant nobody planned', { arrivals: [call(), call({ runTimer: SLOT - 500 })] }, ['unplanned']],
])('sees %s', (_, evidence, expected) => {
  expect(broken(evidence)).toEqual(expected);
});
