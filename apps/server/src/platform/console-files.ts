import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

const ROOT = fileURLToPath(new URL('../../../admin/dist', import.meta.url));

const NOT_BUILT = `<!doctype html><html lang="en"><meta charset="utf-8"><title>xtimer</title>
<h1>xtimer</h1><p>The console is not built here. The API is described at <a href="/docs">/docs</a>.</p></html>`;

/** First segments of the API: there, a browser too is told that a path does not exist. */
const API = /^\/(xtimer|apps|topics|jobs|auth|users|keys|audit|docs|healthz|readyz|metrics)(\/|$)/;

/**
 * The console: files of `apps/admin/dist`, and its page for every path a browser opens. Asked only when no
 * route answers, so that no route of the API is ever hidden or opened by a file.
 */
export class ConsoleFiles {
  private paths: ReadonlySet<string> = new Set();

  constructor(private readonly root = ROOT) {}

  async register(server: FastifyInstance): Promise<void> {
    const entries = await readdir(this.root, { recursive: true, withFileTypes: true }).catch(() => []);
    const files = entries.filter((entry) => entry.isFile());
    if (files.length === 0) return;
    await server.register(fastifyStatic, { root: this.root, serve: false, cacheControl: false });
    this.paths = new Set(
      files.map((file) => relative(this.root, join(file.parentPath, file.name)).replaceAll('\\', '/')),
    );
  }

  /** `true`: answered. */
  answer(request: FastifyRequest, reply: FastifyReply): boolean {
    if (request.method !== 'GET' && request.method !== 'HEAD') return false;
    const path = request.url.split('?', 1)[0]!;
    const file = path.slice(1);
    if (this.paths.has(file)) {
      // Vite puts a hash of the content into these names.
      const immutable = file.startsWith('assets/');
      reply.header('cache-control', immutable ? 'public, max-age=31536000, immutable' : 'no-cache').sendFile(file);
      return true;
    }
    const isPage = path === '/' || (request.headers.accept?.includes('text/html') && !API.test(path));
    if (!isPage) return false;
    if (this.paths.has('index.html')) reply.header('cache-control', 'no-cache').sendFile('index.html');
    else reply.type('text/html; charset=utf-8').send(NOT_BUILT);
    return true;
  }
}
