import { BlockList, isIP, isIPv4 } from 'node:net';

/**
 * Says which hosts and addresses a callback may reach (DESIGN section 6). The client asks it for every
 * connection about the address it is about to connect to, so what a name meant earlier doesn't count.
 */
export interface AddressGuard {
  /** What can be told from the host as written in a URL, before any lookup; `null`: nothing against it. */
  hostProblem(hostname: string): string | null;
  /** `null`: a connection to `address`, which `hostname` resolved to, is allowed. The text names no address. */
  addressProblem(hostname: string, address: string): string | null;
}

/** What the embedded mode allows by default, so that a newcomer can call the own machine. */
export const LOOPBACK: readonly string[] = ['127.0.0.0/8', '::1'];

/**
 * Not reachable unless allowed (IANA special-purpose registries). The first match names the class.
 * `byName`: an allowed host pattern such as `*.corp.example` lifts it too. The others need an address in the
 * allow list: no name has a good reason to lead there.
 */
const CLASSES: readonly { name: string; byName: boolean; ranges: readonly string[] }[] = [
  {
    name: 'a cloud metadata address',
    byName: false,
    ranges: ['169.254.169.254', '100.100.100.200', '168.63.129.16', 'fd00:ec2::254'],
  },
  { name: 'a loopback address', byName: true, ranges: ['127.0.0.0/8', '::1'] },
  {
    name: 'a private address',
    byName: true,
    ranges: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', 'fec0::/10'],
  },
  { name: 'a carrier-grade NAT address', byName: true, ranges: ['100.64.0.0/10'] },
  { name: 'a link-local address', byName: false, ranges: ['169.254.0.0/16', 'fe80::/10'] },
  { name: 'an unspecified address', byName: false, ranges: ['0.0.0.0/8', '::'] },
  { name: 'a multicast address', byName: false, ranges: ['224.0.0.0/4', 'ff00::/8'] },
  {
    name: 'a reserved address',
    byName: false,
    ranges: [
      ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
      ...['240.0.0.0/4', '64:ff9b:1::/48', '100::/64', '2001::/23', '2001:db8::/32', '3fff::/20', '5f00::/16'],
    ],
  },
];

export class AllowListError extends Error {
  readonly code = 'CALLBACK_ALLOW_LIST';
  constructor(readonly item: string) {
    super(
      `"${item}" is neither an address (10.1.2.3), a range (10.1.0.0/16, fd00::/8) nor a host (localhost, *.corp.example)`,
    );
    this.name = 'AllowListError';
  }
}

/** Reads `XTIMER_CALLBACK_ALLOW`: items joined by commas. Throws `AllowListError` naming the first bad item. */
export function parseAllowList(text: string): string[] {
  const items = text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  new Rules(items);
  return items;
}

/**
 * `deny` wins over `allow`, and `allow` over the classes above. Items are addresses, CIDR ranges and host
 * patterns; `*.corp.example` means every name below `corp.example`. Throws `AllowListError`.
 */
export function createGuard(options: { allow: readonly string[]; deny?: readonly string[] }): AddressGuard {
  const allow = new Rules(options.allow);
  const deny = new Rules(options.deny ?? []);
  const classes = CLASSES.map((one) => ({ ...one, rules: new Rules(one.ranges) }));

  const addressProblem = (hostname: string, address: string): string | null => {
    if (deny.hasAddress(address)) return 'an address denied by the operator';
    if (allow.hasAddress(address)) return null;
    for (const { name, byName, rules } of classes) {
      if (rules.hasAddress(address)) return byName && allow.hasHost(hostname) ? null : name;
    }
    return null;
  };
  return {
    addressProblem,
    hostProblem(hostname) {
      const host = plainHost(hostname);
      if (deny.hasHost(host)) return 'a host denied by the operator';
      if (isIP(host)) return addressProblem(host, host);
      if (host !== 'localhost' && !host.endsWith('.localhost')) return null;
      return addressProblem(host, '127.0.0.1') && addressProblem(host, '::1');
    },
  };
}

/** As the rules compare it: without the brackets of an IPv6 literal and the final dot of a full name. */
export const plainHost = (hostname: string): string => hostname.toLowerCase().replace(/^\[|\]$|\.$/g, '');

const HOST_PATTERN = /^(\*\.)?([a-z0-9_]([a-z0-9_-]*[a-z0-9_])?\.)*[a-z_]([a-z0-9_-]*[a-z0-9_])?\.?$/i;

class Rules {
  private readonly addresses = new BlockList();
  private readonly hosts = new Set<string>();
  private readonly suffixes: string[] = [];

  constructor(items: readonly string[]) {
    for (const item of items) this.add(item);
  }

  hasAddress(address: string): boolean {
    // A scope id (fe80::1%eth0) says which cable, not which address.
    const bare = address.split('%', 1)[0]!;
    return this.addresses.check(bare, isIPv4(bare) ? 'ipv4' : 'ipv6');
  }

  hasHost(hostname: string): boolean {
    const host = plainHost(hostname);
    return this.hosts.has(host) || this.suffixes.some((suffix) => host.endsWith(suffix));
  }

  private add(item: string): void {
    const [network = '', prefix, more] = item.split('/');
    const family = isIP(network);
    if (family !== 0 && more === undefined && (prefix === undefined || /^\d{1,3}$/.test(prefix))) {
      const bits = prefix === undefined ? (family === 4 ? 32 : 128) : Number(prefix);
      if (bits > (family === 4 ? 32 : 128)) throw new AllowListError(item);
      if (family === 4) this.addIPv4(network, bits);
      else this.addresses.addSubnet(network, bits, 'ipv6');
    } else if (HOST_PATTERN.test(item)) {
      const host = plainHost(item);
      if (host.startsWith('*.')) this.suffixes.push(host.slice(1));
      else this.hosts.add(host);
    } else {
      throw new AllowListError(item);
    }
  }

  /** The range itself (BlockList matches its ::ffff: form by itself) and the IPv6 addresses that lead to it. */
  private addIPv4(network: string, bits: number): void {
    this.addresses.addSubnet(network, bits, 'ipv4');
    this.addresses.addSubnet(`::${network}`, 96 + bits, 'ipv6');
    this.addresses.addSubnet(`64:ff9b::${network}`, 96 + bits, 'ipv6');
    const [a, b, c, d] = network.split('.').map((byte) => Number(byte).toString(16).padStart(2, '0'));
    this.addresses.addSubnet(`2002:${a}${b}:${c}${d}::`, 16 + bits, 'ipv6');
  }
}
