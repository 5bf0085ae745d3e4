import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, NotFoundException } from '@nestjs/common';
import { datetimeOf, ErrorCode } from '@xtimer/contracts';
import { CommandError, type CronError, StoreUnavailableError } from '@xtimer/pipeline';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { ConsoleFiles } from '../platform/console-files.js';
import type { Route } from '../platform/http.js';
import { ApiError } from './api-error.js';

/** Whatever went wrong leaves as our envelope; what nobody expected is logged and leaves without details. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(
    private readonly log: Logger,
    private readonly routes: readonly Route[],
    private readonly files: ConsoleFiles,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    // Nest's own: no route matched.
    if (!(error instanceof NotFoundException)) this.answer(error, request, reply);
    else if (!this.files.answer(request, reply)) this.answer(this.noRoute(request), request, reply);
  }

  answer(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const known = apiErrorOf(error, request);
    if (!known) {
      this.log.error({ error, method: request.method, path: pathOf(request), requestId: request.id }, 'request failed');
    } else if (known.status >= 500) {
      this.log.warn({ code: known.code, path: pathOf(request), requestId: request.id }, known.message);
    }
    if (reply.sent) return;
    const { status, code, message, data, headers } =
      known ?? new ApiError(ErrorCode.internal, `something failed inside xtimer; its log names request ${request.id}`);
    reply
      .status(status)
      .headers(headers)
      .type('application/json; charset=utf-8')
      .send(JSON.stringify({ code, message, datetime: datetimeOf(Date.now()), data }));
  }

  /** The path may be right and the method wrong. */
  private noRoute(request: FastifyRequest): ApiError {
    const path = pathOf(request);
    const allowed = this.routes.filter(({ url }) => patternOf(url).test(path)).map(({ method }) => method);
    if (allowed.length === 0) {
      return new ApiError(ErrorCode.noSuchRoute, `there is no ${path}; /docs lists all paths`, { value: path });
    }
    const methods = [...new Set(allowed)].join(', ');
    return new ApiError(
      ErrorCode.methodNotAllowed,
      `${path} does not take ${request.method}: use ${methods}`,
      { field: 'method', value: request.method, expected: methods },
      { allow: methods },
    );
  }
}

const commandCodes = {
  INVALID: ErrorCode.invalid,
  NOT_FOUND: ErrorCode.notFound,
  CONFLICT: ErrorCode.conflict,
  TOO_MANY_CHANGES: ErrorCode.tooManyChanges,
} as const;

/** `null`: a surprise. */
export function apiErrorOf(error: unknown, request?: FastifyRequest): ApiError | null {
  if (error instanceof ApiError) return error;
  if (error instanceof CommandError) {
    const headers: Record<string, string> = error.code === 'TOO_MANY_CHANGES' ? { 'retry-after': '3' } : {};
    return new ApiError(commandCodes[error.code], error.message, { ...error.data }, headers);
  }
  if (isCronError(error)) return new ApiError(ErrorCode.invalid, error.message, cronData(error));
  if (error instanceof StoreUnavailableError) {
    return new ApiError(
      ErrorCode.storeUnavailable,
      `${error.message}; try again in a moment`,
      { store: error.store },
      { 'retry-after': '1' },
    );
  }
  return requestErrorOf(error, request);
}

/** Fastify's own refusals, made before a route is reached, and Nest's. */
function requestErrorOf(error: unknown, request?: FastifyRequest): ApiError | null {
  if (!(error instanceof Error)) return null;
  const status = error instanceof HttpException ? error.getStatus() : Reflect.get(error, 'statusCode');
  switch (status) {
    case 413:
      return bodyTooLarge(request);
    case 415:
      return new ApiError(
        ErrorCode.unsupportedMediaType,
        'the body must be JSON: send Content-Type: application/json',
        {
          field: 'Content-Type',
          expected: 'application/json',
        },
      );
    default:
      if (typeof status !== 'number' || status < 400 || status > 499) return null;
      return new ApiError(ErrorCode.malformedBody, `the request can't be read: ${error.message}`, {
        expected: 'a well-formed request with a JSON body',
      });
  }
}

function bodyTooLarge(request?: FastifyRequest): ApiError {
  const limit = request?.routeOptions.bodyLimit ?? 1024 * 1024;
  const expected = `at most ${limit / 1024 / 1024} MiB`;
  const size = Number(request?.headers['content-length']) || undefined;
  const what = size === undefined ? 'the body is too large' : `the body is too large with ${size} bytes`;
  return new ApiError(ErrorCode.bodyTooLarge, `${what}: ${expected}`, { expected, size });
}

const isCronError = (error: unknown): error is CronError =>
  error instanceof Error && 'code' in error && error.code === 'CRON_INVALID';

const cronData = ({ field, value, expected, position }: CronError) => ({
  field: field === 'timezone' ? 'timezone' : 'cron',
  value,
  expected,
  ...(field !== 'timezone' && { part: field, position }),
});

const pathOf = (request: FastifyRequest): string => request.url.split('?', 1)[0]!;

const patternOf = (url: string): RegExp =>
  new RegExp(`^${url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:\w+/g, '[^/]+')}$`);
