// Looks at the package as someone who installs it would: do its exports, types and files hold together?
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { runToEnd } from './machine/process-group.mjs';

const folder = 'packages/cresset';
const consumer = mkdtempSync(join(tmpdir(), 'cresset-package-'));
const installed = join(consumer, 'node_modules', 'cresset');
const { resolve } = createRequire(import.meta.url);

/** What a project needs that uses the library: neither newer libraries of types nor leave to pass over those of others. */
const compilerOptions = {
  target: 'ES2022',
  lib: ['ES2022', 'DOM'],
  module: 'ESNext',
  moduleResolution: 'Bundler',
  strict: true,
  skipLibCheck: false,
  noEmit: true,
  types: [],
};

const program = `import { load, script, setWorker, shutdown, tensor, type Tensor } from 'cresset';
import { load as loadWithAll } from 'cresset/full';
const x: Tensor = tensor([1], { shape: [1] });
const model = await load<'encode'>('model.pt', { lazy: false });
await model.encode(x);
setWorker(() => new Worker('worker.js'));
console.log(x.toJSON().data, loadWithAll === load, (await script('')).functions);
await shutdown();
`;

const names =
  "['load', 'tensor', 'setWorker', 'shutdown'].every((name) => typeof cresset[name] === 'function') || process.exit(1)";

/** Unpacks what would be published where a consumer has it. */
async function install() {
  const { status } = await runToEnd('pnpm', ['--dir', folder, 'pack', '--pack-destination', consumer], { quiet: true });
  if (status !== 0) throw new Error('the package could not be packed');
  const archive = readdirSync(consumer).find((name) => name.endsWith('.tgz'));
  spawnSync('tar', ['xzf', archive], { cwd: consumer, stdio: 'inherit' });
  mkdirSync(dirname(installed), { recursive: true });
  renameSync(join(consumer, 'package'), installed);
  const files = readdirSync(installed);
  for (const wanted of ['LICENSE', 'README.md', 'dist']) {
    if (!files.includes(wanted)) throw new Error(`the package has no ${wanted}`);
  }
  const write = (name, text) => writeFileSync(join(consumer, name), text);
  write('package.json', JSON.stringify({ private: true }));
  write('tsconfig.json', JSON.stringify({ compilerOptions, files: ['program.ts'] }));
  write('program.ts', program);
  write('module.mjs', `import * as cresset from 'cresset';\n${names};\n`);
  write('script.cjs', `const cresset = require('cresset');\n${names};\n`);
  // Bundlers that know nothing of exports go by this one.
  write('main.mjs', `import * as cresset from './node_modules/cresset/${resolveMain()}';\n${names};\n`);
}

function resolveMain() {
  const { main } = createRequire(import.meta.url)(join(installed, 'package.json'));
  return main.replace('./', '');
}

const compiler = (name) => [
  process.execPath,
  [join(dirname(resolve(`${name}/package.json`)), 'bin', 'tsc'), '-p', consumer],
];

try {
  await install();
  const checks = [
    ['publint', ['run', folder, '--strict', '--pack', 'pnpm']],
    // These are started or imported for what they do, so they have no types of their own.
    [
      'attw',
      [
        '--pack',
        folder,
        '--profile',
        'esm-only',
        '--exclude-entrypoints',
        './engine',
        './engine.js',
        './script',
        './full/script',
      ],
    ],
    compiler('typescript-5'),
    compiler('typescript'),
    ...['module.mjs', 'script.cjs', 'main.mjs'].map((name) => [process.execPath, [join(consumer, name)]]),
  ];
  for (const [command, args] of checks) {
    const { status } = await runToEnd(command, args);
    if (status === 0) continue;
    console.error(`failed: ${[command, ...args].join(' ')}`);
    process.exitCode = 1;
  }
} finally {
  rmSync(consumer, { recursive: true, force: true });
}
