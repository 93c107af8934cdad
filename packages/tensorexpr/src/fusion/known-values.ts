import { elementSize, type Storage, type Tensor } from '@cresset/tensor';
import { constant } from '../expressions/builders.ts';
import { childrenOf, FreeAxes } from '../expressions/expr-children.ts';
import type { AxisExpr, Expr } from '../expressions/expr.ts';
import { extentOf, pointsOf, symExtentOf } from '../expressions/index-value.ts';
import { workOf } from '../kernels/kernel-work.ts';
import { computesDoubles } from '../kernels/precision.ts';
import { mapStore, type Kernel, type LoopNest } from '../kernels/kernel.ts';
import { DigitsInLoads } from '../kernels/join-digits.ts';
import { TensorView } from '../expressions/operand.ts';
import { Rewriter } from '../expressions/substitute.ts';
import { loadsIn } from '../expressions/walk.ts';

/** A kernel without what it worked out of known tensors alone. */
export interface WithoutKnownValues {
  /** Reads those values instead. */
  readonly kernel: Kernel;
  /** What works them out, each into a tensor of its own. */
  readonly producers: readonly LoopNest[];
}

/** Working a value out has to take so many times as long as reading it. */
const worthKeeping = 2;

/**
 * Takes what a kernel works out of known tensors alone out of it: of the four vectors of a batch norm a factor and a shift for each channel.
 * Values over the same loops lie in one tensor. Null where there is nothing that would take no more memory than what it is made of, and longer
 * to work out than to read.
 *
 * @param isKnown whether a storage has the same elements each time
 * @param make a float32 tensor for values, all of these sizes; null where there is no room for them
 */
export function withoutKnownValues(
  kernel: Kernel,
  isKnown: (storage: Storage) => boolean,
  make: (sizes: readonly number[]) => Tensor | null,
): WithoutKnownValues | null {
  // Where a condition decides whether a point counts, what is read at others may lie outside. Values are kept as float32.
  if (kernel.stores.some(({ guard }) => guard) || computesDoubles(kernel)) return null;
  const finder = new KnownValues(isKnown);
  for (const { value } of kernel.stores) finder.visit(value);
  if (kernel.kind === 'contraction') [kernel.left, kernel.right].forEach((side) => finder.visit(side));
  const producers: LoopNest[] = [];
  const replaced = new Map<Expr, Expr>();
  for (const { axes, values } of finder.groups()) {
    // Of sizes that may be others nothing is made beforehand.
    if (axes.some((axis) => typeof symExtentOf(axis) !== 'number')) continue;
    const points = pointsOf(axes);
    if (points * values.length * 4 > bytesOf(values)) continue;
    const tensor = isDear(values, axes) ? make([values.length, ...axes.map(extentOf)]) : null;
    if (!tensor) continue;
    const view = new TensorView(tensor);
    const stores = values.map((value, at) => {
      const load = view.at([constant('i32', at), ...axes]);
      for (const place of finder.placesOf(value)) replaced.set(place, load);
      return { operand: view.operand, offset: load.offset, value };
    });
    producers.push({ kind: 'nest', label: `${kernel.label} of parameters`, axes, innerAxes: [], stores });
  }
  if (producers.length === 0) return null;
  const rewriter = new Rewriter((expr) => replaced.get(expr) ?? null);
  const rewrite = (expr: Expr): Expr => rewriter.rewrite(expr);
  const stores = kernel.stores.map((store) => mapStore(store, rewrite));
  const rest: Kernel =
    kernel.kind === 'contraction'
      ? { ...kernel, left: rewrite(kernel.left), right: rewrite(kernel.right), stores }
      : { ...kernel, stores };
  return { kernel: rest, producers };
}

function isDear(values: readonly Expr[], axes: readonly AxisExpr[]): boolean {
  const work = (roots: readonly Expr[]): number => {
    const stores = roots.map((value) => ({ operand: loadsIn([value])[0].operand, offset: constant('i32', 0), value }));
    return workOf({ kind: 'nest', label: '', axes, innerAxes: [], stores }).longest;
  };
  const read = loadsIn(values)[0];
  return work(values) >= worthKeeping * values.length * work([read]);
}

/** Bytes of the tensors that values are made of. */
function bytesOf(values: readonly Expr[]): number {
  const tensors = new Map(loadsIn(values).map(({ operand: { tensor } }) => [tensor.storage, tensor]));
  let bytes = 0;
  for (const [{ byteLength }, { numel, dtype }] of tensors) bytes += Math.min(numel * elementSize(dtype), byteLength);
  return bytes;
}

/** Finds the largest expressions of a kernel that are made of known tensors alone. */
class KnownValues {
  readonly #isFixed = new Map<Expr, boolean>();
  readonly #seen = new Set<Expr>();
  /** What was found, as it is in the kernel and with indices that mention no loop without need. */
  readonly #found = new Map<Expr, Expr>();
  readonly #freeAxes = new FreeAxes();
  readonly #digits = new DigitsInLoads();

  constructor(private readonly isKnown: (storage: Storage) => boolean) {}

  visit(expr: Expr): void {
    if (this.#seen.has(expr)) return;
    this.#seen.add(expr);
    if (this.#hasFixedValue(expr)) {
      const isMade = expr.type === 'float' && expr.kind !== 'load' && loadsIn([expr]).length > 0;
      if (isMade) this.#found.set(expr, this.#digits.joined(expr));
      return;
    }
    // A side that is not chosen may be read outside of its tensor.
    if (expr.kind === 'select') this.visit(expr.condition);
    else if (expr.kind !== 'load') childrenOf(expr).forEach((child) => this.visit(child));
  }

  /** Whether a value is the same each time, but for the loops around it. */
  #hasFixedValue(expr: Expr): boolean {
    let isFixed = this.#isFixed.get(expr);
    if (isFixed === undefined) {
      isFixed =
        expr.kind !== 'accumulator' &&
        !(expr.kind === 'param' && (expr.open || expr.sym)) &&
        !(expr.kind === 'load' && !this.isKnown(expr.operand.tensor.storage)) &&
        childrenOf(expr).every((child) => this.#hasFixedValue(child));
      this.#isFixed.set(expr, isFixed);
    }
    return isFixed;
  }

  /** What was found, by the loops that it goes along. */
  groups(): { readonly axes: readonly AxisExpr[]; readonly values: readonly Expr[] }[] {
    const groups: { axes: readonly AxisExpr[]; values: Expr[] }[] = [];
    for (const value of new Set(this.#found.values())) {
      const free = this.#freeAxes.of(value);
      const known = groups.find(({ axes }) => axes.length === free.size && axes.every((axis) => free.has(axis)));
      if (known) known.values.push(value);
      else groups.push({ axes: [...free], values: [value] });
    }
    return groups;
  }

  /** The expressions of the kernel that have a value. */
  placesOf(value: Expr): Expr[] {
    return [...this.#found].flatMap(([place, found]) => (found === value ? place : []));
  }
}
