import type { CronDialect } from '../timer/timer.js';
import { CronError } from './cron-error.js';
import { type FieldText, type ParsedField, parseField } from './field.js';

/**
 * The strict door in front of cron-parser: decides the dialect, unfolds macros, splits into fields and refuses
 * whatever is not listed in docs/cron.md, so that nothing is silently misread.
 */
export type Normalised =
  | { kind: 'interval'; dialect: CronDialect; everySeconds: number }
  | { kind: 'calendar'; dialect: CronDialect; guessed: boolean; texts: FieldTexts; fields: ParsedFields };

export type FieldTexts = Record<FieldText['name'], string>;
export type ParsedFields = Record<FieldText['name'], ParsedField>;

const MAX_LENGTH = 512;
const NAMES = ['seconds', 'minutes', 'hours', 'dayOfMonth', 'month', 'dayOfWeek', 'year'] as const;

const MACROS = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
]);
const KNOWN_MACROS = `one of ${[...MACROS.keys()].join(', ')} or @every 90m`;
const EVERY = /^@every[ \t]+(?=\d)(?:(\d{1,4})h)?(?:(\d{1,4})m)?(?:(\d{1,4})s)?$/i;

export function normalise(cron: string, wanted: CronDialect | 'auto'): Normalised {
  refuseForeignText(cron);
  const words = [...cron.matchAll(/[^ \t]+/g)].map((match) => ({ text: match[0], position: match.index }));
  if (words[0]!.text.startsWith('@')) return macro(cron, wanted);

  const dialect = dialectOf(cron, words, wanted);
  const minutesFirst = dialect === 'unix';
  const fieldTexts: FieldText[] = NAMES.flatMap((name, i) => {
    const word = words[minutesFirst ? i - 1 : i];
    return word && !(minutesFirst && name === 'seconds') ? [{ name, ...word }] : [];
  });
  const texts = { seconds: '0', year: '*' } as FieldTexts;
  const fields = {
    seconds: parseField({ name: 'seconds', text: '0', position: 0 }, dialect),
    year: parseField({ name: 'year', text: '*', position: 0 }, dialect),
  } as ParsedFields;
  for (const field of fieldTexts) {
    refuseAwsOrder(cron, words, field);
    texts[field.name] = field.text;
    fields[field.name] = parseField(field, dialect);
  }
  if (dialect === 'quartz') refuseTwoDays(fieldTexts, fields);
  return { kind: 'calendar', dialect, guessed: wanted === 'auto', texts, fields };
}

function refuseForeignText(cron: string): void {
  const whole = { field: 'expression', value: String(cron) } as const;
  if (typeof cron !== 'string') throw new CronError({ ...whole, expected: 'text' });
  if (cron.length > MAX_LENGTH) throw new CronError({ ...whole, expected: `at most ${MAX_LENGTH} characters` });
  if (/^[ \t]*$/.test(cron)) {
    throw new CronError({ ...whole, expected: 'five to seven fields such as "30 2 * * *", or a macro such as @daily' });
  }
  const aws = /^[ \t]*(cron|rate)[ \t]*\(([^()]*)\)?[ \t]*$/i.exec(cron);
  if (aws) {
    const fields = aws[2]!.trim();
    const hint =
      aws[1]!.toLowerCase() === 'cron' && fields.split(/[ \t]+/).length === 6
        ? `This is an AWS expression (minutes first, year last): write "0 ${fields}"`
        : 'This is an AWS expression: write plain cron fields, or @every 5m for a rate';
    throw new CronError({ ...whole, position: 0, expected: 'cron fields without cron(...) or rate(...)', hint });
  }
  // Before the fields are read: a look-alike character must not be taken for the one it resembles.
  const foreign = /[^\t\x20-\x7e]/u.exec(cron);
  if (foreign) {
    throw new CronError({
      field: 'expression',
      position: foreign.index,
      value: foreign[0],
      expected: 'ASCII letters, digits, blanks and * ? , - / # only, on one line',
    });
  }
}

function macro(cron: string, wanted: CronDialect | 'auto'): Normalised {
  const text = cron.trim();
  const refuse = (expected: string, hint?: string): never => {
    throw new CronError({ field: 'expression', position: cron.indexOf('@'), value: text, expected, hint });
  };
  if (wanted === 'quartz') refuse('six or seven fields, as cronDialect is quartz', 'Macros belong to the unix dialect');
  const every = EVERY.exec(text);
  if (every) {
    const [hours, minutes, seconds] = [1, 2, 3].map((i) => Number(every[i] ?? 0));
    const everySeconds = hours! * 3600 + minutes! * 60 + seconds!;
    if (everySeconds === 0) refuse('at least one second');
    return { kind: 'interval', dialect: 'unix', everySeconds };
  }
  if (/^@every\b/i.test(text)) refuse('@every and hours, minutes, seconds, such as 90m, 1h30m or 45s');
  const unfolded = MACROS.get(text.toLowerCase());
  if (!unfolded) refuse(KNOWN_MACROS);
  return normalise(unfolded!, 'unix');
}

type Word = { text: string; position: number };

function dialectOf(cron: string, words: readonly Word[], wanted: CronDialect | 'auto'): CronDialect {
  const count = words.length;
  const refuse = (expected: string): never => {
    throw new CronError({ field: 'expression', value: cron.trim(), expected: `${expected}, found ${count}` });
  };
  switch (wanted) {
    case 'unix':
      return count === 5 ? 'unix' : refuse('five fields (minutes hours day month weekday), as cronDialect is unix');
    case 'unix-seconds':
      return count === 6
        ? 'unix-seconds'
        : refuse('six fields (seconds minutes hours day month weekday), as cronDialect is unix-seconds');
    case 'quartz':
      return count === 6 || count === 7
        ? 'quartz'
        : refuse('six or seven fields (seconds minutes hours day month weekday year), as cronDialect is quartz');
    case 'auto':
      if (count === 5) return 'unix';
      if (count === 7) return 'quartz';
      if (count !== 6) refuse('five, six or seven fields');
      return words.some((word) => word.text.includes('?')) ? 'quartz' : 'unix-seconds';
  }
}

/** AWS puts minutes first and the year last, so its `?` stands where hours or months are expected. */
function refuseAwsOrder(cron: string, words: readonly Word[], field: FieldText): void {
  if (words.length !== 6 || field.text !== '?' || (field.name !== 'hours' && field.name !== 'month')) return;
  throw new CronError({
    field: field.name,
    position: field.position,
    value: '?',
    expected: '? only as day of month or day of week',
    hint: `If this is an AWS expression (minutes first, year last), write "0 ${cron.trim()}"`,
  });
}

/** Quartz wants exactly one `?`; without any, `*` may stand for it as long as one day field is free. */
function refuseTwoDays(texts: readonly FieldText[], fields: ParsedFields): void {
  const { dayOfMonth, dayOfWeek } = fields;
  const field = texts.find((text) => text.name === 'dayOfWeek')!;
  const at = { field: 'dayOfWeek', position: field.position, value: field.text } as const;
  if (dayOfMonth.question && dayOfWeek.question) {
    throw new CronError({ ...at, expected: '? in one of the two day fields only; write * in the other for every day' });
  }
  if (!dayOfMonth.unrestricted && !dayOfWeek.unrestricted) {
    throw new CronError({ ...at, expected: '? here or as day of month: Quartz restricts one of the two day fields' });
  }
}
