import { complexType, isFloatingPoint, type Tensor } from '@cresset/tensor';
import { binary, unary } from '@cresset/tensorexpr';
import { kernel, pointwise } from '../../table/builders.ts';
import { broadcastSizes } from '../../kernels/broadcast.ts';
import { copyPieces, lowerCopy, partOf } from '../../kernels/copy.ts';
import { check } from '../../kernels/errors.ts';
import { lowerPointwise, pointwisePieces } from '../../kernels/loops/pointwise.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import type { OperatorRow, TensorMeta } from '../../table/row.ts';

/** Complex numbers of two tensors (ATen/native/TensorFactories.cpp). */

interface Parts {
  readonly real: Tensor;
  readonly imag: Tensor;
}

interface Polar {
  readonly abs: Tensor;
  readonly angle: Tensor;
}

function pairMeta(first: Tensor, second: Tensor): TensorMeta {
  const names = [first, second].map(({ dtype }) => dtypeName(dtype));
  check(
    [first, second].every(({ dtype }) => isFloatingPoint(dtype) && dtype !== 'bfloat16'),
    () => `Expected both inputs to be Half, Float or Double tensors but got ${names[0]} and ${names[1]}`,
  );
  check(
    first.dtype === second.dtype,
    () => `Expected object of scalar type ${names[0]} but got scalar type ${names[1]} for second argument`,
  );
  return { sizes: broadcastSizes(first.sizes, second.sizes), dtype: complexType(first.dtype) };
}

const polarPart = (fn: 'cos' | 'sin'): OperatorRow =>
  pointwise(`aten::polar.${fn}(Tensor abs, Tensor angle) -> Tensor`, {
    dtype: 'promote',
    body: ({ abs, angle }) => binary('mul', abs, unary(fn, angle)),
  });

export const complexNumberRows: readonly OperatorRow[] = [
  kernel<Parts>('aten::complex(Tensor real, Tensor imag) -> Tensor', {
    shape: ({ real, imag }) => pairMeta(real, imag),
    *host({ real, imag }, [output]) {
      yield* copyPieces(partOf(output, 0), real);
      yield* copyPieces(partOf(output, 1), imag);
    },
    lower: ({ real, imag }, [output], context) => {
      lowerCopy(partOf(output, 0), real, context, 'aten::complex');
      lowerCopy(partOf(output, 1), imag, context, 'aten::complex');
    },
    out: true,
  }),
  kernel<Polar>('aten::polar(Tensor abs, Tensor angle) -> Tensor', {
    shape: ({ abs, angle }) => pairMeta(abs, angle),
    *host({ abs, angle }, [output]) {
      yield* pointwisePieces(polarPart('cos'), { abs, angle }, partOf(output, 0));
      yield* pointwisePieces(polarPart('sin'), { abs, angle }, partOf(output, 1));
    },
    lower: ({ abs, angle }, [output], context) => {
      lowerPointwise(polarPart('cos'), { abs, angle }, partOf(output, 0), context);
      lowerPointwise(polarPart('sin'), { abs, angle }, partOf(output, 1), context);
    },
    out: true,
  }),
];
