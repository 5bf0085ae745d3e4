import { ErrorCode } from '@xtimer/contracts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ApiError } from '../api-error.js';
import type { AdminToken } from './admin-token.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks, as it is recorded; `null` on open paths. */
    by: string | null;
  }
}

/** Paths that need no token. Everything else does, a route added tomorrow included. */
const OPEN = /^\/(healthz|readyz|docs|docs-json|docs-yaml|docs\/.*)$/;

/**
 * Asks for the token before anything of the request is read. Paths that lead nowhere are left to the
 * "not found" answer, which also serves the console's files.
 */
export function requireToken(server: FastifyInstance, admin: AdminToken): void {
  server.decorateRequest('by', null);
  server.addHook('onRequest', async (request) => {
    const route = request.routeOptions.url;
    if (request.is404 || route === undefined || OPEN.test(route)) return;
    const token = bearerOf(request);
    if (token === null || !admin.matches(token)) throw unauthorized(token === null);
    request.by = 'admin';
  });
}

function bearerOf(request: FastifyRequest): string | null {
  return /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1] ?? null;
}

const unauthorized = (missing: boolean): ApiError =>
  new ApiError(
    ErrorCode.unauthorized,
    missing
      ? 'no token: send Authorization: Bearer <token>; the admin token was shown when the server first started'
      : 'wrong token: the admin token was shown when the server first started; XTIMER_ADMIN_TOKEN sets another',
    { field: 'Authorization', expected: 'Bearer <token>' },
    { 'www-authenticate': missing ? 'Bearer realm="xtimer"' : 'Bearer realm="xtimer", error="invalid_token"' },
  );
