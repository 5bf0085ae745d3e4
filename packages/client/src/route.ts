/**
 * What a line of `routes.ts` is made of. `In` and `Out` are schemas of the contracts (`typeof CreateTimer`),
 * or plain types where the contracts have no schema. Only types: the schemas themselves are not loaded.
 */

/** What zod calls `z.input` and `z.output`. */
type InputOf<S> = S extends { _zod: { input: infer I } } ? I : S;
type OutputOf<S> = S extends { _zod: { output: infer O } } ? O : S;

/** In a query all is text; the client writes it, so callers may also give what the text stands for. */
export type QueryOf<S> = S extends { _zod: { input: infer I; output: infer O } }
  ? { [K in keyof I]: I[K] | O[K & keyof O] }
  : S;

export interface Route<In, Out> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** `:name` is taken out of the input; what is left goes into the query (GET, DELETE) or the body. */
  readonly path: string;
  readonly traits: Traits<In>;
  /** Never set: it only carries the types. */
  readonly types?: (input: In) => Out;
}

interface Traits<In> {
  /** Changes nothing, so it may be sent again. Default: a GET is, all others are not. */
  safe?: boolean;
  /** What the server itself takes longer than usual for this input, ms. */
  extraMs?(input: In): number;
}

export interface Pages<In, Item> {
  readonly pagesOf: Route<In, Page<Item>>;
}

interface Page<Item> {
  list: Item[];
  nextCursor: string | null;
}

export const get = <In, Out>(path: string, traits: Traits<QueryOf<In>> = {}): Route<QueryOf<In>, OutputOf<Out>> => ({
  ...{ method: 'GET', path },
  traits: { safe: true, ...traits },
});

export const post = <In, Out>(path: string, traits: Traits<InputOf<In>> = {}): Route<InputOf<In>, OutputOf<Out>> => ({
  ...{ method: 'POST', path, traits },
});

export const put = <In, Out>(path: string, traits: Traits<InputOf<In>> = {}): Route<InputOf<In>, OutputOf<Out>> => ({
  ...{ method: 'PUT', path, traits },
});

export const del = <In, Out>(path: string, traits: Traits<QueryOf<In>> = {}): Route<QueryOf<In>, OutputOf<Out>> => ({
  ...{ method: 'DELETE', path, traits },
});

/** All items of a list that goes on by cursor, page after page. */
export const each = <In, Item>(pagesOf: Route<In, Page<Item>>): Pages<In, Item> => ({ pagesOf });
