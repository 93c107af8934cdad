import { Complex } from '@cresset/ir';
import { isComplex, numelOf, type ScalarType, type Tensor } from '@cresset/tensor';
import {
  cast,
  childrenOf,
  exprTypeOf,
  param,
  reduce,
  TensorView,
  type AxisExpr,
  type Expr,
  type LoadExpr,
  type ReduceExpr,
} from '@cresset/tensorexpr';
import { BlockProgram, withIntegerFallback } from './block-evaluator.ts';
import { blockReader, blockSize, blockWriter, type Register } from './blocks.ts';
import { boxingOf } from '../table/boxing.ts';
import { reducedDims, reducedSizes } from './dimensions.ts';
import { readScalar, scalarToNumber, scalarWriter } from './elements.ts';
import { notImplementedFor } from './errors.ts';
import { hostLoad } from './pointwise.ts';
import { ReduceAccumulator } from './reduce-accumulator.ts';
import type { LoweringContext, OperatorRow, PointwiseArguments, TensorMeta } from '../table/row.ts';
import { coalesce, StridedCursor, type IterationSpace, type VisitRun } from './tensor-iterator.ts';
import { dtypeName } from './type-promotion.ts';

interface ReductionPlan {
  readonly self: Tensor;
  readonly dims: readonly number[];
  readonly kept: readonly number[];
  readonly computing: ScalarType;
  readonly result: ScalarType;
  readonly count: number;
}

function planOf(row: OperatorRow, args: PointwiseArguments): ReductionPlan {
  const rule = row.reduction!;
  const self = args.self as Tensor;
  const dims = reducedDims(typeof args.dim === 'number' ? [args.dim] : (args.dim ?? null), self.dim);
  rule.refuses?.(self, dims, args);
  const result = rule.dtype(self.dtype, args);
  const computing = rule.computing?.(self.dtype, args) ?? result;
  const kept = self.sizes.map((_, dim) => dim).filter((dim) => !dims.includes(dim));
  return { self, dims, kept, result, computing, count: numelOf(dims.map((dim) => self.sizes[dim])) };
}

/** Sizes and dtype of a reduction's result. */
export function reductionShape(row: OperatorRow, args: PointwiseArguments): TensorMeta {
  const { self, dims, result } = planOf(row, args);
  return { sizes: reducedSizes(self.sizes, dims, args.keepdim === true), dtype: result };
}

/** The value of one output element. `element` is one of `self`, reductions go over `axes`. */
function bodyOf(
  row: OperatorRow,
  args: PointwiseArguments,
  plan: ReductionPlan,
  element: Expr,
  axes: readonly AxisExpr[],
): Expr {
  const type = exprTypeOf(plan.computing);
  const parts = {
    self: cast(type, element),
    count: param('float', plan.count),
    type,
    over: (fn: ReduceExpr['fn'], body: Expr) => reduce(fn, axes, body),
  };
  return row.reduction!.body(parts, args);
}

/** Describes a reduction as a kernel: one loop over the results with reductions inside. */
export function lowerReduction(
  row: OperatorRow,
  args: PointwiseArguments,
  output: Tensor,
  context: LoweringContext,
): void {
  if (output.numel === 0) return;
  const plan = planOf(row, args);
  const { self, dims, kept } = plan;
  const within = coalesce({
    sizes: dims.map((dim) => self.sizes[dim]),
    walks: [{ strides: dims.map((dim) => self.strides[dim]), offset: 0 }],
  });
  const across = coalesce({
    sizes: kept.map((dim) => self.sizes[dim]),
    walks: [
      { strides: kept.map((dim) => self.strides[dim]), offset: self.storageOffset },
      { strides: keptStrides(output, plan), offset: output.storageOffset },
    ],
  });
  const source = new TensorView(
    self.asStrided([...across.sizes, ...within.sizes], [...across.walks[0].strides, ...within.walks[0].strides]),
  );
  const target = new TensorView(output.asStrided(across.sizes, across.walks[1].strides));
  const axes = source.axes();
  const outer = axes.slice(0, across.sizes.length);
  const value = bodyOf(row, args, plan, source.at(axes), axes.slice(across.sizes.length));
  context.launch({
    kind: 'nest',
    label: boxingOf(row).signature.name,
    axes: outer,
    innerAxes: [],
    stores: [{ operand: target.operand, offset: target.offsetAt(outer), value: cast(exprTypeOf(output.dtype), value) }],
  });
}

/** The output's strides over the kept dimensions, whether it has the reduced ones as size 1 or not. */
function keptStrides(output: Tensor, { self, kept }: ReductionPlan): readonly number[] {
  return output.dim === self.dim ? kept.map((dim) => output.strides[dim]) : output.strides;
}

/** Computes a reduction on the host, sums in double precision. */
export function runReduction(row: OperatorRow, args: PointwiseArguments, output: Tensor): void {
  const plan = planOf(row, args);
  if (output.numel === 0) return;
  if (isComplex(plan.computing) || isComplex(plan.self.dtype)) {
    runComplexReduction(row, args, plan, output);
    return;
  }
  const { self, dims, kept } = plan;
  const load = hostLoad(self);
  const body = cast(exprTypeOf(output.dtype), bodyOf(row, args, plan, load, []));
  const within: IterationSpace = coalesce({
    sizes: dims.map((dim) => self.sizes[dim]),
    walks: [{ strides: dims.map((dim) => self.strides[dim]), offset: 0 }],
  });
  const across: IterationSpace = coalesce({
    sizes: kept.map((dim) => self.sizes[dim]),
    walks: [
      { strides: kept.map((dim) => self.strides[dim]), offset: self.storageOffset },
      { strides: keptStrides(output, plan), offset: output.storageOffset },
    ],
  });
  withIntegerFallback((exact) => new HostReduction(body, load, within, across, exact).run(output));
}

/** Reductions inside an expression, those that others depend on first. */
function reductionsIn(expr: Expr, found: ReduceExpr[] = []): ReduceExpr[] {
  for (const child of childrenOf(expr)) reductionsIn(child, found);
  if (expr.kind === 'reduce' && !found.includes(expr)) found.push(expr);
  return found;
}

/** A reduction and the program for what it reduces; `earlier` are results that its body uses. */
interface ReduceStage {
  readonly expr: ReduceExpr;
  readonly program: BlockProgram;
  readonly read: VisitRun | null;
  readonly earlier: readonly { readonly from: ReduceAccumulator; readonly register: Register }[];
  readonly accumulator: ReduceAccumulator;
}

/**
 * Two ways through the same stages. Where there are more elements in a group than groups, one group after the other is
 * gone through in blocks; otherwise a block of groups is worked on at a time, one element of each after the other.
 */
class HostReduction {
  readonly #stages: ReduceStage[] = [];
  readonly #finish: BlockProgram;
  readonly #count: number;
  readonly #groups: number;

  constructor(
    readonly body: Expr,
    readonly load: LoadExpr,
    readonly within: IterationSpace,
    readonly across: IterationSpace,
    readonly exact: boolean,
  ) {
    const precision = { double: true, exact };
    this.#count = numelOf(within.sizes);
    this.#groups = numelOf(across.sizes);
    for (const expr of reductionsIn(body)) {
      const program = new BlockProgram([expr.body], precision);
      const earlier = this.#stages
        .filter((stage) => program.has(stage.expr))
        .map((stage) => ({ from: stage.accumulator, register: program.register(stage.expr) }));
      const read = program.has(load) ? blockReader(load.operand.tensor, program.register(load)) : null;
      this.#stages.push({ expr, program, read, earlier, accumulator: new ReduceAccumulator(expr, precision) });
    }
    this.#finish = new BlockProgram([body], precision);
  }

  run(output: Tensor): void {
    const [sourceWalk, outputWalk] = this.across.walks;
    const sources = new StridedCursor(this.across.sizes, sourceWalk);
    const outputs = new StridedCursor(this.across.sizes, outputWalk);
    const byGroup = this.#count > this.#groups;
    const width = byGroup ? 1 : blockSize;
    const bases = new Float64Array(width);
    const write = blockWriter(output, this.#finish.register(this.body));
    for (let done = 0; done < this.#groups; done += width) {
      const count = Math.min(width, this.#groups - done);
      sources.advance(count, (offset, stride, run, at) => {
        for (let i = 0; i < run; i++) bases[at + i] = offset + i * stride;
      });
      for (const stage of this.#stages) {
        if (byGroup) this.#reduceGroup(stage, bases[0]);
        else this.#reduceAbreast(stage, bases, count);
        const result = this.#finish.has(stage.expr) ? this.#finish.register(stage.expr) : null;
        if (result) stage.accumulator.copyTo(result, count);
      }
      this.#finish.evaluate(count);
      outputs.advance(count, write);
    }
  }

  #reduceGroup({ expr, program, read, earlier, accumulator }: ReduceStage, base: number): void {
    accumulator.reset(1);
    for (const { from, register } of earlier) from.broadcastTo(register);
    const cursor = new StridedCursor(this.within.sizes, { ...this.within.walks[0], offset: base });
    const values = program.register(expr.body);
    for (let done = 0; done < this.#count; done += blockSize) {
      const count = Math.min(blockSize, this.#count - done);
      if (read) cursor.advance(count, read);
      program.evaluate(count);
      accumulator.fold(values, count, done);
    }
  }

  #reduceAbreast({ expr, program, read, earlier, accumulator }: ReduceStage, bases: Float64Array, count: number): void {
    accumulator.reset(count);
    for (const { from, register } of earlier) from.copyTo(register, count);
    const cursor = new StridedCursor(this.within.sizes, this.within.walks[0]);
    const values = program.register(expr.body);
    // Groups that lie at equal distances, the usual case, are read as one run.
    const stride = count > 1 ? bases[1] - bases[0] : 0;
    const regular = bases.subarray(0, count).every((base, at) => base === bases[0] + at * stride);
    for (let element = 0; element < this.#count; element++) {
      cursor.advance(1, (offset) => {
        if (read === null) return;
        if (regular) read(bases[0] + offset, stride, count, 0);
        else for (let at = 0; at < count; at++) read(bases[at] + offset, 0, 1, at);
      });
      program.evaluate(count);
      accumulator.combine(values, count, element);
    }
  }
}

function runComplexReduction(
  row: OperatorRow,
  args: PointwiseArguments,
  { self, dims, kept, computing }: ReductionPlan,
  output: Tensor,
): void {
  const apply = row.reduction!.complex;
  if (!apply) throw notImplementedFor(boxingOf(row).signature.name.replace('aten::', ''), dtypeName(computing));
  const write = scalarWriter(output);
  const within = dims.map((dim) => self.sizes[dim]);
  const sources = new StridedCursor(
    kept.map((dim) => self.sizes[dim]),
    { strides: kept.map((dim) => self.strides[dim]), offset: self.storageOffset },
  );
  const targets = new StridedCursor(output.sizes, { strides: output.strides, offset: output.storageOffset });
  const visitGroup = (base: number): Complex[] => {
    const elements: Complex[] = [];
    const cursor = new StridedCursor(within, { strides: dims.map((dim) => self.strides[dim]), offset: base });
    for (let left = numelOf(within); left > 0; left--) {
      cursor.advance(1, (offset) => {
        const value = readScalar(self, offset);
        elements.push(value instanceof Complex ? value : new Complex(scalarToNumber(value), 0));
      });
    }
    return elements;
  };
  for (let left = output.numel; left > 0; left--) {
    sources.advance(1, (base) => targets.advance(1, (offset) => write(offset, apply(visitGroup(base), args))));
  }
}
