import { z } from 'zod';

/** Every answer has this shape; `code` is 0 when all went well. `datetime` is UTC. */
export const envelope = <T extends z.ZodType>(data: T) =>
  z.object({ code: z.literal(0), message: z.literal('ok'), datetime: z.string(), data });

/** The numbers in `code`; the first three digits are the HTTP status. */
export const ErrorCode = {
  invalid: 40000,
  malformedBody: 40001,
  unauthorized: 40100,
  forbidden: 40300,
  notFound: 40400,
  noSuchRoute: 40401,
  methodNotAllowed: 40500,
  conflict: 40900,
  bodyTooLarge: 41300,
  unsupportedMediaType: 41500,
  tooManyChanges: 42900,
  internal: 50000,
  storeUnavailable: 50300,
} as const;
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

export const ErrorAnswer = z.object({
  code: z.int().describe('Not 0; the first three digits are the HTTP status.'),
  message: z.string().describe('What to change, for people.'),
  datetime: z.string(),
  data: z
    .object({
      field: z.string().optional(),
      value: z.unknown().optional(),
      expected: z.string().optional(),
      problems: z
        .array(z.object({ field: z.string(), value: z.unknown().optional(), expected: z.string() }))
        .optional()
        .describe('All of them, when the input has more than one.'),
    })
    .catchall(z.unknown()),
});
export type ErrorAnswer = z.output<typeof ErrorAnswer>;

/** `YYYY-MM-DD HH:mm:ss` in UTC. */
export const datetimeOf = (at: number): string => new Date(at).toISOString().slice(0, 19).replace('T', ' ');
