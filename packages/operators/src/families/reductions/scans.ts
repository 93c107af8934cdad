import { PIECE_SIZE, type Pieces } from '../../kernels/loops/pieces.ts';
import { Complex, isComplex, isIntegral, numelOf, type ScalarType, type Tensor } from '@cresset/tensor';
import { kernel } from '../../table/builders.ts';
import { wrapDim } from '../../kernels/dimensions.ts';
import { numberReader, numberWriter, readScalar, scalarToBigint, scalarWriter } from '../../kernels/elements.ts';
import type { OperatorRow, Scalar, TensorMeta } from '../../table/row.ts';
import * as complex from '../scalar/complex-arithmetic.ts';
import { StridedCursor } from '../../kernels/loops/tensor-iterator.ts';
import { lowerScanAlong } from './scan-lowering.ts';

/** Running sums and products along a dimension (ATen/native/ReduceOps.cpp). */

export interface Scan {
  readonly self: Tensor;
  readonly dim: number;
  readonly dtype?: ScalarType | null;
}

/** A line of elements along the scanned dimension: where it starts and how far apart its elements lie. */
interface Lines {
  readonly length: number;
  readonly strides: readonly number[];
}

/** Elements that are gone over between two stops. */
const LINE_PART = PIECE_SIZE / 8;

/**
 * Calls `visit` with the first offsets of each line, one for every tensor; all have the sizes of the first. Long lines come in parts, one after
 * the other: elements `start` up to `end`.
 */
export function* forEachLine(
  tensors: readonly Tensor[],
  dim: number,
  visit: (offsets: readonly number[], lines: Lines, start: number, end: number) => void,
): Pieces {
  const [first] = tensors;
  const rank = first.dim;
  const outer = first.sizes.filter((_, each) => each !== dim);
  const cursors = tensors.map(
    ({ strides, storageOffset }) =>
      new StridedCursor(outer, { strides: strides.filter((_, each) => each !== dim), offset: storageOffset }),
  );
  const lines = { length: rank === 0 ? 1 : first.sizes[dim], strides: tensors.map(({ strides }) => strides[dim] ?? 0) };
  if (lines.length === 0) return;
  const offsets = new Array<number>(tensors.length);
  let done = 0;
  for (let left = numelOf(outer); left > 0; left--) {
    cursors.forEach((cursor, at) => cursor.advance(1, (offset) => (offsets[at] = offset)));
    for (let start = 0; start < lines.length; start += LINE_PART) {
      if (done >= LINE_PART) {
        done = 0;
        yield;
      }
      const end = Math.min(lines.length, start + LINE_PART);
      visit(offsets, lines, start, end);
      // To find where a line begins takes as long as some of its elements.
      done += end - start + 4;
    }
  }
}

export interface Running {
  readonly start: number;
  combine(a: number, b: number): number;
  combineLong(a: bigint, b: bigint): bigint;
  combineComplex?(a: Complex, b: Complex): Complex;
}

const sums: Running = { start: 0, combine: (a, b) => a + b, combineLong: (a, b) => a + b, combineComplex: complex.add };
const products: Running = {
  start: 1,
  combine: (a, b) => a * b,
  combineLong: (a, b) => a * b,
  combineComplex: complex.multiply,
};

export function runScan({ self, dim }: Scan, output: Tensor, running: Running): Pieces {
  const along = wrapDim(dim, self.dim);
  if (isComplex(output.dtype)) {
    return runScalars(
      self,
      output,
      along,
      (a, b) => running.combineComplex!(complexOf(a), complexOf(b)),
      new Complex(running.start, 0),
    );
  }
  if (output.dtype === 'int64') {
    return runScalars(
      self,
      output,
      along,
      (a, b) => BigInt.asIntN(64, running.combineLong(scalarToBigint(a), scalarToBigint(b))),
      BigInt(running.start),
    );
  }
  const read = numberReader(self);
  const write = numberWriter(output);
  let sum = 0;
  return forEachLine([self, output], along, ([from, to], { strides: [step, stepTo] }, start, end) => {
    sum = scanLine(running, start === 0 ? running.start : sum, end - start, {
      read,
      from: from + start * step,
      step,
      write,
      to: to + start * stepTo,
      stepTo,
    });
  });
}

/** `count` elements of a line that are read here and written there, each with its distance to the next. */
interface LinePart {
  read(offset: number): number;
  readonly from: number;
  readonly step: number;
  write(offset: number, value: number): void;
  readonly to: number;
  readonly stepTo: number;
}

function scanLine(
  running: Running,
  start: number,
  count: number,
  { read, from, step, write, to, stepTo }: LinePart,
): number {
  let value = start;
  for (let at = 0; at < count; at++) {
    value = running.combine(value, read(from + at * step));
    write(to + at * stepTo, value);
  }
  return value;
}

const complexOf = (value: Scalar): Complex => (value instanceof Complex ? value : new Complex(Number(value), 0));

function runScalars(
  self: Tensor,
  output: Tensor,
  dim: number,
  combine: (a: Scalar, b: Scalar) => Scalar,
  neutral: Scalar,
): Pieces {
  const write = scalarWriter(output);
  let value = neutral;
  return forEachLine([self, output], dim, ([from, to], { strides }, start, end) => {
    if (start === 0) value = neutral;
    for (let at = start; at < end; at++) {
      value = combine(value, readScalar(self, from + at * strides[0]));
      write(to + at * strides[1], value);
    }
  });
}

const scanDtype = (self: ScalarType, dtype: ScalarType | null | undefined): ScalarType =>
  dtype ?? (isIntegral(self, true) ? 'int64' : self);

function scanMeta({ self, dim, dtype }: Scan): TensorMeta {
  wrapDim(dim, self.dim);
  return { sizes: self.symSizes, dtype: scanDtype(self.dtype, dtype) };
}

const scanRow = (name: 'cumsum' | 'cumprod', running: Running): OperatorRow =>
  kernel<Scan>(`aten::${name}(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor`, {
    shape: scanMeta,
    host: (args, [output]) => runScan(args, output, running),
    lower: ({ self, dim }, [output], context) =>
      lowerScanAlong(
        self,
        wrapDim(dim, self.dim),
        output,
        name === 'cumsum' ? 'sum' : 'prod',
        `aten::${name}`,
        context,
      ),
    inPlace: true,
    out: true,
  });

export const scanRows: readonly OperatorRow[] = [scanRow('cumsum', sums), scanRow('cumprod', products)];
