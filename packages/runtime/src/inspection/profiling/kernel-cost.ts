import { elementSize, type Storage, type Tensor } from '@cresset/tensor';
import {
  accumulator,
  childrenOf,
  expressionsOf,
  FreeAxes,
  pointsOf,
  runningSoftmaxOf,
  type AxisExpr,
  type Expr,
  type Kernel,
  type Routine,
  type TransformLines,
  type RunningSoftmax,
} from '@cresset/tensorexpr';

/** What a kernel has to do, whatever its schedule. */
export interface KernelCost {
  readonly bytes: number;
  readonly flops: number;
}

/**
 * Bytes of the elements that a kernel reads and writes, each once, and operations on floats: a function of any kind is one. What is
 * loaded at positions that other data tells counts as if all of the tensor were read, or as often as there are positions.
 */
export function kernelCost(kernel: Kernel | Routine): KernelCost {
  if (kernel.kind === 'ordering') {
    const bytes = ({ numel, dtype }: Tensor): number => numel * elementSize(dtype);
    return { bytes: bytes(kernel.keys) + bytes(kernel.places), flops: 0 };
  }
  if (kernel.kind === 'transform') {
    const bytes = ({ numbers, isComplex }: TransformLines): number =>
      numbers.numel * elementSize(numbers.dtype) * (isComplex ? 2 : 1);
    const { source, target, form, length } = kernel;
    const [outer, inner] = source.numbers.sizes;
    // By the count that is usual for complex numbers, and half of it for real ones.
    const flops = outer * inner * 5 * length * Math.log2(length);
    return { bytes: bytes(source) + bytes(target), flops: form === 'complex' ? flops : flops / 2 };
  }
  const counter = new CostCounter();
  if (kernel.kind !== 'contraction') {
    const outer = kernel.kind === 'recurrence' ? [kernel.time, ...kernel.axes] : kernel.axes;
    for (const store of kernel.stores) counter.store(store, [...outer, ...kernel.innerAxes], outer);
    return counter.cost();
  }
  const attention = runningSoftmaxOf(kernel);
  if (attention) return attentionCost(attention, counter);
  const { batch, m, n, k } = kernel;
  const points = [...batch, m, n];
  counter.accumulatesOver(accumulator, points);
  counter.expression(kernel.left, [...batch, m, k]);
  counter.expression(kernel.right, [...batch, k, n]);
  counter.flops += 2 * pointsOf(points) * pointsOf([k]);
  for (const store of kernel.stores) counter.store(store, points, points);
  return counter.cost();
}

/** Each score is made once, and is then a power and a part of the row's greatest score and sum. */
function attentionCost({ batch, m, n, k, depth, stores, ...made }: RunningSoftmax, counter: CostCounter): KernelCost {
  const [scores, points] = [
    [...batch, m, k],
    [...batch, m, n],
  ];
  counter.accumulatesOver(made.sum, scores);
  counter.accumulatesOver(accumulator, points);
  counter.expression(made.left, [...batch, m, ...depth]);
  counter.expression(made.right, [...batch, k, ...depth]);
  counter.expression(made.score, scores);
  counter.expression(made.values, [...batch, k, n]);
  counter.flops += 2 * pointsOf([...scores, ...depth]) + 4 * pointsOf(scores) + 2 * pointsOf([...points, k]);
  for (const store of stores) counter.store(store, points, points);
  return counter.cost();
}

class CostCounter {
  flops = 0;
  /** The most elements of each storage that one load or store touches, in bytes. */
  readonly #read = new Map<Storage, number>();
  readonly #written = new Map<Storage, number>();
  readonly #freeAxes = new FreeAxes();
  readonly #seen = new Set<Expr>();

  /** A finished sum of products, which names no axis, is another one at each of these points. */
  accumulatesOver(sum: Expr, axes: readonly AxisExpr[]): void {
    this.#freeAxes.declare(sum, axes);
  }

  store(store: Kernel['stores'][number], axes: readonly AxisExpr[], outerAxes: readonly AxisExpr[]): void {
    const free = this.#freeAxes.of(store.offset);
    const points = axes.filter((each) => outerAxes.includes(each) || free.has(each));
    for (const expr of expressionsOf(store)) this.expression(expr, points);
    const { tensor } = store.operand;
    const touched = Math.min(pointsOf(points), tensor.numel) * elementSize(tensor.dtype);
    note(this.#written, tensor.storage, touched);
  }

  /** Counts what is computed for each point of `axes`; a part that depends on fewer axes is computed for those alone. */
  expression(expr: Expr, axes: readonly AxisExpr[]): void {
    if (this.#seen.has(expr)) return;
    this.#seen.add(expr);
    const free = this.#freeAxes.of(expr);
    if (expr.kind === 'reduce') {
      const around = axes.filter((each) => free.has(each));
      const inside = [...around, ...expr.axes];
      if (expr.type === 'float') this.flops += pointsOf(inside);
      this.expression(expr.body, inside);
      return;
    }
    if (expr.kind === 'load') {
      const { tensor } = expr.operand;
      const points = pointsOf(axes.filter((each) => free.has(each)));
      note(this.#read, tensor.storage, Math.min(points, tensor.numel) * elementSize(tensor.dtype));
    }
    if ((expr.kind === 'unary' || expr.kind === 'binary') && isFloat(expr)) {
      this.flops += pointsOf(axes.filter((each) => free.has(each)));
    }
    for (const child of childrenOf(expr)) this.expression(child, axes);
  }

  cost(): KernelCost {
    const sum = (bytes: ReadonlyMap<Storage, number>): number => [...bytes.values()].reduce((a, b) => a + b, 0);
    return { bytes: sum(this.#read) + sum(this.#written), flops: this.flops };
  }
}

const isFloat = (expr: Expr): boolean => expr.type === 'float' || childrenOf(expr).some(({ type }) => type === 'float');

function note(bytes: Map<Storage, number>, storage: Storage, touched: number): void {
  bytes.set(storage, Math.max(bytes.get(storage) ?? 0, touched));
}
