/** A store did not answer, or refuses for now (down, frozen, failing over, read-only). Trying later is right. */
export class StoreUnavailableError extends Error {
  readonly code = 'STORE_UNAVAILABLE';
  constructor(
    readonly store: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(`${store}: ${message}`, options);
    this.name = 'StoreUnavailableError';
  }
}

/** A command that can't be carried out as asked. The API turns `code` into a status; `data` names what was wrong. */
export class CommandError extends Error {
  constructor(
    readonly code: 'INVALID' | 'NOT_FOUND' | 'CONFLICT' | 'TOO_MANY_CHANGES',
    message: string,
    readonly data: { field?: string; value?: unknown; expected?: string } = {},
  ) {
    super(message);
    this.name = 'CommandError';
  }
}
