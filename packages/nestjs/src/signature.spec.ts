import { Webhook } from 'standardwebhooks';
import { expect, it } from 'vitest';
import { verify } from './signature.js';

const SECRET = `whsec_${Buffer.from('a secret of at least 24 bytes').toString('base64')}`;
const OTHER = `whsec_${Buffer.from('another one of at least 24 bytes').toString('base64')}`;
const NOW = Date.UTC(2026, 9, 22, 17, 30);
const BODY = Buffer.from('{"text":"⏰"}');

function setup({ secret = SECRET, at = NOW, body = BODY.toString() } = {}) {
  const headers: Record<string, string> = {
    'webhook-id': '17_1793000000000',
    'webhook-timestamp': String(Math.floor(at / 1000)),
    'webhook-signature': new Webhook(secret).sign('17_1793000000000', new Date(at), body),
  };
  return { headers, look: (changes = {}, body = BODY) => verify(SECRET, { ...headers, ...changes }, body, NOW) };
}

it('takes what Standard Webhooks signs, over the bytes as they came', () => {
  const { look } = setup();
  expect(look()).toEqual({ id: '17_1793000000000' });
  expect(look({}, Buffer.from('{"text": "⏰"}'))).toHaveProperty('refused');
  expect(look({}, Buffer.alloc(0))).toHaveProperty('refused');
  expect(look({ 'webhook-id': '18_1793000000000' })).toHaveProperty('refused');
});

it('takes one valid signature of several, of its own version and secret only', () => {
  const { headers, look } = setup();
  const wrong = setup({ secret: OTHER }).headers['webhook-signature'];
  const right = headers['webhook-signature'];
  expect(look({ 'webhook-signature': `${wrong} ${right}` })).toHaveProperty('id');
  for (const signature of [wrong, '', 'v1,', right!.replace('v1,', 'v2,'), right!.slice(0, -4), 'v1,!!!!']) {
    expect(look({ 'webhook-signature': signature }), signature).toHaveProperty('refused');
  }
});

it('refuses what is unsigned, old, or of the future', () => {
  for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
    expect(setup().look({ [name]: undefined })).toEqual({ refused: 'the request is not signed' });
  }
  for (const seconds of [-301, 301]) {
    expect(setup({ at: NOW + seconds * 1000 }).look()).toHaveProperty('refused');
  }
  for (const seconds of [-299, 299]) expect(setup({ at: NOW + seconds * 1000 }).look()).toHaveProperty('id');
});
