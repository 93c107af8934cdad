import { Complex, isComplex, isIntegral, numelOf, type ScalarType, type Tensor } from '@cresset/tensor';
import { axis, binary, cast, exprTypeOf, reduce, select, TensorView, constant, type Expr } from '@cresset/tensorexpr';
import { kernel, type KernelRule } from '../builders.ts';
import { wrapDim } from '../dimensions.ts';
import { numberReader, numberWriter, readScalar, scalarToBigint, scalarWriter } from '../elements.ts';
import { notImplementedFor } from '../errors.ts';
import { lowerGenerated } from '../fill.ts';
import type { LoweringContext, OperatorRow, Scalar, TensorMeta } from '../row.ts';
import * as complex from '../scalar/complex-arithmetic.ts';
import { StridedCursor } from '../tensor-iterator.ts';
import { dtypeName, toFloating } from '../type-promotion.ts';

/** Running sums, products and extremes along a dimension (ATen/native/ReduceOps.cpp). */

interface Scan {
  readonly self: Tensor;
  readonly dim: number;
  readonly dtype?: ScalarType | null;
}

/** A line of elements along the scanned dimension: where it starts and how far apart its elements lie. */
interface Lines {
  readonly length: number;
  readonly strides: readonly number[];
}

/** Calls `visit` with the first offsets of each line, one for every tensor; all have the sizes of the first. */
function forEachLine(
  tensors: readonly Tensor[],
  dim: number,
  visit: (offsets: readonly number[], lines: Lines) => void,
): void {
  const [first] = tensors;
  const rank = first.dim;
  const outer = first.sizes.filter((_, each) => each !== dim);
  const cursors = tensors.map(
    ({ strides, storageOffset }) =>
      new StridedCursor(outer, { strides: strides.filter((_, each) => each !== dim), offset: storageOffset }),
  );
  const lines = { length: rank === 0 ? 1 : first.sizes[dim], strides: tensors.map(({ strides }) => strides[dim] ?? 0) };
  if (lines.length === 0) return;
  const offsets = new Array<number>(tensors.length);
  for (let left = numelOf(outer); left > 0; left--) {
    cursors.forEach((cursor, at) => cursor.advance(1, (offset) => (offsets[at] = offset)));
    visit(offsets, lines);
  }
}

interface Running {
  readonly start: number;
  combine(a: number, b: number): number;
  combineLong(a: bigint, b: bigint): bigint;
  combineComplex?(a: Complex, b: Complex): Complex;
}

const sums: Running = { start: 0, combine: (a, b) => a + b, combineLong: (a, b) => a + b, combineComplex: complex.add };
const products: Running = {
  start: 1,
  combine: (a, b) => a * b,
  combineLong: (a, b) => a * b,
  combineComplex: complex.multiply,
};

/** ln(eᵃ + eᵇ). */
function addLogarithms(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return NaN;
  const [low, high] = a < b ? [a, b] : [b, a];
  return low === high && !Number.isFinite(low) ? low : high + Math.log1p(Math.exp(low - high));
}

const logarithms: Running = {
  start: -Infinity,
  combine: addLogarithms,
  combineLong: (a) => a,
  combineComplex: (a, b) => {
    const [low, high] = a.re < b.re ? [a, b] : [b, a];
    if (low.re === -Infinity) return high;
    // The smaller one may vanish beside the larger, which must not overflow.
    return complex.add(high, complex.log(complex.add(new Complex(1, 0), complex.exp(complex.subtract(low, high)))));
  },
};

function runScan({ self, dim }: Scan, output: Tensor, running: Running): void {
  const along = wrapDim(dim, self.dim);
  if (isComplex(output.dtype)) {
    runScalars(
      self,
      output,
      along,
      (a, b) => running.combineComplex!(complexOf(a), complexOf(b)),
      new Complex(running.start, 0),
    );
  } else if (output.dtype === 'int64') {
    runScalars(
      self,
      output,
      along,
      (a, b) => BigInt.asIntN(64, running.combineLong(scalarToBigint(a), scalarToBigint(b))),
      BigInt(running.start),
    );
  } else {
    const read = numberReader(self);
    const write = numberWriter(output);
    forEachLine([self, output], along, ([from, to], { length, strides }) => {
      let value = running.start;
      for (let at = 0; at < length; at++) {
        value = running.combine(value, read(from + at * strides[0]));
        write(to + at * strides[1], value);
      }
    });
  }
}

const complexOf = (value: Scalar): Complex => (value instanceof Complex ? value : new Complex(Number(value), 0));

function runScalars(
  self: Tensor,
  output: Tensor,
  dim: number,
  combine: (a: Scalar, b: Scalar) => Scalar,
  start: Scalar,
): void {
  const write = scalarWriter(output);
  forEachLine([self, output], dim, ([from, to], { length, strides }) => {
    let value = start;
    for (let at = 0; at < length; at++) {
      value = combine(value, readScalar(self, from + at * strides[0]));
      write(to + at * strides[1], value);
    }
  });
}

/** Lines up to this long are scanned on a device by summing up to each element: quadratic work, but all at once. */
const longestLine = 2048;

/** Each element a reduction over the elements up to it. */
function lowerScan(
  { self, dim }: Scan,
  output: Tensor,
  context: LoweringContext,
  fn: 'sum' | 'prod',
  label: string,
): void {
  const along = wrapDim(dim, self.dim);
  const source = new TensorView(self);
  const type = exprTypeOf(output.dtype);
  const neutral = constant(type, type === 'i64' ? (fn === 'sum' ? 0n : 1n) : fn === 'sum' ? 0 : 1);
  lowerGenerated(
    output,
    (axes) => {
      if (self.dim === 0) return cast(type, source.at([]));
      const earlier = axis('k', source.sizes[along]);
      const element: Expr = cast(type, source.at(axes.with(along, earlier)));
      return reduce(fn, [earlier], select(binary('le', earlier, axes[along]), element, neutral));
    },
    context,
    label,
  );
}

const scanDtype = (self: ScalarType, dtype: ScalarType | null | undefined): ScalarType =>
  dtype ?? (isIntegral(self, true) ? 'int64' : self);

function scanMeta({ self, dim, dtype }: Scan): TensorMeta {
  wrapDim(dim, self.dim);
  return { sizes: self.sizes, dtype: scanDtype(self.dtype, dtype) };
}

const scanRow = (name: 'cumsum' | 'cumprod', running: Running): OperatorRow =>
  kernel<Scan>(`aten::${name}(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor`, {
    shape: scanMeta,
    host: (args, [output]) => runScan(args, output, running),
    lower: (args, [output], context) =>
      lowerScan(args, output, context, name === 'cumsum' ? 'sum' : 'prod', `aten::${name}`),
    lowerable: ({ self, dim }) => (self.sizes.at(dim) ?? 1) <= longestLine,
    inPlace: true,
    out: true,
  });

/** The extreme so far and where it was found last; a NaN stays. */
function extremeRow(name: 'cummax' | 'cummin', wins: (value: number, best: number) => boolean): OperatorRow {
  const rule: KernelRule<Scan> = {
    shape: ({ self, dim }) => {
      if (isComplex(self.dtype)) throw notImplementedFor(`${name}_cpu`, dtypeName(self.dtype));
      wrapDim(dim, self.dim);
      return [
        { sizes: self.sizes, dtype: self.dtype },
        { sizes: self.sizes, dtype: 'int64' },
      ];
    },
    host: ({ self, dim }, [values, indices]) => {
      const read = numberReader(self);
      const writeValue = numberWriter(values);
      const writeIndex = numberWriter(indices);
      forEachLine([self, values, indices], wrapDim(dim, self.dim), ([from, to, place], { length, strides }) => {
        let best = read(from);
        let found = 0;
        for (let at = 0; at < length; at++) {
          const value = read(from + at * strides[0]);
          if (Number.isNaN(value) || (!Number.isNaN(best) && wins(value, best))) {
            best = value;
            found = at;
          }
          writeValue(to + at * strides[1], best);
          writeIndex(place + at * strides[2], found);
        }
      });
    },
    out: 'out(values, indices)',
  };
  return kernel(`aten::${name}(Tensor self, int dim) -> (Tensor values, Tensor indices)`, rule);
}

export const scanRows: readonly OperatorRow[] = [
  scanRow('cumsum', sums),
  scanRow('cumprod', products),
  kernel<Scan>('aten::logcumsumexp(Tensor self, int dim) -> Tensor', {
    shape: ({ self, dim }) => {
      wrapDim(dim, self.dim);
      return { sizes: self.sizes, dtype: toFloating(self.dtype) };
    },
    host: (args, [output]) => runScan(args, output, logarithms),
    out: true,
  }),
  extremeRow('cummax', (value, best) => value >= best),
  extremeRow('cummin', (value, best) => value <= best),
];
