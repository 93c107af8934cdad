import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { CaseReference, ProgramCase } from './cases/case.ts';
import { findCases } from './cases/corpus.ts';
import { checkRoundTrip, type CaseOfFile } from './checks/round-trip-check.ts';

/**
 * Takes the file of every case of some corpora through `checkRoundTrip` and prints what is wrong. Leaves what was saved in a folder,
 * with a list for PyTorch's half.
 */

interface SavedFile {
  readonly original: string;
  readonly saved: string;
  /** Cases with this file: lines of corpora. */
  readonly cases: readonly CaseReference[];
}

async function caseAt({ file, line }: CaseReference): Promise<ProgramCase> {
  return JSON.parse((await readFile(file, 'utf8')).split('\n')[line]) as ProgramCase;
}

async function caseOfFile(reference: CaseReference): Promise<CaseOfFile> {
  const folder = dirname(reference.file);
  return {
    json: await caseAt(reference),
    readFile: async (path) => new Uint8Array(await readFile(join(folder, path))),
  };
}

async function findFiles(corpora: readonly string[], folder: string): Promise<SavedFile[]> {
  const byFile = new Map<string, CaseReference[]>();
  for (const corpus of corpora) {
    for (const reference of await findCases(resolve(corpus), null)) {
      const { file } = await caseAt(reference);
      if (file === undefined || file.endsWith('.pt2')) continue;
      const path = join(dirname(reference.file), file);
      byFile.set(path, [...(byFile.get(path) ?? []), reference]);
    }
  }
  return Array.from(byFile, ([original, cases], index) => ({ original, cases, saved: join(folder, `${index}.pt`) }));
}

const { values, positionals } = parseArgs({ options: { out: { type: 'string' } }, allowPositionals: true });
const folder = resolve(values.out!);
await mkdir(folder, { recursive: true });
const files = await findFiles(positionals, folder);
const saved: SavedFile[] = [];
let wrong = 0;
let skipped = 0;
for (const file of files) {
  const tell = (what: string): void => console.log(`${file.original}: ${what}`);
  try {
    const cases = await Promise.all(file.cases.map(caseOfFile));
    const found = await checkRoundTrip(new Uint8Array(await readFile(file.original)), cases, file.saved);
    if (found === null) {
      skipped++;
      tell('cannot be loaded here');
      continue;
    }
    await writeFile(file.saved, found.saved);
    saved.push(file);
    if (found.problems.length > 0) wrong++;
    found.problems.forEach(tell);
  } catch (error) {
    wrong++;
    tell(`cannot be saved: ${(error as Error).message}`);
  }
}
await writeFile(join(folder, 'saved.json'), JSON.stringify(saved));
console.log(
  `Cresset: ${files.length} files, ${files.length - wrong - skipped} saved and loaded with equal answers, ${wrong} wrong, ${skipped} not loaded`,
);
process.exitCode = wrong > 0 ? 1 : 0;
