import type { CallbackErrorCode } from '@xtimer/pipeline';
import { errors } from 'undici';

export type CallbackError = { code: CallbackErrorCode; message: string };

/** The guard's refusal at connect, on its way through net and undici. */
export class BlockedAddressError extends Error {
  readonly code = 'XTIMER_BLOCKED';
  constructor(readonly reason: string) {
    super(reason);
    this.name = 'BlockedAddressError';
  }
}

const TLS_REASONS: Record<string, string> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate chain ends in a self-signed authority that is not trusted here',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  CERT_REVOKED: 'its certificate was revoked',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host name',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'its certificate is signed by an unknown authority, or an intermediate one is missing',
  UNABLE_TO_GET_ISSUER_CERT: 'its certificate is signed by an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is signed by an unknown authority',
};

/** Dropped by the other side; on a connection used before, that may have been before it saw the request. */
export const isReset = (code: string): boolean =>
  code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET';

/**
 * An error of net, tls, dns or undici as the history shows it. Names the target by its origin only (a path may
 * hold a token) and quotes nothing the target sent.
 */
export function explainError(error: unknown, origin: string, phase: string): CallbackError {
  const code = codeOf(error);
  const host = origin.slice(origin.indexOf('//') + 2);
  const is = (to: CallbackErrorCode, message: string): CallbackError => ({ code: to, message });

  if (error instanceof BlockedAddressError) {
    return is('CALLBACK_BLOCKED', `${origin} leads to ${error.reason}, which callbacks may not reach`);
  }
  if (code in TLS_REASONS) return is('CALLBACK_TLS', `${origin} was not trusted: ${TLS_REASONS[code]} (${code})`);
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_')) {
    return is('CALLBACK_TLS', `${origin} could not be reached by TLS: is it an https port? (${code})`);
  }
  if (isReset(code))
    return is('CALLBACK_RESET', `${origin} closed the connection without a complete response (${phase})`);
  switch (code) {
    case 'ENOTFOUND':
    case 'ENODATA':
      return is('CALLBACK_DNS', `the host name of ${origin} does not exist (${code})`);
    case 'EAI_AGAIN':
    case 'EAI_FAIL':
    case 'ESERVFAIL':
      return is('CALLBACK_DNS', `the host name of ${origin} could not be resolved: no answer from DNS (${code})`);
    case 'ECONNREFUSED':
      return is('CALLBACK_REFUSED', `${host} refused the connection: nothing listens there (ECONNREFUSED)`);
    case 'ETIMEDOUT':
      return is('CALLBACK_TIMEOUT', `no response from ${origin} within the network's own limit (${phase})`);
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'EADDRNOTAVAIL':
      return is('CALLBACK_FAILED', `there is no network route to ${host} (${code})`);
    case 'EMFILE':
    case 'ENFILE':
      return is('CALLBACK_FAILED', `this node has too many open files to connect to ${host} (${code})`);
    case 'UND_ERR_HEADERS_OVERFLOW':
      return is('CALLBACK_FAILED', `${origin} sent more response headers than are accepted (16 KiB)`);
    case 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH':
      return is('CALLBACK_RESET', `${origin} sent another amount of body than its Content-Length said`);
    case 'UND_ERR_INVALID_ARG':
    case 'UND_ERR_NOT_SUPPORTED':
      return is('CALLBACK_INVALID', `the request can't be sent: ${(error as Error).message}`);
  }
  if (error instanceof errors.HTTPParserError) {
    return is('CALLBACK_FAILED', `${origin} answered something that is not HTTP`);
  }
  return is('CALLBACK_FAILED', `the call to ${origin} failed (${code || 'unknown error'}, ${phase})`);
}

/** Node tries several addresses and then reports one error for all of them; the first speaks for it. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code === 'string') return code;
  return error instanceof AggregateError ? codeOf(error.errors[0]) : error.cause ? codeOf(error.cause) : '';
}
