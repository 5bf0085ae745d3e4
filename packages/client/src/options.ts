import { XtimerError } from './error.js';

export interface ClientOptions {
  /** Where xtimer answers, with the path it is served under if there is one: `https://timers.example.com`. */
  url: string;
  /** Sent as bearer token. Left out: open paths only, or a session of the browser. */
  token?: string | undefined;
  fetch?: typeof globalThis.fetch | undefined;
  /** A whole call, its repetitions and the waits between them included. Default 30,000. */
  timeoutMs?: number | undefined;
  /** How often a call may be repeated after its first try. Default 2; 0: never. */
  retries?: number | undefined;
}

/** For one call. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  retries?: number | undefined;
}

export interface Settled {
  base: string;
  authorization: string | null;
  fetch: typeof globalThis.fetch;
  timeoutMs: number;
  retries: number;
}

/** What timers can hold. */
const LONGEST_MS = 2 ** 31 - 1;

export function settle({ url, token, fetch, timeoutMs = 30_000, retries = 2 }: ClientOptions): Settled {
  // Checked here because fetch would quote the whole header, secret included, in its own error.
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
    throw badOption('token', undefined, 'printable ASCII without blanks');
  }
  return {
    base: baseOf(url),
    authorization: token === undefined ? null : `Bearer ${token}`,
    // Looked up at each call: in browsers it has to be called on the global object.
    fetch: fetch ?? ((input, init) => globalThis.fetch(input, init)),
    timeoutMs: checkedTimeout(timeoutMs),
    retries: checkedRetries(retries),
  };
}

export function checkedTimeout(ms: number): number {
  if (ms > 0 && ms <= LONGEST_MS) return ms;
  throw badOption('timeoutMs', ms, `milliseconds from 1 to ${LONGEST_MS}`);
}

export function checkedRetries(retries: number): number {
  if (Number.isInteger(retries) && retries >= 0 && retries <= 10) return retries;
  throw badOption('retries', retries, 'a whole number from 0 to 10');
}

function baseOf(url: string): string {
  const expected = 'an http:// or https:// URL without user, query and fragment';
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw badOption('url', url, expected);
  }
  const { protocol, username, password, search, hash, origin, pathname } = parsed;
  // Not quoted: it may hold a password.
  if (username || password || search || hash) throw badOption('url', undefined, expected);
  if (protocol !== 'http:' && protocol !== 'https:') throw badOption('url', url, expected);
  return origin + pathname.replace(/\/+$/, '');
}

function badOption(field: string, value: unknown, expected: string): XtimerError {
  const shown = value === undefined ? '' : ` ${JSON.stringify(value)}`;
  return new XtimerError({
    code: 'BAD_OPTION',
    message: `${field} can't be${shown || ' what was given'}: expected ${expected}`,
    data: { field, expected, ...(value !== undefined && { value }) },
  });
}
