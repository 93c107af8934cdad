import { Complex, isComplex, isIntegral, numelOf, type ScalarType, type Tensor } from '@cresset/tensor';
import {
  axis,
  binary,
  cast,
  constant,
  param,
  reduce,
  select,
  TensorView,
  unary,
  type AxisExpr,
  type Expr,
  type Store,
} from '@cresset/tensorexpr';
import { kernel, type KernelRule } from '../builders.ts';
import { wrapDim } from '../dimensions.ts';
import { numberReader, numberWriter, readScalar, scalarToBigint, scalarWriter } from '../elements.ts';
import { notImplementedFor } from '../errors.ts';
import type { LoweringContext, OperatorRow, Scalar, TensorMeta } from '../row.ts';
import * as complex from '../scalar/complex-arithmetic.ts';
import { StridedCursor } from '../tensor-iterator.ts';
import { linesOf, lowerScanAlong, lowerScanLines, type ScanLines } from './scan-lowering.ts';
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
    lower: ({ self, dim }, [output], context) =>
      lowerScanAlong(
        self,
        wrapDim(dim, self.dim),
        output,
        name === 'cumsum' ? 'sum' : 'prod',
        `aten::${name}`,
        context,
      ),
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
    lower: ({ self, dim }, [values, indices], context) => {
      if (values.numel === 0) return;
      const along = wrapDim(dim, self.dim);
      const fn = name === 'cummax' ? 'max' : 'min';
      const label = `aten::${name}`;
      lowerScanAlong(self, along, values, fn, label, context);
      // The last place up to here that holds the extreme of all up to it.
      const [given, extremes] = [linesOf(self, along), linesOf(values, along)];
      const places: ScanLines = {
        ...given,
        element: (lines, at) => {
          const [value, extreme] = [given.element(lines, at), extremes.element(lines, at)];
          const isEqual = binary('eq', value, extreme);
          const isFound = value.type === 'float' ? binary('or', isEqual, unary('isnan', value)) : isEqual;
          return select(isFound, at, constant('i32', -1));
        },
      };
      const target = linesOf(indices, along);
      lowerScanLines(places, 'max', 'int32', label, context, (lines, at, value) => ({
        operand: target.view.operand,
        offset: target.view.offsetAt(lines.toSpliced(along, 0, at)),
        value: cast('i64', value),
      }));
    },
    out: 'out(values, indices)',
  };
  return kernel(`aten::${name}(Tensor self, int dim) -> (Tensor values, Tensor indices)`, rule);
}

/** Elements between two places where the sum of exponentials is kept with the largest exponent so far. */
const logarithmBlock = 128;

/** ln Σ eˣ up to each element: the sum of each block is kept relative to its largest element, so that nothing overflows. */
function lowerLogarithms(self: Tensor, dim: number, output: Tensor, context: LoweringContext): void {
  if (output.numel === 0) return;
  const label = 'aten::logcumsumexp';
  const { axes, sizes, length, element } = linesOf(self, dim);
  const value = (at: Expr): Expr => cast('float', element(axes, at));
  const [zero, lowest] = [constant('float', 0), constant('float', -Infinity)];
  const end = param('i32', length);
  /** e^(x - top), where both may be infinite. */
  const relative = (x: Expr, top: Expr): Expr =>
    select(binary('eq', x, top), constant('float', 1), unary('exp', binary('sub', x, top)));
  const blocks = Math.ceil(length / logarithmBlock);
  const [tops, sums] = [0, 1].map(() => new TensorView(context.temporary([...sizes, blocks], 'float32')));
  const width = constant('i32', logarithmBlock);
  const place = (number: Expr, within: Expr): Expr => binary('add', binary('mul', number, width), within);
  const own = axis('b', param('i32', blocks));
  const inBlock = (fn: 'max' | 'sum', body: (at: Expr) => Expr, otherwise: Expr): Expr => {
    const within = axis('w', width);
    const at = place(own, within);
    return reduce(fn, [within], select(binary('lt', at, end), body(at), otherwise));
  };
  const top = inBlock('max', value, lowest);
  const sum = inBlock('sum', (at) => relative(value(at), top), zero);
  const storing = (view: TensorView, at: readonly Expr[], stored: Expr): Store => ({
    operand: view.operand,
    offset: view.offsetAt(at),
    value: stored,
  });
  const blockAxes = [...axes, own];
  const blockStores = [storing(tops, blockAxes, top), storing(sums, blockAxes, sum)];
  context.launch({ kind: 'nest', label: `${label} (blocks)`, axes: blockAxes, innerAxes: [], stores: blockStores });
  const [number, last] = [axis('b', param('i32', blocks)), axis('w', width)];
  const at = place(number, last);
  const before = (fn: 'max' | 'sum', body: (b: Expr) => Expr, otherwise: Expr): Expr => {
    const earlier = axis('e', param('i32', blocks));
    return reduce(fn, [earlier], select(binary('lt', earlier, number), body(earlier), otherwise));
  };
  const here = (fn: 'max' | 'sum', body: (at: Expr) => Expr, otherwise: Expr): Expr => {
    const earlier = axis('k', width);
    return reduce(fn, [earlier], select(binary('le', earlier, last), body(place(number, earlier)), otherwise));
  };
  const topOf = (b: Expr): Expr => tops.at([...axes, b]);
  const largest = binary('max', before('max', topOf, lowest), here('max', value, lowest));
  const terms = (b: Expr): Expr =>
    // A block of nothing but -inf has nothing to add, whatever its sum says.
    select(binary('eq', topOf(b), lowest), zero, binary('mul', sums.at([...axes, b]), relative(topOf(b), largest)));
  const total = binary(
    'add',
    before('sum', terms, zero),
    here('sum', (k) => relative(value(k), largest), zero),
  );
  const isLowest = binary('eq', largest, lowest);
  const result = select(isLowest, lowest, binary('add', largest, unary('log', total)));
  const target = linesOf(output, dim).view;
  const stores = [{ ...storing(target, axes.toSpliced(dim, 0, at as AxisExpr), result), guard: binary('lt', at, end) }];
  context.launch({ kind: 'nest', label, axes: [...axes, number, last], innerAxes: [], stores });
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
    lower: ({ self, dim }, [output], context) => lowerLogarithms(self, wrapDim(dim, self.dim), output, context),
    out: true,
  }),
  extremeRow('cummax', (value, best) => value >= best),
  extremeRow('cummin', (value, best) => value <= best),
];
