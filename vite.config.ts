import { fileURLToPath } from 'node:url';
import type { Plugin, UserConfig } from 'vite';
import { defineConfig } from 'vitest/config';
import { vulkanEnvironment } from './scripts/gpu-lanes.mjs';

// Vitest's reporter groups failures with Map.groupBy, which Node 20 does not have yet.
(Map as { groupBy?: unknown }).groupBy ??= <Key, Item>(items: Iterable<Item>, keyOf: (item: Item) => Key) => {
  const groups = new Map<Key, Item[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
};

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

/** Workspace packages are consumed as source, so nothing has to be built before tests or the playground run. */
const resolve = {
  alias: [
    { find: /^cresset$/, replacement: path('packages/cresset/src/index.ts') },
    { find: /^cresset\/full$/, replacement: path('packages/cresset/src/full.ts') },
    { find: /^@cresset\/operators\/parts\/([a-z-]+)$/, replacement: path('packages/operators/src/parts/$1.ts') },
    { find: /^@cresset\/([a-z-]+)$/, replacement: path('packages/$1/src/index.ts') },
  ],
};

/**
 * The published core names its worker as the file beside it, `./worker.js`. Vite would otherwise bundle a second,
 * complete copy of the library for the worker and name that; here the worker is an entry of its own that shares code
 * with the core, and the bundler of whoever uses the library does the rest.
 */
function workerBesideTheCore(): Plugin {
  return {
    name: 'worker-beside-the-core',
    enforce: 'pre',
    transform(code) {
      const source = /new URL\('\.\/(worker(?:-full)?)\.ts', import\.meta\.url\)/g;
      if (!source.test(code)) return null;
      return { code: code.replace(source, "new URL(/* @vite-ignore */ './$1.js', import.meta.url)"), map: null };
    },
    generateBundle(_options, bundle) {
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== 'chunk') continue;
        // The mark was for this build only, and bundlers recognise a worker and its type by plain strings only. Line
        // ends stay, so that source maps keep pointing at the right places.
        chunk.code = chunk.code
          .replace(/\/\* @vite-ignore \*\/(\s*)`\.\/(worker(?:-full)?)\.js`/g, '$1"./$2.js"')
          .replace(/("\.\/worker(?:-full)?\.js",import\.meta\.url\),\{type:)`module`/g, '$1"module"');
      }
    },
  };
}

const target = 'es2022';
const libraryFolder = path('packages/cresset/dist');

/**
 * An edition: what a page imports, its worker, and `runtime`, which both share. Editions are built apart, so that none carries what
 * only another one uses.
 */
function edition(entry: Record<string, string>, runtime: string, emptyOutDir: boolean): UserConfig {
  return {
    plugins: [workerBesideTheCore()],
    build: {
      target,
      sourcemap: true,
      outDir: libraryFolder,
      emptyOutDir,
      lib: { entry, formats: ['es'] },
      rolldownOptions: {
        // Vite leaves the white space of ES libraries alone unless the bundler itself is told to minify.
        output: { minify: true, entryFileNames: '[name].js', chunkFileNames: `${runtime}.js` },
      },
    },
  };
}

/** `cresset.js` with `worker.js`. */
const library = edition(
  { cresset: path('packages/cresset/src/index.ts'), worker: path('packages/cresset/src/worker.ts') },
  'runtime',
  true,
);

/** `full.js` with `worker-full.js`. */
const fullLibrary = edition(
  { full: path('packages/cresset/src/full.ts'), 'worker-full': path('packages/cresset/src/worker-full.ts') },
  'runtime-full',
  false,
);

/** `dist/cresset.global.js`: one classic script, the library on a page and its own worker when started as one. */
const libraryScript: UserConfig = {
  build: {
    target,
    sourcemap: true,
    outDir: libraryFolder,
    emptyOutDir: false,
    lib: {
      entry: path('packages/cresset/src/global.ts'),
      formats: ['iife'],
      name: 'cresset',
      fileName: () => 'cresset.global.js',
    },
    rolldownOptions: { output: { minify: true } },
  },
};

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

/** The taker of mutated inputs, and the process it watches. */
const fuzz: UserConfig = {
  build: {
    target: 'node20',
    ssr: true,
    sourcemap: true,
    rolldownOptions: { input: { main: path('fuzz/src/main.ts'), child: path('fuzz/src/child.ts') } },
  },
  ssr: { noExternal: true },
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

const gpuTests = '**/*.gpu.test.ts';
const notTests = ['**/node_modules/**', '**/dist/**'];
/** The limit is there for what hangs: a busy machine takes many times as long as a quiet one. */
const nodeTests = {
  environment: 'node',
  pool: 'forks',
  maxWorkers: 2,
  testTimeout: 120_000,
  hookTimeout: 120_000,
} as const;

const tests = {
  projects: [
    {
      resolve,
      test: {
        ...nodeTests,
        name: 'unit',
        setupFiles: [path('test-setup/property-seed.ts')],
        include: ['packages/*/src/**/*.test.ts', 'conformance/**/*.test.ts', 'apps/*/**/*.test.ts'],
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
  library,
  'library-full': fullLibrary,
  'library-script': libraryScript,
  playground,
  conformance,
  'round-trip': roundTrip,
  'conformance-page': conformancePage,
  fuzz,
};

/** `vite build --mode library | library-full | library-script | playground`, `vite --mode playground`, and vitest. */
export default defineConfig(({ mode }) => ({
  resolve,
  // ES workers may share code with the page and be split like it.
  worker: { format: 'es' },
  ...modes[mode],
  test: tests,
}));
