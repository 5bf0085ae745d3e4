import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { DstRule } from '../timer/timer.js';
import { CronError } from './cron-error.js';
import { compile } from './recurrence.js';

/** The shared cron cases: questions with known answers, each asked in every way the API has. */
interface Case {
  expr: string;
  dialect: 'unix' | 'unix-seconds' | 'quartz';
  tz: string;
  start: string;
  next: string[];
  ends?: boolean;
  group: string;
  alternatives?: Partial<Record<string, string[]>>;
}
interface Text {
  expr: string;
  dialect: Case['dialect'];
  expect: 'reject' | 'accept' | 'either';
  reason: string;
}

const read = <T>(name: string): T[] =>
  JSON.parse(readFileSync(new URL(`../../../testkit/cases/cron/${name}`, import.meta.url), 'utf8'));
const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString().replace('.000Z', 'Z'));

/** `next` asked `count` times, each answer being the next question. */
function walk(asked: Case, count: number, dst?: DstRule) {
  const recurrence = compile(asked.expr, { cronDialect: asked.dialect, timezone: asked.tz, dst });
  const fires: (string | null)[] = [];
  for (let at: number | null = Date.parse(asked.start); fires.length < count; ) {
    at = recurrence.next(at);
    fires.push(iso(at));
    if (at === null) break;
  }
  return fires;
}

const policies: Record<string, DstRule> = {
  gapSkip: { gap: 'skip', overlap: 'first' },
  gapShift: { gap: 'shift', overlap: 'first' },
  overlapBoth: { gap: 'after', overlap: 'both' },
};

const cases = [...read<Case>('quartz.json'), ...read<Case>('unix.json')];

describe('questions with known answers', () => {
  it.each(cases.map((c) => [`${c.group}: ${c.expr} in ${c.tz} after ${c.start}`, c] as const))('%s', (_, asked) => {
    expect(walk(asked, asked.next.length + (asked.ends ? 1 : 0))).toEqual(
      asked.ends ? [...asked.next, null] : asked.next,
    );

    const recurrence = compile(asked.expr, { cronDialect: asked.dialect, timezone: asked.tz });
    const from = Date.parse(asked.start) + 1;
    expect(recurrence.between(from, Infinity, asked.next.length).map(iso)).toEqual(asked.next);
    // The dialect is found without being told.
    expect(compile(asked.expr, { timezone: asked.tz }).dialect).toBe(asked.dialect);

    for (const [name, dst] of Object.entries(policies)) {
      const fires = asked.alternatives?.[name];
      if (!fires) continue;
      const options = { cronDialect: asked.dialect, timezone: asked.tz, dst };
      expect(walk(asked, fires.length, dst), name).toEqual(fires);
      expect(compile(asked.expr, options).between(from, Infinity, fires.length).map(iso), name).toEqual(fires);
    }
  });
});

/** Our decisions on the texts the cases leave open, with the reasons in docs/cron.md. */
const decided = new Map<string, 'accept' | 'reject'>([
  ['0 0 12 ? * 2,6L', 'accept'],
  ['* * * * * * *', 'accept'],
  ['0 0 12 * * *', 'accept'],
  ['0 0 12 1 JANUARY ?', 'reject'],
  ['0 0 12 ? * MON#1,FRI#2', 'accept'],
  ['0 0 12 L,15 * ?', 'accept'],
  ['*/61 * * * *', 'reject'],
  ['@every 5m', 'accept'],
]);

describe('texts to refuse or accept', () => {
  it.each(read<Text>('invalid.json').map((t) => [`${t.expr.slice(0, 40)} (${t.reason})`, t] as const))(
    '%s',
    (_, text) => {
      const verdict = text.expect === 'either' ? decided.get(text.expr) : text.expect;
      const options = { cronDialect: text.dialect, timezone: 'UTC' };
      if (verdict === 'accept') {
        compile(text.expr, options).next(Date.parse('2026-01-01T00:00:00Z'));
      } else {
        expect(verdict).toBe('reject');
        expect(() => compile(text.expr, options)).toThrow(CronError);
        expect(() => compile(text.expr, { timezone: 'UTC' }), 'dialect auto').toSatisfy((run: () => unknown) => {
          try {
            run();
            // Five fields are only wrong where six or seven are demanded.
            return text.expr === '* * * * *';
          } catch (error) {
            return error instanceof CronError;
          }
        });
      }
    },
  );
});
