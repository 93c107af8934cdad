import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { vulkanEnvironment } from './scripts/gpu-lanes.mjs';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

/** Workspace packages are consumed as source, so nothing has to be built before tests or the playground run. */
const resolve = {
  alias: [
    { find: /^cresset$/, replacement: path('packages/cresset/src/index.ts') },
    { find: /^@cresset\/([a-z-]+)$/, replacement: path('packages/$1/src/index.ts') },
  ],
};

const gpuTests = '**/*.gpu.test.ts';
const nodeTests = { environment: 'node', pool: 'forks', maxWorkers: 2 } as const;

export default defineConfig({
  resolve,
  test: {
    projects: [
      {
        resolve,
        test: {
          ...nodeTests,
          name: 'unit',
          include: ['packages/*/src/**/*.test.ts', 'conformance/**/*.test.ts', 'apps/*/**/*.test.ts'],
          exclude: [gpuTests, '**/node_modules/**', '**/dist/**'],
        },
      },
      {
        resolve,
        test: {
          ...nodeTests,
          name: 'gpu',
          include: [`packages/${gpuTests}`, `conformance/${gpuTests}`],
          exclude: ['**/node_modules/**', '**/dist/**'],
          env: vulkanEnvironment,
          setupFiles: [path('test-setup/node-gpu.ts')],
          testTimeout: 60_000,
        },
      },
    ],
  },
});
