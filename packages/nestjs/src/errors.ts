/**
 * The service is set up wrongly; thrown while it boots.
 * `OPTION_INVALID` an option of the module · `TWICE` two methods for one topic or cron, or two different
 * configurations · `REFUSED` xtimer refuses what is to be registered · `UNREACHABLE` only with `failFast` ·
 * `UNKNOWN_TOPIC` one named in `publishes` · `HTTP_ADAPTER` neither Express nor Fastify
 */
export type SetupErrorCode = 'OPTION_INVALID' | 'TWICE' | 'REFUSED' | 'UNREACHABLE' | 'UNKNOWN_TOPIC' | 'HTTP_ADAPTER';

export class SetupError extends Error {
  override readonly name = 'SetupError';

  constructor(
    readonly code: SetupErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Thrown by a method: the attempt has failed, and xtimer makes no other. The task is a dead letter at once. */
export class DoNotRetry extends Error {
  override readonly name: string = 'DoNotRetry';
}
