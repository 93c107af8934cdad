import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { CaseReference } from './case.ts';

/** All cases below a folder, or in one file, in the order of file names and lines. */
export async function findCases(corpus: string, filter: string | null): Promise<CaseReference[]> {
  const files = (await stat(corpus)).isDirectory() ? await jsonLinesBelow(corpus) : [corpus];
  const cases: CaseReference[] = [];
  for (const file of files) {
    const lines = (await readFile(file, 'utf8')).split('\n');
    for (const [line, text] of lines.entries()) {
      if (text.trim() === '') continue;
      const { id, suite } = JSON.parse(text) as { id?: string; suite?: string };
      // A line without the two is no case (a manifest, say).
      if (id === undefined || suite === undefined) continue;
      if (filter === null || suite.includes(filter) || id.includes(filter)) cases.push({ file, line, id, suite });
    }
  }
  return cases;
}

/** `count` of the cases, or all, as far from each other as can be. */
export function sampleOf(cases: readonly CaseReference[], count: number | null): readonly CaseReference[] {
  if (count === null || count >= cases.length) return cases;
  return Array.from({ length: count }, (_, at) => cases[Math.floor((at * cases.length) / count)]);
}

async function jsonLinesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.jsonl'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
