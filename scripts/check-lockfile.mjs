// The lock file says which versions, never from where: it has to serve people behind any mirror.
import { readFileSync } from 'node:fs';

const lines = readFileSync(new URL('../pnpm-lock.yaml', import.meta.url), 'utf8').split('\n');
const addresses = lines.flatMap((line, index) =>
  /https?:\/\/|tarball:/.test(line) ? [`${index + 1}: ${line.trim()}`] : [],
);
if (addresses.length > 0) {
  console.error(`pnpm-lock.yaml names where packages come from:\n${addresses.join('\n')}`);
  process.exitCode = 1;
} else {
  console.log('pnpm-lock.yaml names no address');
}
