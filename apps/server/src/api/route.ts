import { applyDecorators, createParamDecorator, type ExecutionContext, Get, HttpCode, Post, Put } from '@nestjs/common';
import { ApiDefaultResponse, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { ErrorAnswer, envelope } from '@xtimer/contracts';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';

/** One route with its line and its answer in the OpenAPI document. All successes are 200. */
const route =
  (method: typeof Get) =>
  (path: string, summary: string, answer: z.ZodType): MethodDecorator =>
    applyDecorators(
      method(path),
      HttpCode(200),
      ApiOperation({ summary }),
      ApiOkResponse({ standardSchema: envelope(answer) }),
      ApiDefaultResponse({ standardSchema: ErrorAnswer, description: 'A refusal; `message` says what to change.' }),
    );

export const GetRoute = route(Get);
export const PostRoute = route(Post);
export const PutRoute = route(Put);

/** The query and the body as one object, the body's fields first: these calls take either. */
export const QueryOrBody = createParamDecorator((_: unknown, context: ExecutionContext): unknown => {
  const { query, body } = context.switchToHttp().getRequest<FastifyRequest>();
  if (body === undefined || body === null) return query;
  return typeof body === 'object' && !Array.isArray(body) ? { ...(query as object), ...body } : body;
});
