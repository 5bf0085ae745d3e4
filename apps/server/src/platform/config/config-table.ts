import type { z } from 'zod';
import { sections } from './variables.js';

/** The variables as a Markdown table, from the schemas that check them: docs/configuration.md holds it. */
export function configTable(): string {
  const lines = Object.entries(sections).flatMap(([section, variables]) => [
    `| **${section}** | | |`,
    ...Object.entries<z.ZodType>(variables).map(
      ([name, schema]) => `| \`${name}\` | ${defaultOf(schema)} | ${schema.description} |`,
    ),
  ]);
  return ['| Variable | Default | Meaning |', '| --- | --- | --- |', ...lines].join('\n');
}

function defaultOf(schema: z.ZodType): string {
  const fallback = schema.safeParse(undefined);
  if (!fallback.success || fallback.data === undefined || fallback.data === '') return '';
  return `\`${fallback.data}\``;
}
