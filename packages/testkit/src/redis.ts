import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A private redis-server of one test: nothing saved, on 127.0.0.1, gone with the process that started it. */
export interface RedisServer {
  url: string;
  port: number;
  pid: number;
  /** Ends it at once, as a crash would. Repeatable. */
  stop(): Promise<void>;
  /** Stops answering with its sockets open (SIGSTOP). */
  freeze(): void;
  thaw(): void;
}

/**
 * Whether a redis-server is here. Otherwise says that the named suite is skipped, and under `CI=true` throws:
 * there a skip must not look like a pass.
 */
export function hasRedisServer(suite: string): boolean {
  if (spawnSync('redis-server', ['--version']).status === 0) return true;
  const message = `${suite}: redis-server is not installed (Debian: apt-get install redis-server)`;
  if (process.env.CI === 'true') throw new Error(message);
  console.warn(`SKIPPED ${message}`);
  return false;
}

/** Starts one and waits until it answers. `port`: take over this one; `args`: more options of redis-server. */
export async function startRedis(options: { port?: number; args?: string[] } = {}): Promise<RedisServer> {
  const port = options.port ?? (await freePort());
  const folder = await mkdtemp(join(tmpdir(), 'xtimer-redis-'));
  const child = spawn(
    'redis-server',
    // biome-ignore format: name and value belong together
    ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no', ...(options.args ?? [])],
    { stdio: 'ignore' },
  );
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'exit');
  const stop = async () => {
    kill();
    await ended;
    process.off('exit', kill);
    await rm(folder, { recursive: true, force: true });
  };
  await until(`redis-server on port ${port} answers`, child, async () => /PONG|NOAUTH/.test(await ask(port, 'PING')));
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    pid: child.pid!,
    stop,
    freeze: () => child.kill('SIGSTOP'),
    thaw: () => child.kill('SIGCONT'),
  };
}

/** Three masters, no replicas. `url` names all of them. */
export async function startRedisCluster(): Promise<{ url: string; nodes: RedisServer[]; stop(): Promise<void> }> {
  const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '2000'];
  const nodes: RedisServer[] = [];
  const stop = async () => void (await Promise.all(nodes.map((node) => node.stop())));
  try {
    while (nodes.length < 3) nodes.push(await startRedis({ args }));
    const hosts = nodes.map((node) => `127.0.0.1:${node.port}`);
    const create = ['--cluster', 'create', ...hosts, '--cluster-replicas', '0', '--cluster-yes'];
    await promisify(execFile)('redis-cli', create);
    await until('the cluster is whole', null, async () => {
      const states = await Promise.all(nodes.map((node) => ask(node.port, 'CLUSTER INFO')));
      return states.every((state) => state.includes('cluster_state:ok'));
    });
    return { url: nodes.map((node) => node.url).join(','), nodes, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A port nobody has, whose Cluster bus port (+ 10,000) is free too. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 25_000);
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** One inline command, the first piece of its answer; empty when there is none. */
function ask(port: number, command: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${command}\r\n`));
    const end = (answer: string) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1000, () => end(''));
    socket.once('data', (data) => end(data.toString()));
    socket.once('error', () => end(''));
  });
}

async function until(what: string, child: ChildProcess | null, holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await holds()); tries++) {
    if (child && child.exitCode !== null) throw new Error(`${what}: it ended with code ${child.exitCode}`);
    if (tries === 500) throw new Error(`${what}: not within its time`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
