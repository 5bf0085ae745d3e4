import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { definition, NOW, SECRET, task } from '../test/setup.js';
import { buildRequest, type CallbackRequest, compileCallback } from './request.js';

function build(notify: Parameters<typeof definition>[0], changes: Parameters<typeof task>[0] = {}, rest = {}) {
  const callback = compileCallback(definition(notify, rest));
  if ('problem' in callback) return callback;
  return buildRequest(callback, task(changes), NOW);
}

function headersOf(request: CallbackRequest | { problem: string }): Record<string, string> {
  if ('problem' in request) throw new Error(request.problem);
  const pairs = request.headers.flatMap((name, i) => (i % 2 ? [] : [[name.toLowerCase(), request.headers[i + 1]!]]));
  expect(new Set(pairs.map(([name]) => name)).size).toBe(pairs.length);
  return Object.fromEntries(pairs);
}

describe('placeholders', () => {
  const text = '{{timerId}} {{taskId}} {{runTimer}} {{scheduledTime}} {{attempt}} {{payload}} {{unknown}} {{ taskId }}';
  const filled = '7 7_1799999999000 1799999999000 2027-01-15T07:59:59.000Z 3 {"a":"ü"} {{unknown}} {{ taskId }}';

  it('are filled in in body and headers, unknown ones stay', () => {
    const request = build({ body: text, header: { 'X-All': text } }, { attempt: 3, payload: '{"a":"ü"}' });
    expect(request).toMatchObject({ body: Buffer.from(filled) });
    expect(Buffer.from(headersOf(request)['x-all']!, 'latin1').toString()).toBe(filled);
  });

  it('are data in a URL, whatever they hold', () => {
    const url = 'https://a.example/x/{{payload}}/{{runTimer}}?p={{payload}}&t={{scheduledTime}}&u={{u}}';
    expect(build({ url }, { payload: '../a?b&c=⏰\r\n' })).toMatchObject({
      path:
        '/x/..%2Fa%3Fb%26c%3D%E2%8F%B0%0D%0A/1799999999000' +
        '?p=..%2Fa%3Fb%26c%3D%E2%8F%B0%0D%0A&t=2027-01-15T07%3A59%3A59.000Z&u={{u}}',
    });
    expect(build({ url: 'https://a.example/a/{{payload}}/b' }, { payload: '..' })).toMatchObject({ path: '/a/../b' });
    expect(build({ url: 'https://a.example/{{payload}}' }, { payload: '\ud800' })).toMatchObject({
      path: '/%EF%BF%BD',
    });
  });

  it('in a header fail the call when the value does not fit one', () => {
    const header = { 'X-Payload': '{{payload}}' };
    expect(build({ header }, { payload: 'a\r\nX-Evil: 1' })).toEqual({
      problem: expect.stringContaining('line breaks'),
    });
    expect(build({ header }, { payload: 'a\0b' })).toEqual({ problem: expect.stringContaining('"X-Payload"') });
  });

  it('are not looked for inside the payload', () => {
    expect(build({ body: '{{payload}}' }, { payload: '{{taskId}}' })).toMatchObject({
      body: Buffer.from('{{taskId}}'),
    });
  });
});

describe('the body', () => {
  it('is the payload when the timer gives no place for it', () => {
    expect(build({ body: '{"own":1}' }, { payload: '{"mine":1}' })).toMatchObject({ body: Buffer.from('{"mine":1}') });
    expect(build({ body: null }, { payload: 'x' })).toMatchObject({ body: Buffer.from('x') });
    expect(build({ body: '{"p":{{payload}}}' }, { payload: '[1]' })).toMatchObject({ body: Buffer.from('{"p":[1]}') });
    expect(build({ body: null })).toMatchObject({ body: null });
  });

  it.each([
    ['{"a":1}', 'application/json'],
    [' \n[1]', 'application/json'],
    ['hello {', 'text/plain; charset=utf-8'],
  ])('%j is sent as %s', (body, type) => {
    expect(headersOf(build({ body }))['content-type']).toBe(type);
    expect(headersOf(build({ body: '{{payload}}' }, { payload: body }))['content-type']).toBe(type);
    expect(headersOf(build({ body, header: { 'Content-Type': 'a/b' } }))['content-type']).toBe('a/b');
  });

  it('that is missing has no content type', () => expect(headersOf(build({}))).not.toHaveProperty('content-type'));
});

describe('the headers of every request', () => {
  it('name the task', () => {
    expect(headersOf(build({}, { attempt: 2 }))).toMatchObject({
      'idempotency-key': '7_1799999999000',
      'x-xtimer-app': 'shop',
      'x-xtimer-timer-id': '7',
      'x-xtimer-task-id': '7_1799999999000',
      'x-xtimer-run-timer': '1799999999000',
      'x-xtimer-attempt': '2',
      'webhook-id': '7_1799999999000',
      'webhook-timestamp': '1800000000',
      'user-agent': 'xtimer/1',
      'accept-encoding': 'identity',
    });
    expect(headersOf(build({}, {}, { app: '商店 50%' }))['x-xtimer-app']).toBe(encodeURIComponent('商店 50%'));
    expect(headersOf(build({ header: { 'USER-agent': 'mine' } }))['user-agent']).toBe('mine');
  });

  it('carry one signature for each secret, which the Standard Webhooks library accepts', () => {
    const other = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
    for (const body of ['{"a":"⏰ ü"}', '', '\ud800 lone']) {
      const request = build({ body }, {}, { signingSecrets: [SECRET, other] });
      const headers = headersOf(request);
      // The library judges the age by the host's clock: take its signature, not its verdict.
      const sent = (request as CallbackRequest).body?.toString() ?? '';
      const expected = [SECRET, other].map((one) => new Webhook(one).sign(headers['webhook-id']!, new Date(NOW), sent));
      expect(headers['webhook-signature']).toBe(expected.join(' '));
    }
  });
});

it.each([
  [{ method: 'TRACE' as 'GET' }, 'method'],
  [{ url: 'ftp://a.example/' }, 'http://'],
  [{ url: null as unknown as string }, 'url'],
  [{ header: { 'X-A': 5 as unknown as string } }, '"X-A"'],
  [{ header: { '': 'a' } }, 'empty'],
  [{ header: { Host: 'a' } }, '"Host"'],
  [{ body: {} as unknown as string }, 'body'],
])('a stored definition with %j is a problem, not an exception', (notify, reason) => {
  expect(build(notify)).toEqual({ problem: expect.stringContaining(reason) });
});

it('a broken signing secret is reported without the secret', () => {
  expect(() => build({}, {}, { signingSecrets: ['whsec_not*base64'] })).toThrow(/^(?!.*not\*base64)/);
});

describe('a job', () => {
  const topic = 'order-timeout';

  it('names its topic instead of a timer', () => {
    const headers = headersOf(build({}, { jobId: '订单 7' }, { topic }));
    expect(headers).toMatchObject({ 'x-xtimer-topic': topic });
    expect(decodeURIComponent(headers['x-xtimer-job-id']!)).toBe('订单 7');
    expect(headers).not.toHaveProperty('x-xtimer-timer-id');
  });

  it.each([
    [null, '{"order":1}'],
    ['{"job":{{payload}}}', '{"job":{"order":1}}'],
    ['fixed', 'fixed'],
  ])('with topic body %j sends %j', (body, sent) => {
    expect(build({ body }, { payload: '{"order":1}' }, { topic })).toMatchObject({ body: Buffer.from(sent) });
  });
});
