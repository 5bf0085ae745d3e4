import { StoreUnavailableError } from '@xtimer/pipeline';

interface DriverError extends Error {
  code?: string;
  errno?: number;
  /** The connection is lost. */
  fatal?: boolean;
  /** The whole statement, values included. */
  sql?: string;
}

/** Deadlock, lock wait timeout. */
const CONFLICTS = new Set([1213, 1205]);

/** The server is there but refuses for now: shutting down, too many connections, read-only, killed, timed out. */
const REFUSALS = new Set([
  1040, 1053, 1077, 1129, 1152, 1158, 1159, 1160, 1161, 1203, 1290, 1317, 1836, 1927, 1969, 3024, 4031,
]);

/** What the driver's errors mean. None of the messages carries a credential or a statement. */
export function mysqlErrors(address: string) {
  const unavailable = (message: string, cause?: unknown) =>
    new StoreUnavailableError('mysql', `${address}: ${message}`, cause === undefined ? undefined : { cause });

  const isConflict = (error: unknown): boolean => CONFLICTS.has((error as DriverError).errno ?? 0);

  return {
    noAnswer: (ms: number) => unavailable(`no answer within ${ms} ms`),
    noConnection: (ms: number) => unavailable(`no connection free within ${ms} ms`),
    closed: () => unavailable('closed'),
    migrationLocked: (seconds: number) => unavailable(`another node has been migrating for ${seconds} s`),
    isConflict,

    /** The server rejected a statement; the session goes on. */
    leavesConnectionUsable(error: unknown): boolean {
      const { errno, fatal } = error as DriverError;
      return !(error instanceof StoreUnavailableError) && typeof errno === 'number' && errno >= 1000 && !fatal;
    },

    translate(error: unknown): unknown {
      if (!(error instanceof Error) || error instanceof StoreUnavailableError) return error;
      if (error.message === 'Pool is closed.') return unavailable('closed');
      const driver = (error as { driverError?: DriverError }).driverError ?? (error as DriverError);
      const { code, errno = 0, fatal } = driver;
      if (code === undefined) return error;
      // The statement may hold payloads and secrets, and loggers print every property.
      const { message } = error;
      const cause = Object.assign(new Error(message), { code, errno });
      if (errno === 1049)
        return unavailable(`the database does not exist; create it: CREATE DATABASE … CHARACTER SET utf8mb4`, cause);
      if (errno === 1044 || errno === 1045 || errno === 1698)
        return unavailable(`access denied (${code}); check user, password and grants`, cause);
      if (isConflict(error)) return unavailable(`still in conflict with other transactions (${code})`, cause);
      const lost = fatal || errno < 1000 || REFUSALS.has(errno);
      return lost
        ? unavailable(`${code}: ${message}`, cause)
        : Object.assign(new Error(`mysql: ${code}: ${message}`), { code, errno });
    },
  };
}
