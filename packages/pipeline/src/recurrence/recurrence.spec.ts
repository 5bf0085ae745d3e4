import { describe, expect, it } from 'vitest';
import { CronError } from './cron-error.js';
import { compile } from './recurrence.js';
import { isTimeZone } from './zone.js';

const utc = { timezone: 'UTC' };

function errorOf(cron: string, options = utc): CronError {
  try {
    compile(cron, options);
  } catch (error) {
    if (error instanceof CronError) return error;
    throw error;
  }
  throw new Error(`${cron} was accepted`);
}

describe('refusing', () => {
  it.each([
    ['0 9 * * 1,8', 'dayOfWeek', 10, '8'],
    ['  60 * * * *', 'minutes', 2, '60'],
    ['0 5,,6 12 * * ?', 'minutes', 4, ''],
    ['0 0 12 1 foo ?', 'month', 9, 'foo'],
    ['0 0 0 1 1 ? 2027,2030-2027', 'year', 17, '2030-2027'],
    ['0 12 * * MON–FRI', 'expression', 12, '–'],
    ['@reboot', 'expression', 0, '@reboot'],
    ['* * * *', 'expression', null, '* * * *'],
    ['0 0 * * *\n0 1 * * *', 'expression', 9, '\n'],
  ])('names the item of %j', (cron, field, position, value) => {
    expect(errorOf(cron)).toMatchObject({ code: 'CRON_INVALID', field, position, value });
    expect(errorOf(cron).message).toContain('expected');
  });

  it.each([
    ['cron(0 10 ? * MON-FRI *)', '"0 0 10 ? * MON-FRI *"'],
    ['0 10 * * ? *', '"0 0 10 * * ? *"'],
    ['15 10 ? * 6L 2022-2023', '"0 15 10 ? * 6L 2022-2023"'],
    ['rate(5 minutes)', '@every'],
  ])('tells how to write the AWS text %s', (cron, hint) => {
    expect(errorOf(cron).message).toContain(hint);
  });

  it('never repeats a long text whole', () => {
    expect(errorOf('1'.repeat(100_000)).message.length).toBeLessThan(200);
  });

  it('demands the fields of a forced dialect', () => {
    const fields = (cronDialect: 'unix' | 'unix-seconds' | 'quartz', cron: string) => () =>
      compile(cron, { ...utc, cronDialect });
    expect(fields('unix', '0 0 0 * * *')).toThrow('five fields');
    expect(fields('unix-seconds', '0 0 * * *')).toThrow('six fields');
    expect(fields('quartz', '@daily')).toThrow('six or seven');
    expect(fields('quartz', '0 0 0 1 * MON')).toThrow('Quartz restricts one');
  });

  it('takes IANA names for zones and nothing else', () => {
    for (const name of ['UTC', 'Asia/Kolkata', 'Etc/GMT+5', 'EST', 'America/Argentina/Buenos_Aires']) {
      expect(isTimeZone(name), name).toBe(true);
    }
    for (const name of ['+08:00', 'utc', 'CST', 'america/new_york', 'Mars/Olympus', '', 'UTC+8', '__proto__']) {
      expect(isTimeZone(name), name).toBe(false);
    }
    expect(errorOf('* * * * *', { timezone: '+08:00' })).toMatchObject({ field: 'timezone', value: '+08:00' });
  });
});

describe('warning', () => {
  const codes = (cron: string, cronDialect?: 'quartz') =>
    compile(cron, { ...utc, cronDialect }).warnings.map((warning) => warning.code);

  it('about a numeric weekday taken for Quartz, unless the dialect was given', () => {
    expect(codes('0 0 9 ? * 2')).toEqual(['QUARTZ_WEEKDAY']);
    expect(codes('0 0 9 ? * 2L')).toEqual(['QUARTZ_WEEKDAY']);
    expect(codes('0 0 9 ? * 2', 'quartz')).toEqual([]);
    expect(codes('0 0 9 ? * MON')).toEqual([]);
    expect(codes('0 9 * * 2')).toEqual([]);
  });

  it('about a step as wide as its field and about a schedule that never fires', () => {
    expect(codes('*/60 * * * *')).toEqual(['STEP_WIDER_THAN_FIELD']);
    expect(codes('0 0 30 2 *')).toEqual(['NEVER_FIRES']);
    expect(codes('0 0 30 2 3')).toEqual([]);
  });
});

describe('compiling', () => {
  it('shares the compiled form of equal schedules only', () => {
    const one = compile('0 2 * * *', { timezone: 'Europe/Berlin' });
    expect(compile('0 2 * * *', { timezone: 'Europe/Berlin' })).toBe(one);
    const skip = { gap: 'skip', overlap: 'first' } as const;
    expect(compile('0 2 * * *', { timezone: 'Europe/Berlin', dst: skip })).not.toBe(one);
  });

  it('reads weekday digits by dialect', () => {
    const first = (cron: string, cronDialect: 'unix-seconds' | 'quartz') =>
      new Date(compile(cron, { ...utc, cronDialect }).next(0)!).getUTCDay();
    expect(first('0 0 9 ? * 2', 'quartz')).toBe(1);
    expect(first('0 0 9 ? * 2', 'unix-seconds')).toBe(2);
    expect(first('0 0 9 ? * 2L', 'unix-seconds')).toBe(2);
  });
});

/** Field case 30: strict, quick, the same wherever an expression is read. */
it.each([
  '*/0 * * * *',
  '*/00 * * * *',
  '1/00 * * * *',
  '*/-1 * * * *',
  '*/90 * * * *',
  '60 * * * *',
  '5-1 * * * *',
  '* * *',
  '0 0 12 * * MON-',
  '0 0 0 ? * ?',
  '',
  '* '.repeat(5_000),
])('refuses %j', (cron) => {
  expect(() => compile(cron, { timezone: 'UTC' })).toThrow(CronError);
});
