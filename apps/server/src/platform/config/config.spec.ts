import { readFile, writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { ConfigError, loadConfig } from './config.js';
import { configTable } from './config-table.js';

const mistakesOf = (env: Record<string, string>): readonly string[] => {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
  return [];
};

it('runs embedded without any variable', () => {
  const { config, warnings } = loadConfig({ PATH: '/bin', XTIMER_REDIS_URL: '' });
  expect(warnings).toEqual([]);
  expect(config).toMatchObject({
    ...{ mode: 'embedded', port: 8082, host: '127.0.0.1', databaseUrl: 'sqlite:./data/xtimer.db', redisUrl: null },
    ...{ bucketsNum: 16, roles: ['api', 'worker'], timezone: 'UTC', adminToken: null, shutdownGraceMs: 30_000 },
    ...{ callbackAllow: ['127.0.0.0/8', '::1'], callbackDeny: [], callbackConcurrency: 1_000 },
  });
});

it('lists every mistake with variable, value and what is right', () => {
  const mistakes = mistakesOf({
    XTIMER_PORT: '80820',
    XTIMER_BUCKETS: '1.5',
    XTIMER_ROLES: 'api,cook',
    XTIMER_TIMEZONE: 'Mars/Olympus',
    XTIMER_CALLBACK_ALLOW: '10.0.0.0/8,300.1.1.1',
    XTIMER_LOG_LEVEL: 'loud',
    XTIMER_DATABASE_URL: 'postgres://u:secret@h/d',
    XTIMER_REDIS_URL: 'http://:secret@h',
    XTIMER_ADMIN_TOKEN: 'too-short',
  });
  expect(mistakes).toHaveLength(9);
  for (const pattern of [
    /^XTIMER_PORT="80820": expected a whole number from 0 to 65535$/,
    /^XTIMER_BUCKETS="1.5": .*1 to 1024/,
    /^XTIMER_ROLES="api,cook": .*api, worker/,
    /^XTIMER_TIMEZONE="Mars\/Olympus": .*IANA/,
    /^XTIMER_CALLBACK_ALLOW=.*300\.1\.1\.1/,
    /^XTIMER_LOG_LEVEL="loud": .*debug/,
    /^XTIMER_DATABASE_URL=postgres:\/\/\*\*\*@h\/d: expected sqlite:/,
    /^XTIMER_REDIS_URL=http:\/\/\*\*\*@h: expected redis:/,
    /^XTIMER_ADMIN_TOKEN=\*\*\* \(9 characters\): expected 16/,
  ]) {
    expect(
      mistakes.some((mistake) => pattern.test(mistake)),
      `${pattern} in\n${mistakes.join('\n')}`,
    ).toBe(true);
  }
  expect(mistakes.join()).not.toMatch(/secret|too-short/);
});

it('refuses what does not go together', () => {
  expect(mistakesOf({ XTIMER_REDIS_URL: 'redis://h:6379' })).toEqual([expect.stringMatching(/SQLite.*one process/)]);
  expect(mistakesOf({ XTIMER_ROLES: 'api' })).toEqual([expect.stringMatching(/api,worker/)]);
});

it('clusters with MySQL, closed to inside addresses, and warns without Redis', () => {
  const mysql = { XTIMER_DATABASE_URL: 'mysql://u:p@h/d' };
  const alone = loadConfig(mysql);
  expect(alone.config).toMatchObject({ mode: 'clustered', callbackAllow: [] });
  expect(alone.warnings).toEqual([expect.stringMatching(/one node/)]);
  const cluster = loadConfig({ ...mysql, XTIMER_REDIS_URL: 'redis://a:1,redis://b:2', XTIMER_ROLES: 'worker' });
  expect(cluster.warnings).toEqual([]);
  expect(cluster.config.roles).toEqual(['worker']);
});

it('warns about names it does not know, with the nearest one', () => {
  const { warnings } = loadConfig({ XTIMER_DATABASE_URI: 'x', XTIMER_TEST_MYSQL_URL: 'x', OTHER: 'x' });
  expect(warnings).toEqual([expect.stringMatching(/^XTIMER_DATABASE_URI .*XTIMER_DATABASE_URL\?$/)]);
});

it('gives every process its own node id', () => {
  expect(loadConfig({}).config.nodeId).not.toBe(loadConfig({}).config.nodeId);
});

it('is what docs/configuration.md says (XTIMER_TEST_WRITE_DOCS=1 writes it)', async () => {
  const file = new URL('../../../../../docs/configuration.md', import.meta.url);
  const page = await readFile(file, 'utf8');
  const expected = page.replace(
    /(<!-- table -->\n)[\s\S]*(\n<!-- end -->)/,
    (_, start, end) => start + configTable() + end,
  );
  if (process.env.XTIMER_TEST_WRITE_DOCS) await writeFile(file, expected);
  else expect(page).toBe(expected);
});
