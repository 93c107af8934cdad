import { readModule } from '@cresset/archive';
import { TorchScriptError } from '@cresset/runtime';
import type { Call, FileReader, ProgramCase } from '../cases/case.ts';
import { fingerprint } from './fingerprint.ts';
import { decodeIValue } from '../cases/ivalue-json.ts';
import { openProgram, type Program } from '../cases/program.ts';

/** A case whose program is the file that is looked at. */
export interface CaseOfFile {
  readonly json: ProgramCase;
  /** Reads what stands beside the case's corpus. */
  readonly readFile: FileReader;
}

/** The file that a program was saved to, and what is wrong with it. */
export interface RoundTrip {
  readonly saved: Uint8Array;
  readonly problems: readonly string[];
}

/**
 * Loads a file, saves it and loads that: it has to give the original's answers to all calls of some cases bit for bit, and to be saved
 * as the same file once more. Null where the original cannot be loaded. Rejects where it cannot be saved.
 *
 * @param name the file's name, which its root folder gets
 */
export async function checkRoundTrip(
  original: Uint8Array,
  cases: readonly CaseOfFile[],
  name: string,
): Promise<RoundTrip | null> {
  const entry = cases[0].json.entry;
  let program: Program;
  try {
    program = await open(entry, original);
  } catch {
    return null;
  }
  const saved = await program.save(name);
  program.dispose();
  const again = await open(entry, saved);
  const savedAgain = await again.save(name);
  again.dispose();

  const problems: string[] = [];
  const [first, second] = [await codeOf(saved), await codeOf(savedAgain)];
  if (first !== second) problems.push('its code is another when it is saved again');
  else if (!areEqual(saved, savedAgain)) problems.push('it is another file when it is saved again');
  for (const { json, readFile } of cases) {
    const [want, got] = [await answers(json, original, readFile), await answers(json, saved, readFile)];
    const at = want.findIndex((answer, index) => answer !== got[index]);
    if (at >= 0) problems.push(`${json.id}, call ${at}: ${want[at]} became ${got[at]}`);
  }
  return { saved, problems };
}

function open(entry: string | undefined, bytes: Uint8Array): Promise<Program> {
  const json = { id: '', suite: '', file: 'file', ...(entry === undefined ? {} : { entry }) };
  return openProgram(json, { device: null }, async () => bytes);
}

async function codeOf(bytes: Uint8Array): Promise<string> {
  return JSON.stringify([...(await readModule(bytes)).code].map(([name, { text }]) => [name, text]));
}

function areEqual(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, at) => byte === right[at]);
}

/** What all calls of a case give, as text. */
async function answers(json: ProgramCase, bytes: Uint8Array, readFile: FileReader): Promise<string[]> {
  const program = await open(json.entry, bytes);
  const found: string[] = [];
  for (const call of json.calls ?? []) found.push(await answerOf(program, json, call, readFile));
  program.dispose();
  return found;
}

async function answerOf(program: Program, json: ProgramCase, call: Call, readFile: FileReader): Promise<string> {
  const inputs = await Promise.all(call.inputs.map((input) => decodeIValue(input, readFile)));
  const kwargs = new Map<string, (typeof inputs)[number]>();
  for (const [name, value] of Object.entries(call.kwargs ?? {})) kwargs.set(name, await decodeIValue(value, readFile));
  try {
    const output = await program.call(call.entry ?? json.entry ?? 'forward', inputs, kwargs);
    return [output, ...inputs].map((value) => fingerprint(value, json.shape_only)).join('\n');
  } catch (error) {
    const { name, message } = error as Error;
    if (!(error instanceof TorchScriptError)) return `${name}: ${message}`;
    // The place in the author's source belongs to the answer; that in generated code may move.
    const places = error.callStack.map(({ range }) => (range.original() ?? range).fileLineCol()?.join(':'));
    return `${places.join(', ')}: ${error.pythonClassName}: ${error.reason}`;
  }
}
