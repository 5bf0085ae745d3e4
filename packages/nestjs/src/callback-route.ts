import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AbstractHttpAdapter } from '@nestjs/core';
import type { CallbackAnswer, CallbackRequest } from './dispatcher.js';
import { SetupError } from './errors.js';

/**
 * The callback route, mounted on the HTTP server itself and not as a controller: signatures need the body as it came,
 * whatever body parsers the service uses, and no guard, pipe, filter or prefix of the service is in the way.
 */

type Handle = (request: CallbackRequest) => Promise<CallbackAnswer>;

/** Far beyond a job's payload of at most 256 KiB. */
const BODY_LIMIT = 1024 * 1024;

export function mountRoute(adapter: AbstractHttpAdapter, path: string, handle: Handle): void {
  const type = adapter.getType();
  if (type === 'fastify') mountOnFastify(adapter.getInstance(), path, handle);
  else if (type === 'express') mountOnExpress(adapter.getInstance(), path, handle);
  else throw new SetupError('HTTP_ADAPTER', `XtimerModule works on Express and on Fastify, not on "${type}"`);
}

/** Calls back when the connection goes before the answer is out. */
const whenClosed = (response: ServerResponse) => (closed: () => void) => {
  response.once('close', () => {
    if (!response.writableFinished) closed();
  });
};

/** The parts of Fastify that are used here: its types would have to be installed with Express too. */
interface Fastify {
  register(plugin: (scope: Fastify, options: unknown, done: () => void) => void): void;
  removeAllContentTypeParsers(): void;
  addContentTypeParser(
    type: string,
    options: { parseAs: 'buffer' },
    parse: (request: unknown, body: Buffer, done: (error: null, body: Buffer) => void) => void,
  ): void;
  post(
    path: string,
    options: { bodyLimit: number },
    handler: (
      request: { params: { '*': string }; headers: IncomingMessage['headers']; body: Buffer | undefined | null },
      reply: {
        raw: ServerResponse;
        code(status: number): void;
        headers(headers: Record<string, string>): void;
        send(body?: string): unknown;
      },
    ) => Promise<unknown>,
  ): void;
}

function mountOnFastify(fastify: Fastify, path: string, handle: Handle): void {
  // In a scope of its own, so that the service's parsers stay as they are.
  fastify.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, parsed) => parsed(null, body));
    scope.post(`${path}/*`, { bodyLimit: BODY_LIMIT }, async ({ params, headers, body }, reply) => {
      const raw = body ?? Buffer.alloc(0);
      const answer = await handle({ target: params['*'], headers, body: raw, onClosed: whenClosed(reply.raw) });
      reply.code(answer.status);
      reply.headers(answer.headers);
      return reply.send(answer.body ?? undefined);
    });
    done();
  });
}

type Next = (error?: unknown) => void;
type ExpressRequest = IncomingMessage & { url: string; rawBody?: unknown; body?: unknown };
interface Layer {
  name: string;
}
interface Express {
  use(path: string, handler: (request: ExpressRequest, response: ServerResponse, next: Next) => void): void;
  /** Express 5; on 4 it throws. */
  router: { stack: Layer[] };
  /** Express 4. */
  _router?: { stack: Layer[] };
}

function mountOnExpress(express: Express, path: string, handle: Handle): void {
  express.use(path, (request, response, next) => {
    const target = decoded(request.url.split('?', 1)[0]!.slice(1));
    if (request.method !== 'POST' || target === null) return next();
    const { headers } = request;
    const onClosed = whenClosed(response);
    answerTo(request, response, (body) => handle({ target, headers, body, onClosed })).catch((error) => {
      // A caller that went away in the middle of its body is nobody to answer.
      if (!response.destroyed) next(error);
    });
  });
  putBeforeParsers((express._router ?? express.router).stack);
}

/** Nest adds its body parsers before any module gets a turn, and they would use the body up. */
function putBeforeParsers(stack: Layer[]): void {
  const first = stack.findIndex(({ name }) => /^(json|urlencoded|raw|text)Parser$/.test(name));
  if (first !== -1) stack.splice(first, 0, stack.pop()!);
}

async function answerTo(
  request: ExpressRequest,
  response: ServerResponse,
  handle: (body: Buffer) => Promise<CallbackAnswer>,
): Promise<void> {
  const body = await rawBodyOf(request);
  const { status, headers, body: text } = 'refused' in body ? refusal(body) : await handle(body.raw);
  if (response.destroyed) return;
  response.writeHead(status, headers).end(text ?? undefined);
}

const refusal = ({ status, refused }: { status: number; refused: string }): CallbackAnswer => ({
  ...{ status, headers: { 'content-type': 'application/json; charset=utf-8', connection: 'close' } },
  body: JSON.stringify({ error: refused }),
});

async function rawBodyOf(request: ExpressRequest): Promise<{ raw: Buffer } | { status: number; refused: string }> {
  if (Buffer.isBuffer(request.rawBody)) return { raw: request.rawBody };
  if (Buffer.isBuffer(request.body)) return { raw: request.body };
  if (request.readableDidRead) {
    const refused = 'a middleware read the body before XtimerModule could: create the app with { rawBody: true }';
    return { status: 500, refused };
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= BODY_LIMIT) return void chunks.push(chunk);
      request.removeAllListeners('data').pause();
      resolve({ status: 413, refused: `the body has more than ${BODY_LIMIT} bytes` });
    });
    request.once('end', () => resolve({ raw: Buffer.concat(chunks) }));
    request.once('error', reject);
  });
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
