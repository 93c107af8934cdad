// What a page downloads stays small: what every page takes has a limit, compressed, and each part that a program may need is told.
import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { familySizes } from './build/family-sizes.mjs';

const folder = new URL('../packages/cresset/dist/', import.meta.url);
const downloads = [
  { name: 'page and engine', files: ['cresset.js', 'engine.js'], limit: 255_800 },
  { name: 'classic script and engine', files: ['cresset.global.js', 'engine.js'], limit: 255_800 },
  { name: 'everything at once', files: ['cresset.js', 'full.js', 'engine-full.js'], limit: 880_500 },
  { name: 'one classic script with everything', files: ['full.global.js'], limit: 881_500 },
];

const sizeOf = (file) => gzipSync(readFileSync(new URL(file, folder)), { level: 9 }).length;
const shown = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;

for (const { name, files, limit } of downloads) {
  const size = files.reduce((sum, file) => sum + sizeOf(file), 0);
  const verdict = size <= limit ? 'fits' : 'is too large';
  console.log(`${name} (${files.join(', ')}): ${shown(size)} gzip of ${limit / 1000} kB, ${verdict}`);
  if (size > limit) process.exitCode = 1;
}
const parts = readdirSync(folder).filter((each) => /^part-[\w-]+\.js$/.test(each));
console.log('parts that come when a program needs them:');
for (const file of parts) {
  console.log(`  ${file.slice('part-'.length, -'.js'.length).padEnd(16)} ${shown(sizeOf(file))}`);
}
console.log('packages, and families of operators, in page, engine and parts:');
for (const [place, bytes] of familySizes(folder, ['cresset.js', 'engine.js', ...parts])) {
  console.log(`  ${place.padEnd(28)} ${shown(bytes)}`);
}
