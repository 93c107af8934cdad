import type { ScalarType, Tensor } from '@cresset/tensor';
import { axis, binary, cast, constant, param, reduce, select } from '../expressions/builders.ts';
import type { DeviceCapabilities } from '../device.ts';
import type { AxisExpr, Expr, ExprType, ReduceExpr } from '../expressions/expr.ts';
import { extentOf, pointsOf } from '../expressions/index-value.ts';
import { longReduction, withReplacement } from '../kernels/long-reduction.ts';
import { expressionsOf, mapStore, type LoopNest } from '../kernels/kernel.ts';
import { neutralElement } from '../expressions/neutral-element.ts';
import { normaliseNest, type NormalForm } from '../kernels/normalise.ts';
import { TensorView } from '../expressions/operand.ts';
import { Rewriter, substitute } from '../expressions/substitute.ts';
import { reductionsIn } from '../expressions/walk.ts';

/** Makes a contiguous tensor on the device for what one stage hands to the next. */
export type TemporaryTensor = (sizes: readonly number[], dtype: ScalarType) => Tensor;

/** The kernels that one comes to on a device, in order; most often the one. @param chunks of a product's sum, where the rule is not to say */
export function stagesOf(
  kernel: NormalForm,
  capabilities: DeviceCapabilities,
  temporary: TemporaryTensor,
  chunks?: number,
): readonly NormalForm[] {
  if (kernel.kind === 'nest') return reductionStages(kernel, capabilities, temporary);
  const { hardware } = capabilities;
  if (kernel.kind !== 'contraction' || !hardware) return [kernel];
  return hardware.productStages(kernel, capabilities, temporary, chunks);
}

/**
 * Long reductions of few points leave most of a device idle. Their loops are cut into chunks: a stage of its own reduces
 * every chunk, and the nest reduces what the chunks came to. Gives the nests to run, in order; most often the one.
 */
function reductionStages(nest: LoopNest, capabilities: DeviceCapabilities, temporary: TemporaryTensor): LoopNest[] {
  const points = pointsOf(nest.axes);
  const { fewPoints, longRow, chunks } = capabilities.software
    ? { fewPoints: 16, longRow: 4096, chunks: 32 }
    : { fewPoints: 128, longRow: 16384, chunks: 256 };
  if (points === 0 || points >= fewPoints) return [nest];
  const stages: LoopNest[] = [];
  const done = new Set<ReduceExpr>();
  let rest = nest;
  for (;;) {
    const next = longReduction(rest, longRow, done);
    if (!next) return [...stages, rest];
    const { stage, whole } = chunked(rest, next, Math.ceil(chunks / points) * 4, temporary);
    stages.push(normaliseNest(stage));
    done.add(whole);
    let replacement: Expr = whole;
    if (isWithinOthers(next, rest)) {
      const total = totalled(rest, whole, temporary);
      stages.push(normaliseNest(total.stage));
      replacement = total.value;
    }
    rest = withReplacement(rest, next, replacement);
  }
}

/**
 * Whether other reductions need a reduction for their elements. They become other stages, and each would add up the chunks in its own order: a mean would be
 * another number where it is taken off and where it is put back.
 */
function isWithinOthers(reduction: ReduceExpr, nest: LoopNest): boolean {
  const others = reductionsIn(nest.stores.flatMap(expressionsOf));
  return others.some((other) => other !== reduction && reductionsIn([other.body]).includes(reduction));
}

/** A stage that reduces what the chunks came to, once for all that need it. */
function totalled({ label, axes }: LoopNest, whole: ReduceExpr, temporary: TemporaryTensor) {
  const total = new TensorView(temporary(axes.map(extentOf), chunkTypes[whole.type]));
  const store = { operand: total.operand, offset: total.offsetAt(axes), value: whole };
  const stage: LoopNest = { kind: 'nest', label: `${label} (total)`, axes, innerAxes: [], stores: [store] };
  return { stage, value: total.at(axes) };
}

const chunkTypes: Record<ExprType, ScalarType> = { float: 'float32', i32: 'int32', i64: 'int64', bool: 'bool' };

function chunked(nest: LoopNest, reduction: ReduceExpr, chunks: number, temporary: TemporaryTensor) {
  const longest = reduction.axes.reduce((best, own) => (extentOf(own) > extentOf(best) ? own : best));
  const extent = extentOf(longest);
  const size = Math.ceil(extent / Math.min(chunks, extent));
  const count = Math.ceil(extent / size);
  const chunk = axis('c', param('i32', count));
  const within = axis(longest.name, param('i32', size));
  const element = binary('add', binary('mul', chunk, param('i32', size)), within);
  const type = reduction.type;
  const body = substitute(cast(type, reduction.body), new Map<Expr, Expr>([[longest, element]]));
  const guarded =
    count * size === extent
      ? body
      : select(binary('lt', element, longest.extent), body, neutralElement(reduction.fn, type));
  const parts = new TensorView(temporary([...nest.axes.map(extentOf), count], chunkTypes[type]));
  const axes = [...nest.axes, chunk];
  const loops = reduction.axes.map((own) => (own === longest ? within : own));
  const stage: LoopNest = {
    kind: 'nest',
    label: `${nest.label} (chunks)`,
    axes,
    innerAxes: [],
    stores: [{ operand: parts.operand, offset: parts.offsetAt(axes), value: reduce(reduction.fn, loops, guarded) }],
  };
  const part = axis('c', param('i32', count));
  return { stage, whole: reduce(reduction.fn, [part], parts.at([...nest.axes, part])) };
}

/** Steps after which a float sum starts a new partial sum: the error grows with the length of one, not of all. */
const sumBlock = 128;

/**
 * Long float sums that one thread works out, as sums of sums over blocks: added one after the other, a million equal
 * terms lose three of seven digits.
 */
export function blockedSums(nest: LoopNest): LoopNest {
  let isOther = false;
  const rewriter = new Rewriter((expr, self) => {
    const last = expr.kind === 'reduce' ? expr.axes.at(-1) : undefined;
    if (expr.kind !== 'reduce' || expr.fn !== 'sum' || expr.type !== 'float') return null;
    if (!last || extentOf(last) < 4 * sumBlock) return null;
    isOther = true;
    return blockedSum({ ...expr, body: self.rewrite(expr.body) }, last);
  });
  const stores = nest.stores.map((store) => mapStore(store, (expr) => rewriter.rewrite(expr)));
  return isOther ? { ...nest, stores } : nest;
}

function blockedSum(reduction: ReduceExpr, last: AxisExpr): ReduceExpr {
  const extent = extentOf(last);
  const count = Math.ceil(extent / sumBlock);
  const block = axis(last.name, param('i32', count));
  const within = axis(last.name, param('i32', sumBlock));
  const element = binary('add', binary('mul', block, constant('i32', sumBlock)), within);
  const body = substitute(reduction.body, new Map<Expr, Expr>([[last, element]]));
  const guarded =
    count * sumBlock === extent ? body : select(binary('lt', element, last.extent), body, constant('float', 0));
  return reduce('sum', [...reduction.axes.slice(0, -1), block], reduce('sum', [within], guarded));
}
