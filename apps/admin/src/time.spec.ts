import { describe, expect, it } from 'vitest';
import { en } from './i18n/en.js';
import { languageOf } from './i18n/languages.js';
import { zh } from './i18n/zh.js';
import { clocksAgree, duration, fromLocalInput, isZone, offsetOf, relative, toLocalInput, wallClock } from './time.js';

const AT = Date.UTC(2026, 9, 22, 17, 30, 5);

describe('a moment', () => {
  it('is shown as the clocks of a zone show it', () => {
    expect(wallClock(AT, 'UTC')).toBe('2026-10-22 17:30:05');
    expect(wallClock(AT, 'Asia/Shanghai')).toBe('2026-10-23 01:30:05');
    expect(wallClock(Date.UTC(2026, 0, 1), 'America/New_York')).toBe('2025-12-31 19:00:00');
    expect(wallClock(Date.UTC(2026, 0, 1, 0, 0, 0), 'UTC')).toBe('2026-01-01 00:00:00');
  });

  it('names the offset, summer time included', () => {
    expect(offsetOf(AT, 'UTC')).toBe('UTC');
    expect(offsetOf(AT, 'Asia/Shanghai')).toBe('UTC+8');
    expect(offsetOf(AT, 'Asia/Kolkata')).toBe('UTC+5:30');
    expect(offsetOf(AT, 'Europe/Berlin')).toBe('UTC+2');
    expect(offsetOf(Date.UTC(2026, 11, 1), 'Europe/Berlin')).toBe('UTC+1');
    expect(offsetOf(AT, 'America/St_Johns')).toBe('UTC-2:30');
  });

  it('knows where two zones agree', () => {
    expect(clocksAgree(AT, 'Asia/Shanghai', 'Asia/Singapore')).toBe(true);
    expect(clocksAgree(AT, 'Europe/London', 'UTC')).toBe(false);
    expect(clocksAgree(Date.UTC(2026, 11, 1), 'Europe/London', 'UTC')).toBe(true);
    expect([isZone('Mars/Olympus'), isZone(''), isZone('Europe/Berlin')]).toEqual([false, false, true]);
  });

  it('survives the way through an input field', () => {
    expect(fromLocalInput(toLocalInput(AT))).toBe(AT);
    expect([toLocalInput(null), fromLocalInput(''), fromLocalInput('2026-1')]).toEqual(['', null, null]);
  });

  it('is told relative to now, two units at most', () => {
    const tell = (ms: number, words = en) => relative(AT + ms, AT, words);
    expect([0, 999, 1_000, -61_000].map((ms) => tell(ms))).toEqual(['now', 'now', 'in 1 s', '1 min 1 s ago']);
    expect(tell(26 * 3_600_000 + 59_000)).toBe('in 1 d 2 h');
    expect(tell(3_600_000)).toBe('in 1 h');
    expect(relative(AT + 200_000, AT, zh)).toBe('3 分 20 秒后');
  });
});

it('a duration carries its unit', () => {
  const say = (ms: number) => duration(ms, en.units);
  expect([0, 850, 1_240, 12_345, 125_000].map(say)).toEqual(['0 ms', '850 ms', '1.24 s', '12.3 s', '2 min 5 s']);
  expect([11_400_000, 360_000_000].map(say)).toEqual(['3 h 10 min', '4 d 4 h']);
  expect(say(-3)).toBe('-3 ms');
});

describe('the dictionaries', () => {
  const leaves = (text: object, path = ''): [string, unknown][] =>
    Object.entries(text).flatMap(([key, value]) =>
      typeof value === 'object' ? leaves(value, `${path}${key}.`) : [[path + key, value] as [string, unknown]],
    );

  it('have the same keys, take the same number of values and leave nothing empty', () => {
    const [english, chinese] = [new Map(leaves(en)), new Map(leaves(zh))];
    expect([...chinese.keys()].sort()).toEqual([...english.keys()].sort());
    for (const [key, value] of chinese) {
      expect(typeof value, key).toBe(typeof english.get(key));
      if (typeof value === 'string') expect(value.trim(), key).not.toBe('');
    }
  });

  it('choose what was kept, then what the browser prefers', () => {
    expect(languageOf('zh', ['en'])).toBe('zh');
    expect(languageOf(null, ['zh-CN', 'en'])).toBe('zh');
    expect(languageOf(null, ['fr', 'EN-gb', 'zh'])).toBe('en');
    expect(languageOf('xx', ['fr'])).toBe('en');
  });
});
