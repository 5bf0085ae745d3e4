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
