import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readModule } from '@cresset/archive';
import type { Call, CaseReference, FileReader, ProgramCase } from './case.ts';
import { findCases } from './corpus.ts';
import { fingerprint } from './fingerprint.ts';
import { decodeIValue } from './ivalue-json.ts';
import { openProgram, type Program } from './program.ts';

/**
 * Saves the file of every case of some corpora and loads what was saved: it has to give the original's answers bit for bit, and be
 * saved as the same file once more. Prints what does not, and leaves the saved files with a list of them in a folder, for PyTorch.
 */

/** Says that a file was not taken through, and whose doing that is. */
class Skipped extends Error {}

interface SavedFile {
  readonly original: string;
  readonly saved: string;
  /** Cases with this file: lines of corpora. */
  readonly cases: readonly CaseReference[];
}

const context = { device: null };

function readerBeside(file: string): FileReader {
  return async (path) => new Uint8Array(await readFile(join(dirname(file), path)));
}

async function caseOf({ file, line }: CaseReference): Promise<ProgramCase> {
  return JSON.parse((await readFile(file, 'utf8')).split('\n')[line]) as ProgramCase;
}

function open(entry: string | undefined, bytes: Uint8Array): Promise<Program> {
  const json = { id: '', suite: '', file: 'file', ...(entry === undefined ? {} : { entry }) };
  return openProgram(json, context, async () => bytes);
}

/** What all calls of a case give, as text. */
async function answers(json: ProgramCase, bytes: Uint8Array, readSidecar: FileReader): Promise<string[]> {
  const program = await open(json.entry, bytes);
  const found: string[] = [];
  for (const call of json.calls ?? []) found.push(await answerOf(program, json, call, readSidecar));
  program.dispose();
  return found;
}

async function answerOf(program: Program, json: ProgramCase, call: Call, readSidecar: FileReader): Promise<string> {
  const inputs = await Promise.all(call.inputs.map((input) => decodeIValue(input, readSidecar)));
  const kwargs = new Map<string, (typeof inputs)[number]>();
  for (const [name, value] of Object.entries(call.kwargs ?? {})) {
    kwargs.set(name, await decodeIValue(value, readSidecar));
  }
  try {
    const output = await program.call(call.entry ?? json.entry ?? 'forward', inputs, kwargs);
    return [output, ...inputs].map((value) => fingerprint(value, json.shape_only)).join('\n');
  } catch (error) {
    // The place in the author's source belongs to it; that in generated code may move.
    const { name, message } = error as Error;
    return `${name}: ${message.replace(/^[^]*(?=Traceback of TorchScript, original code)/, '')}`;
  }
}

/** Takes one file through; returns what is wrong. Throws a Skipped where the file cannot be loaded here. */
async function check(file: SavedFile): Promise<string[]> {
  const original = new Uint8Array(await readFile(file.original));
  let program: Program;
  try {
    program = await open((await caseOf(file.cases[0])).entry, original);
  } catch (error) {
    throw new Skipped((error as Error).message.split('\n')[0]);
  }
  const name = file.saved;
  const saved = await program.save(name);
  await writeFile(file.saved, saved);
  program.dispose();

  const problems: string[] = [];
  const again = await open((await caseOf(file.cases[0])).entry, saved);
  const savedAgain = await again.save(name);
  again.dispose();
  const [first, second] = await Promise.all([saved, savedAgain].map((bytes) => codeOf(bytes)));
  if (JSON.stringify(first) !== JSON.stringify(second)) problems.push('its code is another when it is saved again');
  else if (Buffer.compare(saved, savedAgain) !== 0) problems.push('it is another file when it is saved again');

  for (const reference of file.cases) {
    const json = await caseOf(reference);
    const readSidecar = readerBeside(reference.file);
    const [want, got] = [await answers(json, original, readSidecar), await answers(json, saved, readSidecar)];
    const at = want.findIndex((answer, index) => answer !== got[index]);
    if (at >= 0) problems.push(`${reference.id}, call ${at}: ${want[at]} became ${got[at]}`);
  }
  return problems;
}

async function codeOf(bytes: Uint8Array): Promise<[string, string][]> {
  return [...(await readModule(bytes)).code].map(([name, { text }]) => [name, text]);
}

async function findFiles(corpora: readonly string[], folder: string): Promise<SavedFile[]> {
  const byFile = new Map<string, CaseReference[]>();
  for (const corpus of corpora) {
    for (const reference of await findCases(resolve(corpus), null)) {
      const { file } = await caseOf(reference);
      if (file === undefined || file.endsWith('.pt2')) continue;
      const path = join(dirname(reference.file), file);
      byFile.set(path, [...(byFile.get(path) ?? []), reference]);
    }
  }
  return Array.from(byFile, ([original, cases], index) => ({ original, cases, saved: join(folder, `${index}.pt`) }));
}

const { values, positionals } = parseArgs({
  options: { out: { type: 'string' } },
  allowPositionals: true,
});
const folder = resolve(values.out!);
await mkdir(folder, { recursive: true });
const files = await findFiles(positionals, folder);
const saved: SavedFile[] = [];
let wrong = 0;
let skipped = 0;
for (const file of files) {
  try {
    const problems = await check(file);
    saved.push(file);
    if (problems.length > 0) wrong++;
    for (const problem of problems) console.log(`${file.original}: ${problem}`);
  } catch (error) {
    if (error instanceof Skipped) skipped++;
    else wrong++;
    console.log(
      `${file.original}: ${error instanceof Skipped ? 'cannot be loaded here' : 'cannot be saved'}: ${(error as Error).message}`,
    );
  }
}
await writeFile(join(folder, 'saved.json'), JSON.stringify(saved));
console.log(
  `Cresset: ${files.length} files, ${saved.length - wrong} saved and loaded with equal answers, ${wrong} wrong, ${skipped} not loaded`,
);
process.exitCode = wrong > 0 ? 1 : 0;
