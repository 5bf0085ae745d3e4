import type { AdminToken } from '../api/access/admin-token.js';
import type { Config } from './config/config.js';
import { version } from './version.js';

/** Plain lines for the person at the terminal; the log has its own line for machines. */
export function banner(config: Config, admin: AdminToken, port: number): string {
  const everywhere = config.host === '0.0.0.0' || config.host === '::';
  const host = everywhere ? 'localhost' : config.host.includes(':') ? `[${config.host}]` : config.host;
  const address = `http://${host}:${port}`;
  return [
    '',
    `  xtimer ${version} is running (${config.mode}).`,
    '',
    ...(config.roles.includes('api') ? [`  Console  ${address}/`, `  API      ${address}/docs`] : []),
    `  Sign in  ${signIn(admin)}`,
    '',
  ].join('\n');
}

function signIn(admin: AdminToken): string {
  if (admin.source === 'environment') return 'with the token in XTIMER_ADMIN_TOKEN';
  if (admin.shownOnce !== null) return `with the admin token printed above`;
  return 'with the admin token shown at the first start. Lost it? XTIMER_ADMIN_TOKEN=<your own> sets another';
}

/** Printed as soon as the token exists: should the start fail later on, it can't be shown again. */
export const tokenNotice = (token: string): string =>
  `\n  Admin token (shown only this once; XTIMER_ADMIN_TOKEN=<your own> sets another):\n  ${token}\n`;
