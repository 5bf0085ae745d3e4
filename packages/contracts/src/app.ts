import { z } from 'zod';
import { whole } from './fields.js';

/** Apps: what belongs to a tenant as a whole. */

const historyRetentionDays = whole(1, 3650)
  .nullable()
  .describe(
    "Ended tasks planned longer ago than this many days are deleted; null: the server's XTIMER_HISTORY_RETENTION_DAYS.",
  );

export const AppView = z.object({ app: z.string(), historyRetentionDays });
export type AppView = z.output<typeof AppView>;

/** Partial: what is left out stays. */
export const UpdateApp = z.strictObject(
  { historyRetentionDays: historyRetentionDays.optional() },
  { error: (raw) => (raw.code === 'invalid_type' ? 'a JSON object' : undefined) },
);

export const SecretRotated = z.object({ secret: z.string().describe('Shown once.') });
