import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fastify } from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import { ConsoleFiles } from './console-files.js';

async function setup(files: Record<string, string>) {
  const outer = await mkdtemp(join(tmpdir(), 'xtimer-console-'));
  await mkdir(join(outer, 'dist', 'assets'), { recursive: true });
  await writeFile(join(outer, 'secret.txt'), 'secret');
  for (const [name, content] of Object.entries(files)) await writeFile(join(outer, 'dist', name), content);
  const server = fastify();
  const console = new ConsoleFiles(join(outer, 'dist'));
  await console.register(server);
  server.get('/xtimer/getTimer', async () => 'route');
  server.setNotFoundHandler((request, reply) => {
    if (!console.answer(request, reply)) reply.status(404).send('none');
  });
  onTestFinished(async () => {
    await server.close();
    await rm(outer, { recursive: true });
  });
  return async (url: string, accept = '*/*', method: 'GET' | 'POST' = 'GET') => {
    const { statusCode, body, headers } = await server.inject({ method, url, headers: { accept } });
    return { status: statusCode, body, type: headers['content-type'], cache: headers['cache-control'] };
  };
}

it('serves the built files, and the page for every path a browser opens', async () => {
  const ask = await setup({ 'index.html': 'page', 'assets/app-1a2b.js': 'code' });
  expect(await ask('/assets/app-1a2b.js')).toMatchObject({
    status: 200,
    body: 'code',
    cache: expect.stringMatching(/immutable/),
  });
  expect(await ask('/')).toMatchObject({ status: 200, body: 'page', cache: 'no-cache' });
  expect(await ask('/timers/5?tab=history', 'text/html')).toMatchObject({ status: 200, body: 'page' });
});

it('neither hides the API nor leaves its folder', async () => {
  const ask = await setup({ 'index.html': 'page' });
  expect((await ask('/xtimer/getTimer', 'text/html')).body).toBe('route');
  for (const path of ['/xtimer/nope', '/apps/x', '/docs/nope', '/metrics']) {
    expect((await ask(path, 'text/html')).status, path).toBe(404);
  }
  expect((await ask('/timers')).status).toBe(404);
  expect((await ask('/timers', 'text/html', 'POST')).status).toBe(404);
  for (const path of ['/../secret.txt', '/..%2fsecret.txt', '/assets/..%2f..%2fsecret.txt', '/%2e%2e/secret.txt']) {
    expect((await ask(path)).body, path).not.toContain('secret');
  }
});

it('points to the API reference when the console is not built', async () => {
  const ask = await setup({});
  expect(await ask('/')).toMatchObject({
    status: 200,
    type: 'text/html; charset=utf-8',
    body: expect.stringMatching(/\/docs/),
  });
});
