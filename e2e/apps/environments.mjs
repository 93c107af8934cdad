// Where the library has to work: what scripts/check-apps.mjs builds, runs and writes about in docs/environments.md.

/**
 * @typedef {object} Environment
 * @property {string} key its name on the command line
 * @property {string} title its name in the docs
 * @property {string} app the folder with what is special to it; what all share is in `shared`
 * @property {string[]} [tools] packages with exact versions, the one that gives the environment its version first
 * @property {string[]} [devTools] what its development server needs besides
 * @property {'module' | 'classic'} [page] the page to serve, where neither the application nor its tool has one
 * @property {string} [build] the command that builds it
 * @property {string} [output] the folder that this command writes, to be served
 * @property {string} [dev] the command of the development server, PORT being its port
 * @property {'page' | 'extension' | 'process'} [kind] how it is run
 * @property {string} [run] of a process: its command
 * @property {Record<string, string>} [headers] with which it is served
 * @property {boolean} [withFramework] its pages download more than this library: a second build without the library tells how much
 * @property {string} [ownThread] the name of the thread, where that is neither a page's nor a worker's
 * @property {boolean} [ci] `npm test` builds and runs it
 * @property {Expectation} expected of the built application, or where nothing is built
 * @property {Expectation} [expectedDev] of the development server
 * @property {string} [add] what there is to add to the one import, for the docs
 *
 * @typedef {object} Expectation
 * @property {'worker' | 'page'} thread where the model runs at least; `page` for service workers and Node, which have no other
 * @property {number} [limit] bytes of gzip that page and worker transfer together
 */

const vite = { app: 'vite', page: 'module', build: 'vite build', output: 'dist', dev: 'vite --port PORT --strictPort' };
const react = ['react@19.3.1', 'react-dom@19.3.1'];
const next = { app: 'next', output: 'out', withFramework: true };
const nextTools = ['next@16.4.6', ...react];
/** Of a page whose program needs common operators; what there is beside the library is a few hundred bytes. */
const limit = 260_000;
/** @type {Environment[]} */
export const environments = [
  {
    ...vite,
    key: 'vite-5',
    title: 'Vite 5',
    tools: ['vite@5.4.21'],
    expected: { thread: 'worker', limit },
    expectedDev: { thread: 'worker' },
  },
  {
    ...vite,
    key: 'vite-6',
    title: 'Vite 6',
    tools: ['vite@6.4.6'],
    expected: { thread: 'worker', limit },
    expectedDev: { thread: 'worker' },
  },
  {
    ...vite,
    key: 'vite-7',
    title: 'Vite 7',
    tools: ['vite@7.3.8'],
    expected: { thread: 'worker', limit },
    expectedDev: { thread: 'worker' },
  },
  {
    ...vite,
    key: 'vite-8',
    title: 'Vite 8',
    tools: ['vite@8.3.8'],
    ci: true,
    expected: { thread: 'worker', limit },
    expectedDev: { thread: 'worker' },
  },
  {
    key: 'webpack',
    title: 'webpack 5',
    app: 'webpack',
    tools: ['webpack@5.112.2', 'webpack-cli@6.0.1'],
    devTools: ['webpack-dev-server@5.2.7'],
    page: 'classic',
    build: 'webpack build --mode production',
    output: 'dist',
    dev: 'webpack serve --mode development --port PORT',
    ci: true,
    expected: { thread: 'worker', limit },
    expectedDev: { thread: 'worker' },
  },
  {
    key: 'rspack',
    title: 'Rspack 2',
    app: 'rspack',
    tools: ['@rspack/core@2.3.2', '@rspack/cli@2.2.8', '@rspack/dev-server@2.2.2'],
    page: 'classic',
    build: 'rspack build --mode production',
    output: 'dist',
    dev: 'rspack serve --mode development --port PORT',
    expected: { thread: 'worker', limit },
    expectedDev: { thread: 'worker' },
  },
  {
    key: 'rollup',
    title: 'Rollup 4',
    app: 'rollup',
    tools: ['rollup@4.68.7', '@rollup/plugin-node-resolve@16.0.3'],
    page: 'module',
    build: 'rollup --config rollup.config.mjs',
    output: 'dist',
    ci: true,
    expected: { thread: 'worker', limit },
  },
  {
    key: 'esbuild',
    title: 'esbuild',
    app: 'esbuild',
    tools: ['esbuild@0.28.2'],
    page: 'module',
    build: 'esbuild main.js --bundle --minify --format=esm --outdir=dist',
    output: 'dist',
    dev: 'esbuild main.js --bundle --format=esm --outdir=. --allow-overwrite --servedir=. --serve=PORT',
    ci: true,
    expected: { thread: 'worker', limit },
    expectedDev: { thread: 'worker' },
  },
  {
    key: 'esbuild-splitting',
    title: 'esbuild, `--splitting`',
    app: 'esbuild',
    tools: ['esbuild@0.28.2'],
    page: 'module',
    build: 'esbuild main.js --bundle --minify --format=esm --splitting --outdir=dist',
    output: 'dist',
    ci: true,
    expected: { thread: 'worker', limit },
  },
  {
    key: 'esbuild-iife',
    title: 'esbuild, a classic script',
    app: 'esbuild',
    tools: ['esbuild@0.28.2'],
    page: 'classic',
    build: 'esbuild main.js --bundle --minify --outdir=dist',
    output: 'dist',
    ci: true,
    expected: { thread: 'worker', limit },
  },
  {
    key: 'parcel',
    title: 'Parcel 2',
    app: 'parcel',
    tools: ['parcel@2.16.4'],
    page: 'module',
    build: 'parcel build index.html --no-autoinstall --no-cache',
    output: 'dist',
    dev: 'parcel serve index.html --no-autoinstall --no-cache --port PORT',
    ci: true,
    expected: { thread: 'worker', limit },
    expectedDev: { thread: 'worker' },
  },
  {
    ...next,
    key: 'next-turbopack',
    title: 'Next.js 16, Turbopack',
    tools: nextTools,
    build: 'next build --turbopack',
    dev: 'next dev --turbopack --port PORT',
    expected: { thread: 'worker', limit },
    expectedDev: { thread: 'worker' },
  },
  {
    ...next,
    key: 'next-webpack',
    title: 'Next.js 16, webpack',
    tools: nextTools,
    build: 'next build --webpack',
    dev: 'next dev --webpack --port PORT',
    expected: { thread: 'worker', limit },
    expectedDev: { thread: 'worker' },
  },
  {
    key: 'sveltekit',
    title: 'SvelteKit 2',
    app: 'sveltekit',
    tools: [
      '@sveltejs/kit@2.70.4',
      '@sveltejs/adapter-static@3.0.10',
      '@sveltejs/vite-plugin-svelte@6.2.3',
      'svelte@5.57.3',
      'vite@7.3.8',
    ],
    build: 'vite build',
    output: 'dist',
    dev: 'vite --port PORT --strictPort',
    withFramework: true,
    expected: { thread: 'worker', limit },
    expectedDev: { thread: 'worker' },
  },
  {
    key: 'angular',
    title: 'Angular 21',
    app: 'angular',
    tools: [
      '@angular/build@21.2.27',
      '@angular/cli@21.2.27',
      ...['compiler', 'compiler-cli', 'core', 'common', 'platform-browser'].map((name) => `@angular/${name}@21.2.26`),
      'rxjs@7.8.2',
      'tslib@2.8.1',
      'typescript@5.9.3',
    ],
    build: 'ng build',
    output: 'dist',
    dev: 'ng serve --port PORT',
    withFramework: true,
    expected: { thread: 'worker', limit },
    expectedDev: { thread: 'worker' },
  },
  {
    key: 'modules',
    title: 'Modules, without a bundler',
    app: 'modules',
    page: 'module',
    expected: { thread: 'worker', limit },
    add: "`import { load } from './node_modules/cresset/dist/cresset.js'`: the file's address instead of the name",
  },
  {
    key: 'import-map',
    title: 'An import map',
    app: 'import-map',
    expected: { thread: 'worker', limit },
    add: '`{ "imports": { "cresset": "./node_modules/cresset/dist/cresset.js" } }`',
  },
  {
    key: 'script-tag',
    title: 'A script tag',
    app: 'script-tag',
    ci: true,
    expected: { thread: 'worker', limit },
    add: '`<script src="cresset.global.js"></script>`, then `cresset.load(…)` without an import',
  },
  {
    key: 'cdn-module',
    title: 'Another origin, module',
    app: 'cdn-module',
    ci: true,
    expected: { thread: 'worker', limit },
    add: 'the address in an import map or in the import',
  },
  {
    key: 'cdn-script',
    title: 'Another origin, script tag',
    app: 'cdn-script',
    ci: true,
    expected: { thread: 'worker', limit },
    add: 'the address in `src`, then `cresset.load(…)` without an import',
  },
  {
    key: 'trusted-types',
    title: 'Trusted Types',
    app: 'modules',
    page: 'module',
    headers: { 'Content-Security-Policy': "require-trusted-types-for 'script'; trusted-types cresset" },
    expected: { thread: 'worker', limit },
    add: 'the policy has to allow the name: `trusted-types cresset`',
  },
  {
    key: 'strict-policy',
    title: 'A strict Content-Security-Policy',
    app: 'modules',
    page: 'module',
    headers: {
      'Content-Security-Policy': "default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'",
    },
    expected: { thread: 'worker', limit },
    add: "`script-src 'self'; worker-src 'self'; connect-src 'self'` is enough",
  },
  {
    key: 'extension-page',
    title: 'A page of an extension (MV3)',
    app: 'extension-page',
    page: 'module',
    kind: 'extension',
    ci: true,
    expected: { thread: 'worker' },
    add: 'an extension has its modules by their addresses, or through a bundler',
  },
  {
    key: 'extension-worker',
    title: 'The service worker of an extension (MV3)',
    ownThread: 'service worker',
    app: 'extension-worker',
    page: 'module',
    kind: 'extension',
    ci: true,
    expected: { thread: 'page' },
    add: '`import \'cresset/engine\'` beside `cresset`, or `cresset/full` for a model that needs more parts: nothing can be fetched there while a program runs; the service worker is a module: `"type": "module"` in the manifest',
  },
  {
    key: 'service-worker',
    title: 'The service worker of a page',
    ownThread: 'service worker',
    app: 'service-worker',
    page: 'module',
    expected: { thread: 'page', limit },
    add: "`import 'cresset/engine'` beside `cresset`, or `cresset/full` for a model that needs more parts: nothing can be fetched there while a program runs; the service worker is a module: `register(…, { type: 'module' })`",
  },
  {
    key: 'node',
    title: 'Node',
    ownThread: 'calling thread',
    app: 'node',
    kind: 'process',
    run: 'node main.mjs PATH',
    expected: { thread: 'page' },
    add: 'runs in the calling thread; a model is named by its path or its `file:` address',
  },
  {
    key: 'node-address',
    title: 'Node, `file:`',
    ownThread: 'calling thread',
    app: 'node',
    kind: 'process',
    run: 'node main.mjs ADDRESS',
    expected: { thread: 'page' },
  },
  {
    key: 'node-gpu',
    title: 'Node with a GPU',
    ownThread: 'calling thread',
    app: 'node',
    tools: ['webgpu@0.6.2'],
    kind: 'process',
    run: 'node --import ./gpu.mjs main.mjs PATH',
    expected: { thread: 'page' },
    add: 'the package `webgpu`, whose `create([])` becomes `navigator.gpu` before the first model is loaded',
  },
  {
    key: 'deno',
    title: 'Deno',
    app: 'node',
    kind: 'process',
    run: 'deno run --allow-all --node-modules-dir=manual main.mjs PATH',
    expected: { thread: 'worker' },
  },
  {
    key: 'bun',
    title: 'Bun',
    app: 'node',
    tools: ['bun@1.4.5'],
    kind: 'process',
    run: 'bun main.mjs PATH',
    expected: { thread: 'worker' },
  },
];
