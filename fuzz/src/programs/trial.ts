import type { ScalarType } from '@cresset/tensor';
import { firstDifference } from './comparison.ts';
import { plain, run, type Outcome, type Way } from './execution.ts';
import { growProgram, GrowthFailure } from './growth.ts';
import type { Program } from './program.ts';

/** What a seed came to. */
export type Verdict =
  | { readonly kind: 'same' }
  /** It hangs on how numbers are rounded: with inputs that differ in their last digits, the program as written gives something else itself. */
  | { readonly kind: 'ill-conditioned' }
  | { readonly kind: 'wrong'; readonly program: Program; readonly call: number; readonly what: string };

/** Inputs for the question whether a program hangs on rounding are moved by this part of them: a good deal less than what counts as a difference. */
const NUDGES: Partial<Record<ScalarType, number>> = { float16: 1e-3, float32: 3e-6, complex64: 3e-6, float64: 3e-11 };

/**
 * Runs a program as it was written and in another way, and compares call by call. One that PyTorch saves is what its file says, in both: PyTorch leaves out writes
 * as it compiles that go to what it does not know to be a view.
 */
export async function judge(program: Program, way: Way): Promise<Verdict> {
  const answer = way.pytorch ? await way.pytorch.take(program) : null;
  if (answer && 'refused' in answer) {
    const [first] = await run(program, plain);
    if ('error' in first) return { kind: 'same' };
    return { kind: 'wrong', program, call: 0, what: `PyTorch refuses it: ${answer.refused}` };
  }
  const file = answer?.file;
  const wanted = await run(program, plain, 0, file);
  const last = wanted.at(-1)!;
  if ('error' in last && last.isTooLarge) wanted.pop();
  const got = await run({ ...program, calls: program.calls.slice(0, wanted.length) }, way, 0, file);
  const found = firstDifference(got, wanted) ?? (answer && unlikePyTorch(got, answer.outcomes));
  if (!found) return { kind: 'same' };
  const nudge = NUDGES[program.dtype];
  if (nudge !== undefined) {
    const moved = file && (await way.pytorch!.take(program, nudge));
    const nudgedFile = moved && 'file' in moved ? moved.file : undefined;
    const nudged = firstDifference(await run(program, plain, nudge, nudgedFile), wanted);
    if (nudged && nudged.call <= found.call && !found.what.includes('internal')) return { kind: 'ill-conditioned' };
  }
  return { kind: 'wrong', program, ...found };
}

function unlikePyTorch(got: readonly Outcome[], outcomes: readonly Outcome[]): { call: number; what: string } | null {
  const found = firstDifference(got, outcomes);
  return found && { ...found, what: `PyTorch has something else: ${found.what}` };
}

export async function judgeSeed(seed: number, way: Way, isDifferentiated = false): Promise<Verdict> {
  try {
    return await judge(await growProgram(seed, isDifferentiated), way);
  } catch (error) {
    if (!(error instanceof GrowthFailure)) throw error;
    return { kind: 'wrong', program: error.program, call: 0, what: error.message };
  }
}
