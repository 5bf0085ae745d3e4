import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: [
      'packages/*/src/**/*.spec.ts',
      'packages/*/test/**/*.spec.ts',
      'apps/*/src/**/*.spec.ts',
      'apps/*/test/**/*.spec.ts',
      'scripts/**/*.spec.ts',
    ],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
