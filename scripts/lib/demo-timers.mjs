/** What the demo registers: a few timers that fire at once, and real schedules of which some are due soon. */
import { readFileSync } from 'node:fs';

/** Name, cron, dialect, zone, and a question with its answer: the fires after `start` (from the testkit's cron cases). */
export const realWorld = JSON.parse(readFileSync(new URL('real-world.json', import.meta.url), 'utf8'));

export const fastTimers = (receiver) => [
  timer('each second', '* * * * * *', {
    method: 'GET',
    url: `${receiver}/hello?run={{runTimer}}`,
  }),
  timer('every 2 s: 提醒 ⏰', '*/2 * * * * ?', {
    method: 'POST',
    url: `${receiver}/orders/check`,
    header: { 'Content-Type': 'application/json', 'X-Env': 'demo' },
    body: '{"task":"{{taskId}}","planned":"{{scheduledTime}}","attempt":{{attempt}},"note":"für dich 🎉"}',
  }),
  timer('every 5 s, fails', '*/5 * * * * *', {
    method: 'PUT',
    url: `${receiver}/status/500`,
    body: 'timer {{timerId}}',
  }),
];

export const slowTimers = (receiver) => [
  timer('each minute', '* * * * *', { method: 'DELETE', url: `${receiver}/carts/expired` }),
  ...realWorld.map(({ name, cron, dialect, timezone }, index) => ({
    ...timer(name, cron, {
      method: index % 2 === 0 ? 'POST' : 'PATCH',
      url: `${receiver}/real-world`,
      body: `${name} at {{scheduledTime}}`,
    }),
    cronDialect: dialect,
    timezone,
  })),
];

const timer = (name, cron, notifyHTTPParam) => ({
  app: 'demo',
  name,
  cron,
  notifyHTTPParam,
  // The demo shows a failed task as it is, without waiting for four more attempts.
  retry: { maxAttempts: 1 },
  enable: true,
});
