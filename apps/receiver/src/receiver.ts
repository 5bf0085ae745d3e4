import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createBehaviours, send } from './behaviour.js';
import { CallLog, type ReceivedCall, type ReceiverStats } from './call-log.js';

export interface ReceiverOptions {
  /** 0: any free port. */
  port?: number;
  /** Default 127.0.0.1. */
  host?: string;
  /** Calls kept for inspection, the newest. Default 10,000. */
  keep?: number;
  onCall?: (call: ReceivedCall) => void;
}

export interface Receiver {
  url: string;
  port: number;
  /** The calls kept, oldest first. */
  readonly calls: ReceivedCall[];
  stats(): ReceiverStats;
  clear(): void;
  /** Tells about each call once its body is in, before the answer. Returns how to stop listening. */
  onCall(listener: (call: ReceivedCall) => void): () => void;
  /** The first call that matches, among those kept or still to come. */
  nextCall(matches?: (call: ReceivedCall) => boolean): Promise<ReceivedCall>;
  /** Cuts what is under way. May be called again. */
  close(): Promise<void>;
}

/** Of a body, bytes: more is read but not kept. */
const MAX_BODY = 1024 * 1024;

/** Starts a callback target that records what arrives and answers as the path says (see `createBehaviours`). */
export async function startReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const { port = 0, host = '127.0.0.1', keep = 10_000 } = options;
  const log = new CallLog(keep);
  const respond = createBehaviours();
  const listeners = new Set<(call: ReceivedCall) => void>(options.onCall ? [options.onCall] : []);

  const server = createServer((request, response) => {
    const receivedAt = performance.timeOrigin + performance.now();
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      if (size < MAX_BODY) chunks.push(chunk);
      size += chunk.length;
    });
    request.on('end', () => {
      const url = request.url ?? '/';
      const mark = url.indexOf('?');
      const path = mark < 0 ? url : url.slice(0, mark);
      const query = mark < 0 ? '' : url.slice(mark + 1);
      if (path.startsWith('/_')) return inspect(log, request, response, path, query);
      const planned = request.headers['x-xtimer-run-timer'];
      const call = log.add({
        receivedAt,
        method: request.method!,
        path,
        query,
        headers: request.headers,
        body: size === 0 ? '' : (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString(),
        lateness: planned === undefined ? null : receivedAt - Number(planned),
      });
      for (const listener of listeners) listener(call);
      respond(call, request, response);
    });
    request.on('error', () => response.destroy());
  });

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const bound = (server.address() as AddressInfo).port;

  const onCall = (listener: (call: ReceivedCall) => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    get calls() {
      return log.list();
    },
    stats: () => log.stats(),
    clear: () => log.clear(),
    onCall,
    nextCall(matches = () => true) {
      const known = log.list().find(matches);
      if (known) return Promise.resolve(known);
      return new Promise((resolve) => {
        const stop = onCall((call) => {
          if (!matches(call)) return;
          stop();
          resolve(call);
        });
      });
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** `GET /_calls?since=&path=`, `DELETE /_calls`, `GET /_stats`. */
function inspect(log: CallLog, request: IncomingMessage, response: ServerResponse, path: string, query: string): void {
  const json = (status: number, value: unknown) =>
    send(response, status, { 'content-type': 'application/json' }, JSON.stringify(value));
  const route = `${request.method} ${path}`;
  if (route === 'GET /_calls') {
    const search = new URLSearchParams(query);
    json(200, log.list({ since: Number(search.get('since') ?? 0), path: search.get('path') ?? undefined }));
  } else if (route === 'DELETE /_calls') {
    log.clear();
    json(200, { ok: true });
  } else if (route === 'GET /_stats') {
    json(200, log.stats());
  } else {
    json(404, { error: 'there are GET and DELETE /_calls, and GET /_stats' });
  }
}
