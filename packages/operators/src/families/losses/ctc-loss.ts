import { isFloatingPoint, type Tensor } from '@cresset/tensor';
import { kernel } from '../../table/builders.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import type { OperatorRow, TensorMeta } from '../../table/row.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { numbersInPieces, storeInPieces } from '../../kernels/numbers/numbers.ts';
import { unsqueezeView } from '../../kernels/views.ts';
import { type Pieces, filled } from '../../kernels/loops/pieces.ts';

/** Connectionist temporal classification (ATen/native/LossCTC.cpp): all ways to say a label sequence in so many steps. */

interface CtcArgs {
  /** `[T, N, C]`, or `[T, C]` for one sequence. */
  readonly log_probs: Tensor;
  /** `[N, S]`, or all label sequences end to end. */
  readonly targets: Tensor;
  readonly input_lengths: readonly number[] | Tensor;
  readonly target_lengths: readonly number[] | Tensor;
  readonly blank: number;
  readonly reduction: number;
  readonly zero_infinity: boolean;
}

const batchedProbabilities = ({ log_probs: given }: CtcArgs): Tensor =>
  given.dim === 2 ? unsqueezeView(given, 1) : given;

function* lengthsOf(lengths: readonly number[] | Tensor): Pieces<readonly number[]> {
  return Array.isArray(lengths) ? lengths : Array.from(yield* numbersInPieces(lengths as Tensor));
}

function ctcShape(args: CtcArgs): TensorMeta {
  const { log_probs: given, blank, reduction } = args;
  const probabilities = batchedProbabilities(args);
  const [, batch, classes] = probabilities.sizes;
  if (!isFloatingPoint(given.dtype)) throw notImplementedFor('ctc_loss_cpu', dtypeName(given.dtype));
  check(blank >= 0 && blank < classes, 'blank must be in label range');
  for (const [name, lengths] of [
    ['input_lengths', args.input_lengths],
    ['target_lengths', args.target_lengths],
  ] as const) {
    const count = Array.isArray(lengths) ? lengths.length : (lengths as Tensor).numel;
    check(count === batch, `${name} must be of size batch_size`);
  }
  return { sizes: reduction === 0 && given.dim === 3 ? [batch] : [], dtype: given.dtype };
}

const logSum = (values: readonly number[]): number => {
  const most = Math.max(...values);
  return most === -Infinity
    ? -Infinity
    : most + Math.log(values.reduce((sum, value) => sum + Math.exp(value - most), 0));
};

/** The negative log likelihood of one sequence: forward variables over labels with blanks between them. */
function* sequenceLoss(
  at: (step: number, label: number) => number,
  steps: number,
  labels: readonly number[],
  blank: number,
): Pieces<number> {
  const extended = [blank, ...labels.flatMap((label) => [label, blank])];
  if (steps === 0) return labels.length === 0 ? 0 : Infinity;
  let alpha = extended.map((label, s) => (s < 2 ? at(0, label) : -Infinity));
  for (let step = 1; step < steps; step++) {
    yield;
    const before = alpha;
    alpha = yield* filled(new Array<number>(extended.length), 128, (s) => {
      const label = extended[s];
      const ways = [before[s], s > 0 ? before[s - 1] : -Infinity];
      // A blank between two labels may be left out, unless they are the same.
      if (s > 1 && label !== blank && label !== extended[s - 2]) ways.push(before[s - 2]);
      return logSum(ways) + at(step, label);
    });
  }
  const last = extended.length - 1;
  return -logSum(last === 0 ? [alpha[0]] : [alpha[last], alpha[last - 1]]);
}

function* hostCtc(args: CtcArgs, out: Tensor): Pieces {
  const probabilities = batchedProbabilities(args);
  const [time, batch, classes] = probabilities.sizes;
  const values = yield* numbersInPieces(probabilities);
  const labels = yield* numbersInPieces(args.targets);
  const inputLengths = yield* lengthsOf(args.input_lengths);
  const targetLengths = yield* lengthsOf(args.target_lengths);
  const padded = args.targets.dim === 2 ? args.targets.sizes[1] : null;
  const longest = Math.max(...targetLengths);
  let start = 0;
  const losses = new Float64Array(batch);
  for (let b = 0; b < batch; b++) {
    const [steps, length] = [inputLengths[b], targetLengths[b]];
    check(
      steps >= 0 && steps <= time,
      () =>
        `Expected input_lengths to have value at most ${time}, but got value ${steps} (while checking arguments for ctc_loss_cpu)`,
    );
    check(
      padded === null || length <= padded,
      () =>
        `Expected tensor to have size at least ${longest} at dimension 1, but got size ${padded} for argument #2 'targets' (while checking arguments for ctc_loss_allocate_outputs)`,
    );
    const from = padded === null ? start : b * padded;
    start += length;
    const own = Array.from(labels.subarray(from, from + length));
    const at = (step: number, label: number): number => values[(step * batch + b) * classes + label];
    const loss = yield* sequenceLoss(at, steps, own, args.blank);
    losses[b] = args.zero_infinity && loss === Infinity ? 0 : loss;
    yield;
  }
  const sum = losses.reduce((a, b) => a + b, 0);
  const mean = losses.reduce((total, loss, b) => total + loss / Math.max(targetLengths[b], 1), 0) / batch;
  yield* storeInPieces(out, args.reduction === 0 ? losses : [args.reduction === 1 ? mean : sum]);
}

const ctcRow = (overload: string, lengths: string): OperatorRow =>
  kernel<CtcArgs>(
    `aten::ctc_loss.${overload}(Tensor log_probs, Tensor targets, ${lengths} input_lengths, ${lengths} target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor`,
    { shape: ctcShape, host: (args, [out]) => hostCtc(args, out) },
  );

export const ctcLossRows: readonly OperatorRow[] = [ctcRow('IntList', 'int[]'), ctcRow('Tensor', 'Tensor')];
