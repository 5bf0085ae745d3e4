import { describe, expect, it } from 'vitest';
import { createGuard, LOOPBACK, parseAllowList } from './address-guard.js';

const none = createGuard({ allow: [] });

describe('the default rules', () => {
  it.each([
    ['127.0.0.1', 'a loopback address'],
    ['::1', 'a loopback address'],
    ['10.1.2.3', 'a private address'],
    ['172.31.255.255', 'a private address'],
    ['192.168.0.1', 'a private address'],
    ['fd12::1', 'a private address'],
    ['100.64.0.1', 'a carrier-grade NAT address'],
    ['169.254.169.254', 'a cloud metadata address'],
    ['fd00:ec2::254', 'a cloud metadata address'],
    ['169.254.0.1', 'a link-local address'],
    ['fe80::1%eth0', 'a link-local address'],
    ['0.0.0.0', 'an unspecified address'],
    ['::', 'an unspecified address'],
    ['224.0.0.1', 'a multicast address'],
    ['ff02::1', 'a multicast address'],
    ['255.255.255.255', 'a reserved address'],
    ['198.51.100.7', 'a reserved address'],
    ['2001:db8::1', 'a reserved address'],
    ['::ffff:127.0.0.1', 'a loopback address'],
    ['::ffff:10.0.0.1', 'a private address'],
    ['::ffff:a9fe:a9fe', 'a cloud metadata address'],
    ['64:ff9b::a00:1', 'a private address'],
    ['2002:7f00:1::', 'a loopback address'],
    ['2002:c0a8:101::5', 'a private address'],
  ])('refuse %s as %s', (address, reason) => {
    expect(none.addressProblem('a.example', address)).toBe(reason);
  });

  it.each(['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '64:ff9b::808:808', '::ffff:8.8.8.8'])(
    'let %s pass',
    (address) => expect(none.addressProblem('a.example', address)).toBeNull(),
  );

  it('judge literals and localhost before any lookup, other names not', () => {
    for (const host of ['127.0.0.1', '[::1]', 'localhost', 'LOCALHOST.', 'api.localhost']) {
      expect(none.hostProblem(host), host).toBe('a loopback address');
    }
    expect(none.hostProblem('a.example')).toBeNull();
  });
});

describe('allowing', () => {
  it('lifts a range, and only that', () => {
    const guard = createGuard({ allow: ['10.1.0.0/16', 'fd00:1::/32'] });
    expect(guard.addressProblem('a.example', '10.1.9.9')).toBeNull();
    expect(guard.addressProblem('a.example', '::ffff:10.1.9.9')).toBeNull();
    expect(guard.addressProblem('a.example', 'fd00:1::9')).toBeNull();
    expect(guard.addressProblem('a.example', '10.2.0.1')).toBe('a private address');
  });

  it('by host lifts private addresses for that host, but never the metadata service', () => {
    const guard = createGuard({ allow: ['*.corp.example', 'localhost'] });
    expect(guard.addressProblem('a.b.corp.example', '10.0.0.1')).toBeNull();
    expect(guard.addressProblem('A.Corp.Example.', '10.0.0.1')).toBeNull();
    expect(guard.hostProblem('localhost')).toBeNull();
    expect(guard.addressProblem('localhost', '::1')).toBeNull();
    expect(guard.addressProblem('corp.example', '10.0.0.1')).toBe('a private address');
    expect(guard.addressProblem('evilcorp.example', '10.0.0.1')).toBe('a private address');
    expect(guard.addressProblem('a.corp.example', '169.254.169.254')).toBe('a cloud metadata address');
  });

  it('gives way to what is denied', () => {
    const guard = createGuard({
      allow: [...LOOPBACK, '*.corp.example'],
      deny: ['127.0.0.2', 'db.corp.example', '8.8.8.0/24'],
    });
    expect(guard.addressProblem('a', '127.0.0.1')).toBeNull();
    expect(guard.addressProblem('a', '127.0.0.2')).toBe('an address denied by the operator');
    expect(guard.addressProblem('a', '::ffff:8.8.8.8')).toBe('an address denied by the operator');
    expect(guard.hostProblem('db.corp.example.')).toBe('a host denied by the operator');
  });
});

describe('the allow list as text', () => {
  it('takes addresses, ranges and hosts', () => {
    expect(parseAllowList(' 127.0.0.0/8, ::1,*.corp.example ,localhost,fd00::/8, my-host.local,')).toEqual([
      ...['127.0.0.0/8', '::1', '*.corp.example', 'localhost', 'fd00::/8', 'my-host.local'],
    ]);
    expect(parseAllowList('')).toEqual([]);
  });

  it.each([
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0/8',
    '10.0.0.300',
    '::1/129',
    '1.2.3.4/8/8',
    'a b',
    '*',
    'http://a.example',
    'a.*',
    '*.',
  ])('names the bad item %j', (item) =>
    expect(() => parseAllowList(`127.0.0.1,${item}`)).toThrow(`"${item}" is neither an address`),
  );
});
