import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { type CallbackTask, type Definition, defaultPolicies, type NotifyHttpParam } from '@xtimer/pipeline';
import { onTestFinished } from 'vitest';
import { CallbackClient, type CallbackClientOptions, createGuard, LOOPBACK } from '../src/index.js';

export const NOW = 1_800_000_000_123;
export const SECRET = `whsec_${Buffer.from('a signing secret of 24 b').toString('base64')}`;

export const task = (changes: Partial<CallbackTask> = {}): CallbackTask => ({
  timerId: 7,
  runTimer: 1_799_999_999_000,
  attempt: 1,
  payload: null,
  jobId: null,
  ...changes,
});

export function definition(
  notify: Partial<NotifyHttpParam>,
  changes: Partial<Omit<Definition, 'policies'>> & { policies?: Partial<Definition['policies']> } = {},
): Definition {
  const { policies, ...rest } = changes;
  return {
    timerId: 7,
    topic: null,
    app: 'shop',
    name: 'a timer',
    revision: 1,
    notifyHttpParam: { method: 'POST', url: 'http://127.0.0.1/', header: {}, body: null, ...notify },
    policies: { ...defaultPolicies, ...policies },
    signingSecrets: [SECRET],
    ...rest,
  };
}

/** A client that may reach loopback, closed at the end of the test. */
export function setup(options: Partial<CallbackClientOptions> = {}) {
  const client = new CallbackClient({
    guard: createGuard({ allow: LOOPBACK }),
    clock: { now: () => NOW },
    ...options,
  });
  onTestFinished(() => client.close());
  const call = (
    notify: Partial<NotifyHttpParam>,
    policies: Partial<Definition['policies']> = {},
    changes: Partial<CallbackTask> = {},
  ) => client.call(task(changes), definition(notify, { policies }), new AbortController().signal);
  return { client, call };
}

export interface Target {
  url: string;
  port: number;
  /** Of each connection that was opened: resolves when it is closed. */
  closed: Promise<void>[];
}

async function listen(server: Server): Promise<Target> {
  const sockets = new Set<Socket>();
  const closed: Promise<void>[] = [];
  server.on('connection', (socket) => {
    sockets.add(socket);
    closed.push(new Promise((resolve) => socket.on('close', () => resolve())));
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, closed };
}

/** An HTTP target; its listener sees every request. */
export const httpTarget = (listener: RequestListener): Promise<Target> => listen(createServer(listener));

/** A target that speaks bytes. */
export const tcpTarget = (onSocket: (socket: Socket) => void): Promise<Target> =>
  listen(createTcpServer({ noDelay: true }, onSocket));
