import type { DayToken, WeekdayToken } from './expression.js';
import type { Part, Telling, Units, Words } from './telling.js';

const WEEKDAYS = ['周日', '周一', '周二', '周三', '周四', '周五', '周六'];

export const chinese: Words = {
  interval: (everySeconds) => `每隔${duration(everySeconds)}(自 1970-01-01 00:00 UTC 起计)`,

  calendar(telling) {
    const { time } = telling;
    const parts = [
      telling.years && list(telling.years.map((part) => said(part, (year) => `${year}年`, '年'))),
      telling.months && list(telling.months.map((part) => said(part, (month) => `${month}月`, '个月'))),
      daysIn(telling) ?? (time.kind === 'clock' || time.hours !== null ? '每天' : null),
      time.kind === 'clock' ? list(time.times) : unitsIn(time),
    ];
    return parts.filter((part) => part !== null).join(' ');
  },
};

function duration(seconds: number): string {
  const units: [number, string][] = [
    [Math.floor(seconds / 3600), '小时'],
    [Math.floor((seconds % 3600) / 60), '分钟'],
    [seconds % 60, '秒'],
  ];
  return units.flatMap(([count, unit]) => (count > 0 ? [` ${count} ${unit}`] : [])).join('');
}

function unitsIn({ seconds, minutes, hours }: Units): string {
  const parts: string[] = [];
  const exactMinutes = minutes !== null && !isEvery(minutes);
  if (hours !== null) parts.push(within(hours, '时', '小时'));
  else if (exactMinutes) parts.push('每小时');
  if (minutes !== null) parts.push(within(minutes, '分', '分钟'));
  else if (seconds !== null) parts.push('每分钟');
  if (seconds === null) parts.push('每秒');
  else if (seconds.length > 0) parts.push(within(seconds, '秒', '秒'));
  return parts.join(' ');
}

function within(parts: readonly Part[], unit: string, span: string): string {
  if (isEvery(parts)) return `每 ${parts[0]!.step} ${span}`;
  return list(parts.map((part) => said(part, (value) => `${value}${unit}`, span)));
}

function isEvery(parts: readonly Part[]): parts is readonly [Extract<Part, { kind: 'steps' }>] {
  const [only] = parts;
  return parts.length === 1 && only!.kind === 'steps' && only!.whole;
}

function said(part: Part, name: (value: number) => string, span: string): string {
  if (part.kind === 'one') return name(part.value);
  const run = `${name(part.from)}至${name(part.to)}`;
  return part.kind === 'run' ? run : `${run}(每 ${part.step} ${span})`;
}

function daysIn({ dayRule, dayOfMonth, dayOfWeek }: Telling): string | null {
  const ofMonth = () => `每月${list(dayOfMonth.map(dayPart))}`;
  const ofWeek = () => list(dayOfWeek.map(weekdayPart));
  switch (dayRule) {
    case 'every':
      return null;
    case 'dayOfMonth':
      return ofMonth();
    case 'dayOfWeek':
      return ofWeek();
    case 'either':
      return `${ofMonth()}或${ofWeek()}`;
  }
}

function dayPart(part: Part | DayToken): string {
  if (part.kind === 'nearestWeekday') return `最接近 ${part.day} 日的工作日(周一至周五)`;
  if (part.kind !== 'last') return said(part, (day) => `${day}日`, '天');
  if (part.before === 0) return part.weekday ? '最后一个工作日(周一至周五)' : '最后一天';
  return part.weekday ? `最接近倒数第 ${part.before + 1} 天的工作日(周一至周五)` : `倒数第 ${part.before + 1} 天`;
}

function weekdayPart(part: Part | WeekdayToken): string {
  if (part.kind === 'lastOf') return `每月最后一个${WEEKDAYS[part.weekday]}`;
  if (part.kind === 'nth') return `每月第 ${part.nth} 个${WEEKDAYS[part.weekday]}`;
  return part.kind === 'one' ? `每${WEEKDAYS[part.value]}` : said(part, (weekday) => WEEKDAYS[weekday]!, '天');
}

function list(parts: readonly string[]): string {
  return parts.join('、');
}
