import { expect, it, describe as suite } from 'vitest';
import { describe } from './describe.js';
import { compile } from './recurrence.js';

suite('describe', () => {
  it.each([
    ['30 2 * * *', 'At 02:30, every day', '每天 02:30'],
    ['* * * * *', 'Every minute', '每分钟'],
    ['*/5 * * * *', 'Every 5 minutes', '每 5 分钟'],
    ['* * * * * *', 'Every second', '每秒'],
    // 60 is no multiple of 7: "every 7 minutes" would be wrong.
    ['*/7 * * * *', 'At minutes 0 through 59 (every 7th minute) of every hour', '每小时 0分至59分(每 7 分钟)'],
    ['0 9-17 * * 1-5', 'At minute 0 of hours 09 through 17, on Monday through Friday', '周一至周五 9时至17时 0分'],
    [
      '*/20 9-11,14 * * *',
      'Every 20 minutes, during hours 09 through 11 and 14, every day',
      '每天 9时至11时、14时 每 20 分钟',
    ],
    ['0 */2 * * *', 'At minute 0 of every 2nd hour from 00, every day', '每天 每 2 小时 0分'],
    ['5 4 3 * * ?', 'At 03:04:05, every day', '每天 03:04:05'],
    ['0 22-2 * * *', 'At minute 0 of hours 22 through 02, every day', '每天 22时至2时 0分'],
    ['0 0 L * *', 'At 00:00, on the last day of the month', '每月最后一天 00:00'],
    ['0 0 12 L-3 * ?', 'At 12:00, on the day 3 days before the last of the month', '每月倒数第 4 天 12:00'],
    [
      '0 0 12 LW * ?',
      'At 12:00, on the last working day (Monday to Friday) of the month',
      '每月最后一个工作日(周一至周五) 12:00',
    ],
    [
      '0 0 12 15W * ?',
      'At 12:00, on the working day (Monday to Friday) nearest day 15 of the month',
      '每月最接近 15 日的工作日(周一至周五) 12:00',
    ],
    ['0 0 12 15,L * ?', 'At 12:00, on day 15 and the last day of the month', '每月15日、最后一天 12:00'],
    ['0 0 12 ? * 6L', 'At 12:00, on the last Friday of the month', '每月最后一个周五 12:00'],
    ['0 12 * * 5L', 'At 12:00, on the last Friday of the month', '每月最后一个周五 12:00'],
    [
      '0 0 12 ? * WED,MON#1',
      'At 12:00, on Wednesday and the first Monday of the month',
      '每周三、每月第 1 个周一 12:00',
    ],
    ['0 0 13 * 5', 'At 00:00, on day 13 of the month or on Friday', '每月13日或每周五 00:00'],
    [
      '0 0 1 */3 *',
      'At 00:00, on day 1 of the month, in January, April, July and October',
      '1月、4月、7月、10月 每月1日 00:00',
    ],
    [
      '0 0 12 1 1 ? 2027-2030',
      'At 12:00, on day 1 of the month, in January, in 2027 through 2030',
      '2027年至2030年 1月 每月1日 12:00',
    ],
    ['@weekly', 'At 00:00, on Sunday', '每周日 00:00'],
    [
      '@every 90m',
      'Every 1 hour and 30 minutes, counted from 1970-01-01 00:00 UTC',
      '每隔 1 小时 30 分钟(自 1970-01-01 00:00 UTC 起计)',
    ],
  ])('%s', (cron, en, zh) => {
    expect(describe(cron, 'en')).toBe(en);
    expect(describe(cron, 'zh')).toBe(zh);
  });

  it('says what the dialect makes of a digit', () => {
    expect(describe('0 0 9 ? * 2', 'en')).toBe('At 09:00, on Monday');
    expect(describe('0 0 9 ? * 2', 'en', 'unix-seconds')).toBe('At 09:00, on Tuesday');
    expect(describe(compile('0 0 9 ? * 2', { timezone: 'UTC' }), 'en')).toBe('At 09:00, on Monday');
  });
});
