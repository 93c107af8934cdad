import { type Pieces, PIECE_SIZE } from '../../kernels/pieces.ts';
import { binary, cast, type Expr } from '@cresset/tensorexpr';
import { add, index, indexParam, mul, sub } from '../../kernels/expressions.ts';

/** The windows of a pool along one dimension: which input positions make up output position `o`. */
export interface PoolWindows {
  readonly inputSize: number;
  readonly outputSize: number;
  /** For the host, by output position: the positions within the input. */
  readonly positions: readonly (readonly number[])[];
  /** For the host: elements of the window for the average, with padding counted. */
  readonly paddedLengths: readonly number[];
  /** For a device: the most positions a window has. */
  readonly taps: Expr;
  /** The input position of element `tap` of window `o`, and what must hold for it to count. */
  place(o: Expr, tap: Expr): { readonly at: Expr; readonly conditions: readonly Expr[] };
  /** Elements of window `o` as a float; `padded` counts padding too. */
  length(o: Expr, padded: boolean): Expr;
}

/** Windows of `kernel` elements `dilation` apart, a new one every `stride`. */
export function slidingWindows(
  inputSize: number,
  outputSize: number,
  kernel: number,
  stride: number,
  padding: number,
  dilation: number,
): PoolWindows {
  const positions: number[][] = [];
  const paddedLengths: number[] = [];
  for (let o = 0; o < outputSize; o++) {
    const start = o * stride - padding;
    const own: number[] = [];
    for (let tap = 0; tap < kernel; tap++) {
      const at = start + tap * dilation;
      if (at >= 0 && at < inputSize) own.push(at);
    }
    positions.push(own);
    paddedLengths.push(Math.min(start + kernel, inputSize + padding) - start);
  }
  const inside = padding === 0 && (outputSize - 1) * stride + dilation * (kernel - 1) < inputSize;
  const size = indexParam(inputSize);
  const pad = indexParam(padding);
  const shift = (at: Expr): Expr => (padding === 0 ? at : sub(at, pad));
  return {
    inputSize,
    outputSize,
    positions,
    paddedLengths,
    taps: index(kernel),
    place(o, tap) {
      const at = shift(add(mul(o, index(stride)), mul(tap, index(dilation))));
      if (inside) return { at, conditions: [] };
      const before = padding === 0 ? [] : [binary('ge', at, index(0))];
      return { at, conditions: [...before, binary('lt', at, size)] };
    },
    length(o, padded) {
      if (inside) return cast('float', index(kernel));
      const start = shift(mul(o, index(stride)));
      const end = add(start, index(kernel));
      if (padded) return cast('float', sub(binary('min', end, padding === 0 ? size : add(size, pad)), start));
      return cast('float', sub(binary('min', end, size), binary('max', start, index(0))));
    },
  };
}

/** Windows that divide the input evenly, from `floor(o·in/out)` up to `ceil((o+1)·in/out)`. */
export function adaptiveWindows(inputSize: number, outputSize: number): PoolWindows {
  const startOf = (o: number): number => Math.floor((o * inputSize) / outputSize);
  const endOf = (o: number): number => Math.ceil(((o + 1) * inputSize) / outputSize);
  const positions: number[][] = [];
  let longest = 0;
  for (let o = 0; o < outputSize; o++) {
    const start = startOf(o);
    const length = endOf(o) - start;
    positions.push(Array.from({ length }, (_, tap) => start + tap));
    longest = Math.max(longest, length);
  }
  const even = outputSize > 0 && inputSize % outputSize === 0;
  const taps = indexParam(longest);
  const size = indexParam(inputSize);
  const outSize = indexParam(outputSize);
  const start = (o: Expr): Expr => (even ? mul(o, taps) : binary('truncdiv', mul(o, size), outSize));
  const end = (o: Expr): Expr => binary('truncdiv', add(mul(add(o, index(1)), size), sub(outSize, index(1))), outSize);
  return {
    inputSize,
    outputSize,
    positions,
    paddedLengths: positions.map((own) => own.length),
    taps,
    place(o, tap) {
      if (outputSize === 1) return { at: tap, conditions: [] };
      const at = add(start(o), tap);
      return { at, conditions: even ? [] : [binary('lt', at, end(o))] };
    },
    length: (o) => cast('float', even ? taps : sub(end(o), start(o))),
  };
}

/** Output positions of a sliding pool (pooling_output_shape): with `ceil` the last window may reach past the input. */
export function pooledSize(
  input: number,
  kernel: number,
  stride: number,
  padding: number,
  dilation: number,
  ceil: boolean,
): number {
  const room = input + 2 * padding - dilation * (kernel - 1) - 1;
  const size = Math.floor((room + (ceil ? stride - 1 : 0)) / stride) + 1;
  // A window must begin within the input or the padding in front.
  return ceil && (size - 1) * stride >= input + padding ? size - 1 : size;
}

/** Calls `visit` for each output position, C order, with the windows' positions in each dimension; each call goes over all planes. */
export function* forEachWindow(
  windows: readonly PoolWindows[],
  planes: number,
  visit: (position: number, at: readonly number[]) => Pieces | null,
): Pieces {
  const at = new Array<number>(windows.length).fill(0);
  const total = windows.reduce((product, { outputSize }) => product * outputSize, 1);
  const area = windows.reduce((product, { positions }) => product * (positions[0]?.length ?? 0), 1);
  const atOnce = PIECE_SIZE / (4 * (planes + 4) * (area + 1));
  for (let position = 0, done = 0; position < total; position++) {
    if (++done > atOnce) {
      done = 0;
      yield;
    }
    const work = visit(position, at);
    if (work) yield* work;
    for (let dim = windows.length - 1; dim >= 0; dim--) {
      if (++at[dim] < windows[dim].outputSize) break;
      at[dim] = 0;
    }
  }
}

/** Offsets within one plane of the input of all elements of the window at `at`, C order. */
export function windowOffsets(windows: readonly PoolWindows[], at: readonly number[]): number[] {
  let offsets = [0];
  windows.forEach(({ positions, inputSize }, dim) => {
    const own = positions[at[dim]];
    offsets = offsets.flatMap((offset) => own.map((position) => offset * inputSize + position));
  });
  return offsets;
}
