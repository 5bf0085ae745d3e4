import type { z } from 'zod';

/** One mistake in the input, for machines; `messageOf` says it to people. */
export interface Problem {
  /** As it would be written: `retry.maxAttempts`, `taskIds[3]`, `notifyHTTPParam.header["X Y"]`. */
  field: string;
  /** What was sent; absent when nothing was. Shortened, and masked where it may be a secret. */
  value?: unknown;
  expected: string;
}

const NO_SUCH_FIELD = 'no field of this name';

/** All mistakes zod found in `input`, in its order. */
export function problemsOf(issues: readonly z.core.$ZodIssue[], input: unknown): Problem[] {
  return issues.flatMap((issue): Problem[] => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => problemAt([...issue.path, key], input, NO_SUCH_FIELD));
    }
    return [problemAt(issue.path, input, issue.message)];
  });
}

function problemAt(path: readonly PropertyKey[], input: unknown, expected: string): Problem {
  const value = path.reduce<unknown>(
    (at, key) => (at !== null && typeof at === 'object' && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined),
    input,
  );
  const problem: Problem = { field: fieldOf(path), expected };
  if (value !== undefined) problem.value = isSecret(path) && value !== null ? '***' : shortened(value);
  return problem;
}

export function messageOf({ field, value, expected }: Problem): string {
  if (expected === NO_SUCH_FIELD) return `unknown field ${field}`;
  if (value === undefined) return `${field} is missing: expected ${expected}`;
  return `${field} can't be ${typeof value === 'string' && value.endsWith('…') ? value : JSON.stringify(value)}: expected ${expected}`;
}

const fieldOf = (path: readonly PropertyKey[]): string =>
  path.reduce<string>((field, key) => {
    if (typeof key === 'number') return `${field}[${key}]`;
    const name = String(key);
    if (!/^[\w-]+$/.test(name)) return `${field}[${JSON.stringify(name)}]`;
    return field === '' ? name : `${field}.${name}`;
  }, '') || '(input)';

const isSecret = (path: readonly PropertyKey[]): boolean =>
  path.some((key) => /authorization|cookie|token|secret|password|api-?key/i.test(String(key)));

/** Errors quote at most this much of the input. */
const SHOWN = 120;

function shortened(value: unknown): unknown {
  const json = typeof value === 'string' ? value : jsonOf(value);
  if (json.length <= SHOWN) return value;
  // A cut inside a surrogate pair would leave broken text.
  return `${json.slice(0, SHOWN).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    // What is nested by the thousand can be read but not written.
    return '[…'.repeat(SHOWN);
  }
}
