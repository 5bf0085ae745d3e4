import type { HttpMethod } from '@xtimer/pipeline';
import type { AddressGuard } from './address-guard.js';
import { parseTemplate, type Template } from './template.js';

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** RFC 9110 field values: no control characters but tab. What is beyond ASCII goes out as UTF-8 bytes. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
const HEADER_VALUE = /^[^\0-\x08\x0a-\x1f\x7f]*$/;
const FORBIDDEN_HEADERS = new Set(
  'host content-length connection transfer-encoding keep-alive upgrade te trailer expect idempotency-key'.split(' '),
);
const FORBIDDEN_PREFIXES = ['proxy-', 'x-xtimer-', 'webhook-'];
const MAX_URL_LENGTH = 2048;

/** Why this header can't be sent, or `null`. Takes anything: stored rows may hold more than schemas let in. */
export function headerProblem(name: string, value: unknown): string | null {
  const shown = JSON.stringify(name);
  if (name === '') return 'a header name is empty';
  if (!TOKEN.test(name)) return `header name ${shown} may hold only ASCII letters, digits and !#$%&'*+-.^_\`|~`;
  const lower = name.toLowerCase();
  if (FORBIDDEN_HEADERS.has(lower) || FORBIDDEN_PREFIXES.some((prefix) => lower.startsWith(prefix))) {
    return `header ${shown} is set by xtimer or by the connection and can't be chosen`;
  }
  if (typeof value !== 'string') return `the value of header ${shown} must be a string`;
  return valueProblem(name, value);
}

export function valueProblem(name: string, value: string): string | null {
  if (HEADER_VALUE.test(value)) return null;
  const shown = JSON.stringify(name);
  if (/[\r\n]/.test(value)) return `the value of header ${shown} must not contain line breaks`;
  return `the value of header ${shown} must not contain control characters`;
}

export interface TargetUrl {
  /** `https://a.example`, `http://[::1]:8080`. */
  origin: string;
  hostname: string;
  /** Path and query, percent-encoded; placeholders still open. */
  path: Template;
}

/**
 * Takes a callback URL apart, or says what is wrong with it. The fixed parts are encoded here once and for all,
 * so a value filled in later is data in its place: it can't climb out of its path segment or change the host.
 */
export function parseTargetUrl(text: string): TargetUrl | { problem: string } {
  if (typeof text !== 'string') return { problem: 'url must be a string' };
  if (text.length > MAX_URL_LENGTH) return { problem: `url is longer than ${MAX_URL_LENGTH} characters` };
  // The URL parser would drop these silently and accept what remains.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/^\s|\s$|[\0-\x1f\x7f]/.test(text)) {
    return { problem: 'url must not begin or end with blanks or contain line breaks or control characters' };
  }
  const template = parseTemplate(text);
  // A mark that every part of a URL keeps as it is.
  let mark = 'xtimerplaceholder';
  while (text.toLowerCase().includes(mark)) mark += 'x';
  const url = tryUrl(template.pieces.join(mark));
  if (!url) return { problem: 'url is not an absolute URL such as https://example.com/path' };
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return { problem: `url must begin with http:// or https://` };
  }
  if (url.username !== '' || url.password !== '') {
    return { problem: 'url must not hold a user name or password: send an Authorization header instead' };
  }
  if (url.hostname.includes(mark)) return { problem: 'placeholders in url may stand in its path and query only' };
  const pieces = (url.pathname + url.search).split(mark);
  // Those in the fragment are not sent, so they are not filled in either.
  return {
    origin: url.origin,
    hostname: url.hostname,
    path: { pieces, names: template.names.slice(0, pieces.length - 1) },
  };
}

function tryUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** Why no callback may go to this URL, or `null`. What only a lookup can tell is found out at connect. */
export function urlProblem(url: string, guard: AddressGuard): string | null {
  const target = parseTargetUrl(url);
  if ('problem' in target) return target.problem;
  const reason = guard.hostProblem(target.hostname);
  return reason ? `url leads to ${reason}, which callbacks may not reach (see XTIMER_CALLBACK_ALLOW)` : null;
}

/**
 * A hint, not an error: a body is sent with every method as the timer says, but HTTP gives a body of GET and
 * HEAD no meaning; many servers ignore it, some refuse it, and the connection isn't used again.
 */
export function bodyHint(method: HttpMethod, body: string | null): string | null {
  if (!body || (method !== 'GET' && method !== 'HEAD')) return null;
  return `a body with ${method} is sent, but many servers ignore or refuse it: POST is the usual method`;
}
