import { randomUUID } from 'node:crypto';
import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { requireToken } from '../api/access/access.js';
import type { AdminToken } from '../api/access/admin-token.js';
import { EnvelopeInterceptor } from '../api/envelope.interceptor.js';
import { ErrorFilter } from '../api/error.filter.js';
import { SchemaPipe } from '../api/schema.pipe.js';
import { ConsoleFiles } from './console-files.js';
import { NestLog } from './log.js';
import { version } from './version.js';

const MIB = 1024 * 1024;
const BODY_LIMIT = MIB;
/** A payload of 256 KiB may take six times as much in JSON. */
const BODY_LIMITS: Record<string, number> = { '/jobs': 2 * MIB, '/jobs/batch': 16 * MIB };

export interface Route {
  method: string;
  /** As registered: `/apps/:app/rotateSecret`. */
  url: string;
}

/** The HTTP side of a node, ready to listen: everything a request passes on its way to a controller. */
export async function createHttpApp(
  module: DynamicModule,
  admin: AdminToken,
  log: Logger,
): Promise<{ app: NestFastifyApplication; routes: readonly Route[] }> {
  const routes: Route[] = [];
  const files = new ConsoleFiles();
  const filter = new ErrorFilter(log, routes, files);
  const adapter = new FastifyAdapter({
    bodyLimit: BODY_LIMIT,
    // A job id has up to 128 characters, of which some come percent-encoded.
    routerOptions: { maxParamLength: 1_024 },
    // A request that trickles in must not hold up a clean stop for long.
    requestTimeout: 15_000,
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    logger: false,
    // A path that is no path: refused before any hook runs.
    frameworkErrors: (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
      filter.answer(error, request, reply.headers(standardHeaders(request)));
    },
  });
  const server = adapter.getInstance() as unknown as FastifyInstance;
  server.addHook('onRoute', (route) => {
    const { method, url } = route;
    route.bodyLimit ??= BODY_LIMITS[url];
    for (const one of [method].flat()) routes.push({ method: one, url });
  });
  server.addHook('onRequest', async (request, reply) => {
    reply.headers(standardHeaders(request));
  });
  // A connection kept alive by an answer given while we stop would hold the process for its whole idle time.
  let stopping = false;
  server.addHook('preClose', async () => {
    stopping = true;
  });
  server.addHook('onSend', async (_request, reply) => {
    if (stopping) reply.header('connection', 'close');
  });
  requireToken(server, admin);
  readJsonOnly(server);

  const app = await NestFactory.create<NestFastifyApplication>(module, adapter, {
    logger: new NestLog(log),
    abortOnError: false,
    bodyParser: false,
  });
  await files.register(server);
  app.useGlobalPipes(new SchemaPipe());
  app.useGlobalInterceptors(new EnvelopeInterceptor());
  app.useGlobalFilters(filter);
  addDocs(app);
  return { app, routes };
}

const standardHeaders = (request: FastifyRequest) => ({
  'x-request-id': request.id,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cache-control': 'no-store',
});

/** Bodies are JSON; a call that needs none may send an empty one. */
function readJsonOnly(server: FastifyInstance): void {
  const parseJson = server.getDefaultJsonParser('error', 'error');
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined);
    else parseJson(request, body as string, done);
  });
}

/** OpenAPI from the schemas that check the requests; its page loads nothing from elsewhere. */
function addDocs(app: NestFastifyApplication): void {
  const config = new DocumentBuilder()
    .setTitle('xtimer')
    .setDescription('Answers are `{code, message, datetime, data}`; `code` is 0 when all went well.')
    .setVersion(version)
    .addBearerAuth({ type: 'http', scheme: 'bearer' })
    .build();
  SwaggerModule.setup('docs', app, () => SwaggerModule.createDocument(app, config), {
    jsonDocumentUrl: 'docs-json',
    customSiteTitle: 'xtimer API',
  });
}
