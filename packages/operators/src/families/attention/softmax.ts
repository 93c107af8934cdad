import { repeat, type Pieces } from '../../kernels/loops/pieces.ts';
import { isFloatingPoint, type ScalarType, type Tensor, symEq, symGt } from '@cresset/tensor';
import {
  axis,
  binary,
  cast,
  constant,
  reduce,
  select,
  TensorView,
  unary,
  type AxisExpr,
  type Expr,
} from '@cresset/tensorexpr';
import { kernel } from '../../table/builders.ts';
import { wrapDim } from '../../kernels/dimensions.ts';
import { notImplementedFor } from '../../kernels/errors.ts';
import type { LoweringContext, OperatorRow } from '../../table/row.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { div, float, sub } from '../../kernels/expressions.ts';
import { fillInPieces, numbersInPieces } from '../../kernels/numbers/numbers.ts';

/** Softmax and its logarithm over one dimension (ATen/native/SoftMax.cpp). */

type Kind = 'softmax' | 'log_softmax' | 'safe_softmax';

interface SoftmaxArgs {
  readonly self: Tensor;
  readonly dim: number;
  readonly dtype?: ScalarType | null;
  readonly half_to_float?: boolean;
}

/** Fills `out` with the softmax of `self` along `dim`; in a safe one, a line of nothing but -inf becomes zeros. */
export function* hostSoftmax(kind: Kind, self: Tensor, dim: number, out: Tensor): Pieces {
  const input = yield* numbersInPieces(self);
  const size = self.sizes[dim] ?? 1;
  const inner = self.sizes.slice(dim + 1).reduce((product, length) => product * length, 1);
  yield* fillInPieces(out, (values) =>
    repeat(size && input.length / size, 4 * size, (line) => {
      const start = Math.floor(line / inner) * size * inner + (line % inner);
      softmaxLine(kind, input, values, start, size, inner);
    }),
  );
}

function softmaxLine(
  kind: Kind,
  input: ArrayLike<number>,
  values: Float32Array | Float64Array,
  start: number,
  size: number,
  step: number,
): void {
  let most = -Infinity;
  for (let i = 0, at = start; i < size; i++, at += step) {
    if (input[at] > most || Number.isNaN(input[at])) most = input[at];
    if (Number.isNaN(most)) break;
  }
  if (kind === 'safe_softmax' && most === -Infinity) {
    for (let i = 0, at = start; i < size; i++, at += step) values[at] = 0;
    return;
  }
  let sum = 0;
  if (kind === 'log_softmax') {
    for (let i = 0, at = start; i < size; i++, at += step) sum += Math.exp(input[at] - most);
    const log = Math.log(sum);
    for (let i = 0, at = start; i < size; i++, at += step) values[at] = input[at] - most - log;
    return;
  }
  for (let i = 0, at = start; i < size; i++, at += step) {
    const power = Math.exp(input[at] - most);
    values[at] = power;
    sum += power;
  }
  const scale = 1 / sum;
  for (let i = 0, at = start; i < size; i++, at += step) values[at] *= scale;
}

export function lowerSoftmax(
  label: string,
  kind: Kind,
  self: Tensor,
  dim: number,
  out: Tensor,
  context: LoweringContext,
): void {
  if (symEq(out.symNumel, 0)) return;
  // A number is a line of one.
  const [input, target] = [self, out].map(
    (tensor) => new TensorView(tensor.dim === 0 ? tensor.asStrided([1], [1]) : tensor),
  );
  const all = target.axes();
  const line = all[dim];
  const at = (position: Expr): Expr => cast('float', input.at(all.map((own, d) => (d === dim ? position : own))));
  const value = softmaxExpr(kind, at, line);
  const stores = [{ operand: target.operand, offset: target.offsetAt(all), value }];
  context.launch({ kind: 'nest', label, axes: all.filter((own) => own !== line), innerAxes: [line], stores });
}

/** The softmax along an axis of the line that `at` gives the elements of, where it stands on that axis. */
export function softmaxExpr(kind: Kind, at: (position: Expr) => Expr, line: AxisExpr): Expr {
  const [r, s] = ['r', 's'].map((name) => axis(name, line.extent));
  const most = reduce('max', [r], at(r));
  const sum = reduce('sum', [s], unary('exp', sub(at(s), most)));
  const shifted = sub(at(line), most);
  if (kind === 'log_softmax') return sub(shifted, unary('log', sum));
  const value = div(unary('exp', shifted), sum);
  return kind === 'safe_softmax' ? select(binary('eq', most, constant('float', -Infinity)), float(0), value) : value;
}

function resultType({ self, dtype, half_to_float: widen }: SoftmaxArgs): ScalarType {
  if (widen) return 'float32';
  return dtype ?? self.dtype;
}

function softmaxRow(schema: string, kind: Kind, out: boolean | string = false): OperatorRow {
  const label = schema.slice(0, schema.search(/[.(]/));
  const refusal = `${kind === 'log_softmax' ? 'log_' : ''}softmax`;
  return kernel<SoftmaxArgs>(schema, {
    out,
    shape(args) {
      const { self } = args;
      const dim = wrapDim(args.dim, self.dim);
      const dtype = resultType(args);
      if (!isFloatingPoint(dtype) && symGt(self.symNumel, 0)) {
        const last = dim === self.dim - 1 || self.dim === 0;
        throw notImplementedFor(`${refusal}_${last ? 'lastdim_' : ''}kernel_impl`, dtypeName(dtype));
      }
      return { sizes: self.symSizes, dtype };
    },
    host: ({ self, dim }, [result]) => hostSoftmax(kind, self, wrapDim(dim, self.dim), result),
    lower: ({ self, dim }, [result], context) =>
      lowerSoftmax(label, kind, self, wrapDim(dim, self.dim), result, context),
  });
}

export const softmaxRows: readonly OperatorRow[] = [
  softmaxRow('aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor', 'softmax', true),
  softmaxRow('aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor', 'softmax', true),
  softmaxRow('aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor', 'softmax'),
  softmaxRow('aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor', 'safe_softmax'),
  softmaxRow('aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor', 'log_softmax', true),
  softmaxRow('aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor', 'log_softmax', true),
  softmaxRow('aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor', 'log_softmax'),
];
