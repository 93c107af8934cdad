import { symCeilDiv, symEq, type Tensor } from '@cresset/tensor';
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
import { kernel, type KernelRule } from '../../table/builders.ts';
import { wrapDim } from '../../kernels/dimensions.ts';
import { bigintReader, numberReader, numberWriter, scalarWriter } from '../../kernels/elements.ts';
import { check } from '../../kernels/errors.ts';
import type { LoweringContext, OperatorRow } from '../../table/row.ts';
import { complexLogAdd } from './binary-functions.ts';
import { linesOf, lowerScanAlong, lowerScanLines, type ScanLines } from '../reductions/scan-lowering.ts';
import { computedFloat, toFloating } from '../../kernels/type-promotion.ts';
import { forEachLine, runScan, type Running, type Scan } from '../reductions/scans.ts';

/** Running extremes and sums of exponentials along a dimension (ATen/native/ReduceOps.cpp). */

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
  combineComplex: complexLogAdd,
};

/** The extreme so far and where it was found last; a NaN stays. */
function extremeRow(
  name: 'cummax' | 'cummin',
  wins: (value: number | bigint, best: number | bigint) => boolean,
): OperatorRow {
  const rule: KernelRule<Scan> = {
    shape: ({ self, dim }) => {
      check(
        self.dim > 0 || dim === 0 || dim === -1,
        () => `${name}(): Expected reduction dim -1 or 0 for scalar but got ${dim}`,
        'IndexError',
      );
      wrapDim(dim, self.dim);
      return [
        { sizes: self.symSizes, dtype: self.dtype },
        { sizes: self.symSizes, dtype: 'int64' },
      ];
    },
    host: ({ self, dim }, [values, indices]) => {
      const isLong = self.dtype === 'int64';
      const read: (offset: number) => number | bigint = isLong ? bigintReader(self) : numberReader(self);
      const writeValue = scalarWriter(values);
      const writeIndex = numberWriter(indices);
      let best: number | bigint = 0;
      let found = 0;
      return forEachLine(
        [self, values, indices],
        wrapDim(dim, self.dim),
        ([from, to, place], { strides }, start, end) => {
          if (start === 0) [best, found] = [read(from), 0];
          for (let at = start; at < end; at++) {
            const value = read(from + at * strides[0]);
            if (Number.isNaN(value) || (!Number.isNaN(best) && wins(value, best))) {
              best = value;
              found = at;
            }
            writeValue(to + at * strides[1], best);
            writeIndex(place + at * strides[2], found);
          }
        },
      );
    },
    lower: ({ self, dim }, [values, indices], context) => {
      if (symEq(values.symNumel, 0)) return;
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
  if (symEq(output.symNumel, 0)) return;
  const label = 'aten::logcumsumexp';
  const { axes, sizes, length, element } = linesOf(self, dim);
  const value = (at: Expr): Expr => cast('float', element(axes, at));
  const [zero, lowest] = [constant('float', 0), constant('float', -Infinity)];
  const end = param('i32', length);
  /** e^(x - top), where both may be infinite. */
  const relative = (x: Expr, top: Expr): Expr =>
    select(binary('eq', x, top), constant('float', 1), unary('exp', binary('sub', x, top)));
  const blocks = symCeilDiv(length, logarithmBlock);
  const [tops, sums] = [0, 1].map(
    () => new TensorView(context.temporary([...sizes, blocks], computedFloat(output.dtype))),
  );
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

export const extremeScanRows: readonly OperatorRow[] = [
  kernel<Scan>('aten::logcumsumexp(Tensor self, int dim) -> Tensor', {
    shape: ({ self, dim }) => {
      wrapDim(dim, self.dim);
      return { sizes: self.symSizes, dtype: toFloating(self.dtype) };
    },
    host: (args, [output]) => runScan(args, output, logarithms),
    lower: ({ self, dim }, [output], context) => lowerLogarithms(self, wrapDim(dim, self.dim), output, context),
    out: true,
  }),
  extremeRow('cummax', (value, best) => value >= best),
  extremeRow('cummin', (value, best) => value <= best),
];
