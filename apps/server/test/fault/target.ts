import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request as it arrived. Small, because a long run keeps all of them. */
export interface Arrival {
  /** Second part of the path: which of our timers was meant. */
  ref: string;
  runTimer: number;
  key: string;
  attempt: number;
  /** Epoch ms by the wall clock, which the stores read as well; rounded down. */
  at: number;
  /** The caller's end of the connection: it tells which process called. */
  port: number;
  /** What was answered; `null` while it is under way, or when the caller went away before. */
  status: number | null;
  answeredAt: number | null;
}

export interface Target {
  url: string;
  port: number;
  arrivals: Arrival[];
  close(): Promise<void>;
}

/** Answers by the first part of the path: `/ok/…`, `/slow/…?ms=`, `/busy/…` (503 for the first call of each key). */
export async function startTarget(): Promise<Target> {
  const arrivals: Arrival[] = [];
  const turnedAway = new Set<string>();

  const server = createServer((request, response) => {
    const url = new URL(request.url!, 'http://target');
    const [, behaviour, ref = ''] = url.pathname.split('/');
    const arrival = arrivalOf(request, ref);
    arrivals.push(arrival);
    request.resume();
    if (behaviour === 'slow') {
      const timer = setTimeout(() => answer(response, arrival, 200), Number(url.searchParams.get('ms')));
      response.on('close', () => clearTimeout(timer));
    } else if (behaviour === 'busy' && !turnedAway.has(arrival.key)) {
      turnedAway.add(arrival.key);
      answer(response, arrival, 503);
    } else answer(response, arrival, 200);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    arrivals,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function arrivalOf({ headers, socket }: IncomingMessage, ref: string): Arrival {
  return {
    ref,
    runTimer: Number(headers['x-xtimer-run-timer']),
    key: String(headers['idempotency-key']),
    attempt: Number(headers['x-xtimer-attempt']),
    at: Date.now(),
    port: socket.remotePort!,
    status: null,
    answeredAt: null,
  };
}

function answer(response: ServerResponse, arrival: Arrival, status: number): void {
  arrival.status = status;
  arrival.answeredAt = Date.now();
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': 2 }).end('{}');
}
