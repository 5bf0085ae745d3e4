import { type CallbackTask, type Definition, type HttpMethod, taskIdOf } from '@xtimer/pipeline';
import { sign } from './signature.js';
import { fill, type PlaceholderName, type PlaceholderValues, parseTemplate, type Template } from './template.js';
import { headerProblem, parseTargetUrl, type TargetUrl, valueProblem } from './validate.js';

/** A definition taken apart, so that a call only has to fill in. */
export interface CompiledCallback {
  method: HttpMethod;
  target: TargetUrl;
  /** Names and values in turn, the same for every call. */
  fixedHeaders: readonly string[];
  filledHeaders: readonly { name: string; value: Template }[];
  hasContentType: boolean;
  /** `null`: no body. */
  body: Template | null;
  /** Of a topic, not of a timer. */
  isJob: boolean;
  secrets: readonly string[];
}

export interface CallbackRequest {
  method: HttpMethod;
  path: string;
  /** Names and values in turn. */
  headers: string[];
  body: Buffer | null;
}

const METHODS: ReadonlySet<string> = new Set<HttpMethod>(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']);

/** Sent unless the timer names its own. Compressed answers would have to be unpacked to be read. */
const DEFAULT_HEADERS: readonly [string, string][] = [
  ['user-agent', 'xtimer/1'],
  ['accept', '*/*'],
  ['accept-encoding', 'identity'],
];

/** Checks everything again: a row can get into the store past the API's schemas, and must fail only its own call. */
export function compileCallback(definition: Definition): CompiledCallback | { problem: string } {
  const { method, url, header, body } = definition.notifyHttpParam;
  if (!METHODS.has(method))
    return { problem: `method ${JSON.stringify(method)} is none of ${[...METHODS].join(', ')}` };
  const target = parseTargetUrl(url);
  if ('problem' in target) return target;
  if (body != null && typeof body !== 'string') return { problem: 'body must be a string' };

  const given = new Set<string>();
  const fixedHeaders = ['x-xtimer-app', headerSafe(definition.app)];
  if (definition.topic === null) fixedHeaders.push('x-xtimer-timer-id', String(definition.timerId));
  else fixedHeaders.push('x-xtimer-topic', headerSafe(definition.topic));
  const filledHeaders: { name: string; value: Template }[] = [];
  for (const [name, text] of Object.entries(header ?? {})) {
    const problem = headerProblem(name, text);
    if (problem) return { problem };
    given.add(name.toLowerCase());
    const value = parseTemplate(text);
    if (value.names.length === 0) fixedHeaders.push(name, asHeaderBytes(text));
    else filledHeaders.push({ name, value });
  }
  for (const [name, value] of DEFAULT_HEADERS) if (!given.has(name)) fixedHeaders.push(name, value);
  return {
    method,
    target,
    fixedHeaders,
    filledHeaders,
    hasContentType: given.has('content-type'),
    body: body == null ? null : parseTemplate(body),
    isJob: definition.topic !== null,
    secrets: definition.signingSecrets,
  };
}

/** `now`: the agreed time, epoch ms; receivers judge the signature's age by it. */
export function buildRequest(
  callback: CompiledCallback,
  task: CallbackTask,
  now: number,
): CallbackRequest | { problem: string } {
  const values = new TaskValues(task);
  const headers = [
    ...callback.fixedHeaders,
    ...['idempotency-key', values.taskId, 'x-xtimer-task-id', values.taskId],
    ...['x-xtimer-run-timer', values.runTimer, 'x-xtimer-attempt', values.attempt],
  ];
  if (task.jobId !== null) headers.push('x-xtimer-job-id', headerSafe(task.jobId));
  for (const { name, value } of callback.filledHeaders) {
    const text = fill(value, values);
    const problem = valueProblem(name, text);
    if (problem) return { problem };
    headers.push(name, asHeaderBytes(text));
  }
  const text = bodyOf(callback, task.payload, values);
  const body = text === '' ? null : Buffer.from(text);
  if (body && !callback.hasContentType) headers.push('content-type', contentTypeOf(text));

  const seconds = Math.floor(now / 1000);
  headers.push('webhook-id', values.taskId, 'webhook-timestamp', String(seconds));
  if (callback.secrets.length > 0) {
    headers.push('webhook-signature', sign(callback.secrets, values.taskId, seconds, body ?? ''));
  }
  return { method: callback.method, path: fill(callback.target.path, values, encodeForUrl), headers, body };
}

/** Filled in only when asked for: few callbacks use them all. */
class TaskValues implements PlaceholderValues {
  readonly taskId: string;
  readonly runTimer: string;
  readonly attempt: string;
  constructor(private readonly task: CallbackTask) {
    this.taskId = taskIdOf(task);
    this.runTimer = String(task.runTimer);
    this.attempt = String(task.attempt);
  }
  get timerId(): string {
    return String(this.task.timerId);
  }
  get scheduledTime(): string {
    return new Date(this.task.runTimer).toISOString();
  }
  get payload(): string {
    return this.task.payload ?? '';
  }
}

const PAYLOAD: PlaceholderName = 'payload';

/**
 * A job's payload goes into its topic's body, or is the body when the topic gives none. A timer's has the body of its own
 * run in place of the timer's.
 */
function bodyOf({ body, isJob }: CompiledCallback, payload: string | null, values: PlaceholderValues): string {
  const replaces = payload !== null && (isJob ? body === null : !body?.names.includes(PAYLOAD));
  if (replaces) return payload;
  return body ? fill(body, values) : '';
}

const contentTypeOf = (body: string): string =>
  /^\s*[{[]/.test(body) ? 'application/json' : 'text/plain; charset=utf-8';

/** undici writes one byte for each character: so that text beyond ASCII arrives as UTF-8, its bytes are handed over one by one. */
const asHeaderBytes = (text: string): string =>
  /^[\0-\x7f]*$/.test(text) ? text : Buffer.from(text, 'utf8').toString('latin1');

/** An app's or a topic's name may hold anything; `decodeURIComponent` gives it back. */
const headerSafe = (text: string): string => (/^[\x21-\x24\x26-\x7e]+$/.test(text) ? text : encodeForUrl(text));

function encodeForUrl(value: string): string {
  // Going through bytes replaces lone surrogates, which encodeURIComponent throws on.
  return encodeURIComponent(/^[\0-\x7f]*$/.test(value) ? value : Buffer.from(value).toString());
}
