// What a page downloads stays small: each build of the library, compressed, has a limit.
import { readFileSync, readdirSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const limit = 250_000;
const folder = new URL('../packages/cresset/dist/', import.meta.url);
const scriptFile = 'cresset.global.js';
const scripts = readdirSync(folder).filter((name) => name.endsWith('.js'));
const modules = scripts.filter((name) => name !== scriptFile);

const compressed = (names) =>
  names.reduce((sum, name) => sum + gzipSync(readFileSync(new URL(name, folder)), { level: 9 }).length, 0);
const builds = [
  { name: `ES modules (${modules.join(', ')})`, files: modules },
  { name: `one script (${scriptFile})`, files: [scriptFile] },
];
for (const { name, files } of builds) {
  const size = compressed(files);
  const verdict = size <= limit ? 'fits' : 'is too large';
  console.log(`${name}: ${(size / 1000).toFixed(1)} kB gzip of ${limit / 1000} kB, ${verdict}`);
  if (size > limit || files.length === 0) process.exitCode = 1;
}
