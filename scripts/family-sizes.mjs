// What each family of operators, and each package, weighs in the library: `node scripts/family-sizes.mjs`. Compressed bytes
// belong to a chunk; its modules share them by the length of their code.
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';

const fromRoot = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** The family, or else the room or the package, that a module stands in: `families/linalg`, `operators/kernels`, `frontend`. */
function placeOf(id) {
  const [, name, path] = /packages\/([\w-]+)\/src\/(.*)$/.exec(id) ?? [];
  if (name !== 'operators') return name ?? 'elsewhere';
  const [room, family] = path.split('/');
  if (room === 'families' && !family.endsWith('.ts')) return `families/${family}`;
  return room.endsWith('.ts') ? name : `operators/${room}`;
}

/** Compressed bytes by place, of chunks as Vite's `build` gives them. */
export function familySizes(chunks) {
  const sizes = new Map();
  for (const { code, modules } of chunks) {
    const lengths = Object.entries(modules).map(([id, { renderedLength }]) => [placeOf(id), renderedLength]);
    const whole = lengths.reduce((sum, [, length]) => sum + length, 0);
    const bytes = gzipSync(code, { level: 9 }).length;
    for (const [place, length] of lengths) sizes.set(place, (sizes.get(place) ?? 0) + (bytes * length) / whole);
  }
  return sizes;
}

/** The engine with everything at once, and apart from it each part of the operators, as chunks. */
async function libraryChunks() {
  const parts = readdirSync(fromRoot('packages/operators/src/parts'));
  const entries = [
    'packages/cresset/src/engine-full.ts',
    ...parts.map((part) => `packages/operators/src/parts/${part}`),
  ];
  const { output } = await build({
    configFile: fromRoot('vite.config.ts'),
    mode: 'sizes',
    logLevel: 'error',
    build: {
      write: false,
      target: 'es2022',
      modulePreload: false,
      rolldownOptions: {
        input: entries.map(fromRoot),
        preserveEntrySignatures: 'allow-extension',
        output: { minify: true },
      },
    },
  });
  return output.filter(({ type }) => type === 'chunk');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const sizes = [...familySizes(await libraryChunks())]
    .filter(([, bytes]) => bytes >= 50)
    .sort(([, a], [, b]) => b - a);
  for (const [place, bytes] of sizes)
    console.log(`${place.padEnd(28)} ${(bytes / 1000).toFixed(1).padStart(6)} kB gzip`);
}
