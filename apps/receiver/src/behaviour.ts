import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ReceivedCall } from './call-log.js';

interface Exchange {
  call: ReceivedCall;
  request: IncomingMessage;
  response: ServerResponse;
  /** The path's second and third part. */
  argument: string;
  key: string;
}

const JSON_TYPE = { 'content-type': 'application/json' };
const OK = Buffer.from('{"ok":true}');
const MAX_FAILING_KEYS = 100_000;

/** How the target behaves, by the first part of the path: a timer, a test or a bench picks what it meets. */
export function createBehaviours(): (call: ReceivedCall, request: IncomingMessage, response: ServerResponse) => void {
  const failures = new Map<string, number>();
  const ok = ({ response }: Exchange) => send(response, 200, JSON_TYPE, OK);

  const behaviours: Record<string, (exchange: Exchange) => void> = {
    status: ({ response, argument }) => {
      const status = statusOf(argument);
      send(response, status, JSON_TYPE, `{"status":${status}}`);
    },
    slow: (exchange) => {
      const timer = setTimeout(ok, Number(exchange.argument) || 0, exchange);
      exchange.response.on('close', () => clearTimeout(timer));
    },
    'fail-first': (exchange) => {
      const failing = `${exchange.key} ${exchange.call.headers['idempotency-key'] ?? ''}`;
      const failed = (failures.get(failing) ?? 0) + 1;
      if (failed > Number(exchange.argument)) return ok(exchange);
      if (failures.size >= MAX_FAILING_KEYS) failures.clear();
      failures.set(failing, failed);
      send(exchange.response, 500, JSON_TYPE, `{"failed":${failed}}`);
    },
    emoji: ({ response }) => send(response, 200, JSON_TYPE, '{"text":"⏰ 你好 👨‍👩‍👧‍👦 𠮷"}'),
    text: ({ response }) => send(response, 200, { 'content-type': 'text/plain; charset=utf-8' }, 'plain text\n'),
    binary: ({ response }) =>
      send(response, 200, { 'content-type': 'application/octet-stream' }, Buffer.from([0, 255, 254, 1, 128])),
    large: ({ response, argument }) => {
      const filler = 'x'.repeat(Math.max(0, (Number(argument) || 0) - '{"data":""}'.length));
      send(response, 200, JSON_TYPE, `{"data":"${filler}"}`);
    },
    endless: ({ response }) => stream(response),
    drip: ({ request, response }) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      drip(request, (piece) => response.write(piece), '.');
    },
    'drip-headers': ({ request }) =>
      drip(request, (piece) => request.socket.write(piece), 'HTTP/1.1 200 OK\r\nx-drip: .'),
    silent: () => {},
    close: ({ request }) => void request.socket.destroy(),
    redirect: ({ call, response }) =>
      send(response, 302, { location: new URLSearchParams(call.query).get('to') ?? '/ok' }, 'moved'),
    'retry-after': ({ response, argument }) =>
      send(response, 503, { ...JSON_TYPE, 'retry-after': argument || '1' }, '{"error":"busy"}'),
    echo: ({ call: { method, path, query, headers, body }, response }) =>
      send(response, 200, JSON_TYPE, JSON.stringify({ method, path, query, headers, body })),
  };

  return (call, request, response) => {
    const [, name = '', argument = '', key = ''] = call.path.split('/');
    // Any other path answers 200, so that a demo may use speaking ones.
    const behave = Object.hasOwn(behaviours, name) ? behaviours[name]! : ok;
    behave({ call, request, response, argument, key });
  };
}

export function send(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: string | Buffer,
): void {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

function statusOf(text: string): number {
  const status = Number(text);
  return Number.isInteger(status) && status >= 200 && status <= 599 ? status : 400;
}

/** As fast as it is read, until the caller goes away. */
function stream(response: ServerResponse): void {
  const piece = Buffer.alloc(64 * 1024, 'endless ');
  response.writeHead(200, { 'content-type': 'text/plain' });
  const more = () => {
    while (!response.destroyed && response.write(piece)) {}
  };
  response.on('drain', more);
  more();
}

/** One byte a second until the caller goes away; the last one again and again. */
function drip(request: IncomingMessage, write: (piece: string) => void, text: string): void {
  let at = 0;
  const next = () => {
    write(text[at]!);
    at = Math.min(at + 1, text.length - 1);
  };
  next();
  const timer = setInterval(next, 1000);
  request.socket.on('close', () => clearInterval(timer));
}
