/**
 * The container files, checked without an engine: two linters, and the image's own steps run in a clean folder.
 * What stays unchecked is the base image itself.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { end, freePort, run, start, until } from './lib/processes.mjs';
import { bin, inRoot, ROOT } from './lib/repo.mjs';

const folder = mkdtempSync(path.join(tmpdir(), 'xtimer-docker-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const text = (file) => readFileSync(inRoot(file), 'utf8');
const quietly = (command, args, options) => run(command, args, { cwd: ROOT, quiet: true, ...options });

describe('docker-compose.yml', () => {
  const lint = (file) =>
    quietly(bin('dclint'), [
      file,
      '--max-warnings=0',
      // How a person reads a service from top to bottom is not the alphabet's business.
      '--disable-rule=service-keys-order',
      '--disable-rule=top-level-properties-order',
      // Wants single quotes, Biome wants double ones.
      '--disable-rule=require-quotes-in-ports',
    ]);

  it('is valid, without a warning', async () => {
    expect(await lint('docker-compose.yml')).toMatchObject({ code: 0 });
  });

  it('would not be with a misspelled key', async () => {
    const file = path.join(folder, 'docker-compose.yml');
    writeFileSync(file, text('docker-compose.yml').replace('retries:', 'retrys:'));
    expect(await lint(file)).toMatchObject({ code: 1, output: expect.stringContaining('invalid-schema') });
  });

  it('has no default for a secret', () => {
    const secrets = text('docker-compose.yml').match(/\$\{\w*(PASSWORD|TOKEN|SECRET)\w*[^}]*\}/g);
    expect(secrets.length).toBeGreaterThan(2);
    for (const secret of secrets) expect(secret).toMatch(/^\$\{\w+:\?.+\}$/);
  });
});

describe('Dockerfile', () => {
  it('has only instructions that exist', async () => {
    expect(await quietly(bin('dockerfile-utils'), ['lint', 'Dockerfile'])).toMatchObject({ code: 0 });
  });

  it('builds a server that starts, is healthy and stops', { timeout: 300_000 }, async () => {
    const app = path.join(folder, 'app');
    const [build, final] = stagesOf(text('Dockerfile'));
    expect(build.map((step) => step.name)).toContain('COPY');
    for (const { name, rest } of build) {
      if (name === 'COPY') {
        expect(rest).toBe('. .');
        copyContext(app);
      }
      if (name === 'RUN') {
        const { code, output } = await quietly('sh', ['-c', rest], { cwd: app });
        expect(code, `${rest}\n${output}`).toBe(0);
      }
    }

    const only = (name) => final.find((step) => step.name === name).rest;
    const [command, ...args] = JSON.parse(only('CMD'));
    const [probe, ...probeArgs] = JSON.parse(only('HEALTHCHECK').replace(/^.*?CMD /, ''));
    const env = {
      NODE_ENV: 'production',
      XTIMER_PORT: String(await freePort()),
      XTIMER_DATABASE_URL: 'sqlite:./data/xtimer.db',
    };
    const server = start(command, args, { cwd: app, env, quiet: true });
    try {
      const healthy = async () => (await quietly(probe, probeArgs, { env })).code === 0;
      await until(healthy, { what: 'the health check', child: server });
    } finally {
      await end(server, { signal: only('STOPSIGNAL') });
    }
    expect(await server.ended).toMatchObject({ code: 0 });
  });
});

/** The instructions of each stage, continuation lines joined, comments left out. */
function stagesOf(dockerfile) {
  const lines = dockerfile
    .replace(/^\s*#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const stages = [];
  for (const line of lines) {
    const [, name, rest] = line.match(/^(\w+)\s+(.*)$/);
    if (name === 'FROM') stages.push([]);
    else stages.at(-1).push({ name, rest });
  }
  return stages;
}

/** What `COPY . .` would take: everything .dockerignore leaves, of which the last matching line decides. */
function copyContext(target) {
  const rules = text('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ keep: line.startsWith('!'), pattern: patternOf(line.replace(/^!/, '')) }));
  cpSync(ROOT, target, {
    recursive: true,
    filter: (source) => {
      const file = path.relative(ROOT, source);
      return file === '' || (rules.findLast((rule) => rule.pattern.test(file))?.keep ?? true);
    },
  });
}

/** `*` is one path part or some of it, `**` + `/` any number of folders; a folder stands for all in it. */
function patternOf(glob) {
  const source = glob
    .replace(/[.]/g, '\\.')
    .replaceAll('**/', '\0')
    .replaceAll('*', '[^/]*')
    .replaceAll('\0', '(.*/)?');
  return new RegExp(`^${source}(/.*)?$`);
}
