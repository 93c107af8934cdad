import { Complex, isComplex, isIntegral, numelOf, type ScalarType, type Tensor } from '@cresset/tensor';
import { kernel } from '../../table/builders.ts';
import { wrapDim } from '../../kernels/dimensions.ts';
import { numberReader, numberWriter, readScalar, scalarToBigint, scalarWriter } from '../../kernels/elements.ts';
import type { OperatorRow, Scalar, TensorMeta } from '../../table/row.ts';
import * as complex from '../scalar/complex-arithmetic.ts';
import { StridedCursor } from '../../kernels/tensor-iterator.ts';
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

/** Calls `visit` with the first offsets of each line, one for every tensor; all have the sizes of the first. */
export function forEachLine(
  tensors: readonly Tensor[],
  dim: number,
  visit: (offsets: readonly number[], lines: Lines) => void,
): void {
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
  for (let left = numelOf(outer); left > 0; left--) {
    cursors.forEach((cursor, at) => cursor.advance(1, (offset) => (offsets[at] = offset)));
    visit(offsets, lines);
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

export function runScan({ self, dim }: Scan, output: Tensor, running: Running): void {
  const along = wrapDim(dim, self.dim);
  if (isComplex(output.dtype)) {
    runScalars(
      self,
      output,
      along,
      (a, b) => running.combineComplex!(complexOf(a), complexOf(b)),
      new Complex(running.start, 0),
    );
  } else if (output.dtype === 'int64') {
    runScalars(
      self,
      output,
      along,
      (a, b) => BigInt.asIntN(64, running.combineLong(scalarToBigint(a), scalarToBigint(b))),
      BigInt(running.start),
    );
  } else {
    const read = numberReader(self);
    const write = numberWriter(output);
    forEachLine([self, output], along, ([from, to], { length, strides }) => {
      let value = running.start;
      for (let at = 0; at < length; at++) {
        value = running.combine(value, read(from + at * strides[0]));
        write(to + at * strides[1], value);
      }
    });
  }
}

const complexOf = (value: Scalar): Complex => (value instanceof Complex ? value : new Complex(Number(value), 0));

function runScalars(
  self: Tensor,
  output: Tensor,
  dim: number,
  combine: (a: Scalar, b: Scalar) => Scalar,
  start: Scalar,
): void {
  const write = scalarWriter(output);
  forEachLine([self, output], dim, ([from, to], { length, strides }) => {
    let value = start;
    for (let at = 0; at < length; at++) {
      value = combine(value, readScalar(self, from + at * strides[0]));
      write(to + at * strides[1], value);
    }
  });
}

const scanDtype = (self: ScalarType, dtype: ScalarType | null | undefined): ScalarType =>
  dtype ?? (isIntegral(self, true) ? 'int64' : self);

function scanMeta({ self, dim, dtype }: Scan): TensorMeta {
  wrapDim(dim, self.dim);
  return { sizes: self.sizes, dtype: scanDtype(self.dtype, dtype) };
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
