import type { ScalarType } from '@cresset/tensor';
import { distance, firstDifference, hasOverflowingSquares } from './comparison.ts';
import { plain, run, type Way } from './execution.ts';
import { growProgram, GrowthFailure, type Growth } from './growth.ts';
import type { Program } from './program.ts';

/** What a seed came to. */
export type Verdict =
  | { readonly kind: 'same' }
  /**
   * It hangs on how numbers are rounded: with inputs that differ in their last digits, the program as written gives something else itself. Or, where
   * PyTorch alone has something else, on the order in which elements of one tensor are read and written, which PyTorch leaves open.
   */
  | { readonly kind: 'ill-conditioned' }
  | { readonly kind: 'wrong'; readonly program: Program; readonly call: number; readonly what: string };

/** Inputs for the question whether a program hangs on rounding are moved by this part of them: a good deal less than what counts as a difference. */
const NUDGES: Partial<Record<ScalarType, number>> = { float16: 1e-3, float32: 3e-6, complex64: 3e-6, float64: 3e-11 };

/** How many times as far apart two runs that only round in another order may be as one with other last digits is from the first. */
const MORE_THAN_NUDGED = 8;

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
  const end = wanted.findIndex(hasOverflowingSquares);
  if (end !== -1) wanted.length = end;
  const got = await run({ ...program, calls: program.calls.slice(0, wanted.length) }, way, 0, file);
  const ours = firstDifference(got, wanted);
  const outcomes = ours || !answer ? wanted : answer.outcomes;
  const found = ours ?? firstDifference(got, outcomes);
  if (!found) return { kind: 'same' };
  const { call } = found;
  const what = ours ? found.what : `PyTorch has something else: ${found.what}`;
  const watched = ours ? null : await way.pytorch!.take(program, 0, true);
  if (watched && 'file' in watched && watched.overlaps) return { kind: 'ill-conditioned' };
  const nudge = NUDGES[program.dtype];
  if (nudge !== undefined && !what.includes('internal')) {
    const far = distance(got[call], outcomes[call]);
    for (const times of [1, 1.1, 1.2, 1.3, 1.4, 1.5]) {
      const moved = file && (await way.pytorch!.take(program, times * nudge));
      const nudgedFile = moved && 'file' in moved ? moved.file : undefined;
      const nudged = await run(program, plain, times * nudge, nudgedFile);
      const farthest = Math.max(0, ...nudged.slice(0, call + 1).map((outcome, at) => distance(outcome, wanted[at])));
      if (farthest * MORE_THAN_NUDGED >= far) return { kind: 'ill-conditioned' };
    }
  }
  return { kind: 'wrong', program, call, what };
}

export async function judgeSeed(seed: number, way: Way, growth: Growth): Promise<Verdict> {
  try {
    return await judge(await growProgram(seed, growth), way);
  } catch (error) {
    if (!(error instanceof GrowthFailure)) throw error;
    return { kind: 'wrong', program: error.program, call: 0, what: error.message };
  }
}
