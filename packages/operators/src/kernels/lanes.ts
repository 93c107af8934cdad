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

/** eˣ in steps of a 64th of a power of two, within which a short series gives all digits of a double but the last ones. */
function makeExp(): LaneLoop {
  // Constants of a function an engine takes as such; those of a module it looks up for each value.
  const step = Math.LN2 / 64;
  const fractions = Float64Array.from({ length: 64 }, (_, at) => 2 ** (at / 64));
  const wholes = Float64Array.from({ length: 256 }, (_, at) => 2 ** (at - 128));
  // Adding and taking off this number leaves a whole one.
  const rounding = 1.5 * 2 ** 52;
  return (out, x, _y, rows, columns) => {
    const [to, from] = [out.array, x.array] as Float32Array[];
    for (let row = 0; row < rows; row++) {
      let at = out.at + row * out.row;
      let i = x.at + row * x.row;
      for (let n = 0; n < columns; n++, at += out.column, i += x.column) {
        const value = from[i];
        // Beyond are infinity and what has fewer digits; NaN fails the comparison too.
        if (Math.abs(value) < 87) {
          const steps = value * (1 / step) + rounding - rounding;
          const rest = value - steps * step;
          const square = rest * rest;
          const series = 1 + rest + square * (0.5 + rest * (1 / 6) + square * (1 / 24));
          to[at] = series * fractions[steps & 63] * wholes[(steps >> 6) + 128];
        } else to[at] = Math.exp(value);
      }
    }
  };
}

/**
 * Loops over values of single precision alone, since one that has met arrays of several types takes three times as long; of four values a
 * trip, as an engine looks after each whether anybody else wants the thread.
 */
export const singleLoops: Readonly<Partial<Record<string, LaneLoop>>> = {
  exp: makeExp(),
  add(out, x, y, rows, columns) {
    // A value that a row shares comes second.
    if (x.column === 0) [x, y] = [y, x];
    const [to, from, other] = [out.array, x.array, y.array] as Float32Array[];
    const [stride, strideX, strideY] = [out.column, x.column, y.column];
    for (let row = 0; row < rows; row++) {
      let at = out.at + row * out.row;
      let i = x.at + row * x.row;
      let j = y.at + row * y.row;
      let n = 3;
      if (stride === 1 && strideX === 1 && strideY === 1) {
        for (; n < columns; n += 4, at += 4, i += 4, j += 4) {
          to[at] = from[i] + other[j];
          to[at + 1] = from[i + 1] + other[j + 1];
          to[at + 2] = from[i + 2] + other[j + 2];
          to[at + 3] = from[i + 3] + other[j + 3];
        }
      } else if (stride === 1 && strideX === 1 && strideY === 0) {
        const value = other[j];
        for (; n < columns; n += 4, at += 4, i += 4) {
          to[at] = from[i] + value;
          to[at + 1] = from[i + 1] + value;
          to[at + 2] = from[i + 2] + value;
          to[at + 3] = from[i + 3] + value;
        }
      }
      for (n -= 3; n < columns; n++, at += stride, i += strideX, j += strideY) to[at] = from[i] + other[j];
    }
  },
  sub(out, x, y, rows, columns) {
    const [to, from, other] = [out.array, x.array, y.array] as Float32Array[];
    const [stride, strideX, strideY] = [out.column, x.column, y.column];
    for (let row = 0; row < rows; row++) {
      let at = out.at + row * out.row;
      let i = x.at + row * x.row;
      let j = y.at + row * y.row;
      let n = 3;
      if (stride === 1 && strideX === 1 && strideY === 1) {
        for (; n < columns; n += 4, at += 4, i += 4, j += 4) {
          to[at] = from[i] - other[j];
          to[at + 1] = from[i + 1] - other[j + 1];
          to[at + 2] = from[i + 2] - other[j + 2];
          to[at + 3] = from[i + 3] - other[j + 3];
        }
      } else if (stride === 1 && strideX === 1 && strideY === 0) {
        const value = other[j];
        for (; n < columns; n += 4, at += 4, i += 4) {
          to[at] = from[i] - value;
          to[at + 1] = from[i + 1] - value;
          to[at + 2] = from[i + 2] - value;
          to[at + 3] = from[i + 3] - value;
        }
      }
      for (n -= 3; n < columns; n++, at += stride, i += strideX, j += strideY) to[at] = from[i] - other[j];
    }
  },
  mul(out, x, y, rows, columns) {
    if (x.column === 0) [x, y] = [y, x];
    const [to, from, other] = [out.array, x.array, y.array] as Float32Array[];
    const [stride, strideX, strideY] = [out.column, x.column, y.column];
    for (let row = 0; row < rows; row++) {
      let at = out.at + row * out.row;
      let i = x.at + row * x.row;
      let j = y.at + row * y.row;
      let n = 3;
      if (stride === 1 && strideX === 1 && strideY === 1) {
        for (; n < columns; n += 4, at += 4, i += 4, j += 4) {
          to[at] = from[i] * other[j];
          to[at + 1] = from[i + 1] * other[j + 1];
          to[at + 2] = from[i + 2] * other[j + 2];
          to[at + 3] = from[i + 3] * other[j + 3];
        }
      } else if (stride === 1 && strideX === 1 && strideY === 0) {
        const value = other[j];
        for (; n < columns; n += 4, at += 4, i += 4) {
          to[at] = from[i] * value;
          to[at + 1] = from[i + 1] * value;
          to[at + 2] = from[i + 2] * value;
          to[at + 3] = from[i + 3] * value;
        }
      }
      for (n -= 3; n < columns; n++, at += stride, i += strideX, j += strideY) to[at] = from[i] * other[j];
    }
  },
  div(out, x, y, rows, columns) {
    const [to, from, other] = [out.array, x.array, y.array] as Float32Array[];
    const [stride, strideX, strideY] = [out.column, x.column, y.column];
    for (let row = 0; row < rows; row++) {
      let at = out.at + row * out.row;
      let i = x.at + row * x.row;
      let j = y.at + row * y.row;
      let n = 3;
      if (stride === 1 && strideX === 1 && strideY === 1) {
        for (; n < columns; n += 4, at += 4, i += 4, j += 4) {
          to[at] = from[i] / other[j];
          to[at + 1] = from[i + 1] / other[j + 1];
          to[at + 2] = from[i + 2] / other[j + 2];
          to[at + 3] = from[i + 3] / other[j + 3];
        }
      } else if (stride === 1 && strideX === 1 && strideY === 0) {
        const value = other[j];
        for (; n < columns; n += 4, at += 4, i += 4) {
          to[at] = from[i] / value;
          to[at + 1] = from[i + 1] / value;
          to[at + 2] = from[i + 2] / value;
          to[at + 3] = from[i + 3] / value;
        }
      }
      for (n -= 3; n < columns; n++, at += stride, i += strideX, j += strideY) to[at] = from[i] / other[j];
    }
  },
};
