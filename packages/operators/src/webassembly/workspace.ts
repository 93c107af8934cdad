import { LinearMemory, loadProducts, type ProductFunctions } from '@cresset/wasm-fuser';
import { KeptPanels } from './kept-panels.ts';
import { type Pieces } from '../kernels/loops/pieces.ts';

/** Lines of a matrix, its rows or its columns, in an array: strides in elements. */
export interface Lines {
  readonly data: Float32Array;
  readonly offset: number;
  /** From one line to the next. */
  readonly lineStride: number;
  /** From one element of a line to the next. */
  readonly step: number;
}

/** Elements that are copied into the memory in one go. */
const STAGED = 1 << 20;

/**
 * The WebAssembly memory in which products are computed. Tensors lie in memory of their own, so operands are copied in and results out: n² elements
 * for n³ operations. Everything but kept weights is scratch, of which nothing is left when somebody else had a turn.
 */
export class Workspace {
  readonly memory = new LinearMemory();
  readonly kept = new KeptPanels(this.memory);
  readonly functions: ProductFunctions;
  /** What lies in the scratch memory: whoever left an object here finds it as long as nobody else has used the memory. */
  contents: object | null = null;
  #scratch = 0;
  #scratchBytes = 0;

  /** Throws where an engine has no WebAssembly, or a page's policy forbids to compile it. */
  constructor() {
    this.functions = loadProducts(this.memory);
  }

  /** The address of so many bytes of scratch memory. Throws a RangeError where there is no more memory. */
  scratch(byteLength: number): number {
    if (byteLength > this.#scratchBytes) {
      this.contents = null;
      if (this.#scratchBytes > 0) this.memory.give(this.#scratch);
      this.#scratchBytes = 0;
      this.#scratch = this.memory.take(byteLength);
      this.#scratchBytes = byteLength;
    }
    return this.#scratch;
  }

  /** Packs lines, by way of `staging`, which has room for `stagedBytes` of them. */
  pack(lines: Lines, count: number, length: number, to: number, staging: number): void {
    const atOnce = linesAtOnce(length);
    for (let line = 0; line < count; line += atOnce) {
      const own = Math.min(atOnce, count - line);
      const [lineStride, step] = this.#stage(moved(lines, line, 0), own, length, staging >> 2);
      this.functions.pack(staging, lineStride, step, own, length, to + 4 * line * length);
    }
  }

  /** As `pack`, in pieces, by way of scratch memory that others may use in between. */
  *packPieces(lines: Lines, count: number, length: number, to: number): Pieces {
    const atOnce = linesAtOnce(length);
    for (let line = 0; line < count; line += atOnce) {
      if (line > 0) yield;
      const own = Math.min(atOnce, count - line);
      this.contents = null;
      const staging = this.scratch(stagedBytes(own, length));
      this.pack(moved(lines, line, 0), own, length, to + 4 * line * length, staging);
    }
  }

  /** Copies lines into the memory and returns their strides there, in bytes. */
  #stage({ data, offset, lineStride, step }: Lines, count: number, length: number, to: number): [number, number] {
    const { floats } = this.memory;
    const copy = (from: number, size: number, at: number): void => floats.set(data.subarray(from, from + size), at);
    if (step === 1) {
      if (lineStride === length) copy(offset, count * length, to);
      else for (let line = 0; line < count; line++) copy(offset + line * lineStride, length, to + line * length);
      return [4 * length, 4];
    }
    if (lineStride === 1) {
      if (step === count) copy(offset, count * length, to);
      else for (let i = 0; i < length; i++) copy(offset + i * step, count, to + i * count);
      return [4, 4 * count];
    }
    for (let line = 0; line < count; line++) {
      for (let i = 0, from = offset + line * lineStride; i < length; i++, from += step) {
        floats[to + line * length + i] = data[from];
      }
    }
    return [4 * length, 4];
  }
}

/** The lines that are packed at once, in fours. */
const linesAtOnce = (length: number): number => Math.max(4, Math.floor(STAGED / length / 4) * 4);

/** Bytes of scratch memory that `count` lines want in order to be packed. */
export const stagedBytes = (count: number, length: number): number =>
  4 * Math.min(count, linesAtOnce(length)) * length + 64;

/** Bytes of `count` packed lines. */
export const packedBytes = (count: number, length: number): number => 16 * Math.ceil(count / 4) * length;

/** The lines from one of them on, and from one of their elements on. */
export const moved = (lines: Lines, line: number, element: number): Lines => ({
  ...lines,
  offset: lines.offset + line * lines.lineStride + element * lines.step,
});

let workspace: Workspace | null | undefined;

/** The workspace of this thread, made when it is first needed; null where there can be none. */
export function workspaceOfThread(): Workspace | null {
  if (workspace === undefined) {
    try {
      workspace = new Workspace();
    } catch {
      workspace = null;
    }
  }
  return workspace;
}
