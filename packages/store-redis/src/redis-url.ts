import type { RedisOptions } from 'ioredis';

/** Where Redis is. `cluster`: nodes to learn the others from; `sentinel`: sentinels and the master's name. */
export type RedisTarget = {
  kind: 'single' | 'cluster' | 'sentinel';
  nodes: { host: string; port: number }[];
  sentinelName: string | null;
  auth: Pick<RedisOptions, 'username' | 'password' | 'db' | 'tls'>;
};

const SCHEMES = ['redis:', 'rediss:', 'redis+sentinel:', 'rediss+sentinel:'];

/**
 * Reads `redis://[user:password@]host[:port][/db]`, `rediss://…` (TLS), several joined by commas (Cluster),
 * or `redis+sentinel://host[:port]/masterName`, one or several. Credentials are taken from the first; a comma in
 * them is written %2C. Throws a `TypeError` that never quotes the text, because it may hold a password.
 */
export function parseRedisUrl(url: string): RedisTarget {
  const parts = url.split(',').map((part) => part.trim());
  const scheme = /^[^:/]+:\/\//.exec(parts[0] ?? '')?.[0] ?? '';
  const urls = parts.map((part, index) => readPart(part.includes('://') ? part : scheme + part, index));
  const first = urls[0]!;
  const sentinel = first.protocol.includes('+sentinel');
  const path = decodeURIComponent(urls.map((each) => each.pathname.slice(1)).find(Boolean) ?? '');
  if (urls.some((each) => each.protocol !== first.protocol)) throw invalid(0, 'mixes schemes');
  if (sentinel && !path) throw invalid(0, "lacks the master's name: redis+sentinel://host:26379/mymaster");
  if (!sentinel && !/^\d*$/.test(path)) throw invalid(0, 'has a path that is no database number');
  if (!sentinel && urls.length > 1 && Number(path) > 0) throw invalid(0, 'names a database; a Cluster has only 0');

  return {
    kind: sentinel ? 'sentinel' : urls.length > 1 ? 'cluster' : 'single',
    nodes: urls.map((each) => ({
      host: each.hostname.replace(/^\[|\]$/g, ''),
      port: Number(each.port) || (sentinel ? 26379 : 6379),
    })),
    sentinelName: sentinel ? path : null,
    auth: {
      ...(first.username && { username: decodeURIComponent(first.username) }),
      ...(first.password && { password: decodeURIComponent(first.password) }),
      ...(first.protocol.startsWith('rediss') && { tls: {} }),
      db: sentinel ? 0 : Number(path),
    },
  };
}

/** `host:port`, or several joined by commas: what may be shown and logged. Never throws, never holds credentials. */
export function redisAddress(url: string): string {
  try {
    const { nodes } = parseRedisUrl(url);
    return nodes.map(({ host, port }) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)).join(',');
  } catch {
    return '(not a Redis URL)';
  }
}

function readPart(part: string, index: number): URL {
  let read: URL;
  try {
    read = new URL(part);
    decodeURIComponent(read.username + read.password + read.pathname);
  } catch {
    // Its own error carries the whole text.
    throw invalid(index, 'cannot be read (special characters of a password are written like %2C, %40, %2F)');
  }
  if (!SCHEMES.includes(read.protocol)) throw invalid(index, 'starts with neither redis:// nor rediss://');
  if (!read.hostname) throw invalid(index, 'names no host');
  return read;
}

const invalid = (index: number, what: string): TypeError =>
  new TypeError(`Redis URL${index > 0 ? ` number ${index + 1}` : ''} ${what}; expected redis://[:password@]host:port`);
