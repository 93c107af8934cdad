import { Tensor } from '@cresset/tensor';
import { kernel } from '../../table/builders.ts';
import { check } from '../../kernels/errors.ts';
import type { OperatorRow } from '../../table/row.ts';
import { checkInfos, checkSameType } from './checks.ts';
import { luFactor, luSolve } from './lu.ts';
import { Matrix, readMatrices, writeMatrices } from './matrix.ts';

/** Systems whose unknowns and equations are numbered by several dimensions each (torch.linalg.tensorinv, tensorsolve). */

const copied = (self: Tensor, sizes: readonly number[]): Tensor =>
  Tensor.fromArray(self.contiguousArray(), sizes, self.dtype);
const product = (sizes: readonly number[]): number => sizes.reduce((total, size) => total * size, 1);
const requirement = (slices: readonly [string, string], got: readonly [number, number]): string =>
  `Expected self to satisfy the requirement prod(self.shape[${slices[0]}]) == prod(self.shape[${slices[1]}]), but got ${got[0]} != ${got[1]}`;

const tensorInverse = kernel<{ self: Tensor; ind: number }>(
  'aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor',
  {
    out: true,
    shape({ self, ind }) {
      check(ind > 0, `Expected a strictly positive integer for 'ind', but got ${ind}`);
      check(ind <= self.dim, `ArrayRef: invalid slice, N = ${ind}; size = ${self.dim}`);
      const [end, start] = [self.sizes.slice(ind), self.sizes.slice(0, ind)];
      check(product(end) === product(start), requirement(['ind:', ':ind'], [product(end), product(start)]));
      return { sizes: [...end, ...start], dtype: self.dtype };
    },
    *host({ self, ind }, [out]) {
      const size = product(self.sizes.slice(ind));
      const [matrix] = yield* readMatrices(copied(self, [size, size]));
      const { lu, pivots, info } = yield* luFactor(matrix);
      checkInfos([info], 'inv', true);
      yield* writeMatrices(out, [yield* luSolve(lu, pivots, Matrix.identity(size))]);
    },
  },
);

interface TensorSolveArgs {
  readonly self: Tensor;
  readonly other: Tensor;
  readonly dims: readonly number[] | null;
}

/** `self` with the dimensions in `dims` moved to the end. */
function moved({ self, dims }: TensorSolveArgs): Tensor {
  if (!dims) return self;
  const last = dims.map((dim) => (dim < 0 ? dim + self.dim : dim));
  const order = [...self.sizes.keys()].filter((dim) => !last.includes(dim)).concat(last);
  return self.asStrided(
    order.map((dim) => self.sizes[dim]),
    order.map((dim) => self.strides[dim]),
  );
}

const tensorSolve = kernel<TensorSolveArgs>(
  'aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor',
  {
    out: true,
    shape(args) {
      const self = moved(args);
      const rank = args.other.dim;
      const [end, start] = [self.sizes.slice(rank), self.sizes.slice(0, rank)];
      check(
        product(end) === product(start),
        requirement(['other.ndim:', ':other.ndim'], [product(end), product(start)]),
      );
      check(
        product(end) === args.other.numel,
        () => `shape '[${product(end)}]' is invalid for input of size ${args.other.numel}`,
      );
      checkSameType(self, args.other, 'linalg.solve');
      return { sizes: end, dtype: self.dtype };
    },
    *host(args, [out]) {
      const size = args.other.numel;
      const [matrix] = yield* readMatrices(copied(moved(args), [size, size]));
      const [right] = yield* readMatrices(copied(args.other, [size, 1]));
      const { lu, pivots, info } = yield* luFactor(matrix);
      checkInfos([info], 'torch.linalg.solve', true);
      yield* writeMatrices(out, [yield* luSolve(lu, pivots, right)]);
    },
  },
);

export const tensorSystemRows: readonly OperatorRow[] = [tensorInverse, tensorSolve];
