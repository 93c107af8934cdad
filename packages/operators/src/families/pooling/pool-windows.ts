import { settle, symAdd, symEq, symFloorDiv, symGe, symLt, symMod, symMul, symSub, type SymInt } from '@cresset/tensor';
import { type Pieces, PIECE_SIZE } from '../../kernels/loops/pieces.ts';
import { binary, cast, type Expr } from '@cresset/tensorexpr';
import { add, index, indexParam, mul, sub } from '../../kernels/expressions.ts';

/** The windows of a pool along one dimension: which input positions make up output position `o`. */
export interface PoolWindows {
  readonly inputSize: SymInt;
  readonly outputSize: SymInt;
  /** For the host: how far elements of a window are from each other. */
  readonly step: number;
  /** For the host: the first element of window `o` that lies within the input, and how many do. */
  first(o: number): number;
  count(o: number): number;
  /** For the host: elements of window `o` for the average, with padding counted. */
  paddedLength(o: number): number;
  /** For a device: the most positions a window has. */
  readonly taps: Expr;
  /** The input position of element `tap` of window `o`, and what must hold for it to count. */
  place(o: Expr, tap: Expr): { readonly at: Expr; readonly conditions: readonly Expr[] };
  /** Elements of window `o` as a float; `padded` counts padding too. */
  length(o: Expr, padded: boolean): Expr;
  /** The same windows on the input with a border of so many elements before it, within which all of them lie; null where they do anyway. */
  readonly bordered: { readonly border: number; readonly windows: PoolWindows } | null;
}

/** Windows of `kernel` elements `dilation` apart, a new one every `stride`. */
export function slidingWindows(
  inputSize: SymInt,
  outputSize: SymInt,
  kernel: number,
  stride: number,
  padding: number,
  dilation: number,
): PoolWindows {
  const startOf = (o: number): number => o * stride - padding;
  /** The first element of window `o` that does not lie before input position `at`. */
  const tapAt = (o: number, at: number): number => Math.max(0, Math.ceil((at - startOf(o)) / dilation));
  /** How far the last window reaches from where the first one begins. */
  const reach = symAdd(symMul(symSub(outputSize, 1), stride), dilation * (kernel - 1));
  const inside = padding === 0 && symLt(reach, inputSize);
  const size = indexParam(inputSize);
  const pad = indexParam(padding);
  const shift = (at: Expr): Expr => (padding === 0 ? at : sub(at, pad));
  return {
    inputSize,
    outputSize,
    bordered: inside
      ? null
      : {
          border: padding,
          windows: slidingWindows(symAdd(reach, 1), outputSize, kernel, stride, 0, dilation),
        },
    step: dilation,
    first: (o) => startOf(o) + tapAt(o, 0) * dilation,
    count: (o) => Math.max(0, Math.min(kernel, tapAt(o, settle(inputSize))) - tapAt(o, 0)),
    paddedLength: (o) => Math.min(startOf(o) + kernel, settle(inputSize) + padding) - startOf(o),
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
export function adaptiveWindows(inputSize: SymInt, outputSize: number): PoolWindows {
  const startOf = (o: number): number => Math.floor((o * settle(inputSize)) / outputSize);
  const endOf = (o: number): number => Math.ceil(((o + 1) * settle(inputSize)) / outputSize);
  const countOf = (o: number): number => endOf(o) - startOf(o);
  const even = outputSize > 0 && symEq(symMod(inputSize, outputSize), 0);
  let longest = even ? symFloorDiv(inputSize, outputSize) : 0;
  for (let o = 0; o < outputSize && !even; o++) longest = Math.max(settle(longest), countOf(o));
  const taps = indexParam(longest);
  const size = indexParam(inputSize);
  const outSize = indexParam(outputSize);
  const start = (o: Expr): Expr => (even ? mul(o, taps) : binary('truncdiv', mul(o, size), outSize));
  const end = (o: Expr): Expr => binary('truncdiv', add(mul(add(o, index(1)), size), sub(outSize, index(1))), outSize);
  return {
    inputSize,
    outputSize,
    bordered: null,
    step: 1,
    first: startOf,
    count: countOf,
    paddedLength: countOf,
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
  input: SymInt,
  kernel: number,
  stride: number,
  padding: number,
  dilation: number,
  ceil: boolean,
): SymInt {
  const room = symAdd(input, 2 * padding - dilation * (kernel - 1) - 1);
  const size = symAdd(symFloorDiv(symAdd(room, ceil ? stride - 1 : 0), stride), 1);
  // A window must begin within the input or the padding in front.
  const last = symSub(size, 1);
  return ceil && symGe(symMul(last, stride), symAdd(input, padding)) ? last : size;
}

/** Elements of a window that are gathered at once. */
const MOST_OFFSETS = 1 << 12;
/** What it takes to begin with a window, in operations. */
const WINDOW_COST = 64;

/** Elements of the window of an output position, in some planes. */
export interface WindowPart {
  /** Where the result belongs within a plane of the output. */
  readonly position: number;
  /** The window's place in each dimension. */
  readonly at: readonly number[];
  /** Where the first `count` of these lie within a plane of the input, in C order. */
  readonly offsets: Int32Array;
  readonly count: number;
  /** Whether no part of the window came before, and whether none comes after. */
  readonly isFirst: boolean;
  readonly isLast: boolean;
  /** The planes that it is about: those before `to`. */
  readonly from: number;
  readonly to: number;
}

/** Calls `visit` for each window in all planes, output positions in C order, with stops as operations add up. The part is the same object each time. */
export function* forEachWindow(
  windows: readonly PoolWindows[],
  planes: number,
  visit: (part: WindowPart) => void,
): Pieces {
  if (planes === 0) return;
  const elements = new WindowElements(windows);
  const { at } = elements;
  const part = { position: 0, at, offsets: elements.offsets, count: 0, isFirst: true, isLast: true, from: 0, to: 0 };
  const total = windows.reduce((product, { outputSize }) => product * settle(outputSize), 1);
  let done = 0;
  for (; part.position < total; part.position++) {
    elements.begin();
    part.isFirst = true;
    do {
      part.count = elements.gather();
      part.isLast = elements.left === 0;
      done += WINDOW_COST + part.count;
      const cost = 4 * (part.count + 1);
      for (part.from = 0; part.from < planes; part.from = part.to) {
        if (done >= PIECE_SIZE) {
          done = 0;
          yield;
        }
        part.to = Math.min(planes, part.from + Math.ceil((PIECE_SIZE - done) / cost));
        visit(part);
        done += (part.to - part.from) * cost;
      }
      part.isFirst = false;
    } while (!part.isLast);
    elements.next();
  }
}

/** Where the elements of one window after another lie within a plane of the input. */
class WindowElements {
  /** The place of the window in each dimension. */
  readonly at: number[];
  readonly offsets: Int32Array;
  /** Elements of the window that were not gathered yet. */
  left = 0;
  /** For each dimension: which element of the window comes next there, how many it has, and where the first one lies. */
  readonly #taps: number[];
  readonly #counts: number[];
  readonly #starts: number[];
  /** How far apart elements are in each dimension, within a plane. */
  readonly #steps: number[];

  constructor(private readonly windows: readonly PoolWindows[]) {
    const zeros = windows.map(() => 0);
    this.at = [...zeros];
    this.#taps = [...zeros];
    this.#counts = [...zeros];
    this.#starts = [...zeros];
    let stride = 1;
    this.#steps = windows.toReversed().map(({ step, inputSize }) => {
      const own = step * stride;
      stride *= settle(inputSize);
      return own;
    });
    this.#steps.reverse();
    this.offsets = new Int32Array(Math.min(stride, MOST_OFFSETS));
  }

  /** Goes to the first element of the window at `at`. */
  begin(): void {
    const { windows, at } = this;
    let total = 1;
    for (let dim = 0; dim < windows.length; dim++) {
      const window = windows[dim];
      this.#taps[dim] = 0;
      this.#counts[dim] = window.count(at[dim]);
      this.#starts[dim] = window.first(at[dim]) * (this.#steps[dim] / window.step);
      total *= this.#counts[dim];
    }
    this.left = total;
  }

  /** Gathers as many elements as there is room for, and gives their number. */
  gather(): number {
    const { offsets } = this;
    const last = this.windows.length - 1;
    const step = this.#steps[last];
    const taps = this.#taps;
    let count = 0;
    while (this.left > 0 && count < offsets.length) {
      let offset = 0;
      for (let dim = 0; dim <= last; dim++) offset += this.#starts[dim] + taps[dim] * this.#steps[dim];
      const run = Math.min(this.#counts[last] - taps[last], offsets.length - count);
      for (let tap = 0; tap < run; tap++, offset += step) offsets[count++] = offset;
      this.left -= run;
      taps[last] += run;
      for (let dim = last; dim > 0 && taps[dim] === this.#counts[dim]; dim--) {
        taps[dim] = 0;
        taps[dim - 1]++;
      }
    }
    return count;
  }

  /** Goes on to the next window. */
  next(): void {
    const { windows, at } = this;
    for (let dim = windows.length - 1; dim >= 0; dim--) {
      if (++at[dim] < settle(windows[dim].outputSize)) break;
      at[dim] = 0;
    }
  }
}
