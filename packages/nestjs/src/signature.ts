import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** As Standard Webhooks advises; xtimer's clock and ours may differ by as much. */
const TOLERANCE_SECONDS = 5 * 60;

export type Verified = { id: string } | { refused: string };

/**
 * Checks a Standard Webhooks signature over the raw body, and its age. `id` is the signed id: the task's, which is
 * also its idempotency key.
 */
export function verify(secret: string, headers: IncomingHttpHeaders, body: Buffer, now: number): Verified {
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) => headers[`webhook-${name}`]);
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') {
    return { refused: 'the request is not signed' };
  }
  const expected = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
    .update(`${id}.${timestamp}.`)
    .update(body)
    .digest();
  // One for each secret the app has while it changes them.
  const valid = signatures.split(' ').some((signature) => {
    if (!signature.startsWith('v1,')) return false;
    const given = Buffer.from(signature.slice(3), 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  if (!valid) return { refused: 'the signature is not valid' };
  const age = now / 1000 - Number(timestamp);
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(age) > TOLERANCE_SECONDS) {
    return { refused: `the signature is not of these ${TOLERANCE_SECONDS / 60} minutes` };
  }
  return { id };
}
