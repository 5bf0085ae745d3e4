import type { IncomingMessage } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import * as certificates from '../test/certificates.js';
import { definition, httpTarget, NOW, setup, task, tcpTarget } from '../test/setup.js';
import { createGuard, type ResolveAll } from './index.js';

const never = new AbortController().signal;

const readAll = async (request: IncomingMessage): Promise<string> => Buffer.concat(await request.toArray()).toString();

describe('a call', () => {
  it.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const)(
    'sends %s with headers and body',
    async (method) => {
      const seen: unknown[] = [];
      const target = await httpTarget(async (request, response) => {
        const { method, url, headers } = request;
        seen.push({
          method,
          url,
          mine: headers['x-mine'],
          key: headers['idempotency-key'],
          body: await readAll(request),
        });
        response.end('fine');
      });
      const { call } = setup();
      const url = `${target.url}/⏰/{{taskId}}?q=ü`;
      for (let i = 0; i < 2; i++) {
        expect(await call({ method, url, header: { 'X-Mine': 'a' }, body: '{"⏰":1}' })).toEqual({
          httpStatus: 200,
          output: method === 'HEAD' ? null : 'fine',
          error: null,
          headers: {},
        });
      }
      const expected = { method, url: '/%E2%8F%B0/7_1799999999000?q=%C3%BC', mine: 'a', key: '7_1799999999000' };
      expect(seen).toEqual([
        { ...expected, body: '{"⏰":1}' },
        { ...expected, body: '{"⏰":1}' },
      ]);
    },
  );

  it('reports the status whatever it is, with the headers that decide, and follows no redirect', async () => {
    let inner = 0;
    const secret = await httpTarget((_, response) => {
      inner++;
      response.end();
    });
    const target = await httpTarget((request, response) => {
      const status = Number(request.url!.slice(1));
      response.writeHead(status, {
        'retry-after': '20',
        'x-xtimer-no-retry': 'true',
        location: secret.url,
        'x-other': 'a',
      });
      response.end('why');
    });
    const { call } = setup();
    for (const status of [201, 302, 307, 404, 503]) {
      expect(await call({ url: `${target.url}/${status}` })).toEqual({
        httpStatus: status,
        output: 'why',
        error: null,
        headers: { 'retry-after': '20', 'x-xtimer-no-retry': 'true' },
      });
    }
    expect(inner).toBe(0);
  });

  it('carries emoji both ways', async () => {
    const target = await httpTarget(async (request, response) => response.end(await readAll(request)));
    const text = '{"a":"⏰ 👨‍👩‍👧‍👦 𠮷"}';
    expect((await setup().call({ url: target.url, body: text })).output).toBe(text);
  });

  it('sends header values beyond ASCII as UTF-8', async () => {
    const target = await httpTarget((request, response) =>
      response.end(Buffer.from(`${request.headers['x-a']}|${request.headers['x-b']}`, 'latin1')),
    );
    const header = { 'X-A': 'café ⏰', 'X-B': '{{payload}}!' };
    const { client } = setup();
    const answer = await client.call(task({ payload: '👨‍👩‍👧‍👦' }), definition({ url: target.url, header }), never);
    expect(answer.output).toBe('café ⏰|👨‍👩‍👧‍👦!');
  });

  it('with a header that cannot be sent fails alone', async () => {
    const target = await httpTarget((_, response) => response.end('fine'));
    const { client, call } = setup();
    const bad = call({ url: target.url, header: { 'X-A': 'a\r\nX-Evil: 1' } });
    const good = call({ url: target.url });
    const wrongSecret = client.call(task(), definition({ url: target.url }, { signingSecrets: ['whsec_*'] }), never);
    expect((await bad).error).toEqual({ code: 'CALLBACK_INVALID', message: expect.stringContaining('"X-A"') });
    expect((await wrongSecret).error?.code).toBe('CALLBACK_INVALID');
    expect((await good).httpStatus).toBe(200);
  });

  it('waits for a free connection beyond the limit of the host', async () => {
    let open = 0;
    let most = 0;
    const held: (() => void)[] = [];
    // Answers in pairs: with one connection this would never end.
    const target = await httpTarget((_, response) => {
      most = Math.max(most, ++open);
      held.push(() => {
        open--;
        response.end();
      });
      if (held.length === 2) for (const answer of held.splice(0)) answer();
    });
    const { client, call } = setup({ connectionsPerHost: 2 });
    const answers = await Promise.all(Array.from({ length: 20 }, () => call({ url: target.url })));
    expect(answers.every(({ httpStatus }) => httpStatus === 200)).toBe(true);
    expect(most).toBe(2);
    expect(target.closed).toHaveLength(2);
    expect(client.stats()).toEqual({ hosts: 1, connections: 2, idle: 2, waiting: 0 });
  });

  it('forgets hosts that nobody calls any more', async () => {
    const target = await httpTarget((_, response) => response.end());
    const { client, call } = setup({ idleHostMs: 40 });
    await call({ url: target.url });
    expect(client.stats().hosts).toBe(1);
    await target.closed[0];
    expect(client.stats()).toEqual({ hosts: 0, connections: 0, idle: 0, waiting: 0 });
    expect((await call({ url: target.url })).httpStatus).toBe(200);
  });
});

describe('the deadline', () => {
  const silent = (socket: Socket) => void socket.resume();
  const drip = (first: string, piece: string) => (socket: Socket) => {
    socket.resume().write(first);
    const timer = setInterval(() => socket.write(piece), 30);
    socket.on('close', () => clearInterval(timer));
  };

  it.each([
    ['waiting for headers', 'http', silent],
    ['waiting for headers', 'http', drip('HTTP/1.1 200 OK\r\nX-A: ', 'a')],
    ['waiting for headers', 'http', drip('', 'HTTP/1.1 102 Processing\r\n\r\n')],
    ['TLS handshake', 'https', silent],
  ] as const)('ends %s (%s)', async (phase, scheme, onSocket) => {
    const target = await tcpTarget(onSocket);
    const answer = await setup().call({ url: `${scheme}://127.0.0.1:${target.port}/secret` }, { timeoutMs: 300 });
    expect(answer).toEqual({
      httpStatus: null,
      output: null,
      error: {
        code: 'CALLBACK_TIMEOUT',
        message: `no response from ${scheme}://127.0.0.1:${target.port} within 300 ms (${phase})`,
      },
      headers: {},
    });
    await target.closed[0];
  });

  it('ends a dripping body, with what had come', async () => {
    const target = await tcpTarget(drip('HTTP/1.1 200 OK\r\n\r\n', '.'));
    const answer = await setup().call({ url: target.url }, { timeoutMs: 300 });
    expect(answer.httpStatus).toBe(200);
    expect(answer.output).toMatch(/^\.+\n… \[truncated: \d+ bytes kept\]$/);
    expect(answer.error).toEqual({
      code: 'CALLBACK_TIMEOUT',
      message: `no complete response from ${target.url} within 300 ms (reading the body)`,
    });
    await target.closed[0];
  });

  it('runs while waiting for a connection, and a slow call frees its place', async () => {
    const target = await tcpTarget(silent);
    const { client, call } = setup({ connectionsPerHost: 1 });
    const first = call({ url: target.url }, { timeoutMs: 400 });
    const second = await call({ url: target.url }, { timeoutMs: 200 });
    expect(second.error?.message).toContain('(waiting for a free connection)');
    expect((await first).error?.message).toContain('(waiting for headers)');
    expect(client.stats()).toEqual({ hosts: 1, connections: 0, idle: 0, waiting: 0 });
  });

  it('runs while the name is looked up', async () => {
    const { call } = setup({ resolve: () => {} });
    const { error } = await call({ url: 'http://a.example/' }, { timeoutMs: 100 });
    expect(error).toEqual({
      code: 'CALLBACK_TIMEOUT',
      message: 'no response from http://a.example within 100 ms (connecting)',
    });
  });
});

describe('giving up', () => {
  it('ends calls when the signal aborts, and makes none afterwards', async () => {
    const { client } = setup();
    const abort = new AbortController();
    const target = await tcpTarget((socket) => {
      socket.resume();
      abort.abort();
    });
    const answers = await Promise.all(
      [1, 2].map(() => client.call(task(), definition({ url: target.url }), abort.signal)),
    );
    for (const { error } of answers) expect(error?.code).toBe('CALLBACK_ABORTED');
    await Promise.all(target.closed);
    expect((await client.call(task(), definition({ url: target.url }), abort.signal)).error?.code).toBe(
      'CALLBACK_ABORTED',
    );
  });

  it('ends calls when the client is closed', async () => {
    const { client, call } = setup();
    const target = await tcpTarget((socket) => {
      socket.resume();
      void client.close();
    });
    expect((await call({ url: target.url })).error?.code).toBe('CALLBACK_ABORTED');
    await target.closed[0];
    expect((await call({ url: target.url })).error?.code).toBe('CALLBACK_ABORTED');
  });
});

describe('a large answer', () => {
  it.each([
    ['an endless stream', {}, Number.POSITIVE_INFINITY],
    ['1 GB', { 'content-length': 2 ** 30 }, 2 ** 30],
  ])('of %s is cut and costs no memory', async (_, headers, size) => {
    let written = 0;
    const target = await httpTarget((_, response) => {
      const piece = Buffer.alloc(65_536, 'x');
      response.writeHead(200, { 'content-type': 'text/plain', ...headers });
      const more = () => {
        while (!response.destroyed && written < size && response.write(piece)) written += piece.length;
      };
      response.on('drain', more);
      more();
    });
    const answer = await setup().call({ url: target.url });
    expect(answer).toMatchObject({ httpStatus: 200, error: null });
    expect(Buffer.byteLength(answer.output!)).toBeLessThanOrEqual(4096);
    await target.closed[0];
    expect(written).toBeLessThan(16 * 2 ** 20);
  });

  it('of 300 KB of JSON is a success with a marked excerpt', async () => {
    const json = JSON.stringify({ data: '⏰'.repeat(100_000) });
    const target = await httpTarget((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json) });
      response.end(json);
    });
    const { output, error, httpStatus } = await setup().call({ url: target.url });
    expect([httpStatus, error]).toEqual([200, null]);
    expect(output).toMatch(/^\{"data":"⏰+\n… \[truncated: \d+ of 300011 bytes kept\]$/);
  });

  it('that fits exactly is not cut', async () => {
    const target = await httpTarget((_, response) => response.end('x'.repeat(4096)));
    expect((await setup().call({ url: target.url })).output).toBe('x'.repeat(4096));
  });

  it('that is compressed all the same is kept as a note', async () => {
    const target = await httpTarget((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' });
      response.end(gzipSync(Buffer.alloc(10_000_000)));
    });
    const { output } = await setup().call({ url: target.url });
    expect(output).toMatch(/^\[binary, more than 4096 bytes \(text\/plain, gzip\), base64 of the first 96: H4sI/);
  });
});

describe('a kept connection', () => {
  const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
  /** Answers the first request of each connection and meets the second one with `onSecond`. */
  const onceOnly = (onSecond: (socket: Socket) => void) => {
    const seen: string[] = [];
    return {
      seen,
      onSocket: (socket: Socket) => {
        let requests = 0;
        socket.on('data', (data) => {
          seen.push(/idempotency-key: (\S+)/.exec(data.toString())![1]!);
          if (requests++ === 0) socket.write(OK);
          else onSecond(socket);
        });
      },
    };
  };

  it('is used again', async () => {
    const target = await httpTarget((_, response) => response.end());
    const { call } = setup();
    for (let i = 0; i < 5; i++) await call({ url: target.url });
    expect(target.closed).toHaveLength(1);
  });

  it.each([
    ['closed', (socket: Socket) => void socket.destroy()],
    ['reset', (socket: Socket) => void socket.resetAndDestroy()],
  ])('that is %s under the request is replaced without a failure', async (_, onSecond) => {
    const { seen, onSocket } = onceOnly(onSecond);
    const target = await tcpTarget(onSocket);
    const { call } = setup();
    for (let i = 0; i < 2; i++) {
      expect(await call({ url: target.url })).toMatchObject({ httpStatus: 200, output: 'ok', error: null });
    }
    expect(seen).toHaveLength(3);
    expect(new Set(seen).size).toBe(1);
  });

  it('closed by the target while it was idle is noticed: one request for each call', async () => {
    let requests = 0;
    let idle: Socket | undefined;
    const target = await tcpTarget((socket) => {
      idle = socket;
      socket.on('data', () => {
        requests++;
        socket.write(OK);
      });
    });
    const { call } = setup();
    for (let i = 0; i < 10; i++) {
      expect(await call({ url: target.url }, {}, { runTimer: i })).toMatchObject({ httpStatus: 200, error: null });
      idle!.destroy();
      await target.closed[i];
    }
    expect(requests).toBe(10);
  });

  it('closed by the target right after the answer fails nothing, and is not tried a second time', async () => {
    let requests = 0;
    const target = await tcpTarget((socket) => {
      socket.on('data', () => {
        requests++;
        socket.end(OK);
      });
    });
    const { call } = setup();
    for (let i = 0; i < 20; i++) {
      expect(await call({ url: target.url }, {}, { runTimer: i })).toMatchObject({ httpStatus: 200, error: null });
    }
    // The first one met the closing connection and was sent again.
    expect(requests).toBeLessThanOrEqual(21);
  });

  it('is not replaced when a new one is dropped too, nor for atMostOnce', async () => {
    let connections = 0;
    const target = await tcpTarget((socket) => {
      const dropAll = connections++ > 0;
      socket.on('data', () => (dropAll || socket.bytesWritten > 0 ? socket.destroy() : socket.write(OK)));
    });
    const { call } = setup();
    expect((await call({ url: target.url }, { delivery: 'atMostOnce' })).error).toBeNull();
    // Takes a new connection although the first one is idle, and sends nothing twice.
    const once = await call({ url: target.url }, { delivery: 'atMostOnce' });
    expect(once.error?.code).toBe('CALLBACK_RESET');
    expect(connections).toBe(2);
    const { error } = await call({ url: target.url });
    expect(error).toEqual({
      code: 'CALLBACK_RESET',
      message: `${target.url} closed the connection without a complete response (waiting for headers)`,
    });
    expect(connections).toBe(3);
  });

  it('that breaks off in mid-answer is not replaced', async () => {
    const { seen, onSocket } = onceOnly((socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart'));
    const target = await tcpTarget(onSocket);
    const { call } = setup();
    await call({ url: target.url });
    const answer = await call({ url: target.url });
    expect(answer).toMatchObject({ httpStatus: 200, error: { code: 'CALLBACK_RESET' } });
    expect(seen).toHaveLength(2);
  });
});

describe('TLS', () => {
  const toLoopback: ResolveAll = (_, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]);
  const tlsTarget = async (cert: string) => {
    const server = createTlsServer({ key: certificates.key, cert }, (_, response) => response.end('secure'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return (server.address() as AddressInfo).port;
  };

  it('works with a certificate that is trusted, and says why another is not', async () => {
    const { call } = setup({ ca: [certificates.authority], resolve: toLoopback });
    const port = await tlsTarget(certificates.good);
    for (const host of ['127.0.0.1', 'localhost', 'localhost.']) {
      expect(await call({ url: `https://${host}:${port}/` }), host).toMatchObject({ output: 'secure', error: null });
    }
    const reasons = [
      [certificates.selfSigned, 'its certificate is self-signed'],
      [certificates.wrongName, 'its certificate is for another host name'],
      [certificates.expired, 'its certificate has expired'],
    ] as const;
    for (const [certificate, reason] of reasons) {
      const { httpStatus, error } = await call({ url: `https://127.0.0.1:${await tlsTarget(certificate)}/` });
      expect([httpStatus, error?.code]).toEqual([null, 'CALLBACK_TLS']);
      expect(error?.message).toContain(reason);
    }
    expect((await call({ url: `https://127.0.0.1:${port}/` })).error).toBeNull();
  });

  it('trusts no private authority by itself, and knows a plain port', async () => {
    const { call } = setup();
    const unknown = await call({ url: `https://127.0.0.1:${await tlsTarget(certificates.good)}/` });
    expect(unknown.error).toMatchObject({
      code: 'CALLBACK_TLS',
      message: expect.stringContaining('unknown authority'),
    });
    const plain = await httpTarget((_, response) => response.end());
    const { error } = await call({ url: `https://127.0.0.1:${plain.port}/` });
    expect(error).toMatchObject({ code: 'CALLBACK_TLS', message: expect.stringContaining('is it an https port?') });
  });
});

describe('what cannot be reached', () => {
  it('is told by its kind', async () => {
    const target = await tcpTarget((socket) => void socket.end('SSH-2.0-OpenSSH\r\n'));
    const notFound = Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' });
    const tryAgain = Object.assign(new Error('getaddrinfo EAI_AGAIN'), { code: 'EAI_AGAIN' });
    const { call } = setup({
      resolve: (hostname, callback) => callback(hostname.startsWith('nowhere') ? notFound : tryAgain, []),
    });
    expect((await call({ url: target.url })).error).toEqual({
      code: 'CALLBACK_FAILED',
      message: expect.stringContaining('not HTTP'),
    });
    expect((await call({ url: 'http://nowhere.example/⏰' })).error).toEqual({
      code: 'CALLBACK_DNS',
      message: 'the host name of http://nowhere.example does not exist (ENOTFOUND)',
    });
    expect((await call({ url: 'http://later.example/' })).error?.message).toContain('no answer from DNS');
    // Port 1 of loopback: nobody listens.
    expect((await call({ url: 'http://127.0.0.1:1/' })).error).toEqual({
      code: 'CALLBACK_REFUSED',
      message: '127.0.0.1:1 refused the connection: nothing listens there (ECONNREFUSED)',
    });
  });
});

describe('the guard', () => {
  it('blocks literals and names by the address they lead to, and opens no connection', async () => {
    const target = await httpTarget((_, response) => response.end('inner secret'));
    const resolve: ResolveAll = (_, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]);
    const { call } = setup({ guard: createGuard({ allow: [] }), resolve });
    const hosts = [
      '127.0.0.1',
      '2130706433',
      '0x7f.1',
      '0177.0.0.1',
      '127.1',
      'localhost.',
      '[::1]',
      '[::ffff:7f00:1]',
      'a.example',
    ];
    for (const host of hosts) {
      const { error, httpStatus, output } = await call({ url: `http://${host}:${target.port}/` });
      expect([httpStatus, output, error?.code], host).toEqual([null, null, 'CALLBACK_BLOCKED']);
      expect(error?.message).toMatch(/leads to a loopback address, which callbacks may not reach$/);
    }
    expect((await call({ url: 'http://169.254.169.254/latest' })).error?.code).toBe('CALLBACK_BLOCKED');
    expect(target.closed).toHaveLength(0);
  });

  it('judges every new connection, so that a name that moves is caught', async () => {
    const target = await httpTarget((_, response) => {
      response.setHeader('connection', 'close');
      response.end();
    });
    let address = '127.0.0.1';
    const { call } = setup({
      guard: createGuard({ allow: ['127.0.0.1'] }),
      resolve: (_, callback) => callback(null, [{ address, family: 4 }]),
    });
    const url = `http://a.example:${target.port}/`;
    expect((await call({ url })).httpStatus).toBe(200);
    address = '127.0.0.2';
    expect((await call({ url })).error?.code).toBe('CALLBACK_BLOCKED');
  });

  it('connects to what is allowed among several addresses', async () => {
    const target = await httpTarget((_, response) => response.end());
    const { call } = setup({
      guard: createGuard({ allow: ['127.0.0.1'] }),
      resolve: (_, callback) =>
        callback(null, [
          { address: '::1', family: 6 },
          { address: '10.0.0.1', family: 4 },
          { address: '127.0.0.1', family: 4 },
        ]),
    });
    expect((await call({ url: `http://a.example:${target.port}/` })).httpStatus).toBe(200);
  });
});

it('signs with the agreed time', async () => {
  const target = await httpTarget((request, response) => response.end(request.headers['webhook-timestamp']));
  expect((await setup().call({ url: target.url })).output).toBe(String(Math.floor(NOW / 1000)));
});
