import { Complex, type Tensor } from '@cresset/tensor';
import { contiguousInPieces } from '../../kernels/copy.ts';
import { readScalar, scalarWriter } from '../../kernels/elements.ts';
import * as complex from '../scalar/complex-arithmetic.ts';
import type { Normalization } from './normalized-groups.ts';
import { type Pieces, repeat } from '../../kernels/loops/pieces.ts';

/** `x / √(mean(x²) + eps)` of complex numbers: squares as they are, not those of magnitudes (ATen/native/layer_norm.cpp). */
export function* hostComplexRmsNorm({ input, out, weight, outer, eps }: Normalization): Pieces {
  function* read(tensor: Tensor): Pieces<(at: number) => Complex> {
    const dense = yield* contiguousInPieces(tensor);
    return (at) => complex.toComplex(readScalar(dense, dense.storageOffset + at) as Complex | number);
  }
  const at = yield* read(input);
  const scale = weight && (yield* read(weight));
  const write = scalarWriter(out);
  const count = input.sizes.slice(outer).reduce((product, size) => product * size, 1);
  for (let start = 0; start < input.numel; start += count) {
    let squares = new Complex(0, 0);
    yield* repeat(count, 64, (i) => {
      squares = complex.add(squares, complex.multiply(at(start + i), at(start + i)));
    });
    const mean = new Complex(squares.re / count + eps, squares.im / count);
    const factor = complex.divide(new Complex(1, 0), complex.sqrt(mean));
    yield* repeat(count, 64, (index) => {
      const i = start + index;
      const value = complex.multiply(at(i), factor);
      write(out.storageOffset + i, scale ? complex.multiply(value, scale(i)) : value);
    });
    yield;
  }
}
