import { lookup as dnsLookup, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction, connect as netConnect, type Socket, type TcpNetConnectOpts } from 'node:net';
import { createSecureContext, type SecureContext, connect as tlsConnect } from 'node:tls';
import type { buildConnector } from 'undici';
import { type AddressGuard, plainHost } from './address-guard.js';
import { BlockedAddressError } from './explain-error.js';

/** Resolves a name to all its addresses; Node's `dns.lookup` (and so /etc/hosts) unless a test says otherwise. */
export type ResolveAll = (
  hostname: string,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

const resolveAll: ResolveAll = (hostname, callback) => dnsLookup(hostname, { all: true }, callback);

/**
 * Opens connections that the guard agrees to.
 *
 * Promises   the address judged is the address connected to: the name is resolved once, its addresses are
 *            filtered, and net gets only what is left. A second answer of a DNS server changes nothing.
 */
export class Connector {
  /** Callers waiting for a name: a herd to one host asks DNS once. */
  private readonly lookups = new Map<string, ((error: Error | null, addresses: LookupAddress[]) => void)[]>();
  private readonly sessions = new Map<string, Buffer>();
  private context: SecureContext | undefined;

  constructor(
    private readonly guard: AddressGuard,
    private readonly ca: readonly string[] | undefined,
    private readonly resolve: ResolveAll = resolveAll,
  ) {}

  /** `null`: refused before a socket was opened; `callback` follows. */
  open(target: buildConnector.Options, callback: buildConnector.Callback): Socket | null {
    const { hostname, protocol } = target;
    const problem = this.guard.hostProblem(hostname);
    if (problem !== null) {
      process.nextTick(callback, new BlockedAddressError(problem), null);
      return null;
    }
    const secure = protocol === 'https:';
    const tcp: TcpNetConnectOpts & { host: string } = {
      host: hostname,
      port: Number(target.port) || (secure ? 443 : 80),
      lookup: this.lookup,
      autoSelectFamily: true,
      // Node's 250 ms is less than a round trip to the far side of the world.
      autoSelectFamilyAttemptTimeout: 1000,
      keepAlive: true,
      keepAliveInitialDelay: 60_000,
      noDelay: true,
    };
    const socket = secure ? this.openTls(tcp) : netConnect(tcp);
    let told = false;
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      told = true;
      callback(null, socket);
    });
    // Stays for good: an error without a listener would end the process.
    socket.on('error', (error) => {
      if (told) return;
      told = true;
      callback(error, null);
    });
    return socket;
  }

  private openTls(tcp: TcpNetConnectOpts & { host: string }): Socket {
    this.context ??= createSecureContext(this.ca ? { ca: [...this.ca] } : {});
    const key = `${tcp.host}:${tcp.port}`;
    const servername = isIP(tcp.host) ? undefined : plainHost(tcp.host);
    const session = this.sessions.get(key);
    const socket = tlsConnect({
      ...tcp,
      secureContext: this.context,
      ALPNProtocols: ['http/1.1'],
      ...(servername && { servername }),
      ...(session && { session }),
    });
    socket.on('session', (fresh) => {
      if (this.sessions.size >= 1000) this.sessions.clear();
      this.sessions.set(key, fresh);
    });
    return socket;
  }

  private readonly lookup: LookupFunction = (hostname, options, callback) => {
    const answer = (error: Error | null, addresses: LookupAddress[]) => {
      if (error) return callback(error, []);
      let reason: string | null = null;
      const allowed = addresses.filter(({ address, family }) => {
        const problem = this.guard.addressProblem(hostname, address);
        reason ??= problem;
        return problem === null && (!options.family || options.family === family);
      });
      const [first] = allowed;
      if (!first) return callback(new BlockedAddressError(reason ?? 'no usable address'), []);
      if (options.all) callback(null, allowed);
      else callback(null, first.address, first.family);
    };
    const waiting = this.lookups.get(hostname);
    if (waiting) {
      waiting.push(answer);
      return;
    }
    const answers = [answer];
    this.lookups.set(hostname, answers);
    this.resolve(hostname, (error, addresses) => {
      this.lookups.delete(hostname);
      for (const one of answers) one(error, addresses);
    });
  };
}
