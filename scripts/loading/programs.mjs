import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** Larger files are compiled, and not run: the host takes minutes for some. */
const LARGEST_TO_RUN = 1_000_000;

function casesOf(path) {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/**
 * Programs below a folder, or in one file: `.pt` files, each with the first case that a `.jsonl` beside it has for it, and sources in such
 * cases. See conformance/src/cases/case.ts for what a case is.
 */
export function programsIn(root) {
  const files = statSync(root).isDirectory()
    ? readdirSync(root, { recursive: true }).map((file) => join(root, file))
    : [root];
  const nameOf = (file) => relative(dirname(root), file);
  const cases = new Map();
  const programs = [];
  for (const path of files.filter((file) => file.endsWith('.jsonl'))) {
    for (const each of casesOf(path)) {
      const { id, source, entry = 'forward', calls = [] } = each;
      const shared = { entry, calls, folder: dirname(path), isRandom: each.shape_only === true };
      if (source !== undefined) programs.push({ name: id, source, ...shared });
      else if (each.file !== undefined) {
        const file = join(dirname(path), each.file);
        if (!cases.has(file)) cases.set(file, shared);
      }
    }
  }
  const archives = new Set([...files.filter((file) => /\.pth?$/.test(file)), ...cases.keys()]);
  for (const file of archives) {
    if (!/\.pth?$/.test(file) || !existsSync(file)) continue;
    const runs = cases.has(file) && statSync(file).size <= LARGEST_TO_RUN;
    programs.push({ name: nameOf(file), file, ...(runs ? cases.get(file) : { calls: [] }) });
  }
  return programs;
}
