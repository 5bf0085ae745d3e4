import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runServer, startServer, type TestServer } from '@xtimer/testkit';
import { afterAll, describe, expect, it } from 'vitest';
import { openWorld } from './support.js';

const { env: clusterEnv, missing, start } = await openWorld('clustered');
const folder = await mkdtemp(join(tmpdir(), 'xtimer-start-'));
const servers: TestServer[] = [];
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop('SIGKILL')));
  await rm(folder, { recursive: true, force: true });
});
const sqlite = (name: string) => ({ XTIMER_DATABASE_URL: `sqlite:${join(folder, name)}.db` });

async function embedded(env: Record<string, string>): Promise<TestServer> {
  const server = await startServer({ env });
  servers.push(server);
  return server;
}

/** Listens and never says a word; closed with the file. */
async function listener() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterAll(() => void server.close());
  return (server.address() as { port: number }).port;
}

/** A port that was free a moment ago: nobody answers there. */
async function deadPort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

describe('a start that can not succeed ends with 1 and says', () => {
  it('everything that is wrong in the environment at once', async () => {
    const { code, stderr, stdout } = await runServer([], {
      env: {
        ...{ XTIMER_PORT: 'x', XTIMER_BUCKETS: '0', XTIMER_ROLES: 'cook', XTIMER_TIMEZONE: 'Mars/Olympus' },
        XTIMER_DATABASE_URL: 'postgres://user:hush@h/d',
      },
    });
    expect(code).toBe(1);
    for (const name of ['XTIMER_PORT="x"', 'XTIMER_BUCKETS="0"', 'XTIMER_ROLES', 'Mars/Olympus', 'mysql://']) {
      expect(stderr).toContain(name);
    }
    expect(stdout + stderr).not.toContain('hush');
    expect(stderr).not.toMatch(/\bat .*\.js/);
  });

  it.each(['nobody', 'silence'])('which database met it with %s, without its password', async (what) => {
    const port = what === 'nobody' ? await deadPort() : await listener();
    const begun = Date.now();
    const { code, stdout, stderr } = await runServer([], {
      env: { XTIMER_DATABASE_URL: `mysql://user:hush@127.0.0.1:${port}/d`, XTIMER_START_TIMEOUT_MS: '1000' },
    });
    expect(code).toBe(1);
    expect(stderr).toContain(`127.0.0.1:${port}`);
    expect(stderr).toContain('XTIMER_DATABASE_URL');
    expect(stdout + stderr).not.toContain('hush');
    expect(stderr).not.toMatch(/\bat .*\.js/);
    expect(Date.now() - begun).toBeLessThan(30_000);
  });

  it.skipIf(missing).each(['nobody', 'silence'])('which Redis met it with %s, without its password', async (what) => {
    const port = what === 'nobody' ? await deadPort() : await listener();
    const { code, stdout, stderr } = await runServer([], {
      env: { ...clusterEnv, XTIMER_REDIS_URL: `redis://:hush@127.0.0.1:${port}`, XTIMER_START_TIMEOUT_MS: '1000' },
    });
    expect(code).toBe(1);
    expect(stderr).toContain(`127.0.0.1:${port}`);
    expect(stderr).toContain('XTIMER_REDIS_URL');
    expect(stdout + stderr).not.toContain('hush');
    expect(stderr).not.toMatch(/\bat .*\.js/);
  });

  it('that the port is taken', async () => {
    const port = await listener();
    const { code, stderr } = await runServer([], { env: { ...sqlite('port'), XTIMER_PORT: `${port}` } });
    expect(code).toBe(1);
    expect(stderr).toContain(`port ${port} on 127.0.0.1 is taken`);
    expect(stderr).not.toMatch(/\bat .*\.js/);
  });

  it('that the command is unknown', async () => {
    const { code, stderr } = await runServer(['migrat'], { env: sqlite('command') });
    expect(code).toBe(1);
    expect(stderr).toContain('migrat');
  });
});

it('refuses to run with another number of buckets than the database knows', async () => {
  const env = sqlite('buckets');
  const first = await embedded(env);
  expect(first.log().find(({ msg }) => msg === 'node started')).toMatchObject({
    ...{ mode: 'embedded', redis: 'in process', roles: ['api', 'worker'], buckets: 16 },
    ...{ version: expect.stringMatching(/^\d+\.\d+\.\d+/), database: expect.stringContaining('buckets.db') },
  });
  expect((await first.stop()).code).toBe(0);
  const { code, stderr } = await runServer([], { env: { ...env, XTIMER_BUCKETS: '8' } });
  expect(code).toBe(1);
  expect(stderr).toMatch(/16 buckets.*XTIMER_BUCKETS/s);
});

it('migrates and ends, as often as it is asked to, and warns about a variable it does not know', async () => {
  const env = sqlite('migrate');
  for (const time of ['first', 'second']) {
    const { code, stdout } = await runServer(['migrate'], { env: { ...env, XTIMER_DATABASE_URI: 'x' } });
    expect(code, `${time} time`).toBe(0);
    expect(stdout).toContain('the schema is up to date');
    expect(stdout).toMatch(/"level":40.*XTIMER_DATABASE_URI.*XTIMER_DATABASE_URL\?/);
  }
  const server = await embedded(env);
  expect((await server.api('/xtimer/getAppTimers')).data.total).toBe(0);
  expect((await server.stop()).code).toBe(0);
});

it('makes an admin token at the first start, shows it once, and knows it afterwards', async () => {
  const env = { ...sqlite('token'), XTIMER_ADMIN_TOKEN: '' };
  const first = await embedded(env);
  const { token } = first;
  expect(token).toMatch(/^xta_.{40,}$/);
  expect(first.output().split(token).length).toBe(2);
  expect((await first.api('/xtimer/getAppTimers')).status).toBe(200);
  const wrong = { headers: { authorization: `Bearer ${token}x` } };
  expect((await first.api('/xtimer/getAppTimers', wrong)).status).toBe(401);
  expect((await fetch(`${first.url}/xtimer/getAppTimers`)).status).toBe(401);
  for (const path of ['/healthz', '/readyz', '/docs-json']) expect((await fetch(first.url + path)).status).toBe(200);
  await first.stop();

  const second = await embedded(env);
  expect(second.output()).not.toContain('xta_');
  const known = { headers: { authorization: `Bearer ${token}` } };
  expect((await second.api('/xtimer/getAppTimers', known)).status).toBe(200);
  expect((await second.stop()).code).toBe(0);
});

it.skipIf(missing)('starts nodes together on an empty database: one token, shown by one of them', async () => {
  const nodes = await Promise.all([start({ XTIMER_ADMIN_TOKEN: '' }), start({ XTIMER_ADMIN_TOKEN: '' })]);
  const tokens = nodes.map(({ token }) => token).filter((token) => token !== '');
  expect(tokens.length).toBe(1);
  for (const node of nodes) {
    const known = { headers: { authorization: `Bearer ${tokens[0]}` } };
    expect((await node.api('/xtimer/getAppTimers', known)).status).toBe(200);
    expect(node.log()).toContainEqual(expect.objectContaining({ msg: 'node started', mode: 'clustered' }));
    expect(node.output()).not.toMatch(/:[^@/ ]+@127/);
  }
});
