import { HttpMethods, headerNameProblem } from '@xtimer/contracts';

/** Reads a curl command as a shell would see it. Knows what a timer can do; refuses the rest with a reason. */

export type Method = (typeof HttpMethods)[number];

export interface CurlRequest {
  method: Method;
  url: string;
  header: Record<string, string>;
  body: string | null;
  /** From `--max-time`. */
  timeoutMs: number | null;
  /** Parts of the command that have no place in a timer, as they were written. */
  ignored: string[];
}

export type CurlProblem =
  | { reason: 'notCurl' | 'noUrl' | 'user' | 'quote' }
  | { reason: 'twoUrls' | 'file' | 'form' | 'method' | 'unknown' | 'noValue' | 'header' | 'multiple'; value: string };

type Refuse = (problem: CurlProblem) => never;

class Refusal extends Error {
  constructor(readonly problem: CurlProblem) {
    super(problem.reason);
  }
}

const refuse: Refuse = (problem) => {
  throw new Refusal(problem);
};

export function parseCurl(command: string): CurlRequest | CurlProblem {
  try {
    return requestOf(wordsOf(command));
  } catch (error) {
    if (error instanceof Refusal) return error.problem;
    throw error;
  }
}

/** `-X` and friends under one name each; those that take no value are in FLAGS. */
const LONG: Record<string, string> = {
  ...{ '-X': '--request', '-H': '--header', '-d': '--data', '-u': '--user', '-F': '--form', '-A': '--user-agent' },
  ...{ '-e': '--referer', '-b': '--cookie', '-m': '--max-time', '-I': '--head', '-G': '--get', '-o': '--output' },
  ...{ '-x': '--proxy', '-w': '--write-out', '-T': '--upload-file', '-E': '--cert', '-c': '--cookie-jar' },
  ...{ '--data-ascii': '--data', '--form-string': '--form' },
};
/** About curl itself: no value follows. */
const FLAGS =
  /^(-[sSivkLfgNq#046]|--(silent|show-error|include|verbose|insecure|location|fail|fail-with-body|compressed|globoff|no-buffer|http1\.[01]|http2|http2-prior-knowledge|http3|ipv[46]|tlsv1(\.\d)?|progress-bar|no-keepalive|path-as-is))$/;
/** About curl itself, with a value. */
const SETTINGS =
  /^--(output|proxy|write-out|connect-timeout|retry|retry-delay|retry-max-time|max-redirs|cacert|cert|key|resolve|interface|cookie-jar|limit-rate)$/;

function requestOf([first, ...words]: string[]): CurlRequest {
  if (first === undefined || !/(^|[/\\])curl(\.exe)?$/.test(first)) return refuse({ reason: 'notCurl' });
  const ignored: string[] = [];
  const headers: [string, string][] = [];
  const data: string[] = [];
  let json: string | null = null;
  let url: string | null = null;
  let method: string | null = null;
  let asQuery = false;
  let timeoutMs: number | null = null;

  const setUrl = (value: string) => {
    if (url !== null) refuse({ reason: 'twoUrls', value });
    url = value;
  };
  const queue = [...words];
  while (queue.length > 0) {
    const word = queue.shift()!;
    if (!word.startsWith('-') || word === '-') {
      setUrl(word);
      continue;
    }
    const { name, attached, rest } = optionOf(word);
    if (rest !== null) queue.unshift(rest);
    const value = (): string => attached ?? queue.shift() ?? refuse({ reason: 'noValue', value: name });
    const text = (): string => {
      const given = value();
      return given.startsWith('@') ? refuse({ reason: 'file', value: given }) : given;
    };
    switch (LONG[name] ?? name) {
      case '--request':
        method = value();
        break;
      case '--header':
        headers.push(headerOf(value()));
        break;
      case '--user-agent':
        headers.push(['User-Agent', value()]);
        break;
      case '--referer':
        headers.push(['Referer', value()]);
        break;
      case '--cookie': {
        const cookie = value();
        headers.push(cookie.includes('=') ? ['Cookie', cookie] : refuse({ reason: 'file', value: `-b ${cookie}` }));
        break;
      }
      case '--data':
        // curl drops the line breaks of files only, so that typed ones stay.
        data.push(text());
        break;
      case '--data-binary':
        data.push(text());
        break;
      case '--data-raw':
        data.push(value());
        break;
      case '--data-urlencode':
        data.push(urlEncoded(value()));
        break;
      case '--json':
        json = (json ?? '') + text();
        break;
      case '--url':
        setUrl(value());
        break;
      case '--head':
        method ??= 'HEAD';
        break;
      case '--get':
        asQuery = true;
        break;
      case '--max-time':
        timeoutMs = Math.round(Number(value()) * 1000) || null;
        break;
      case '--user':
        refuse({ reason: 'user' });
        break;
      case '--form':
        refuse({ reason: 'form', value: name });
        break;
      case '--upload-file':
        refuse({ reason: 'file', value: `${name} ${value()}` });
        break;
      case '--next':
        refuse({ reason: 'multiple', value: name });
        break;
      default:
        if (FLAGS.test(name)) ignored.push(name);
        else if (SETTINGS.test(LONG[name] ?? name)) ignored.push(`${name} ${value()}`);
        else refuse({ reason: 'unknown', value: name });
    }
  }
  if (url === null) return refuse({ reason: 'noUrl' });

  const header = joined(headers, ignored);
  const has = (name: string) => Object.keys(header).some((key) => key.toLowerCase() === name);
  let target: string = /^[a-z][a-z0-9+.-]*:\/\//i.test(url) ? url : `http://${url}`;
  let body: string | null = null;
  if (asQuery) {
    const query = data.join('&');
    if (query !== '') target += (target.includes('?') ? '&' : '?') + query;
  } else if (json !== null) {
    body = json;
    if (!has('content-type')) header['Content-Type'] = 'application/json';
    if (!has('accept')) header.Accept = 'application/json';
  } else if (data.length > 0) {
    body = data.join('&');
    if (!has('content-type')) header['Content-Type'] = 'application/x-www-form-urlencoded';
  }
  const sent = (method ?? (body === null ? 'GET' : 'POST')).toUpperCase();
  if (!(HttpMethods as readonly string[]).includes(sent)) return refuse({ reason: 'method', value: sent });
  return { method: sent as Method, url: target, header, body, timeoutMs, ignored };
}

/** `--name=value` is no curl, `-XPOST` and `-sSL` are. */
function optionOf(word: string): { name: string; attached: string | null; rest: string | null } {
  if (word.startsWith('--') || word.length === 2) return { name: word, attached: null, rest: null };
  const name = word.slice(0, 2);
  const more = word.slice(2);
  const takesNothing = FLAGS.test(name) || name === '-I' || name === '-G';
  return takesNothing ? { name, attached: null, rest: `-${more}` } : { name, attached: more, rest: null };
}

function headerOf(text: string): [string, string] {
  const match = /^([^:;]+)(?::(.*)|;)$/s.exec(text);
  if (!match) return refuse({ reason: 'header', value: text });
  return [match[1]!.trim(), (match[2] ?? '').trim()];
}

/** What is sent twice is one header with a comma; cookies go with a semicolon. */
function joined(headers: readonly [string, string][], ignored: string[]): Record<string, string> {
  const header: Record<string, string> = {};
  for (const [name, value] of headers) {
    // Set by xtimer or by the connection: a timer may not.
    if (headerNameProblem(name) !== null) {
      ignored.push(`-H ${name}`);
      continue;
    }
    const known = Object.keys(header).find((key) => key.toLowerCase() === name.toLowerCase());
    if (known === undefined) header[name] = value;
    else header[known] += `${known.toLowerCase() === 'cookie' ? '; ' : ', '}${value}`;
  }
  return header;
}

function urlEncoded(given: string): string {
  const at = /[=@]/.exec(given);
  if (at?.[0] === '@') return refuse({ reason: 'file', value: given });
  if (!at) return encodeURIComponent(given);
  const name = given.slice(0, at.index);
  return `${name === '' ? '' : `${name}=`}${encodeURIComponent(given.slice(at.index + 1))}`;
}

const ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r', "'": "'", '"': '"', '\\': '\\', '?': '?' };

/** Words as a POSIX shell splits them, with bash's `$'…'`, which browsers write. Ends at a pipe. */
function wordsOf(command: string): string[] {
  const words: string[] = [];
  let word: string | null = null;
  let at = 0;
  const text = command
    .trim()
    .replace(/\r\n/g, '\n')
    .replace(/^\$\s+/, '');
  const until = (quote: string): string => {
    const end = text.indexOf(quote, at);
    if (end === -1) refuse({ reason: 'quote' });
    const inside = text.slice(at, end);
    at = end + 1;
    return inside;
  };
  while (at < text.length) {
    const char = text[at++]!;
    if (/\s/.test(char)) {
      if (word !== null) words.push(word);
      word = null;
    } else if (char === '\\') {
      const next = text[at++] ?? '';
      if (next !== '\n') word = (word ?? '') + next;
    } else if (char === "'") {
      word = (word ?? '') + until("'");
    } else if (char === '$' && text[at] === "'") {
      at++;
      word = (word ?? '') + ansiQuoted();
    } else if (char === '"') {
      word = (word ?? '') + doubleQuoted();
    } else if (char === '|' && word === null) {
      return words;
    } else if (word === null && /^[;&<>]/.test(char)) {
      refuse({ reason: 'multiple', value: char });
    } else {
      word = (word ?? '') + char;
    }
  }
  if (word !== null) words.push(word);
  return words;

  function doubleQuoted(): string {
    let inside = '';
    for (;;) {
      const char = text[at++];
      if (char === undefined) return refuse({ reason: 'quote' });
      if (char === '"') return inside;
      if (char !== '\\') inside += char;
      else {
        const next = text[at++] ?? '';
        if (next === '\n') continue;
        inside += '$`"\\'.includes(next) && next !== '' ? next : `\\${next}`;
      }
    }
  }

  function ansiQuoted(): string {
    let inside = '';
    for (;;) {
      const char = text[at++];
      if (char === undefined) return refuse({ reason: 'quote' });
      if (char === "'") return inside;
      if (char !== '\\') {
        inside += char;
        continue;
      }
      const code = /^(?:u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|x([0-9a-fA-F]{1,2}))/.exec(text.slice(at));
      if (code) {
        inside += String.fromCodePoint(Number.parseInt(code[1] ?? code[2] ?? code[3]!, 16));
        at += code[0].length;
      } else {
        const next = text[at++] ?? '';
        inside += ESCAPES[next] ?? `\\${next}`;
      }
    }
  }
}
