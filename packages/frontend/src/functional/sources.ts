import { ACTIVATIONS } from './activations.ts';
import { ATTENTION } from './attention.ts';
import { EMBEDDING } from './embedding.ts';
import { LOSSES } from './losses.ts';
import { NORMALISATION } from './normalisation.ts';
import { SAMPLING } from './sampling.ts';
import { TENSOR_FUNCTIONS } from './tensor-functions.ts';
import { UNPOOLING } from './unpooling.ts';

/** TorchScript texts of functions that are Python in PyTorch, by module. `f__0`, `f__1`, … are the overloads of `f`. */
export const FUNCTIONAL_SOURCES: Readonly<Record<string, string>> = {
  'torch.nn.functional': [ACTIVATIONS, NORMALISATION, LOSSES, SAMPLING, UNPOOLING, EMBEDDING, ATTENTION].join(''),
  'torch.functional': TENSOR_FUNCTIONS,
};

/**
 * Functions that are one of two by the constant value of an argument: the position of the argument, and the names where it is true and
 * where it is false (PyTorch: boolean_dispatch).
 */
export const BOOLEAN_DISPATCHED: Readonly<
  Record<string, readonly [position: number, whenTrue: string, whenFalse: string]>
> = Object.fromEntries(
  [1, 2, 3].flatMap((dims) => [
    [`max_pool${dims}d`, [6, `max_pool${dims}d_with_indices`, `_max_pool${dims}d`]],
    [`adaptive_max_pool${dims}d`, [2, `adaptive_max_pool${dims}d_with_indices`, `_adaptive_max_pool${dims}d`]],
    ...(dims === 1
      ? []
      : [
          [
            `fractional_max_pool${dims}d`,
            [4, `fractional_max_pool${dims}d_with_indices`, `_fractional_max_pool${dims}d`],
          ] as const,
        ]),
  ]),
);
