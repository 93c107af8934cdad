import { Tensor, scratch } from '@cresset/tensor';
import { kernel } from '../../table/builders.ts';
import { check } from '../../kernels/errors.ts';
import { numbersInPieces, storeInPieces } from '../../kernels/numbers/numbers.ts';
import type { OperatorRow } from '../../table/row.ts';
import { type Pieces, filled } from '../../kernels/loops/pieces.ts';

/** Which step of a recording says which label (libtorchaudio's forced_align): the likeliest way through a CTC lattice. */

interface AlignArgs {
  /** `[1, T, C]` */
  readonly log_probs: Tensor;
  /** `[1, L]` */
  readonly targets: Tensor;
  readonly input_lengths: Tensor;
  readonly target_lengths: Tensor;
  readonly blank: number;
}

function* lengthIn(lengths: Tensor): Pieces<number> {
  let most = -Infinity;
  for (const length of yield* numbersInPieces(lengths)) most = Math.max(most, length);
  return most;
}

function* checkArguments({ log_probs: given, targets, input_lengths, target_lengths, blank }: AlignArgs): Pieces {
  check(
    ['float64', 'float32', 'float16'].includes(given.dtype),
    'log_probs must be float64, float32 or float16 (half) type',
  );
  check(targets.dtype === 'int32' || targets.dtype === 'int64', 'targets must be int32 or int64 type');
  check(given.isContiguous(), 'log_probs must be contiguous');
  check(targets.isContiguous(), 'targets must be contiguous');
  check(given.dim === 3, 'log_probs must be 3-D (batch_size, input length, num classes)');
  check(targets.dim === 2, 'targets must be 2-D (batch_size, target length,)');
  check(input_lengths.dim === 1, 'input_lengths must be 1-D');
  check(target_lengths.dim === 1, 'target_lengths must be 1-D');
  check(given.sizes[0] === 1, 'The batch dimension for log_probs must be 1 at the current version.');
  check(targets.sizes[0] === 1, 'The batch dimension for targets must be 1 at the current version.');
  check(blank >= 0 && blank < given.sizes[2], 'blank must be within [0, num classes)');
  check(given.sizes[1] === (yield* lengthIn(input_lengths)), 'input length mismatch');
  check(targets.sizes[1] === (yield* lengthIn(target_lengths)), 'target length mismatch');
}

/** The label of every step. */
function* bestPath({ log_probs: given, targets, blank }: AlignArgs): Pieces<number[]> {
  const [, steps, classes] = given.sizes;
  const scores = yield* numbersInPieces(given);
  const labels = Array.from(yield* numbersInPieces(targets));
  const repeats = labels.filter((label, at) => at > 0 && label === labels[at - 1]).length;
  const shortest = labels.length + repeats;
  check(
    steps >= shortest,
    () =>
      `targets length is too long for CTC. Found log_probs length: ${steps}, targets length: ${labels.length}, and number of repeats: ${repeats}`,
  );
  // States are the labels with blanks around them.
  const states = [blank, ...labels.flatMap((label) => [label, blank])];
  // A blank may be left out between two labels that differ.
  const mayLeap = states.map((label, s) => s > 1 && s % 2 === 1 && label !== states[s - 2]);
  const moves = Array.from({ length: steps }, () => scratch(Uint8Array, states.length));
  let best = Float64Array.from(states, (label, s) => (s < 2 && steps > 0 ? scores[label] : -Infinity));
  // From a first blank the labels could not all be said in as many steps as they need.
  if (steps === shortest) best[0] = -Infinity;
  for (let step = 1; step < steps; step++) {
    const last = best;
    best = yield* filled(new Float64Array(states.length), 16, (s) => {
      const stay = last[s];
      const next = s > 0 ? last[s - 1] : -Infinity;
      const leap = mayLeap[s] ? last[s - 2] : -Infinity;
      let from = stay;
      if (leap > next && leap > stay) [from, moves[step][s]] = [leap, 2];
      else if (next > stay && next > leap) [from, moves[step][s]] = [next, 1];
      return from + scores[step * classes + states[s]];
    });
    yield;
  }
  let state = states.length - 1;
  if (state > 0 && !(best[state] > best[state - 1])) state--;
  const path = Array.from<number>({ length: steps });
  for (let step = steps - 1; step >= 0; step--) {
    path[step] = states[state];
    state -= moves[step][state];
  }
  return path;
}

export const forcedAlignRows: readonly OperatorRow[] = [
  kernel<AlignArgs>(
    'torchaudio::forced_align(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank) -> (Tensor, Tensor)',
    {
      *host(args) {
        yield* checkArguments(args);
        const path = yield* bestPath(args);
        const paths = Tensor.empty([1, path.length], args.targets.dtype);
        yield* storeInPieces(paths, path);
        // The scores are all of them: the caller picks those of the path.
        return [paths, args.log_probs];
      },
    },
  ),
];
