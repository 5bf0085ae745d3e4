import { call } from './call.js';
import { type CallOptions, type ClientOptions, type Settled, settle } from './options.js';
import type { Pages, Route } from './route.js';
import { routes } from './routes.js';

type Routes = typeof routes;

/** Every method takes the input and, second, what holds for this call only. */
type Method<In, Out> =
  Record<never, never> extends In
    ? (input?: In, options?: CallOptions) => Promise<Out>
    : (input: In, options?: CallOptions) => Promise<Out>;

type MethodOf<R> =
  R extends Pages<infer In, infer Item>
    ? (query?: In, options?: CallOptions) => AsyncGenerator<Item, void, undefined>
    : R extends Route<infer In, infer Out>
      ? Method<In, Out>
      : never;

export type Client = { readonly [G in keyof Routes]: { readonly [M in keyof Routes[G]]: MethodOf<Routes[G][M]> } };

/**
 * A client of one xtimer. Holds no connection and no state: make one and share it.
 *
 * Calls that change nothing are repeated after network errors, 502, 503, 504 and a 429 that says when; all
 * others only when no connection came to be. Failures are XtimerErrors.
 *
 * @throws XtimerError `BAD_OPTION`
 */
export function createClient(options: ClientOptions): Client {
  const settings = settle(options);
  const groups = Object.entries(routes).map(([group, methods]) => [
    group,
    Object.fromEntries(Object.entries(methods).map(([name, line]) => [name, methodOf(settings, line)])),
  ]);
  return Object.fromEntries(groups) as Client;
}

type Line = Route<never, unknown> | Pages<never, unknown>;
type Input = Record<string, unknown>;

function methodOf(settings: Settled, line: Line) {
  if (!('pagesOf' in line)) {
    return (input: Input = {}, options?: CallOptions) => call(settings, line, input, options);
  }
  return async function* (query: Input = {}, options?: CallOptions) {
    // The most the API gives at once.
    let input: Input = { pageSize: 200, ...query };
    while (true) {
      const page = (await call(settings, line.pagesOf, input, options)) as {
        list: unknown[];
        nextCursor: string | null;
      };
      yield* page.list;
      if (page.nextCursor === null) return;
      input = { ...input, cursor: page.nextCursor };
    }
  };
}
