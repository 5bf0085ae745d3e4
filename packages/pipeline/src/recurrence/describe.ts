import type { CronDialect } from '../timer/timer.js';
import { english } from './describe.en.js';
import { chinese } from './describe.zh.js';
import type { CronExpression } from './expression.js';
import { parseExpression } from './parse.js';
import { telling } from './telling.js';

/**
 * What a cron text means, in words. Works from what was understood, never from the text, so that a wrong reading
 * shows. telling.ts decides what to say; describe.en.ts and describe.zh.ts say it.
 *
 * Throws `CronError` for a text that is none.
 */
export function describe(
  cron: string | { readonly expression: CronExpression },
  locale: 'en' | 'zh',
  dialect: CronDialect | 'auto' = 'auto',
): string {
  const expression = typeof cron === 'string' ? parseExpression(cron, dialect) : cron.expression;
  const words = locale === 'zh' ? chinese : english;
  if (expression.kind === 'interval') return words.interval(expression.everySeconds);
  return words.calendar(telling(expression));
}
