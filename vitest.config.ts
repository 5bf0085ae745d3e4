import { defineConfig } from 'vitest/config';

// Suites that start servers and measure lateness, or install with npm: they run after the rest, one file at a time.
const alone = ['{apps,examples}/*/test/**/*.spec.{ts,tsx}', 'scripts/docker.spec.mjs'];

export default defineConfig({
  test: {
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: [
            'packages/*/{src,test}/**/*.spec.{ts,tsx}',
            'apps/*/src/**/*.spec.{ts,tsx}',
            'scripts/**/*.spec.mjs',
          ],
          exclude: [...alone, '**/node_modules/**'],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: 'e2e', include: alone, fileParallelism: false, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
