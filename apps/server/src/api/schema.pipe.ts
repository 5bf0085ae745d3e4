import { type ArgumentMetadata, Injectable, Optional, type PipeTransform } from '@nestjs/common';
import { problemsOf } from '@xtimer/contracts';
import { z } from 'zod';
import { invalidInput } from './api-error.js';

/**
 * Validates what carries a zod schema (`@Body({ schema })`) and hands on what the schema made of it. Nest's own
 * pipe does the same but keeps only sentences; our errors name field, value and what is expected.
 */
@Injectable()
export class SchemaPipe implements PipeTransform {
  constructor(@Optional() private readonly schema?: z.ZodType) {}

  transform(value: unknown, metadata: ArgumentMetadata & { schema?: unknown }): unknown {
    const schema = this.schema ?? metadata.schema;
    if (!(schema instanceof z.ZodType)) return value;
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    const { issues } = result.error;
    if (metadata.type !== 'param' || metadata.data === undefined) throw invalidInput(problemsOf(issues, value));
    // A part of the path has a name, but not as a field of an object.
    const name = metadata.data;
    const named = issues.map((issue) => ({ ...issue, path: [name, ...issue.path] }));
    throw invalidInput(problemsOf(named, { [name]: value }));
  }
}
