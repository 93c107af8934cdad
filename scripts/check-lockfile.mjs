// Lock files say which versions, never from where: they have to serve people behind any mirror.
import { readFileSync } from 'node:fs';

for (const file of ['pnpm-lock.yaml', 'apps/bench/pnpm-lock.yaml']) {
  const lines = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8').split('\n');
  const addresses = lines.flatMap((line, index) =>
    /https?:\/\/|tarball:/.test(line) ? [`${index + 1}: ${line.trim()}`] : [],
  );
  if (addresses.length > 0) {
    console.error(`${file} names where packages come from:\n${addresses.join('\n')}`);
    process.exitCode = 1;
  } else {
    console.log(`${file} names no address`);
  }
}
