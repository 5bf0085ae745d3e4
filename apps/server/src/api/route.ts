import {
  applyDecorators,
  createParamDecorator,
  Delete,
  type ExecutionContext,
  Get,
  HttpCode,
  Post,
  Put,
} from '@nestjs/common';
import { ApiCreatedResponse, ApiDefaultResponse, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { ErrorAnswer, envelope } from '@xtimer/contracts';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';

const answers200 = (answer: z.ZodType) => [HttpCode(200), ApiOkResponse({ standardSchema: envelope(answer) })];

/** One route with its line and its answer in the OpenAPI document. Successes are 200, unless something is created. */
const route =
  (method: typeof Get, success = answers200) =>
  (path: string, summary: string, answer: z.ZodType): MethodDecorator =>
    applyDecorators(
      method(path),
      ...success(answer),
      ApiOperation({ summary }),
      ApiDefaultResponse({ standardSchema: ErrorAnswer, description: 'A refusal; `message` says what to change.' }),
    );

export const GetRoute = route(Get);
export const PostRoute = route(Post);
export const PutRoute = route(Put);
export const DeleteRoute = route(Delete);
/** 201, which is what a POST answers by itself. */
export const CreateRoute = route(Post, (answer) => [ApiCreatedResponse({ standardSchema: envelope(answer) })]);
/** 201, or 200 when the handler says that it was there already. */
export const CreateOnceRoute = route(Post, (answer) => [
  ApiCreatedResponse({ standardSchema: envelope(answer) }),
  ApiOkResponse({ standardSchema: envelope(answer), description: 'It was there already.' }),
]);

/** The query and the body as one object, the body's fields first: these calls take either. */
export const QueryOrBody = createParamDecorator((_: unknown, context: ExecutionContext): unknown => {
  const { query, body } = context.switchToHttp().getRequest<FastifyRequest>();
  if (body === undefined || body === null) return query;
  return typeof body === 'object' && !Array.isArray(body) ? { ...(query as object), ...body } : body;
});
