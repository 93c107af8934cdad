import { isFloatingPoint, scratch, symEq, symGt, symSame, type Tensor } from '@cresset/tensor';
import {
  axis,
  binary,
  cast,
  exprTypeOf,
  reduce,
  select,
  TensorView,
  unary,
  type AxisExpr,
  type Expr,
} from '@cresset/tensorexpr';
import { decomposed, kernel, type Forms } from '../../table/builders.ts';
import { sizesText } from '../../kernels/dimensions.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import type { LoweringContext, OperatorRow, TensorMeta } from '../../table/row.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { div, float, indexParam, mul } from '../../kernels/expressions.ts';
import { numbersInPieces, storeInPieces } from '../../kernels/numbers/numbers.ts';
import { unsqueezeView } from '../../kernels/views.ts';
import { type Pieces, filled, repeat } from '../../kernels/loops/pieces.ts';

/** Losses of scores against classes (ATen/native/LossNLL.cpp, LossMultiMargin.cpp, LossMultiLabelMargin.cpp). */

interface NllArgs {
  readonly self: Tensor;
  readonly target: Tensor;
  readonly weight: Tensor | null;
  /** 0 keeps every loss, 1 averages by weight, 2 sums. */
  readonly reduction: number;
  readonly ignore_index: number;
}

/** Scores as `[N, C, …]` and classes as `[N, …]`, whether or not there is a batch. */
function batched({ self, target }: NllArgs): { scores: Tensor; classes: Tensor } {
  if (self.dim !== 1) return { scores: self, classes: target };
  return { scores: unsqueezeView(self, 0), classes: target.dim === 0 ? unsqueezeView(target, 0) : target };
}

function nllShape(args: NllArgs): TensorMeta {
  const { self, target, weight, reduction } = args;
  check(self.dim > 0, () => `Expected 1 or more dimensions (got ${self.dim})`);
  check(
    self.dim !== 1 || symEq(target.symNumel, 1),
    () => `For 1D input, 1D target must have size 1, but got target size: ${target.sizes[0]}`,
  );
  check(self.dim > 2 || target.dim < 2, '0D or 1D target tensor expected, multi-target not supported');
  const { scores, classes } = batched(args);
  check(
    symEq(scores.symSizes[0], classes.symSizes[0]),
    () => `Expected input batch_size (${scores.sizes[0]}) to match target batch_size (${classes.sizes[0]}).`,
  );
  check(
    target.dtype === 'int64' || target.dtype === 'uint8',
    () => `expected target dtype to be Long or Byte, but got ${dtypeName(target.dtype)}`,
  );
  check(
    symSame(scores.symSizes.toSpliced(1, 1), classes.symSizes),
    () => `size mismatch (got input: ${sizesText(self.sizes)} , target: ${sizesText(target.sizes)}`,
  );
  check(
    weight === null || symEq(weight.symNumel, scores.symSizes[1]),
    () =>
      `weight tensor should be defined either for all ${scores.sizes[1]} classes or no classes but got weight tensor of shape: ${sizesText(weight!.sizes)}`,
  );
  const kernelName = self.dim > 2 ? 'nll_loss2d_forward_out_frame' : 'nll_loss_out_frame';
  if (!isFloatingPoint(self.dtype)) throw notImplementedFor(kernelName, dtypeName(self.dtype));
  return { sizes: reduction === 0 ? target.symSizes : [], dtype: self.dtype };
}

/** An element as it is, where numbers of 64 bits were read as floats. */
const exactly = (tensor: Tensor, at: number): number | bigint => tensor.contiguousArray()[at] as number | bigint;

function* hostNll(args: NllArgs, [out, totalWeight]: readonly Tensor[]): Pieces {
  const { scores, classes } = batched(args);
  const values = yield* numbersInPieces(scores);
  const labels = yield* numbersInPieces(classes);
  const weights = args.weight && (yield* numbersInPieces(args.weight));
  const count = scores.sizes[1];
  const positions = classes.numel / Math.max(classes.sizes[0], 1);
  const losses = scratch(Float64Array, labels.length);
  let total = 0;
  yield* repeat(labels.length, 8, (i) => {
    const label = labels[i];
    if (label === args.ignore_index) return;
    check(label >= 0 && label < count, () => `Target ${exactly(classes, i)} is out of bounds.`, 'IndexError');
    const weight = weights ? weights[label] : 1;
    const at = (Math.floor(i / positions) * count + label) * positions + (i % positions);
    losses[i] = -weight * values[at];
    total += weight;
  });
  const sum = yield* sumOf(losses);
  yield* storeInPieces(out, args.reduction === 0 ? losses : [args.reduction === 1 ? sum / total : sum]);
  if (totalWeight) yield* storeInPieces(totalWeight, [args.reduction === 0 ? 0 : total]);
}

function lowerNll(label: string, args: NllArgs, [out, totalWeight]: readonly Tensor[], context: LoweringContext): void {
  const { scores, classes } = batched(args);
  const input = new TensorView(scores);
  const targets = new TensorView(classes);
  const target = new TensorView(args.self.dim === 1 && args.reduction === 0 ? out.asStrided([1], [1]) : out);
  const weights = args.weight && new TensorView(args.weight);
  const at = (axes: readonly AxisExpr[]): { loss: Expr; weight: Expr } => {
    const own = cast('i32', targets.at(axes));
    const counts = binary('ne', own, indexParam(args.ignore_index));
    const weight = select(counts, weights ? weights.at([own]) : float(1), float(0));
    const score = input.at([axes[0], own, ...axes.slice(1)]);
    return { weight, loss: select(counts, unary('neg', mul(weight, score)), float(0)) };
  };
  const axes = targets.axes();
  const stores: { operand: TensorView['operand']; offset: Expr; value: Expr }[] = [];
  const store = (view: TensorView, index: readonly Expr[], value: Expr): void =>
    void stores.push({ operand: view.operand, offset: view.offsetAt(index), value });
  const own = cast('i32', targets.at(axes));
  const counts = binary('ne', own, indexParam(args.ignore_index));
  const outside = binary('or', binary('lt', own, indexParam(0)), binary('ge', own, indexParam(scores.symSizes[1])));
  if (symGt(classes.symNumel, 0)) {
    const faults = context.faults(binary('and', counts, outside), own, 'Target % is out of bounds.', 'IndexError');
    context.launch({ kind: 'nest', label, axes, innerAxes: [], stores: faults });
  }
  const over = (pick: 'loss' | 'weight', prefix: string): Expr => {
    const reduced = axes.map((own) => axis(`${prefix}${own.name}`, own.extent));
    return reduce('sum', reduced, at(reduced)[pick]);
  };
  if (args.reduction === 0) {
    if (symEq(out.symNumel, 0)) return;
    store(target, axes, at(axes).loss);
    if (totalWeight) throw new TypeError('without a reduction there is no total weight to store');
    context.launch({ kind: 'nest', label, axes, innerAxes: [], stores });
    return;
  }
  const total = over('weight', 'w');
  const sum = over('loss', 'l');
  store(target, [], args.reduction === 1 ? div(sum, total) : sum);
  if (totalWeight) store(new TensorView(totalWeight), [], total);
  context.launch({ kind: 'nest', label, axes: [], innerAxes: [], stores });
}

function nllRow(name: string, withTotal: boolean): OperatorRow {
  const defaults = withTotal
    ? ['Tensor? weight', 'int reduction', 'SymInt ignore_index']
    : ['Tensor? weight=None', 'int reduction=1', 'SymInt ignore_index=-100'];
  const result = withTotal ? '(Tensor output, Tensor total_weight)' : 'Tensor';
  const forms: Forms = withTotal ? {} : { out: name !== 'nll_loss_nd' };
  return kernel<NllArgs>(`aten::${name}(Tensor self, Tensor target, ${defaults.join(', ')}) -> ${result}`, {
    ...forms,
    shape(args) {
      const loss = nllShape(args);
      return withTotal ? [loss, { sizes: [], dtype: loss.dtype }] : loss;
    },
    host: hostNll,
    lower: (args, outputs, context) => lowerNll(`aten::${name}`, args, outputs, context),
    lowerable: ({ self, reduction }) => exprTypeOf(self.dtype) === 'float' && !(withTotal && reduction === 0),
  });
}

const crossEntropy = decomposed(
  'aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor',
  `
def cross_entropy_loss(self: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int,
                       label_smoothing: float) -> Tensor:
    class_dim = 1
    if self.dim() == 1:
        class_dim = 0
    classes = self.size(class_dim)
    log_probabilities = torch.log_softmax(self, class_dim)
    if self.size() == target.size():
        if not target.is_floating_point():
            assert False, f"Expected floating point type for target with class probabilities, got {ops.prim.dtype_name(target, target)}"
        assert ignore_index < 0, "ignore_index is not supported for floating point target"
        expected = target
        if label_smoothing > 0.0:
            expected = target * (1 - label_smoothing) + label_smoothing / classes
        losses = log_probabilities * expected
        if weight is not None:
            losses = losses * by_class(weight, self.dim())
        if reduction == 0:
            return -losses.sum([class_dim])
        total = -losses.sum()
        if reduction == 1:
            return total / (self.numel() / classes)
        return total
    if label_smoothing == 0.0:
        return torch.nll_loss_nd(log_probabilities, target, weight, reduction, ignore_index)
    assert label_smoothing > 0.0 and label_smoothing <= 1.0, f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}"
    nll = torch.nll_loss_nd(log_probabilities, target, weight, reduction, ignore_index)
    weighted = log_probabilities
    if weight is not None:
        weighted = log_probabilities * by_class(weight, self.dim())
    ignored = target == ignore_index
    smooth = (-weighted.sum([class_dim])).masked_fill(ignored, 0)
    if reduction == 1:
        if weight is not None:
            known = target.masked_fill(ignored, 0)
            counted = weight.index_select(0, known.reshape([-1])).reshape(target.size()).masked_fill(ignored, 0)
            smooth = smooth.sum() / counted.sum()
        else:
            smooth = smooth.sum() / torch.logical_not(ignored).sum()
    elif reduction == 2:
        smooth = smooth.sum()
    return nll * (1 - label_smoothing) + smooth * (label_smoothing / classes)

def by_class(weight: Tensor, dims: int) -> Tensor:
    sizes: List[int] = []
    for at in range(dims):
        if at == 1 or dims == 1:
            sizes.append(weight.size(0))
        else:
            sizes.append(1)
    return weight.reshape(sizes)
`,
);

interface MultiMarginArgs {
  readonly self: Tensor;
  readonly target: Tensor;
  readonly p: bigint | number;
  readonly margin: bigint | number;
  readonly weight: Tensor | null;
  readonly reduction: number;
}

/** Rows of scores: one for a vector. */
function rowsOf(self: Tensor): { count: number; classes: number } {
  return self.dim <= 1 ? { count: 1, classes: self.numel } : { count: self.sizes[0], classes: self.sizes[1] };
}

/** Whether scores are of some classes, of a vector or of rows, of which there may be none. */
const hasClasses = ({ dim, sizes }: Tensor): boolean => dim <= 2 && sizes.at(-1) !== 0;

/** From the first to the last, in double precision. */
function* sumOf(values: Float64Array): Pieces<number> {
  let sum = 0;
  yield* repeat(values.length, 1, (at) => void (sum += values[at]));
  return sum;
}

function* reduceRows(out: Tensor, losses: Float64Array, reduction: number): Pieces {
  const sum = yield* sumOf(losses);
  yield* storeInPieces(out, reduction === 0 ? losses : [reduction === 1 ? sum / losses.length : sum]);
}

const multiMargin = kernel<MultiMarginArgs>(
  'aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) -> Tensor',
  {
    out: true,
    shape({ self, target, p, weight, reduction }) {
      check(Number(p) === 1 || Number(p) === 2, 'only p == 1 and p == 2 supported');
      const { count, classes } = rowsOf(self);
      check(
        hasClasses(self),
        () => `Expected non-empty vector or matrix with optional 0-dim batch size, but got: ${sizesText(self.sizes)}`,
      );
      check(
        target.dim <= 1 && target.numel === count,
        () =>
          `multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). Expected target size [${count}], but got ${sizesText(target.sizes)}. Input has shape ${sizesText(self.sizes)}.`,
      );
      check(
        weight === null || weight.numel === classes,
        () => `inconsistent weight size, expected ${classes} but got ${sizesText(weight!.sizes)}`,
      );
      check(target.dtype === 'int64', () => `expected scalar type Long but found ${dtypeName(target.dtype)}`);
      check(
        weight === null || weight.dtype === self.dtype,
        () => `expected scalar type ${dtypeName(self.dtype)} but found ${dtypeName(weight!.dtype)}`,
      );
      return { sizes: reduction === 0 ? target.sizes : [], dtype: self.dtype };
    },
    *host({ self, target, p, margin, weight, reduction }, [out]) {
      const { count, classes } = rowsOf(self);
      const scores = yield* numbersInPieces(self);
      const weights = weight && (yield* numbersInPieces(weight));
      const labels = yield* numbersInPieces(target);
      const losses = yield* filled(scratch(Float64Array, labels.length), 8 * classes, (row) => {
        const label = labels[row];
        check(label >= 0 && label < classes, 'target out of range');
        let sum = 0;
        for (let c = 0; c < classes; c++) {
          const excess = Number(margin) - scores[row * classes + label] + scores[row * classes + c];
          if (c !== label && excess > 0)
            sum += (Number(p) === 1 ? excess : excess * excess) * (weights ? weights[label] : 1);
        }
        return sum / classes;
      });
      yield* reduceRows(out, losses.subarray(0, count), reduction);
    },
  },
);

interface MultiLabelArgs {
  readonly self: Tensor;
  readonly target: Tensor;
  readonly reduction: number;
}

function multiLabelShape({ self, target, reduction }: MultiLabelArgs): TensorMeta {
  check(
    hasClasses(self),
    () => `Expected non-empty vector or matrix with optional 0-dim batch size, but got: ${sizesText(self.sizes)}`,
  );
  check(
    self.dim === target.dim && self.sizes.every((size, dim) => size === target.sizes[dim]),
    () => `inconsistent target size: ${sizesText(target.sizes)} for input of size: ${sizesText(self.sizes)}`,
  );
  return { sizes: reduction === 0 && self.dim === 2 ? [self.sizes[0]] : [], dtype: self.dtype };
}

/** The classes of a row are listed up to the first negative number. */
function* hostMultiLabel({ self, target, reduction }: MultiLabelArgs, [out, isTarget]: readonly Tensor[]): Pieces {
  const { count, classes } = rowsOf(self);
  const scores = yield* numbersInPieces(self);
  const labels = yield* numbersInPieces(target);
  const members = scratch(Float64Array, labels.length);
  const losses = scratch(Float64Array, count);
  yield* repeat(labels.length, 2, (at) => {
    check(labels[at] >= -1 && labels[at] < classes, "argument #2 'target' is out of range");
  });
  check(target.dtype === 'int64', () => `expected scalar type Long but found ${dtypeName(target.dtype)}`);
  for (let row = 0; row < count; row++) {
    const own = labels.subarray(row * classes, (row + 1) * classes);
    let listed = 0;
    yield* repeat(classes, 4, (at) => {
      const label = own[at];
      if (label < 0 || listed < at) return;
      members[row * classes + label] = 1;
      listed++;
    });
    let sum = 0;
    yield* repeat(listed, 8 * classes, (at) => {
      const label = own[at];
      for (let c = 0; c < classes; c++) {
        if (members[row * classes + c] === 1) continue;
        sum += Math.max(1 - scores[row * classes + label] + scores[row * classes + c], 0);
      }
    });
    losses[row] = sum / classes;
    yield;
  }
  yield* reduceRows(out, losses, reduction);
  if (isTarget) yield* storeInPieces(isTarget, members);
}

export const classLossRows: readonly OperatorRow[] = [
  nllRow('nll_loss', false),
  nllRow('nll_loss2d', false),
  nllRow('nll_loss_nd', false),
  nllRow('nll_loss_forward', true),
  nllRow('nll_loss2d_forward', true),
  crossEntropy,
  multiMargin,
  kernel<MultiLabelArgs>('aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor', {
    out: true,
    shape: multiLabelShape,
    host: hostMultiLabel,
  }),
  kernel<MultiLabelArgs>(
    'aten::multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)',
    {
      shape: (args) => [multiLabelShape(args), { sizes: args.target.sizes, dtype: args.self.dtype }],
      host: hostMultiLabel,
    },
  ),
];
