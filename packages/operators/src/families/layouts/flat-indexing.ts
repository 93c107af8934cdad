import { repeat, type Pieces, filled } from '../../kernels/loops/pieces.ts';
import { isIntegral, numelOf, Tensor, type ScalarType, scratch } from '@cresset/tensor';
import { axis, cast, constant, param, reduce, TensorView, type AxisExpr } from '@cresset/tensorexpr';
import { broadcastAll } from '../../kernels/broadcast.ts';
import { kernel } from '../../table/builders.ts';
import { copyPieces } from '../../kernels/copy.ts';
import { wrapDim } from '../../kernels/dimensions.ts';
import { numberReader, numberWriter } from '../../kernels/elements.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import { lowerFill } from '../../kernels/fill.ts';
import type { LoweringContext, OperatorRow } from '../../table/row.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { launchCopy } from '../indexing/launched-copy.ts';
import { elementMover, operandReader, offsetsInPieces } from '../indexing/element-moves.ts';
import { deviceTensor } from '../indexing/flagged-elements.ts';
import { unflattened } from '../indexing/masked-elements.ts';
import { outOfBounds, positionFault } from '../indexing/position-faults.ts';
import { lowerScatteredWrites, wrappedPlace, type ScatteredWrites } from '../indexing/scattered-writes.ts';
import { withSize } from '../indexing/index-select.ts';
import { offsetsThrough, put, sameAsSelf, flatFault } from '../scatter/gather-scatter.ts';
import { numbersInPieces } from '../../kernels/numbers/numbers.ts';

/** Elements taken and put at positions of the flattened tensor, and counts of numbers (TensorAdvancedIndexing.cpp, SummaryOps.cpp). */

/** Offsets of elements by their position in C order, counted from the end where negative. */
function* flatOffsets(self: Tensor, index: Tensor): Pieces<Float64Array> {
  const { numel } = self;
  const places = yield* offsetsInPieces(self.sizes, self.strides, self.storageOffset);
  const read = numberReader(index);
  const offsets = yield* offsetsInPieces(index.sizes, index.strides, index.storageOffset);
  return yield* filled(offsets, 8, (at) => {
    const position = read(offsets[at]);
    check(
      position >= -numel && position < numel,
      () => `out of range: tried to access index ${position} on a tensor of ${numel} elements.`,
      'IndexError',
    );
    return places[position < 0 ? position + numel : position];
  });
}

interface Bincount {
  readonly self: Tensor;
  readonly weights: Tensor | null;
  readonly minlength: number;
}

const checkCounted = (self: Tensor, least: number): void =>
  check(self.dim === 1 && least >= 0, 'bincount only supports 1-d non-negative integral inputs.');

const weightsDtype = ({ dtype }: Tensor): ScalarType => (dtype === 'float32' ? dtype : 'float64');

function* bincount({ self, weights, minlength }: Bincount): Pieces<Tensor> {
  check(minlength >= 0, 'minlength should be >= 0');
  if (!isIntegral(self.dtype, false)) throw notImplementedFor('bincount_cpu', dtypeName(self.dtype));
  const values = yield* numbersInPieces(self);
  let [least, size] = [0, minlength];
  yield* repeat(values.length, 2, (at) => {
    least = Math.min(least, values[at]);
    size = Math.max(size, values[at] + 1);
  });
  checkCounted(self, least);
  check(
    weights === null || numelOf(weights.sizes) === values.length,
    'weights should be 1-d and have the same length as input',
  );
  if (!weights) {
    const output = Tensor.empty([size], 'int64');
    const counts = output.storageArrayForWriting() as BigInt64Array;
    yield* repeat(values.length, 8, (at) => void counts[values[at]]++);
    return output;
  }
  const output = Tensor.empty([size], weightsDtype(weights));
  const write = numberWriter(output);
  const sums = scratch(Float64Array, size);
  const read = numberReader(weights);
  yield* repeat(values.length, 8, (at) => {
    sums[values[at]] += read(weights.storageOffset + at * weights.strides[0]);
  });
  yield* repeat(size, 4, (at) => write(at, sums[at]));
  return output;
}

/** A tensor with the sizes of the result, but for those along `dim`: dimensions of size 1 repeat. */
const repeated = (tensor: Tensor, dim: number, output: Tensor): Tensor =>
  tensor.asStrided(
    tensor.sizes.map((size, at) => (at === dim ? size : output.sizes[at])),
    tensor.strides.map((stride, at) => (at !== dim && tensor.sizes[at] !== output.sizes[at] ? 0 : stride)),
  );

/** As `bincount`: the largest number is waited for, since the result has a place for each up to it. */
async function deviceBincount({ self, weights, minlength }: Bincount, context: LoweringContext): Promise<Tensor> {
  const label = 'aten::bincount';
  const view = new TensorView(self);
  const at = axis('i', param('i32', self.numel));
  const bounds = context.temporary([2], 'int32');
  const bound = new TensorView(bounds);
  const value = cast('i32', view.at([at]));
  const stores = (['min', 'max'] as const).map((fn, which) => ({
    operand: bound.operand,
    offset: bound.offsetAt([constant('i32', which)]),
    value: reduce(fn, [at], value),
  }));
  context.launch({ kind: 'nest', label, axes: [], innerAxes: [], stores });
  await context.fetch(bounds);
  const [least, most] = bounds.storageArray() as Int32Array;
  checkCounted(self, least);
  const dtype = weights ? weightsDtype(weights) : 'int64';
  const output = deviceTensor([Math.max(most + 1, minlength)], dtype, context);
  const zeros = context.temporary(output.sizes, dtype);
  lowerFill(zeros, 0n, context, label);
  const writes: ScatteredWrites = {
    axes: [at],
    place: [value],
    isInside: constant('bool', true),
    value: weights ? new TensorView(weights).at([at]) : constant('i64', 1n),
    how: 'sum',
    includesSelf: true,
  };
  lowerScatteredWrites(zeros, output, writes, context, label);
  return output;
}

interface Put {
  readonly self: Tensor;
  readonly index: Tensor;
  readonly source: Tensor;
  readonly accumulate: boolean;
}

function checkPut({ self, index, source }: Put): void {
  check(index.dtype === 'int64', () => `put_(): Expected a long tensor for index, but got ${dtypeName(index.dtype)}`);
  check(
    self.dtype === source.dtype,
    () =>
      `put_(): self and source expected to have the same dtype, but got self.dtype = ${dtypeName(self.dtype)} and source.dtype = ${dtypeName(source.dtype)}`,
  );
  check(
    source.numel === index.numel,
    () =>
      `put_(): Expected source and index to have the same number of elements, but got source.numel() = ${source.numel}, index.numel() = ${index.numel}`,
    'IndexError',
  );
  check(self.numel > 0 || index.numel === 0, 'put_(): Tried to put elements into an empty tensor', 'IndexError');
}

export const flatIndexingRows: readonly OperatorRow[] = [
  kernel('aten::take(Tensor self, Tensor index) -> Tensor', {
    out: 'out',
    mayShare: () => ({ self: 'nothing', index: 'nothing' }),
    shape: ({ self, index }: { self: Tensor; index: Tensor }) => {
      check(index.dtype === 'int64', `take(): Expected a long tensor for index, but got ${dtypeName(index.dtype)}`);
      check(self.numel > 0 || index.numel === 0, 'take(): tried to take from an empty tensor', 'IndexError');
      return { sizes: index.sizes, dtype: self.dtype };
    },
    *host({ self, index }, [output]) {
      const move = elementMover(output, self);
      const offsets = yield* flatOffsets(self, index);
      yield* repeat(offsets.length, 4, (at) => move(at, offsets[at]));
    },
    lower: ({ self, index }, [output], context) => {
      if (output.numel === 0) return;
      const target = new TensorView(output);
      const axes = target.axes();
      const given = new TensorView(index).at(axes);
      const { at } = wrappedPlace(given, self.numel, true);
      const value = self.numel === 0 ? target.at(axes) : new TensorView(self).at(unflattened(at, self.sizes));
      launchCopy('aten::take', axes, target, value, context, flatFault(self, given, context));
    },
  }),
  kernel('aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor', {
    inPlace: true,
    writesInPlace: true,
    mayShare: () => ({ index: 'nothing', source: 'nothing' }),
    out: 'out',
    shape: (args: Put) => {
      checkPut(args);
      return sameAsSelf(args);
    },
    *host({ self, index, source, accumulate }: Put, [output]) {
      yield* copyPieces(output, self);
      const froms = yield* offsetsInPieces(source.sizes, source.strides, source.storageOffset);
      const read = operandReader(source);
      yield* put(output, yield* flatOffsets(output, index), (at) => read(froms[at]), {
        how: accumulate ? 'sum' : null,
        includesSelf: true,
      });
    },
    lower: ({ self, index, source, accumulate }, [output], context) => {
      if (output.numel === 0) return;
      const flat = axis('i', param('i32', index.numel));
      const given = new TensorView(index).at(unflattened(flat, index.sizes));
      const { at, isInside } = wrappedPlace(given, self.numel, true);
      if (index.numel > 0) {
        const stores = flatFault(self, given, context);
        context.launch({ kind: 'nest', label: 'aten::put', axes: [flat], innerAxes: [], stores });
      }
      const value = new TensorView(source).at(unflattened(flat, source.sizes));
      const place = unflattened(at, self.sizes);
      const how = accumulate ? 'sum' : null;
      const writes = { axes: [flat], place, isInside, value, how, includesSelf: true } as const;
      lowerScatteredWrites(self, output, writes, context, 'aten::put');
    },
  }),
  kernel('aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor', {
    out: 'out',
    shape: ({ self, indices, dim }: { self: Tensor; indices: Tensor; dim: number | null }) => {
      if (dim === null) return { sizes: [indices.numel], dtype: self.dtype };
      check(
        self.dim === indices.dim,
        `torch.take_along_dim(): input and indices should have the same number of dimensions, but got ${self.dim} dimensions for input, and ${indices.dim} dimensions for indices`,
      );
      const wrapped = wrapDim(dim, self.dim);
      const others = broadcastAll([withSize(self, wrapped, 1), withSize(indices, wrapped, 1)]);
      return { sizes: others.map((size, at) => (at === wrapped ? indices.sizes[wrapped] : size)), dtype: self.dtype };
    },
    *host({ self, indices, dim }, [output]) {
      const move = elementMover(output, self);
      if (dim === null) {
        (yield* flatOffsets(self, indices)).forEach((offset, at) => move(at, offset));
        return;
      }
      const wrapped = wrapDim(dim, self.dim);
      const [source, index] = [self, indices].map((tensor) => repeated(tensor, wrapped, output));
      const offsets = yield* offsetsThrough(source, wrapped, index, -self.sizes[wrapped]);
      yield* repeat(offsets.length, 4, (at) => move(at, offsets[at]));
    },
    lower: ({ self, indices, dim }, [output], context) => {
      if (output.numel === 0) return;
      const label = 'aten::take_along_dim';
      const target = new TensorView(output);
      const axes = target.axes();
      if (dim === null) {
        const given = new TensorView(indices).at(unflattened(axes[0], indices.sizes));
        const place = unflattened(wrappedPlace(given, self.numel, true).at, self.sizes);
        launchCopy(label, axes, target, new TensorView(self).at(place), context, flatFault(self, given, context));
        return;
      }
      const wrapped = wrapDim(dim, self.dim);
      const size = self.sizes[wrapped];
      const given = new TensorView(repeated(indices, wrapped, output)).at(axes);
      const place = axes.with(wrapped, wrappedPlace(given, size, true).at as AxisExpr);
      const value = new TensorView(repeated(self, wrapped, output)).at(place);
      const faults = positionFault(given, -size, size, outOfBounds(wrapped, size), context, 'RuntimeError');
      launchCopy(label, axes, target, value, context, faults);
    },
    lowerable: ({ self, dim }) => dim !== null || self.numel > 0,
  }),
  kernel('aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor', {
    host: bincount,
    device: deviceBincount,
    // Of others the host says what is wrong with them.
    lowerable: ({ self, weights, minlength }) =>
      minlength >= 0 &&
      self.dim === 1 &&
      self.numel > 0 &&
      isIntegral(self.dtype, false) &&
      (!weights || (weights.numel === self.numel && weights.dim === 1)),
    out: 'out',
  }),
];
