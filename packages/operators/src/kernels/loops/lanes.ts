import type { HostArray } from '@cresset/tensor';

/**
 * Where the values of an expression's node lie while a piece of an index space is computed: rows of columns, each with its stride. A
 * stride of 0 is a value that all share; the memory is a tensor's own wherever nothing has to be converted.
 */
export interface Lane {
  array: HostArray;
  /** Position of the first value. */
  at: number;
  row: number;
  column: number;
}

/** Values in memory of their own, in rows of `width`; one value for all where that is 0. */
export const laneOf = (array: HostArray, width: number): Lane => ({ array, at: 0, row: width, column: width && 1 });

/** Works on so many rows and columns. */
export type Step = (rows: number, columns: number) => void;

type Numbers = Float64Array;

/** A row of a function of one or two values: `out[at]` of `x[i]` and `y[j]`, `count` times, each with its stride. */
export type RowLoop = (
  out: Numbers,
  at: number,
  stride: number,
  x: Numbers,
  i: number,
  strideX: number,
  y: Numbers,
  j: number,
  strideY: number,
  count: number,
) => void;

/** A step that goes through its rows; functions of one value have it as `x` and as `y`. */
export function rowStep(loop: RowLoop, out: Lane, x: Lane, y: Lane): Step {
  return (rows, columns) => {
    for (let row = 0; row < rows; row++) {
      loop(
        out.array as Numbers,
        out.at + row * out.row,
        out.column,
        x.array as Numbers,
        x.at + row * x.row,
        x.column,
        y.array as Numbers,
        y.at + row * y.row,
        y.column,
        columns,
      );
    }
  };
}

export function mappedOne(apply: (x: number) => number): RowLoop {
  return (out, at, stride, x, i, strideX, _y, _j, _strideY, count) => {
    for (let n = 0; n < count; n++, at += stride, i += strideX) out[at] = apply(x[i]);
  };
}

export function mappedTwo(apply: (x: number, y: number) => number): RowLoop {
  return (out, at, stride, x, i, strideX, y, j, strideY, count) => {
    for (let n = 0; n < count; n++, at += stride, i += strideX, j += strideY) out[at] = apply(x[i], y[j]);
  };
}

/** As `mappedOne`, of bigints: apart, so that loops over numbers see nothing but numbers. */
export function exactOne(apply: (x: bigint) => bigint | number): RowLoop {
  return (out, at, stride, x, i, strideX, _y, _j, _strideY, count) => {
    for (let n = 0; n < count; n++, at += stride, i += strideX) out[at] = apply(x[i] as never) as never;
  };
}

export function exactTwo(apply: (x: bigint, y: bigint) => bigint | number): RowLoop {
  return (out, at, stride, x, i, strideX, y, j, strideY, count) => {
    for (let n = 0; n < count; n++, at += stride, i += strideX, j += strideY) {
      out[at] = apply(x[i] as never, y[j] as never) as never;
    }
  };
}

/** What nearly all time goes to has loops of its own, which an engine turns into straight machine code. */
export const rowLoops = {
  copy: (out, at, stride, x, i, strideX, _y, _j, _strideY, count) => {
    for (let n = 0; n < count; n++, at += stride, i += strideX) out[at] = x[i];
  },
  neg: (out, at, stride, x, i, strideX, _y, _j, _strideY, count) => {
    for (let n = 0; n < count; n++, at += stride, i += strideX) out[at] = -x[i];
  },
  exp: (out, at, stride, x, i, strideX, _y, _j, _strideY, count) => {
    for (let n = 0; n < count; n++, at += stride, i += strideX) out[at] = Math.exp(x[i]);
  },
  add: (out, at, stride, x, i, strideX, y, j, strideY, count) => {
    for (let n = 0; n < count; n++, at += stride, i += strideX, j += strideY) out[at] = x[i] + y[j];
  },
  sub: (out, at, stride, x, i, strideX, y, j, strideY, count) => {
    for (let n = 0; n < count; n++, at += stride, i += strideX, j += strideY) out[at] = x[i] - y[j];
  },
  mul: (out, at, stride, x, i, strideX, y, j, strideY, count) => {
    for (let n = 0; n < count; n++, at += stride, i += strideX, j += strideY) out[at] = x[i] * y[j];
  },
  div: (out, at, stride, x, i, strideX, y, j, strideY, count) => {
    for (let n = 0; n < count; n++, at += stride, i += strideX, j += strideY) out[at] = x[i] / y[j];
  },
  max: (out, at, stride, x, i, strideX, y, j, strideY, count) => {
    for (let n = 0; n < count; n++, at += stride, i += strideX, j += strideY) {
      out[at] = x[i] >= y[j] ? x[i] : Math.max(x[i], y[j]);
    }
  },
  min: (out, at, stride, x, i, strideX, y, j, strideY, count) => {
    for (let n = 0; n < count; n++, at += stride, i += strideX, j += strideY) {
      out[at] = x[i] <= y[j] ? x[i] : Math.min(x[i], y[j]);
    }
  },
} satisfies Record<string, RowLoop>;

/** A function of one or two values over a piece; functions of one value have it as `x` and as `y`. */
export type LaneLoop = (out: Lane, x: Lane, y: Lane, rows: number, columns: number) => void;
