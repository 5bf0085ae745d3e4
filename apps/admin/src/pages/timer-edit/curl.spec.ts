import { describe, expect, it } from 'vitest';
import { parseCurl } from './curl.js';

const plain = { header: {}, body: null, timeoutMs: null, ignored: [] };

describe('parseCurl reads', () => {
  it('a bare URL as GET', () => {
    expect(parseCurl('curl https://example.com/a?b=1&c=2')).toEqual({
      ...{ ...plain, method: 'GET', url: 'https://example.com/a?b=1&c=2' },
    });
    expect(parseCurl('$ curl example.com')).toMatchObject({ url: 'http://example.com' });
  });

  it('method, headers and data over several lines', () => {
    const command = `curl -X PUT \\
      'https://example.com/reconcile' \\
      -H 'Content-Type: application/json' \\
      -H "X-Env: \\"prod\\" \\$1" \\
      -d '{"day": "{{scheduledTime}}"}'`;
    expect(parseCurl(command)).toEqual({
      ...{ ...plain, method: 'PUT', url: 'https://example.com/reconcile' },
      header: { 'Content-Type': 'application/json', 'X-Env': '"prod" $1' },
      body: '{"day": "{{scheduledTime}}"}',
    });
  });

  it('quotes as a shell does', () => {
    expect(parseCurl(`curl u -d 'it'\\''s'" \\a \\\\"`)).toMatchObject({ body: "it's \\a \\" });
    expect(parseCurl(`curl u --data-raw $'a\\'b\\n\\u4f60\\x41'`)).toMatchObject({ body: "a'b\n你A" });
    expect(parseCurl(`curl u -d ''`)).toMatchObject({ method: 'POST', body: '' });
  });

  it('data: joined, encoded, as JSON, as query', () => {
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    expect(parseCurl('curl u -d a=1 --data b=2')).toMatchObject({ method: 'POST', body: 'a=1&b=2', header: form });
    expect(parseCurl(`curl u --data-urlencode 'q=a b&c'`)).toMatchObject({ body: 'q=a%20b%26c' });
    expect(parseCurl(`curl u --data-raw '@here'`)).toMatchObject({ body: '@here' });
    expect(parseCurl(`curl u --json '{"a":1}' -H 'accept: text/plain'`)).toMatchObject({
      ...{ method: 'POST', body: '{"a":1}' },
      header: { 'Content-Type': 'application/json', accept: 'text/plain' },
    });
    expect(parseCurl('curl -G u?x=1 -d a=1')).toMatchObject({ method: 'GET', url: 'http://u?x=1&a=1', body: null });
  });

  it('short options run together or with their value attached', () => {
    expect(parseCurl('curl -sSLXPATCH u -Hx-a:1 -da')).toMatchObject({
      ...{ method: 'PATCH', header: { 'x-a': '1' }, body: 'a', ignored: ['-s', '-S', '-L'] },
    });
    expect(parseCurl('curl -I u')).toMatchObject({ method: 'HEAD' });
  });

  it('the rest of a usual command, and says what has no place in a timer', () => {
    const command =
      "curl u -A me -b 'a=1' -H 'Cookie: b=2' -H 'Host: other' -H 'X-Xtimer-App: x' -m 2.5 --compressed -o out -x p | jq .";
    expect(parseCurl(command)).toMatchObject({
      header: { 'User-Agent': 'me', Cookie: 'a=1; b=2' },
      timeoutMs: 2500,
      ignored: ['--compressed', '-o out', '-x p', '-H Host', '-H X-Xtimer-App'],
    });
  });
});

it.each([
  ['wget u', { reason: 'notCurl' }],
  ['', { reason: 'notCurl' }],
  ['curl -X POST', { reason: 'noUrl' }],
  ['curl a b', { reason: 'twoUrls', value: 'b' }],
  ['curl -u me:hush u', { reason: 'user' }],
  ['curl -ume:hush u', { reason: 'user' }],
  ['curl u -d @file', { reason: 'file', value: '@file' }],
  ['curl u -b jar', { reason: 'file', value: '-b jar' }],
  ['curl u -F a=1', { reason: 'form', value: '-F' }],
  ['curl u -X BREW', { reason: 'method', value: 'BREW' }],
  ['curl u --frobnicate', { reason: 'unknown', value: '--frobnicate' }],
  ['curl u -H', { reason: 'noValue', value: '-H' }],
  ['curl u -H nonsense', { reason: 'header', value: 'nonsense' }],
  ["curl 'u", { reason: 'quote' }],
  ['curl "u', { reason: 'quote' }],
  ['curl u ; rm x', { reason: 'multiple', value: ';' }],
])('parseCurl refuses %j', (command, problem) => {
  expect(parseCurl(command)).toEqual(problem);
});
