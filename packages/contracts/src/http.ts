import { z } from 'zod';
import { isStorable } from './fields.js';

/** The callback request as users write it. Plain functions, so that the console's forms use the same rules. */

/** Set by xtimer itself or by the connection. */
const RESERVED = /^(host|content-length|connection|transfer-encoding|idempotency-key|x-xtimer-.*|webhook-.*)$/i;

/** What would be right instead of this header name; `null` when it is fine. */
export function headerNameProblem(name: string): string | null {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/.test(name)) {
    return 'a header name of 1 to 256 ASCII letters, digits and "-"';
  }
  if (RESERVED.test(name)) return 'another header: xtimer sets this one itself';
  return null;
}

export function headerValueProblem(value: string): string | null {
  // Line breaks would start another header.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\u0000-\u0008\u000A-\u001F\u007F]/.test(value))
    return 'a header value without line breaks or control characters';
  return isStorable(value) ? null : 'a header value of well-formed text';
}

/** Checks the form only; which addresses may be reached is the server's to say. */
export function urlFormProblem(url: string): string | null {
  const expected = 'an http:// or https:// URL such as https://example.com/path';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the URL parser would drop them silently
  if (/[\u0000-\u0020\u007F]/.test(url)) return 'a URL without blanks or control characters';
  if (!isStorable(url)) return 'a URL of well-formed text';
  let parsed: URL;
  try {
    parsed = new URL(url.replace(/\{\{\w+\}\}/g, '0'));
  } catch {
    return expected;
  }
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') return expected;
  if (parsed.username || parsed.password) return 'a URL without user name and password (use an Authorization header)';
  return null;
}

const issue = (path: PropertyKey[], expected: string, input: unknown) => ({
  code: 'custom' as const,
  path,
  message: expected,
  input,
});

export const HttpMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const;

const Header = z
  .record(z.string(), z.string({ error: 'a string as header value' }), {
    error: 'an object of header names and string values',
  })
  .superRefine((header, ctx) => {
    const names = Object.keys(header);
    if (names.length > 100) ctx.addIssue(issue([], 'at most 100 headers', names.length));
    for (const name of names) {
      const expected = headerNameProblem(name) ?? headerValueProblem(header[name]!);
      if (expected) ctx.addIssue(issue([name], expected, header[name]));
    }
    if (names.reduce((size, name) => size + name.length + header[name]!.length, 0) > 16_384) {
      ctx.addIssue(issue([], 'headers of at most 16384 characters together', undefined));
    }
  });

const EXPECTED_BODY = 'a string, a JSON object or array (sent as its JSON text), or null';

export const Body = z
  .union(
    [
      z.string().refine(isStorable, { error: 'text without NUL characters and without broken surrogate pairs' }),
      z.looseObject({}),
      z.array(z.unknown()),
      z.null(),
    ],
    { error: EXPECTED_BODY },
  )
  .transform((body) => (body === null || typeof body === 'string' ? body : JSON.stringify(body)))
  .describe('What is sent as body: text as it is; a JSON object or array is kept and sent as its JSON text.');

const EXPECTED_URL = 'an http:// or https:// URL of at most 2048 characters';

export const NotifyHTTPParam = z
  .strictObject(
    {
      method: z.enum(HttpMethods, { error: `one of ${HttpMethods.join(', ')}` }),
      url: z
        .string({ error: EXPECTED_URL })
        .max(2048, { error: EXPECTED_URL })
        .superRefine((url, ctx) => {
          const expected = urlFormProblem(url);
          if (expected) ctx.addIssue(issue([], expected, url));
        })
        .meta({ format: 'uri' }),
      header: Header.optional(),
      body: Body.optional(),
    },
    {
      error: (raw) =>
        raw.code === 'invalid_type' ? 'an object with method and url, and optionally header and body' : undefined,
    },
  )
  .describe(
    'The callback. Placeholders in URL, header values and body: {{timerId}} {{taskId}} {{runTimer}} {{scheduledTime}} {{attempt}} {{payload}}',
  );
export type NotifyHTTPParam = z.output<typeof NotifyHTTPParam>;

/** The same as it is read back: nothing left out. */
export const NotifyHTTPParamView = z.object({
  method: z.enum(HttpMethods),
  url: z.string(),
  header: z.record(z.string(), z.string()),
  body: z.string().nullable(),
});
