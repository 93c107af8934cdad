// What a page downloads stays small: each build of the library, compressed, has a limit.
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const folder = new URL('../packages/cresset/dist/', import.meta.url);
const builds = [
  { name: 'core edition', entries: ['cresset.js', 'worker.js'], limit: 270_000 },
  { name: 'one script', entries: ['cresset.global.js'], limit: 270_000 },
  { name: 'full edition', entries: ['full.js', 'worker-full.js'], limit: 450_000 },
];

/** The entries and every module they import, over all levels. */
function reachable(entries) {
  const found = new Set();
  const visit = (name) => {
    if (found.has(name)) return;
    found.add(name);
    const code = readFileSync(new URL(name, folder), 'utf8');
    for (const [, imported] of code.matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.js)"/g)) visit(imported);
  };
  entries.forEach(visit);
  return [...found];
}

for (const { name, entries, limit } of builds) {
  const files = reachable(entries);
  const size = files.reduce((sum, file) => sum + gzipSync(readFileSync(new URL(file, folder)), { level: 9 }).length, 0);
  const verdict = size <= limit ? 'fits' : 'is too large';
  console.log(`${name} (${files.join(', ')}): ${(size / 1000).toFixed(1)} kB gzip of ${limit / 1000} kB, ${verdict}`);
  if (size > limit) process.exitCode = 1;
}
