import {
  contiguousStrides,
  elementSize,
  hint,
  Storage,
  symCeilDiv,
  symGe,
  symLt,
  symMul,
  Tensor,
  type SymInt,
} from '@cresset/tensor';
import {
  accumulator,
  axis,
  binary,
  constant,
  mapStore,
  param,
  reduce,
  select,
  substitute,
  symExtentOf,
  TensorView,
  unary,
  type AxisExpr,
  type Contraction,
  type Expr,
  type Kernel,
  type KernelSignature,
  type LoopNest,
  type ParamExpr,
  type RunningSoftmax,
} from '@cresset/tensorexpr';
import type { LinearMemory } from '../linear-memory.ts';
import { paramPlace } from '../nests/launch-block.ts';
import { aligned } from './image-layout.ts';
import { bytesOfBlock, bytesOfLines, writeParams, writePlaces, type MemoryHost, type Place } from './launch-memory.ts';
import type { Launches } from './launches.ts';
import type { Prepared, PreparedContraction, PreparedKernel, PreparedNest } from './programs.ts';
import type { Work } from './turns.ts';

/** Elements of the scores of a block of rows: they stay in the second cache. */
const SCORES = 1 << 18;
/** A multiple of all heights of tiles, and the least rows of a block. */
const ROWS = 12;

/**
 * Attention that is ready to run: some rows at a time, whose scores lie in memory that the next rows have in turn.
 *
 *     for each head                            keys and values packed once
 *       for each block of rows
 *         scores = score(q · keys)             a product, of rows × positions
 *         scores = softmax(scores)             a nest, in place
 *         out[rows] = scores · values          a product
 */
export interface PreparedAttention extends Prepared {
  readonly kind: 'attention';
  readonly scores: PreparedContraction;
  readonly softmax: PreparedNest;
  readonly product: PreparedContraction;
  /** Stands for the memory of scores, which is no binding of the kernel's. */
  readonly scratch: Storage;
  readonly scratchBytes: number;
  readonly rows: number;
  readonly rowsOfBlock: number;
}

/**
 * What makes attention by blocks of rows ready for the sizes of now; null where one of its steps is no product of packed sides.
 *
 * @param whole what is known of the kernel as one, for the sizes of now
 */
export function prepareAttention(
  kernel: RunningSoftmax,
  whole: () => Prepared,
  prepare: (kernel: Kernel) => () => PreparedKernel,
): (() => PreparedAttention) | null {
  const { m, n, k, depth, label } = kernel;
  if (depth.length !== 1) return null;
  const [rows, positions] = [m, k].map(symExtentOf);
  const rowsOfBlock = rowsAtOnce(rows, positions);
  const { signature } = whole();
  const dtype = signature.hasDoubles ? 'float64' : 'float32';
  const view = new TensorView(scratchTensor(dtype, rowsOfBlock, positions));
  const blocks = rowsOfBlock === rows ? 1 : symCeilDiv(rows, rowsOfBlock);
  const block = axis('block', param('i32', blocks));
  const row = axis('row', param('i32', rowsOfBlock));
  const inBlock = new Map<Expr, Expr>([
    [m, binary('add', binary('mul', block, param('i32', rowsOfBlock)), row)],
    [kernel.sum, accumulator],
  ]);
  const stored = (value: Expr) => [{ operand: view.operand, offset: view.offsetAt([row, k]), value }];
  const product = { kind: 'contraction', label, batch: [...kernel.batch, block], m: row } as const;
  const steps: [Contraction, LoopNest, Contraction] = [
    {
      ...product,
      n: k,
      k: depth[0],
      left: substitute(kernel.left, inBlock),
      right: kernel.right,
      stores: stored(substitute(kernel.score, inBlock)),
    },
    { kind: 'nest', label, axes: [row], innerAxes: [k], stores: stored(softmaxOf(view, row, k, kernel.isSafe)) },
    {
      ...product,
      n,
      k,
      left: view.at([row, k]),
      right: kernel.values,
      stores: kernel.stores.map((store) => mapStore(store, (expr) => substitute(expr, inBlock))),
    },
  ];
  const makers = steps.map(prepare);
  const made = makers.map((make) => make());
  if (made.some(({ kind }, at) => kind !== (at === 1 ? 'nest' : 'contraction'))) return null;
  const hasOpen = ({ params }: Prepared): boolean => params.some((each) => each.open && openParam(signature, each) < 0);
  if (made.some(hasOpen)) return null;
  const { storage } = view.tensor;
  return () => {
    const [scores, softmax, product] = makers.map((make) => make());
    return {
      ...whole(),
      kind: 'attention',
      scores: scores as PreparedContraction,
      softmax: softmax as PreparedNest,
      product: product as PreparedContraction,
      scratch: storage,
      scratchBytes: hint(rowsOfBlock) * hint(positions) * elementSize(dtype),
      rows: hint(rows),
      rowsOfBlock: hint(rowsOfBlock),
    };
  };
}

/** The rows of a block: all of them where their scores have room, and as many as have where not. Sizes that move have room for all up to the next power of two. */
function rowsAtOnce(rows: SymInt, positions: SymInt): SymInt {
  let most = hint(positions);
  if (typeof positions !== 'number') {
    const end = 2 ** Math.ceil(Math.log2(most + 1));
    // Both are so, and guards of what is made.
    if (symLt(positions, end) && symGe(positions, end / 2)) most = end;
  }
  const room = Math.max(ROWS, Math.floor(SCORES / most / ROWS) * ROWS);
  return symLt(rows, room + 1) ? rows : room;
}

function scratchTensor(dtype: 'float32' | 'float64', rows: SymInt, positions: SymInt): Tensor {
  const sizes = [rows, positions];
  return new Tensor(Storage.planned(dtype, symMul(rows, positions)), dtype, sizes, contiguousStrides(sizes));
}

/** The softmax of a row of scores, at one of its positions. */
function softmaxOf(scores: TensorView, row: AxisExpr, position: AxisExpr, isSafe: boolean): Expr {
  const [r, s] = ['r', 's'].map((name) => axis(name, position.extent));
  const most = reduce('max', [r], scores.at([row, r]));
  const power = (at: AxisExpr): Expr => unary('exp', binary('sub', scores.at([row, at]), most));
  const share = binary('div', power(position), reduce('sum', [s], power(s)));
  return isSafe ? select(binary('eq', most, constant('float', -Infinity)), constant('float', 0), share) : share;
}

/** Does a launch of attention, whose block has the params that are open. */
export function* runAttention(
  launches: Launches,
  host: MemoryHost,
  prepared: PreparedAttention,
  block: number,
  places: readonly Place[],
): Work {
  const { scores, softmax, product, rows, rowsOfBlock, scratchBytes } = prepared;
  const steps = [scores, softmax, product];
  const products = [scores, product];
  const sizes = [
    ...steps.map(({ signature }) => bytesOfBlock(signature)),
    scratchBytes,
    ...products.map((each) => bytesOfLines(each, each.n)),
  ];
  const memory = host.takeMemory(sizes.reduce((sum, size) => sum + aligned(size), 0));
  const starts: number[] = [];
  for (let at = memory; starts.length < sizes.length; at += aligned(sizes[starts.length - 1])) starts.push(at);
  const scratch: Place = { address: starts[3], byteLength: scratchBytes };
  try {
    const own = steps.map((step, at) => {
      writeParams(host.linear, starts[at], step.signature);
      copyOpenParams(host.linear, prepared, block, step, starts[at]);
      const bound = step.bindings.map(({ operand }) =>
        operand.tensor.storage === prepared.scratch ? scratch : places[prepared.signature.bindingOf(operand)],
      );
      writePlaces(host.linear, starts[at], bound);
      return bound;
    });
    const blocks = Math.ceil(rows / rowsOfBlock);
    for (let first = 0; first < scores.batch; first += blocks) {
      for (const [at, each] of products.entries()) {
        const to = starts[4 + at];
        yield* launches.packAll(each, 'right', starts[2 * at], own[2 * at], first, to);
      }
      const packed = (at: number) => ({ at: (side: 'left' | 'right') => (side === 'right' ? starts[at] : null) });
      for (let part = 0; part < blocks; part++) {
        const m = Math.min(rowsOfBlock, rows - part * rowsOfBlock);
        yield* launches.multiply({ ...scores, m }, starts[0], own[0], packed(4), first + part, first + part + 1);
        yield* launches.run({ ...softmax, points: m }, starts[1], own[1], null);
        yield;
        yield* launches.multiply({ ...product, m }, starts[2], own[2], packed(5), first + part, first + part + 1);
      }
    }
  } finally {
    host.linear.give(memory);
  }
}

/** Params that come with each replay lie in the launch's block. */
function copyOpenParams(
  { integers }: LinearMemory,
  { signature }: Prepared,
  block: number,
  step: PreparedKernel,
  to: number,
): void {
  step.params.forEach((param, at) => {
    if (!param.open) return;
    const from = (block + paramPlace(signature, openParam(signature, param))) >>> 2;
    integers.copyWithin((to + paramPlace(step.signature, at)) >>> 2, from, from + 2);
  });
}

const openParam = ({ params }: KernelSignature, { open, type }: ParamExpr): number =>
  params.findIndex((each) => each.open === open && each.type === type);
