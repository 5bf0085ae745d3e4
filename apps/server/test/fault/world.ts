import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ApiAnswer,
  hasRedisServer,
  type RedisServer,
  startMariaDb,
  startRedis,
  startServer,
  type TestMysql,
  type TestServer,
} from '@xtimer/testkit';

/** Beyond the server's own 5 s for an answer without a database. */
const API_LIMIT_MS = 8_000;

export interface Node {
  name: string;
  /** `null` while it is down. */
  server: TestServer | null;
  /** No requests of ours go there: it is, or is about to be, frozen. */
  shunned: boolean;
  /** Requests of ours it has not answered. */
  asking: number;
}

/** Servers and stores of one run, and the ways to break them. */
export class World {
  readonly nodes: Node[] = [];
  /** Processes that ended although nobody had ended them. */
  readonly crashes: string[] = [];
  /** Tasks whose call a node had under way when its lease had lapsed: so starved that others took it for dead. */
  readonly takenOver = new Set<string>();
  /** Log lines from `warn` up, counted by level and message. */
  readonly logged = new Map<string, number>();
  private readonly others: TestServer[] = [];
  private turn = 0;

  private constructor(
    private readonly env: Record<string, string>,
    private readonly closeStores: () => Promise<unknown>,
    readonly database: TestMysql | null,
    private redisServer: RedisServer | null,
  ) {}

  /** `null`: MariaDB or Redis can't be had here; said on the console. */
  static async open(mode: 'clustered' | 'embedded', size: number): Promise<World | null> {
    const world = mode === 'embedded' ? await World.embedded() : await World.clustered();
    if (!world) return null;
    for (let i = 1; i <= size; i++) world.nodes.push({ name: `n${i}`, server: null, shunned: false, asking: 0 });
    const starts = await Promise.allSettled(world.nodes.map((node) => world.startNode(node)));
    const failed = starts.find((start) => start.status === 'rejected');
    if (failed) {
      await world.close();
      throw failed.reason;
    }
    return world;
  }

  private static async embedded(): Promise<World> {
    const folder = await mkdtemp(join(tmpdir(), 'xtimer-fault-'));
    const env = { XTIMER_DATABASE_URL: `sqlite:${join(folder, 'xtimer.db')}` };
    return new World(env, () => rm(folder, { recursive: true, force: true }), null, null);
  }

  private static async clustered(): Promise<World | null> {
    const database = hasRedisServer('fault suite') ? await startMariaDb({ privately: true }) : null;
    if (!database) return null;
    const redis = await startRedis();
    const env = {
      XTIMER_DATABASE_URL: database.url,
      XTIMER_REDIS_URL: redis.url,
      XTIMER_CALLBACK_ALLOW: '127.0.0.0/8',
    };
    const world: World = new World(env, () => Promise.all([world.redis.stop(), database.stop()]), database, redis);
    return world;
  }

  get redis(): RedisServer {
    return this.redisServer!;
  }

  /** The same name each time, as under a supervisor that restarts what dies. */
  async startNode(node: Node): Promise<void> {
    const server = await startServer({ env: { ...this.env, XTIMER_NODE_ID: node.name } });
    node.server = server;
    node.shunned = false;
    server.exited.then(({ code, signal, stderr }) => {
      if (node.server !== server) return;
      node.server = null;
      this.crashes.push(`${node.name} ended with ${code ?? signal}: ${stderr.slice(-2000)}`);
    });
  }

  /** A node on the same stores beside those of the load; it ends with the world. */
  async startAnother(env: Record<string, string> = {}): Promise<TestServer> {
    const server = await startServer({ env: { ...this.env, ...env } });
    this.others.push(server);
    return server;
  }

  /** Takes it down; resolves when the process is gone. SIGKILL really is the only thing it gets. */
  async endNode(node: Node, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const server = node.server!;
    node.server = null;
    process.kill(server.pid, signal);
    const { code, stderr } = await server.exited;
    this.readLog(server);
    if (signal === 'SIGTERM' && code !== 0) this.crashes.push(`${node.name}: SIGTERM ended with ${code}: ${stderr}`);
  }

  /** A request that a frozen node answers much later would change timers behind our back: none is left there. */
  async shun(node: Node): Promise<void> {
    node.shunned = true;
    while (node.asking > 0) await sleep(5);
  }

  /** One API call to the nodes in turn. Rejects when nothing comes back. */
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape
  async api(path: string, body?: unknown): Promise<ApiAnswer<any>> {
    const up = this.nodes.filter((node) => node.server && !node.shunned);
    if (up.length === 0) throw new Error('no node is up');
    const node = up[this.turn++ % up.length]!;
    node.asking++;
    try {
      const signal = AbortSignal.timeout(API_LIMIT_MS);
      return await node.server!.api(path, body === undefined ? { signal } : { method: 'POST', body, signal });
    } finally {
      node.asking--;
    }
  }

  /** Stops Redis as a crash would; what comes back on its port is empty. */
  async restartRedis(outageMs: number): Promise<void> {
    const { port } = this.redis;
    await this.redis.stop();
    await sleep(outageMs);
    this.redisServer = await startRedis({ port });
  }

  emptyRedis(): Promise<void> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.redis.port, '127.0.0.1', () => socket.write('FLUSHALL\r\n'));
      socket.once('error', reject).once('data', () => {
        socket.destroy();
        resolve();
      });
    });
  }

  async close(): Promise<void> {
    await Promise.all(
      this.nodes.map(async (node) => {
        const { server } = node;
        node.server = null;
        await server?.stop('SIGKILL');
        if (server) this.readLog(server);
      }),
    );
    await Promise.all(this.others.map((server) => server.stop('SIGKILL')));
    await this.closeStores();
  }

  private readLog(server: TestServer): void {
    for (const { level, msg, stage, error, timerId, runTimer } of server.log()) {
      if (Number(level) < 40) continue;
      if (/taken over: dropped/.test(String(msg))) this.takenOver.add(`${timerId}_${runTimer}`);
      const why = error === undefined ? '' : `, ${String(error).replace(/\d+/g, '#').slice(0, 120)}`;
      const line = `${Number(level) >= 50 ? 'error' : 'warn'}: ${msg}${stage ? ` (${stage}${why})` : ''}`;
      this.logged.set(line, (this.logged.get(line) ?? 0) + 1);
    }
  }
}

/**
 * Local ports of the process's connections to `targetPort`, from /proc: so a call can be told to be of this process.
 * Elsewhere than on Linux `null`.
 */
export async function portsTo(targetPort: number, pid: number): Promise<Set<number> | null> {
  if (process.platform !== 'linux') return null;
  const folder = `/proc/${pid}/fd`;
  const links = await Promise.all((await readdir(folder)).map((fd) => readlink(join(folder, fd)).catch(() => '')));
  const inodes = new Set(links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
  const portOf = (address: string) => Number.parseInt(address.split(':')[1]!, 16);
  const ports = new Set<number>();
  for (const line of (await readFile('/proc/net/tcp', 'utf8')).split('\n').slice(1)) {
    const [, local, remote, , , , , , , inode] = line.trim().split(/\s+/);
    if (remote && portOf(remote) === targetPort && inodes.has(inode!)) ports.add(portOf(local!));
  }
  return ports;
}
