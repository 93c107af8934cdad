import type { Lane, LaneLoop } from './lanes.ts';

const fractions = Float64Array.from({ length: 256 }, (_, at) => 2 ** (at / 256));
const wholes = Float64Array.from({ length: 256 }, (_, at) => 2 ** (at - 128));

/** eˣ in steps of a 256th of a power of two, within which a short series gives more digits than single precision has. */
function exp(out: Lane, x: Lane, _y: Lane, rows: number, columns: number): void {
  const [to, from] = [out.array, x.array] as Float32Array[];
  // An engine takes what is constant here as such, and looks up what is constant elsewhere for each value.
  const [parts, powers] = [fractions, wholes];
  const step = Math.LN2 / 256;
  // Adding and taking off this number leaves a whole one.
  const rounding = 1.5 * 2 ** 52;
  for (let row = 0; row < rows; row++) {
    let at = out.at + row * out.row;
    let i = x.at + row * x.row;
    let n = 1;
    if (out.column === 1 && x.column === 1) {
      // Two at a time, which wait for nothing of each other.
      for (; n < columns; n += 2, at += 2, i += 2) {
        const value = from[i];
        const next = from[i + 1];
        // Beyond are infinity and what has fewer digits; NaN fails the comparison too.
        if (Math.abs(value) < 87 && Math.abs(next) < 87) {
          const steps = value * (1 / step) + rounding - rounding;
          const nextSteps = next * (1 / step) + rounding - rounding;
          const rest = value - steps * step;
          const nextRest = next - nextSteps * step;
          const whole = steps | 0;
          const nextWhole = nextSteps | 0;
          const series = 1 + rest + rest * rest * (0.5 + rest * (1 / 6));
          const nextSeries = 1 + nextRest + nextRest * nextRest * (0.5 + nextRest * (1 / 6));
          to[at] = series * parts[whole & 255] * powers[(whole >> 8) + 128];
          to[at + 1] = nextSeries * parts[nextWhole & 255] * powers[(nextWhole >> 8) + 128];
        } else {
          to[at] = Math.exp(value);
          to[at + 1] = Math.exp(next);
        }
      }
    }
    for (n -= 1; n < columns; n++, at += out.column, i += x.column) to[at] = Math.exp(from[i]);
  }
}

/**
 * Loops over values of single precision alone, since one that has met arrays of several types takes three times as long; of four values a
 * trip, as an engine looks after each whether anybody else wants the thread. The arithmetic is written out in each for the same reason: a loop
 * that calls what to do with two values takes several times as long wherever the engine does not put the call's body in its place.
 */
export const singleLoops: Readonly<Partial<Record<string, LaneLoop>>> = {
  exp,
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
