import { Complex } from '@cresset/ir';
import {
  isComplex,
  numelOf,
  takeScratch,
  type ScalarType,
  type Tensor,
  settleAll,
  symEq,
  symProduct,
  type SymInt,
} from '@cresset/tensor';
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
import { blockReader, blockSize, blockWriter, IntegerRangeError, type Register } from './blocks.ts';
import { boxingOf } from '../../table/boxing.ts';
import { reducedDims, reducedSizes } from '../dimensions.ts';
import { isDirect } from './elementwise.ts';
import { readScalar, scalarToNumber, scalarWriter } from '../elements.ts';
import { notImplementedFor } from '../errors.ts';
import type { Lane } from './lanes.ts';
import { eachOffset, finish, isInPieces, TURN_SIZE, type Pieces } from './pieces.ts';
import { hostLoad } from './pointwise.ts';
import { ReduceAccumulator } from './reduce-accumulator.ts';
import type { LoweringContext, OperatorRow, PointwiseArguments, TensorMeta } from '../../table/row.ts';
import { coalesce, StridedCursor, type IterationSpace } from './tensor-iterator.ts';
import { dtypeName } from '../type-promotion.ts';

interface ReductionPlan {
  readonly self: Tensor;
  readonly dims: readonly number[];
  readonly kept: readonly number[];
  readonly computing: ScalarType;
  readonly result: ScalarType;
  /** Elements that a result is made of. */
  readonly count: SymInt;
}

function planOf(row: OperatorRow, args: PointwiseArguments): ReductionPlan {
  const rule = row.reduction!;
  const self = args.self as Tensor;
  const result = rule.dtype(self.dtype, args);
  const given = typeof args.dim === 'number' ? [args.dim] : ((args.dim as readonly number[] | undefined) ?? null);
  const dims = rule.emptyIsNone && given?.length === 0 ? [] : reducedDims(given, self.dim);
  rule.refuses?.(self, dims, args);
  const computing = rule.computing?.(self.dtype, args) ?? result;
  const { symSizes: sizes } = self;
  const kept = [...sizes.keys()].filter((dim) => !dims.includes(dim));
  return { self, dims, kept, result, computing, count: symProduct(dims.map((dim) => sizes[dim])) };
}

/** Sizes and dtype of a reduction's result. */
export function reductionShape(row: OperatorRow, args: PointwiseArguments): TensorMeta {
  const { self, dims, result } = planOf(row, args);
  return { sizes: reducedSizes(self.symSizes, dims, args.keepdim === true), dtype: result };
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
  if (symEq(output.symNumel, 0)) return;
  const plan = planOf(row, args);
  const { self, dims, kept } = plan;
  const { symSizes: sizes, symStrides: strides } = self;
  const within = coalesce<SymInt>({
    sizes: dims.map((dim) => sizes[dim]),
    walks: [{ strides: dims.map((dim) => strides[dim]), offset: 0 }],
  });
  const across = coalesce<SymInt>({
    sizes: kept.map((dim) => sizes[dim]),
    walks: [
      { strides: kept.map((dim) => strides[dim]), offset: 0 },
      { strides: keptStrides(output, plan), offset: 0 },
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
function keptStrides({ dim: rank, symStrides: strides }: Tensor, { self, kept }: ReductionPlan): readonly SymInt[] {
  return rank === self.dim ? kept.map((dim) => strides[dim]) : strides;
}

/** Computes a reduction on the host, sums in double precision. */
export function* reductionPieces(row: OperatorRow, args: PointwiseArguments, output: Tensor): Pieces {
  const plan = planOf(row, args);
  if (output.numel === 0) return;
  if (isComplex(plan.computing) || isComplex(plan.self.dtype)) yield* complexPieces(row, args, plan, output);
  else yield* makeLoop(row, args, plan, output).pieces(plan.self, output);
}

/** A reduction made ready for arguments like these; null for complex ones. */
export function reductionLoop(row: OperatorRow, args: PointwiseArguments, output: Tensor): ReductionLoop | null {
  const plan = planOf(row, args);
  return isComplex(plan.computing) || isComplex(plan.self.dtype) ? null : makeLoop(row, args, plan, output);
}

function makeLoop(row: OperatorRow, args: PointwiseArguments, plan: ReductionPlan, output: Tensor): ReductionLoop {
  const { self, dims, kept } = plan;
  const load = hostLoad(self);
  const body = cast(exprTypeOf(output.dtype), bodyOf(row, args, plan, load, []));
  const within = coalesce({
    sizes: dims.map((dim) => self.sizes[dim]),
    walks: [{ strides: dims.map((dim) => self.strides[dim]), offset: 0 }],
  });
  const across = coalesce({
    sizes: kept.map((dim) => self.sizes[dim]),
    walks: [
      { strides: kept.map((dim) => self.strides[dim]), offset: 0 },
      { strides: settleAll(keptStrides(output, plan)), offset: 0 },
    ],
  });
  return new ReductionLoop(body, load, within, across);
}

/** Reductions inside an expression, those that others depend on first. */
function reductionsIn(expr: Expr, found: ReduceExpr[] = []): ReduceExpr[] {
  for (const child of childrenOf(expr)) reductionsIn(child, found);
  if (expr.kind === 'reduce' && !found.includes(expr)) found.push(expr);
  return found;
}

/** A reduction and the program for what it reduces; `earlier` are results that its body uses. */
interface ReduceStage {
  readonly program: BlockProgram;
  /** Where the values to be combined are. */
  readonly values: Lane;
  readonly source: Lane | null;
  readonly earlier: readonly { readonly from: ReduceAccumulator; readonly lane: Lane }[];
  readonly accumulator: ReduceAccumulator;
  readonly result: Register | null;
}

/** Groups at equal distances in memory: the first one's place there, and its number in the block. */
interface GroupRun {
  readonly offset: number;
  readonly stride: number;
  readonly count: number;
  readonly at: number;
}

const nothing = new Float32Array(0);

/** A reduction made ready for tensors of one layout: a block of groups at a time, each group a row of elements. */
export class ReductionLoop {
  readonly #count: number;
  readonly #groups: number;
  #stages!: ReduceStage[];
  #finish!: BlockProgram;
  /** Elements since the last stop. */
  #turn = 0;

  constructor(
    readonly body: Expr,
    readonly load: LoadExpr,
    readonly within: IterationSpace,
    readonly across: IterationSpace,
  ) {
    this.#count = numelOf(within.sizes);
    this.#groups = numelOf(across.sizes);
    withIntegerFallback((exact) => this.#compile(exact));
  }

  /** @param exact computes int64 with bigints */
  #compile(exact: boolean): void {
    const precision = { double: true, exact };
    const { load, body } = this;
    this.#finish = new BlockProgram([body], precision);
    const made: (readonly [ReduceExpr, ReduceAccumulator])[] = [];
    this.#stages = reductionsIn(body).map((expr) => {
      const program = new BlockProgram([expr.body], precision, blockSize, Math.min(this.#count, blockSize));
      const accumulator = new ReduceAccumulator(expr, precision);
      const earlier = made
        .filter(([each]) => program.has(each))
        .map(([each, from]) => ({ from, lane: Object.assign(program.lane(each), { row: 1, column: 0 }) }));
      made.push([expr, accumulator]);
      return {
        program,
        values: program.lane(expr.body),
        source: program.has(load) ? program.lane(load) : null,
        earlier,
        accumulator,
        result: this.#finish.has(expr) ? this.#finish.register(expr) : null,
      };
    });
  }

  /** Combines the elements of `self`, of the layout that the loop was made for. */
  run(self: Tensor, output: Tensor): void {
    finish(this.pieces(self, output));
  }

  /** As `run`, with stops on the way. */
  *pieces(self: Tensor, output: Tensor): Pieces {
    try {
      yield* this.#run(self, output);
    } catch (error) {
      if (!(error instanceof IntegerRangeError)) throw error;
      this.#compile(true);
      yield* this.#run(self, output);
    }
  }

  *#run(self: Tensor, output: Tensor): Pieces {
    const [sourceWalk, outputWalk] = this.across.walks;
    const sources = new StridedCursor(this.across.sizes, { ...sourceWalk, offset: self.storageOffset });
    const outputs = new StridedCursor(this.across.sizes, { ...outputWalk, offset: output.storageOffset });
    const write = blockWriter(output, this.#finish.register(this.body));
    this.#finish.begin();
    for (const { program } of this.#stages) program.begin();
    for (let done = 0; done < this.#groups; done += blockSize) {
      const count = Math.min(blockSize, this.#groups - done);
      const runs: GroupRun[] = [];
      sources.advance(count, (offset, stride, run, at) => void runs.push({ offset, stride, count: run, at }));
      for (const stage of this.#stages) {
        const { accumulator, earlier, result } = stage;
        accumulator.reset(count);
        for (const { from, lane } of earlier) from.copyTo(lane.array as Register, count);
        yield* this.#reduce(stage, self, runs);
        if (result) accumulator.copyTo(result, count);
      }
      this.#finish.evaluate(1, count);
      outputs.advance(count, write);
    }
  }

  *#reduce(stage: ReduceStage, self: Tensor, runs: readonly GroupRun[]): Pieces {
    const { program, source, earlier, values, accumulator } = stage;
    const read = source && !isDirect(self.dtype, true) ? blockReader(self, source.array as Register) : null;
    if (source && !read) source.array = self.storageArray();
    // Values of the program's own come in blocks that stay in the processor's first cache.
    const isWhole = program.stepCount === 0 && !read;
    const height = isWhole ? blockSize : Math.max(1, Math.floor(blockSize / this.#count));
    for (const run of runs) {
      for (let row = 0; row < run.count; row += height) {
        const rows = Math.min(height, run.count - row);
        for (const { lane } of earlier) lane.at = run.at + row;
        const cursor = new StridedCursor(this.within.sizes, this.within.walks[0]);
        for (let done = 0; done < this.#count;) {
          const wanted = Math.min(isWhole ? Math.max(1, Math.floor(TURN_SIZE / rows)) : blockSize, this.#count - done);
          cursor.advance(wanted, (within, stride, columns, at) => {
            const start = run.offset + row * run.stride + within;
            if (read) {
              for (let r = 0; r < rows; r++) read(start + r * run.stride, stride, columns, r * source!.row);
            } else if (source) {
              source.at = start;
              source.row = run.stride;
              source.column = stride;
            }
            program.evaluate(rows, columns);
            accumulator.fold(values, rows, columns, run.at + row, done + at);
          });
          done += wanted;
          this.#turn += rows * wanted;
          if (this.#turn < TURN_SIZE) continue;
          this.#turn = 0;
          yield;
        }
      }
    }
    // Whoever keeps the loop keeps none of the tensor's memory.
    if (source && !read) source.array = nothing;
  }
}

/** What a complex number takes as an object: its parts, and a reference to it. */
const COMPLEX_BYTES = 32;

function* complexPieces(
  row: OperatorRow,
  args: PointwiseArguments,
  { self, dims, kept, computing }: ReductionPlan,
  output: Tensor,
): Pieces {
  const apply = row.reduction!.complex;
  if (!apply) throw notImplementedFor(boxingOf(row).signature.name.replace('aten::', ''), dtypeName(computing));
  const write = scalarWriter(output);
  const within = dims.map((dim) => self.sizes[dim]);
  const sources = new StridedCursor(
    kept.map((dim) => self.sizes[dim]),
    { strides: kept.map((dim) => self.strides[dim]), offset: self.storageOffset },
  );
  const targets = new StridedCursor(output.sizes, { strides: output.strides, offset: output.storageOffset });
  const strides = dims.map((dim) => self.strides[dim]);
  const count = numelOf(within);
  takeScratch(COMPLEX_BYTES * count);
  let [base, target, done] = [0, 0, 0];
  for (let left = output.numel; left > 0; left--) {
    sources.advance(1, (offset) => (base = offset));
    targets.advance(1, (offset) => (target = offset));
    const elements: Complex[] = [];
    yield* eachOffset(within, strides, base, 64, (offset) => {
      const value = readScalar(self, offset);
      elements.push(value instanceof Complex ? value : new Complex(scalarToNumber(value), 0));
    });
    const combined = apply(elements, args);
    write(target, isInPieces(combined) ? yield* combined : combined);
    done += count + 1;
    if (done < TURN_SIZE) continue;
    done = 0;
    yield;
  }
}
