import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The same folder from `src` and from `dist`. */
const MAIN = fileURLToPath(new URL('../../../apps/server/dist/main.js', import.meta.url));

/** Far beyond a start on a busy machine; the waiting for stores has its own, shorter limit. */
const START_LIMIT_MS = 60_000;

/** Below a test's own limit: what does not end must not outlive the test. */
const RUN_LIMIT_MS = 55_000;

/** An administrator's token for tests only. */
export const TEST_TOKEN = 'an-admin-token-for-tests-only';

export interface Ended {
  /** `null`: ended by a signal. */
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface ApiAnswer<T> {
  status: number;
  code: number;
  message: string;
  data: T;
}

export interface TestServer {
  /** `http://127.0.0.1:<port>` */
  url: string;
  /** Bearer token of the administrator; the one the server made when it was given none. */
  token: string;
  pid: number;
  /**
   * One API call with the token; a plain object as `body` goes as JSON. Resolves to the envelope with the HTTP
   * status, refusals included; rejects when nothing comes back.
   */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  api<T = any>(path: string, init?: Omit<RequestInit, 'body'> & { body?: unknown }): Promise<ApiAnswer<T>>;
  /** Ends it by its own pid. Repeatable: resolves when the process is gone. */
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<Ended>;
  /** SIGSTOP: nothing answers any more, sockets stay open. */
  freeze(): void;
  thaw(): void;
  /** The structured log so far. */
  log(): Record<string, unknown>[];
  /** All of stdout and stderr so far, the banner included. */
  output(): string;
  exited: Promise<Ended>;
}

export interface ServerOptions {
  /** Added to this process's environment without its `XTIMER_` variables. Port 0 and a token are set unless given here. */
  env?: Record<string, string>;
  /** Default: a fresh temporary folder, so that no relative path of a default leads into the checkout. */
  cwd?: string;
}

/** Starts a server process from its build and waits until it serves. Rejects with its output when it ends before. */
export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const { child, exited, output } = await launch([], options);
  const log: Record<string, unknown>[] = [];
  let read = 0;
  const readLog = () => {
    const text = output().stdout;
    const end = text.lastIndexOf('\n') + 1;
    for (const line of text.slice(read, end).split('\n')) {
      if (line.startsWith('{')) log.push(JSON.parse(line));
    }
    read = end;
    return log;
  };
  const stop = async (signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM') => {
    child.kill('SIGCONT');
    child.kill(signal);
    return exited;
  };

  const started = await new Promise<Record<string, unknown>>((resolve, reject) => {
    const look = () => {
      const line = readLog().find(({ msg }) => msg === 'node started');
      if (line) settle(() => resolve(line));
    };
    const fail = (why: string) => settle(() => reject(new Error(`${why}:\n${output().stdout}${output().stderr}`)));
    const limit = setTimeout(() => {
      child.kill('SIGKILL');
      fail(`the server did not start within ${START_LIMIT_MS} ms`);
    }, START_LIMIT_MS);
    const settle = (done: () => void) => {
      clearTimeout(limit);
      child.stdout?.off('data', look);
      done();
    };
    child.stdout?.on('data', look);
    exited.then(({ code, signal }) => fail(`the server ended with ${code ?? signal} before it served`), reject);
  });

  const url = `http://127.0.0.1:${String(started.address).split(':').at(-1)}`;
  const token = options.env?.XTIMER_ADMIN_TOKEN ?? TEST_TOKEN;
  const shown = /^ *(xta_\S+)$/m.exec(output().stdout)?.[1];
  const server: TestServer = {
    url,
    token: token || shown || '',
    pid: child.pid!,
    async api(path, init = {}) {
      const { body, headers, ...rest } = init;
      const response = await fetch(url + path, {
        ...rest,
        headers: {
          authorization: `Bearer ${server.token}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(headers as Record<string, string>),
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      return { status: response.status, ...((await response.json()) as Omit<ApiAnswer<never>, 'status'>) };
    },
    stop,
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    log: readLog,
    output: () => output().stdout + output().stderr,
    exited,
  };
  return server;
}

/** Runs the server's program until it ends by itself: a command, or a start that must not succeed. */
export async function runServer(
  args: readonly string[],
  options: ServerOptions & { limitMs?: number } = {},
): Promise<Ended> {
  const { child, exited } = await launch(args, options);
  const limit = setTimeout(() => child.kill('SIGKILL'), options.limitMs ?? RUN_LIMIT_MS);
  return exited.finally(() => clearTimeout(limit));
}

async function launch(args: readonly string[], { env = {}, cwd }: ServerOptions) {
  if (!existsSync(MAIN)) throw new Error(`${MAIN} is not there: build first (npm run build)`);
  const folder = cwd ?? (await mkdtemp(join(tmpdir(), 'xtimer-server-')));
  const child: ChildProcess = spawn(process.execPath, [MAIN, ...args], {
    cwd: folder,
    env: { ...withoutOurs(process.env), XTIMER_PORT: '0', XTIMER_ADMIN_TOKEN: TEST_TOKEN, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (chunk) => {
      text[name] += chunk;
    });
  }
  // A test that fails in the middle leaves nobody behind.
  const kill = () => void child.kill('SIGKILL');
  process.once('exit', kill);
  const exited = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', async (code, signal) => {
      process.off('exit', kill);
      if (cwd === undefined) await rm(folder, { recursive: true, force: true });
      resolve({ code, signal, ...text });
    });
  });
  return { child, exited, output: () => text };
}

/** The suites' own settings must not reach the servers they start. */
const withoutOurs = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('XTIMER_')));
