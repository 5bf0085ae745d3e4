import type { ErrorAnswer } from '@xtimer/contracts';
import { Deadline } from './deadline.js';
import { XtimerError } from './error.js';
import { type CallOptions, checkedRetries, checkedTimeout, type Settled } from './options.js';
import { retryAfterMsOf, retryDelayMs, surelyNotSent } from './retry.js';
import type { Route } from './route.js';

type Input = Record<string, unknown>;

/**
 * One call of the API: sends, repeats what may be repeated, and reads the answer.
 *
 * Promises   ends within its timeout; what changes something reaches xtimer at most once.
 */
export async function call(
  settings: Settled,
  route: Route<never, unknown>,
  input: Input,
  options: CallOptions = {},
): Promise<unknown> {
  const request = requestOf(settings, route, input);
  const ms = checkedTimeout(options.timeoutMs ?? settings.timeoutMs + (route.traits.extraMs?.(input as never) ?? 0));
  const retries = checkedRetries(options.retries ?? settings.retries);
  const deadline = new Deadline(ms, options.signal);
  let failure: XtimerError | undefined;
  try {
    for (let attempt = 1; ; attempt++) {
      const answer = await sendOnce(settings, request, deadline, failure);
      if (!(answer instanceof XtimerError)) return answer.data;
      failure = answer;
      const delayMs = attempt > retries ? null : retryDelayMs(request.safe, failure, attempt);
      // No use in waiting for a try that has no time left.
      if (delayMs === null || delayMs >= deadline.leftMs()) throw failure;
      await deadline.sleep(delayMs);
    }
  } finally {
    deadline.end();
  }
}

interface Request {
  url: string;
  init: RequestInit;
  safe: boolean;
  /** For messages: without the query. */
  what: string;
}

function requestOf({ base, authorization }: Settled, route: Route<never, unknown>, input: Input): Request {
  const { method, traits } = route;
  const rest = { ...input };
  const path = route.path.replace(/:(\w+)/g, (_, name: string) => {
    const value = String(rest[name] ?? '');
    delete rest[name];
    // Dots alone would climb up the path and reach another route.
    if (!/^\.{0,2}$|\p{Surrogate}/u.test(value)) return encodeURIComponent(value);
    const data = { field: name, value, expected: 'text that can stand in a path' };
    throw new XtimerError({ code: 40000, message: `${name} can't be "${value}": it is part of the path`, data });
  });
  const headers: Record<string, string> = { accept: 'application/json' };
  if (authorization !== null) headers.authorization = authorization;
  // Not followed: a redirect would turn a POST into a GET or carry the call to a place nobody named.
  const init: RequestInit = { method, headers, redirect: 'manual' };
  let query = '';
  if (method === 'GET' || method === 'DELETE') {
    const given = Object.entries(rest).filter(([, value]) => value !== undefined && value !== null);
    query = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString();
  } else if (Object.keys(rest).length > 0) {
    headers['content-type'] = 'application/json';
    init.body = JSON.stringify(rest);
  }
  return {
    url: `${base}${path}${query && `?${query}`}`,
    init,
    safe: traits.safe ?? false,
    what: `${method} ${path} at ${base}`,
  };
}

/** Returns a failure that may pass; throws when the call is over. `before`: what the last try ended with. */
async function sendOnce(
  { fetch }: Settled,
  { url, init, safe, what }: Request,
  deadline: Deadline,
  before: XtimerError | undefined,
): Promise<{ data: unknown } | XtimerError> {
  try {
    const response = await fetch(url, { ...init, signal: deadline.signal });
    return read(response, await response.text(), what);
  } catch (cause) {
    deadline.caller?.throwIfAborted();
    const unsure = safe ? '' : '; it may have been carried out';
    if (deadline.signal.aborted) {
      throw new XtimerError({
        code: 'TIMEOUT',
        message: `no answer to ${what} within ${deadline.ms} ms${unsure}`,
        cause: before ?? cause,
      });
    }
    const failure = new XtimerError({ code: 'NETWORK', message: '', cause });
    failure.message = `${what} failed: ${reasonOf(cause)}${surelyNotSent(failure) ? '' : unsure}`;
    return failure;
  }
}

function read(response: Response, text: string, what: string): { data: unknown } | XtimerError {
  const answer = answerOf(text);
  if (response.ok && answer?.code === 0) return { data: answer.data };
  const { status, headers } = response;
  const common = {
    // A browser hides a redirect behind a 0.
    status: status || null,
    requestId: headers.get('x-request-id'),
    retryAfterMs: retryAfterMsOf(headers.get('retry-after'), Date.now()),
  };
  if (answer && answer.code !== 0 && !response.ok) {
    const { code, message, data } = answer;
    return new XtimerError({ ...common, code, message, data: { ...data } });
  }
  const type = headers.get('content-type')?.split(';', 1)[0] ?? 'no content type';
  const isRedirect = status === 0 || (status >= 300 && status < 400);
  const how = isRedirect ? 'with a redirect, which is not followed' : `${status} with ${type}, not as xtimer does`;
  const message = `${what} answered ${how}: is the url right, and does a proxy stand between?`;
  return new XtimerError({ ...common, code: 'BAD_ANSWER', message });
}

type Answer = Pick<ErrorAnswer, 'code' | 'message' | 'data'>;

function answerOf(text: string): Answer | null {
  let json: Partial<Answer> | null;
  try {
    json = JSON.parse(text);
  } catch {
    return null;
  }
  return typeof json?.code === 'number' && typeof json.message === 'string' ? (json as Answer) : null;
}

/** `fetch failed` says nothing; what lies beneath does. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reasonOf(error.cause);
  return error.message || String(Reflect.get(error, 'code') ?? error.name);
}
