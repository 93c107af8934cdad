import type { Tensor } from '@cresset/tensor';
import { check } from '../../kernels/errors.ts';
import { numbersInPieces, storeInPieces, copiedNumbers } from '../../kernels/numbers/numbers.ts';
import { kernel } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';
import { checkIndices } from './embedding.ts';
import type { Pieces } from '../../kernels/loops/pieces.ts';

/** Rows of an embedding's table that are looked up, made no longer than a norm (ATen/native/Embedding.cpp). */

interface RenormArgs {
  readonly self: Tensor;
  readonly indices: Tensor;
  readonly max_norm: number;
  readonly norm_type: number;
}

/** Rows of the table that are looked up and too long are shortened, in place. */
function* shortenRows(table: Tensor, indices: Tensor, most: number, p: number): Pieces {
  check(table.dim === 2, "'self' must be 2-D");
  const [rows, features] = table.sizes;
  const values = yield* copiedNumbers(table);
  for (const row of new Set<number>(yield* numbersInPieces(indices))) {
    check(row >= 0 && row < rows, 'index out of range in self');
    const line = values.subarray(row * features, (row + 1) * features);
    const norm =
      p === Infinity
        ? line.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0)
        : line.reduce((sum, value) => sum + Math.abs(value) ** p, 0) ** (1 / p);
    if (norm > most) for (let i = 0; i < features; i++) line[i] *= most / (norm + 1e-7);
    yield;
  }
  yield* storeInPieces(table, values);
}

const embeddingRenorm = kernel<RenormArgs>(
  'aten::embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)',
  {
    *host({ self, indices, max_norm: most, norm_type: p }) {
      checkIndices(indices, 'embedding_renorm_');
      yield* shortenRows(self, indices, most, p);
      return self;
    },
  },
);

/** Its schema does not say that it writes: where nothing uses its result, it is taken out, in PyTorch as here. */
const unannotatedRenorm = kernel<Omit<RenormArgs, 'self' | 'indices'> & { weight: Tensor; input: Tensor }>(
  'aten::_no_grad_embedding_renorm_(Tensor weight, Tensor input, float max_norm, float norm_type) -> Tensor',
  {
    *host({ weight, input, max_norm: most, norm_type: p }) {
      checkIndices(input, 'embedding_renorm_');
      yield* shortenRows(weight, input, most, p);
      return weight;
    },
  },
);

export const embeddingRenormRows: readonly OperatorRow[] = [embeddingRenorm, unannotatedRenorm];
