import { repeat } from '../../kernels/loops/pieces.ts';
import { elementSize, type HostArray, type Tensor, symEq } from '@cresset/tensor';
import { cast, TensorView } from '@cresset/tensorexpr';
import { kernel } from '../../table/builders.ts';
import { check } from '../../kernels/errors.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { positionFault } from '../indexing/position-faults.ts';
import type { OperatorRow } from '../../table/row.ts';
import { numbersInPieces, elementsInPieces } from '../../kernels/numbers/numbers.ts';

/** Rows of a table by index (ATen/native/Embedding.cpp). */

interface EmbeddingArgs {
  readonly weight: Tensor;
  readonly indices: Tensor;
}

export function checkIndices(indices: Tensor, name: string): void {
  check(
    indices.dtype === 'int64' || indices.dtype === 'int32',
    () =>
      `Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got torch.${dtypeName(indices.dtype)}Tensor instead (while checking arguments for ${name})`,
  );
}

const bytesOf = ({ buffer, byteOffset, byteLength }: HostArray): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

const embedding = kernel<EmbeddingArgs>(
  'aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor',
  {
    out: true,
    shape({ weight, indices }) {
      check(weight.dim === 2, "'weight' must be 2-D");
      checkIndices(indices, 'embedding');
      return { sizes: [...indices.symSizes, weight.symSizes[1]], dtype: weight.dtype };
    },
    *host({ weight, indices }, [out]) {
      const [rows, features] = weight.sizes;
      // Rows are copied as they lie in memory, whatever their dtype.
      const width = elementSize(weight.dtype) * features;
      const table = bytesOf(yield* elementsInPieces(weight));
      const target = bytesOf(out.storageArrayForWriting());
      const places = yield* numbersInPieces(indices);
      yield* repeat(places.length, width / 4 + 8, (at) => {
        const row = places[at];
        check(row >= 0 && row < rows, 'index out of range in self');
        target.set(table.subarray(row * width, (row + 1) * width), at * width);
      });
    },
    lower({ weight, indices }, [out], context) {
      if (symEq(out.symNumel, 0)) return;
      const target = new TensorView(out);
      const axes = target.axes();
      const row = cast('i32', new TensorView(indices).at(axes.slice(0, -1)));
      const value = new TensorView(weight).at([row, axes[axes.length - 1]]);
      const faults = positionFault(row, 0, weight.sizes[0], 'index out of range in self', context, 'RuntimeError');
      const stores = [{ operand: target.operand, offset: target.offsetAt(axes), value }, ...faults];
      context.launch({ kind: 'nest', label: 'aten::embedding', axes, innerAxes: [], stores });
    },
  },
);

export const embeddingRows: readonly OperatorRow[] = [embedding];
