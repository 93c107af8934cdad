import { fileURLToPath } from 'node:url';
import type { UserConfig } from 'vite';
import { defineConfig } from 'vitest/config';
import { benchPlugin } from './apps/bench/vite-plugin.mjs';
import { aliases } from './scripts/build/aliases.mjs';
import { vulkanEnvironment } from './scripts/machine/gpu-lanes.mjs';

// Vitest's reporter groups failures with Map.groupBy, which Node 20 does not have yet.
(Map as { groupBy?: unknown }).groupBy ??= <Key, Item>(items: Iterable<Item>, keyOf: (item: Item) => Key) => {
  const groups = new Map<Key, Item[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
};

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

const resolve = { alias: aliases };

const target = 'es2022';
const playground: UserConfig = {
  root: path('apps/playground'),
  // Relative addresses: the built playground can stand in any folder of any server.
  base: './',
  build: { target, outDir: path('apps/playground/dist'), emptyOutDir: true },
};

/** The conformance runner, bundled so that Node can start it and its many processes at once. */
const conformance: UserConfig = {
  build: {
    target: 'node20',
    ssr: true,
    sourcemap: true,
    rolldownOptions: {
      input: { main: path('conformance/src/main.ts'), worker: path('conformance/src/worker.ts') },
    },
  },
  ssr: { noExternal: true, external: ['webgpu', 'playwright'] },
};

/** The taker of mutated inputs and the runner of random programs, with the processes that they watch. */
const fuzz: UserConfig = {
  build: {
    target: 'node20',
    ssr: true,
    sourcemap: true,
    rolldownOptions: {
      input: {
        main: path('fuzz/src/main.ts'),
        child: path('fuzz/src/child.ts'),
        'programs/main': path('fuzz/src/programs/main.ts'),
        'programs/worker': path('fuzz/src/programs/worker.ts'),
      },
    },
  },
  ssr: { noExternal: true, external: ['webgpu'] },
};

/** The half of scripts/check-round-trip.mjs that runs in Node. */
const roundTrip: UserConfig = {
  build: {
    ...conformance.build,
    rolldownOptions: { input: { 'round-trip': path('conformance/src/round-trip.ts') } },
  },
  ssr: conformance.ssr!,
};

/** The page in which cases run in a browser. */
const conformancePage: UserConfig = {
  root: path('conformance/page'),
  base: './',
  build: { target, emptyOutDir: true },
};

/** The page of the bench, and what `pnpm bench` runs in Node. What it compares with is in a workspace of its own. */
const bench: UserConfig = {
  root: path('apps/bench'),
  base: './',
  plugins: [benchPlugin()],
  worker: { format: 'es', plugins: () => [benchPlugin()] },
  build: { target: 'es2023', outDir: path('apps/bench/dist'), emptyOutDir: true, chunkSizeWarningLimit: 10_000 },
};

const gpuTests = '**/*.gpu.test.ts';
const notTests = ['**/node_modules/**', '**/dist/**'];
/** The limit is there for what hangs: a busy machine takes many times as long as a quiet one. */
const nodeTests = {
  environment: 'node',
  pool: 'forks',
  maxWorkers: 2,
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 60_000 } },
} as const;

const tests = {
  projects: [
    {
      resolve,
      test: {
        ...nodeTests,
        name: 'unit',
        setupFiles: [path('test-setup/property-seed.ts')],
        include: [
          'packages/*/src/**/*.test.ts',
          'conformance/**/*.test.ts',
          'fuzz/**/*.test.ts',
          'apps/*/**/*.test.ts',
        ],
        exclude: [gpuTests, ...notTests],
      },
    },
    {
      resolve,
      test: {
        ...nodeTests,
        name: 'gpu',
        include: [`packages/${gpuTests}`, `conformance/${gpuTests}`],
        exclude: notTests,
        env: vulkanEnvironment,
        setupFiles: [path('test-setup/node-gpu.ts')],
      },
    },
  ],
};

const modes: Record<string, UserConfig> = {
  playground,
  bench,
  conformance,
  'round-trip': roundTrip,
  'conformance-page': conformancePage,
  fuzz,
};

/** `vite build --mode playground`, `vite --mode playground`, and vitest. */
export default defineConfig(({ mode }) => ({
  resolve,
  // ES workers may share code with the page and be split like it.
  worker: { format: 'es' },
  ...modes[mode],
  test: tests,
}));
