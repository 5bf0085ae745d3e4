import { SetupError } from './errors.js';

/**
 * Lets an effect happen once although calls may be repeated: what claims the key and what the method does become one
 * transaction.
 */
export interface Dedupe {
  /**
   * Claims `key` for good in a transaction of its own, calls `run` with it, commits, and resolves to what `run` gives.
   * Resolves without calling `run` when the key is claimed already. When `run` rejects, rolls back (the claim too) and
   * rejects likewise. `transaction` is what the method finds as `context.transaction`.
   */
  claim(key: string, run: (transaction?: unknown) => Promise<unknown>): Promise<unknown>;
}

export interface XtimerOptions {
  /** Where xtimer answers: `https://timers.example.com`. */
  url: string;
  /** API key of the app, or the administrator's token. */
  token: string | undefined;
  /** Whose topics and timers these are. Names of topics and crons are unique within it. */
  app: string;
  /** Signing secret of the app, `whsec_…`. While it is being rotated, either the old or the new one. */
  secret: string | undefined;
  /** Where xtimer reaches this service: `https://shop.example.com`, with a path if a proxy takes one away. */
  baseUrl: string;
  /** Where the callback route is mounted, whatever the global prefix is. Default `/_xtimer/callback`. */
  callbackPath?: string | undefined;
  /** Topics this service publishes to and other services consume: the boot stops when one doesn't exist. */
  publishes?: readonly string[] | undefined;
  /** `true`: the boot stops when xtimer can't be reached. Default: registration goes on in the background. */
  failFast?: boolean | undefined;
  dedupe?: Dedupe | undefined;
}

export interface Settings {
  url: string;
  token: string;
  app: string;
  secret: string;
  baseUrl: string;
  callbackPath: string;
  publishes: readonly string[];
  failFast: boolean;
  dedupe: Dedupe | null;
}

/** @throws SetupError `OPTION_INVALID` */
export function settle(options: XtimerOptions | undefined): Settings {
  const { url, token, app, secret, baseUrl, callbackPath = '/_xtimer/callback' } = options ?? ({} as XtimerOptions);
  const { publishes = [], failFast = false, dedupe = null } = options ?? {};
  const need = (name: keyof XtimerOptions, value: unknown, hint: string, fits: (text: string) => boolean): string => {
    if (typeof value === 'string' && fits(value)) return value;
    // Never quoted: it may be a secret in the wrong place.
    const what = value === undefined || value === null || value === '' ? 'is missing' : "can't be what was given";
    throw new SetupError('OPTION_INVALID', `XtimerModule: ${name} ${what}: expected ${hint}`);
  };
  return {
    url: need('url', url, 'the URL of xtimer, such as https://timers.example.com', isHttpUrl),
    token: need('token', token, 'an API token of xtimer', (text) => text !== ''),
    app: need('app', app, "the app's name", (text) => text !== ''),
    secret: need(
      'secret',
      secret,
      `the app's signing secret, whsec_ and base64 (POST /apps/${app}/rotateSecret shows a new one)`,
      (text) => /^whsec_[A-Za-z0-9+/]{16,}={0,2}$/.test(text),
    ),
    baseUrl: need(
      'baseUrl',
      baseUrl,
      'the URL xtimer reaches this service at, such as https://shop.example.com',
      isHttpUrl,
    ).replace(/\/+$/, ''),
    callbackPath: need('callbackPath', callbackPath, 'a path such as /_xtimer/callback', (text) =>
      /^(\/[\w.~-]+)+$/.test(text),
    ),
    ...{ publishes, failFast, dedupe },
  };
}

function isHttpUrl(text: string): boolean {
  return /^https?:\/\/[^/?#]+[^?#]*$/.test(text) && URL.canParse(text);
}
