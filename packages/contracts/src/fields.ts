import { z } from 'zod';

/**
 * Building blocks of the schemas. In this package a zod error text says what would be right ("a whole
 * number from 1 to 200"); `problemsOf` makes the sentence for people out of it.
 */

const MAX_MOMENT = 253_402_300_799_999; // 9999-12-31T23:59:59.999Z

/** Whole number in a range. */
export const whole = (min: number, max: number) => {
  const error = `a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
};

/** The same in a query, where everything is text. */
export const wholeInQuery = (min: number, max: number) => {
  const error = `a whole number from ${min} to ${max}`;
  return z
    .string({ error })
    .regex(/^\d{1,16}$/, { error })
    .transform(Number)
    .pipe(whole(min, max));
};

/** Number in a range, fractions allowed. JSON only. */
export const ratio = (min: number, max: number) => {
  const expected = `a number from ${min} to ${max}`;
  return z.number({ error: expected }).min(min, { error: expected }).max(max, { error: expected });
};

/** Text that every store keeps unchanged: no NUL, no half of a surrogate pair. */
export const text = (min: number, max: number, what = 'text') => {
  const expected = `${what} of ${min === 0 ? `at most ${max}` : `${min} to ${max}`} characters`;
  return z
    .string({ error: expected })
    .min(min, { error: expected })
    .max(max, { error: expected })
    .refine(isStorable, { error: 'text without NUL characters and without broken surrogate pairs' });
};

export const isStorable = (value: string): boolean =>
  !value.includes('\0') && !/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/.test(value);

const EXPECTED_ID = 'an id: a whole number from 1 to 9007199254740991, as number or decimal string';

/** A numeric id as number or decimal string; a number afterwards. */
export const Id = z
  .union([z.int({ error: EXPECTED_ID }), z.string().regex(/^\d{1,16}$/, { error: EXPECTED_ID })], {
    error: EXPECTED_ID,
  })
  .transform(Number)
  .pipe(z.int({ error: EXPECTED_ID }).min(1, { error: EXPECTED_ID }));

const EXPECTED_MOMENT = 'a moment: epoch milliseconds, or ISO 8601 with its zone such as 2026-10-22T17:30:00Z';

/** Epoch ms or ISO 8601 with an offset; epoch ms afterwards. A local time without zone is refused. */
export const Moment = z
  .union([z.int({ error: EXPECTED_MOMENT }), z.string().regex(/^\d{1,15}$/), z.iso.datetime({ offset: true })], {
    error: EXPECTED_MOMENT,
  })
  .transform((value) => (typeof value === 'string' && value.includes('T') ? Date.parse(value) : Number(value)))
  .pipe(
    z
      .int({ error: EXPECTED_MOMENT })
      .min(0, { error: EXPECTED_MOMENT })
      .max(MAX_MOMENT, { error: 'a moment before the year 10000' }),
  );

const EXPECTED_APP = 'an app name: 1 to 64 letters, digits, ".", "_" or "-", the first a letter or digit';

/** It travels in a header and in paths, hence the narrow alphabet. */
export const AppName = z
  .string({ error: EXPECTED_APP })
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, { error: EXPECTED_APP });

const EXPECTED_TASK_ID = 'a task id such as 17_1793000000000';

export const TaskId = z
  .string({ error: EXPECTED_TASK_ID })
  .regex(/^[1-9]\d{0,15}_\d{1,15}$/, { error: EXPECTED_TASK_ID })
  .refine((taskId) => Number.isSafeInteger(Number.parseInt(taskId, 10)), { error: EXPECTED_TASK_ID });

/** It stands in paths, where dots alone would lead elsewhere; MySQL takes no notice of blanks at its end. */
const nameInPath = (what: string) => {
  const expected = `${what}: 1 to 128 characters of well-formed text without control characters, not "." or ".."`;
  return z
    .string({ error: expected })
    .min(1, { error: expected })
    .max(128, { error: expected })
    .refine((name) => isStorable(name) && !/^\.{1,2}$|\p{Cc}/u.test(name), { error: expected });
};

export const JobId = nameInPath('a job id');

export const TopicName = nameInPath('the name of a topic').refine((name) => name === name.trim(), {
  error: 'the name of a topic without blanks at its ends',
});

/** One of the values of a status table, as number or decimal string. */
export const oneOf = <T extends number>(table: Record<string, T>) => {
  const entries = Object.entries(table);
  const expected = `one of ${entries.map(([name, value]) => `${value} (${name})`).join(', ')}`;
  return z
    .union([z.int({ error: expected }), z.string().regex(/^\d{1,3}$/, { error: expected })], { error: expected })
    .transform(Number)
    .pipe(z.literal(Object.values(table), { error: expected }));
};
