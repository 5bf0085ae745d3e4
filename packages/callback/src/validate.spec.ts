import { describe, expect, it } from 'vitest';
import { createGuard, LOOPBACK } from './address-guard.js';
import { bodyHint, headerProblem, parseTargetUrl, urlProblem } from './validate.js';

describe('headerProblem', () => {
  it.each([
    ['X-Env', 'prod'],
    ['authorization', 'Bearer {{payload}}'],
    ['X-Empty', ''],
    ['X-Latin', 'café'],
    ['X-Emoji', '⏰ 👨‍👩‍👧‍👦'],
    ['X-Tab', 'a\tb'],
  ])('accepts %s: %j', (name, value) => expect(headerProblem(name, value)).toBeNull());

  it.each([
    ['X-A', 'a\r\nX-Evil: 1', 'line breaks'],
    ['X-A', 'a\0b', 'control characters'],
    ['X-A', 1, 'must be a string'],
    ['X-A', null, 'must be a string'],
    ['X-A', ['a'], 'must be a string'],
    ['', 'a', 'empty'],
    ['头', 'a', 'ASCII'],
    ['X A', 'a', 'ASCII'],
    ['X-A:', 'a', 'ASCII'],
    ['Host', 'a', 'chosen'],
    ['content-LENGTH', '1', 'chosen'],
    ['Transfer-Encoding', 'chunked', 'chosen'],
    ['Proxy-Authorization', 'a', 'chosen'],
    ['Idempotency-Key', 'a', 'chosen'],
    ['x-xtimer-app', 'a', 'chosen'],
    ['Webhook-Signature', 'a', 'chosen'],
  ])('refuses %j: %j', (name, value, reason) => {
    const problem = headerProblem(name, value);
    expect(problem).toContain(reason);
    if (name) expect(problem).toContain(JSON.stringify(name));
  });
});

describe('urlProblem', () => {
  const guard = createGuard({ allow: [] });

  it.each([
    'https://a.example',
    'http://a.example:8080/x?y={{runTimer}}#z',
    'https://a.example/⏰/{{timerId}}',
    'https://例子.example/',
  ])('accepts %s', (url) => expect(urlProblem(url, guard)).toBeNull());

  it.each([
    ['http://2130706433/', 'loopback'],
    ['http://0x7f.1/', 'loopback'],
    ['http://0177.0.0.1/', 'loopback'],
    ['http://127.1/', 'loopback'],
    ['http://localhost./', 'loopback'],
    ['http://0.0.0.0/', 'unspecified'],
    ['http://[::1]/', 'loopback'],
    ['http://[::ffff:169.254.169.254]/latest', 'metadata'],
    ['http:\\\\127.0.0.1\\', 'loopback'],
    ['http://user:pw@127.0.0.1/', 'user name'],
    ['https://user@a.example/', 'user name'],
    ['file:///etc/passwd', 'http://'],
    ['gopher://a.example/', 'http://'],
    ['ftp://a.example/', 'http://'],
    ['data:text/plain,a', 'http://'],
    ['javascript:alert(1)', 'http://'],
    ['a.example/x', 'absolute'],
    ['', 'absolute'],
    [' http://a.example/', 'blanks'],
    ['http://a.example/\r\nx', 'line breaks'],
    ['http://a.exa\tmple/', 'control'],
    ['http://{{payload}}/', 'path and query only'],
    ['http://{{payload}}.a.example/', 'path and query only'],
    [`https://a.example/${'x'.repeat(2048)}`, '2048'],
  ])('refuses %j', (url, reason) => expect(urlProblem(url, guard)).toContain(reason));

  it('follows the guard', () => {
    expect(urlProblem('http://localhost:9000/', createGuard({ allow: LOOPBACK }))).toBeNull();
  });
});

it('encodes the fixed parts of a URL once and leaves the placeholders open', () => {
  expect(parseTargetUrl('https://A.example:443/a b/{{taskId}}/⏰?x={{payload}}&y=ü#{{attempt}}')).toEqual({
    origin: 'https://a.example',
    hostname: 'a.example',
    path: { pieces: ['/a%20b/', '/%E2%8F%B0?x=', '&y=%C3%BC'], names: ['taskId', 'payload'] },
  });
});

it('hints at bodies of GET and HEAD without refusing them', () => {
  expect(bodyHint('GET', '{}')).toContain('GET');
  expect(bodyHint('HEAD', 'x')).toContain('HEAD');
  expect(bodyHint('GET', null)).toBeNull();
  expect(bodyHint('DELETE', '{}')).toBeNull();
});
