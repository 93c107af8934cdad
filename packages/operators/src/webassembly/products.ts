import { forEachOffset, type Tensor, takeScratch, type Storage } from '@cresset/tensor';
import { joinBatch, type ProductTensors } from '../families/products/product-lowering.ts';
import { realScalar, type Addend } from '../families/products/product.ts';
import type { HostKernels } from '../kernels/host-kernels.ts';
import { PIECE_SIZE, type Pieces } from '../kernels/loops/pieces.ts';
import { reshapeView, transposeView } from '../kernels/views.ts';
import { copyOut, fillRows, placed, type Place } from './places.ts';
import { moved, packedBytes, stagedBytes, workspaceOfThread, type Lines, type Workspace } from './workspace.ts';

/** Multiplications from which a product is worth copying its operands. */
export const LEAST_WORK = 1 << 13;
/** Rows from which packing the columns is worth it for one product. */
const LEAST_ROWS = 4;
/** Elements of a line that are multiplied at once, and rows and columns; beyond, products are made of blocks. */
const DEPTH = 4096;
const LINES = 1024;
/** Elements of a block of rows, which stays in the second cache, and of one of columns. */
const ROW_BLOCK = 1 << 18;
const COLUMN_BLOCK = 1 << 20;

/** A product of matrices, `m` × `k` and `k` × `n`. */
interface MatrixProduct {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly rows: Lines;
  readonly columns: Lines;
  /** Knows where the columns lie packed, if they are kept; null where they are packed for this product. */
  readonly weights: Weights | null;
  readonly out: Place;
  /** What is added: `alpha` times the product and `beta` times that. */
  readonly added: Place | null;
  readonly alpha: number;
  readonly beta: number;
}

/**
 * Products of float32 in WebAssembly. Sums are of single precision, in blocks, as PyTorch's are; whatever is of another dtype, too small to be
 * worth the copies, or has its result where it reads is left to others.
 */
export function wasmProducts(workspaceOf: () => Workspace | null = workspaceOfThread): HostKernels['multiply'] {
  return (left, right, result, addend) => {
    // The result may have no dimension for rows or for columns, or several.
    const out = reshapeView(result, [...left.sizes.slice(0, -1), right.sizes[right.dim - 1]]);
    if (!out || (addend && addend.self.dim !== left.dim)) return null;
    const added = addend?.self ?? null;
    const operands = [left, right, ...(added ? [added] : [])];
    if (![...operands, out].every(({ dtype }) => dtype === 'float32')) return null;
    const work = out.numel * left.sizes[left.dim - 1];
    if (work < LEAST_WORK || operands.some(({ storage }) => storage === out.storage)) return null;
    const tensors = oriented(joinBatch({ left, right, out, added }));
    const [m] = tensors.left.sizes.slice(-2);
    // A few rows by columns that nothing keeps are read once: to pack them takes longer than that.
    const isWeight = tensors.out.dim === 2;
    if (m < LEAST_ROWS && !isWeight) return null;
    const workspace = workspaceOf();
    return workspace && begin(workspace, tensors, addend, m < LEAST_ROWS);
  };
}

/** A product with one column is that of the transposes with one row. */
function oriented({ left, right, out, added }: ProductTensors): ProductTensors {
  const rank = out.dim;
  if (out.sizes[rank - 1] > 1 || out.sizes[rank - 2] === 1) return { left, right, out, added };
  const turned = (tensor: Tensor): Tensor => transposeView(tensor, rank - 2, rank - 1);
  return { left: turned(right), right: turned(left), out: turned(out), added: added && turned(added) };
}

function begin(
  workspace: Workspace,
  tensors: ProductTensors,
  addend: Addend | undefined,
  onlyKept: boolean,
): Pieces | null {
  const { left, right, out, added } = tensors;
  const rank = out.dim;
  const [m, n] = out.sizes.slice(-2);
  const k = left.sizes[rank - 1];
  const alpha = addend ? realScalar(addend.alpha, false) : 1;
  const beta = addend ? realScalar(addend.beta, false) : 0;
  const columns = linesOf(right, rank - 1, rank - 2);
  const weights = rank === 2 ? new Weights(workspace, right, columns, n, k) : null;
  if (onlyKept && !weights?.isKept()) return null;
  try {
    const { byteLength } = blocksOf(m, n, k);
    takeScratch(byteLength);
    workspace.scratch(byteLength);
  } catch {
    return null;
  }
  return multiplyBatch();

  function* multiplyBatch(): Pieces {
    const rows = linesOf(left, rank - 2, rank - 1);
    const target = placeOf(out, out.storageArrayForWriting() as Float32Array);
    const addedPlace = added && beta !== 0 ? placeOf(added, added.storageArray() as Float32Array) : null;
    const batch = out.sizes.slice(0, -2);
    const offsets = (tensor: Tensor): number[] => {
      const all: number[] = [];
      forEachOffset(batch, tensor.strides.slice(0, -2), tensor.storageOffset, (at) => all.push(at));
      return all;
    };
    const [lefts, rights, outs, addeds] = [left, right, out, added ?? out].map(offsets);
    let done = 0;
    for (let index = 0; index < outs.length; index++) {
      yield* multiplyBlocks(workspace, {
        m,
        n,
        k,
        weights,
        alpha,
        beta,
        rows: { ...rows, offset: lefts[index] },
        columns: { ...columns, offset: rights[index] },
        out: { ...target, offset: outs[index] },
        added: addedPlace && { ...addedPlace, offset: addeds[index] },
      });
      done += m * n * k;
      if (done < PIECE_SIZE) continue;
      done = 0;
      yield;
    }
  }
}

function linesOf(tensor: Tensor, lines: number, elements: number): Lines {
  return {
    data: tensor.storageArray() as Float32Array,
    offset: tensor.storageOffset,
    lineStride: tensor.strides[lines],
    step: tensor.strides[elements],
  };
}

function placeOf(tensor: Tensor, data: Float32Array): Place {
  const [rowStride, columnStride] = tensor.strides.slice(-2);
  return { data, offset: tensor.storageOffset, rowStride, columnStride };
}

/** Columns of a product that may be a layer's weight. */
class Weights {
  readonly #workspace: Workspace;
  readonly #storage: Storage;
  readonly #columns: Lines;
  readonly #count: number;
  readonly #length: number;
  readonly #layout: string;

  constructor(workspace: Workspace, { storage }: Tensor, columns: Lines, count: number, length: number) {
    [this.#workspace, this.#storage, this.#columns, this.#count, this.#length] = [
      workspace,
      storage,
      columns,
      count,
      length,
    ];
    this.#layout = [columns.offset, columns.lineStride, columns.step, count, length].join();
  }

  isKept(): boolean {
    return this.#workspace.kept.isKept(this.#storage, this.#layout, packedBytes(this.#count, this.#length));
  }

  /** The address of the packed columns, as of now; null the first time. */
  packed(): Pieces<number | null> {
    const bytes = packedBytes(this.#count, this.#length);
    return this.#workspace.kept.find(this.#storage, this.#layout, bytes, (to) =>
      this.#workspace.packPieces(this.#columns, this.#count, this.#length, to),
    );
  }
}

/** Sizes of the blocks that a product is made of, and where they lie in the scratch memory. */
function blocksOf(m: number, n: number, k: number, isWhole = false) {
  const depth = isWhole ? k : Math.min(k, DEPTH);
  const fours = (elements: number): number => Math.min(LINES, Math.max(4, Math.floor(elements / depth / 4) * 4));
  const height = Math.min(m, fours(ROW_BLOCK));
  const width = Math.min(n, fours(COLUMN_BLOCK));
  const left = Math.max(stagedBytes(height, depth), stagedBytes(width, depth), 4 * height * width);
  const right = left + packedBytes(height, depth);
  const out = right + packedBytes(width, depth);
  return { depth, height, width, left, right, out, byteLength: out + 16 * height * Math.ceil(width / 4) };
}

function* multiplyBlocks(workspace: Workspace, product: MatrixProduct): Pieces {
  const { m, n, k, rows, columns, alpha, beta } = product;
  const { functions } = workspace;
  // A factor is for whole sums.
  const isScaled = alpha !== 1 || (product.added !== null && beta !== 1);
  const blocks = blocksOf(m, n, k, isScaled);
  const { depth, height, width } = blocks;
  let done = 0;
  for (let d = 0; d < k; d += depth) {
    const length = Math.min(depth, k - d);
    for (let j = 0; j < n; j += width) {
      const count = Math.min(width, n - j);
      const vectors = Math.ceil(count / 4);
      const block = {};
      for (let i = 0; i < m; i += height) {
        const weights = product.weights && (yield* product.weights.packed());
        const scratch = workspace.scratch(blocks.byteLength);
        const [left, right, out] = [blocks.left, blocks.right, blocks.out].map((at) => scratch + at);
        if (workspace.contents !== block) {
          workspace.contents = block;
          if (weights === null) workspace.pack(moved(columns, j, d), count, length, right, scratch);
        }
        const own = Math.min(height, m - i);
        workspace.pack(moved(rows, i, d), own, length, left, scratch);
        const added = d > 0 ? product.out : isScaled ? null : product.added;
        if (added) fillRows(workspace, out, 4 * vectors, placed(added, i, j), own, count);
        const [b, stride] = weights === null ? [right, 16 * length] : [weights + 4 * j * k + 16 * d, 16 * k];
        functions.multiply(own, vectors, length, left, 16 * length, b, stride, out, 16 * vectors, added ? 1 : 0);
        const target = placed(product.out, i, j);
        if (isScaled) {
          const scaled = product.added && placed(product.added, i, j);
          scaleRows(workspace.memory.floats, out >> 2, 4 * vectors, target, own, count, alpha, beta, scaled);
        } else copyOut(workspace, out, 4 * vectors, target, own, count, scratch);
        done += own * count * length;
        if (done < PIECE_SIZE) continue;
        done = 0;
        yield;
      }
    }
  }
}

function scaleRows(
  floats: Float32Array,
  from: number,
  length: number,
  out: Place,
  rows: number,
  columns: number,
  alpha: number,
  beta: number,
  added: Place | null,
): void {
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const own = added ? beta * added.data[added.offset + row * added.rowStride + column * added.columnStride] : 0;
      const sum = alpha * floats[from + row * length + column];
      out.data[out.offset + row * out.rowStride + column * out.columnStride] = added ? own + sum : sum;
    }
  }
}
