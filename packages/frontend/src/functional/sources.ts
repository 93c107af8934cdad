import type { Dispatch } from './boolean-dispatch.ts';
import { ACTIVATIONS } from './activations.ts';
import { ATTENTION } from './attention.ts';
import { AUTOCAST, CPU_AUTOCAST, CUDA_AUTOCAST, GRAD_MODE, RECORD_FUNCTION, STRICT_FUSION } from './contexts.ts';
import { EMBEDDING } from './embedding.ts';
import { INITIALISATION } from './initialisation.ts';
import { LOSSES, REDUCTIONS } from './losses.ts';
import { LINALG_UTILS, LOW_RANK } from './low-rank.ts';
import { NORMALISATION } from './normalisation.ts';
import { POWER_AVERAGE_POOLING } from './power-average-pooling.ts';
import { SAMPLING } from './sampling.ts';
import { TENSOR_FUNCTIONS } from './tensor-functions.ts';
import { UNPOOLING } from './unpooling.ts';

/** TorchScript texts of functions that are Python in PyTorch, by module. `f__0`, `f__1`, … are the overloads of `f`. */
export const FUNCTIONAL_SOURCES: Readonly<Record<string, string>> = {
  'torch.nn.functional': [
    ACTIVATIONS,
    NORMALISATION,
    LOSSES,
    SAMPLING,
    POWER_AVERAGE_POOLING,
    UNPOOLING,
    EMBEDDING,
    ATTENTION,
  ].join(''),
  'torch.nn._reduction': REDUCTIONS,
  'torch.nn.init': INITIALISATION,
  'torch.functional': TENSOR_FUNCTIONS,
  'torch._linalg_utils': LINALG_UTILS,
  'torch._lowrank': LOW_RANK,
  // What is scripted is not traced.
  'torch.jit._trace': 'def is_tracing() -> bool:\n    return False\n',
  'torch.autograd.grad_mode': GRAD_MODE,
  'torch.jit': STRICT_FUSION,
  'torch.autograd.profiler': RECORD_FUNCTION,
  'torch.amp.autocast_mode': AUTOCAST,
  'torch.cuda.amp.autocast_mode': CUDA_AUTOCAST,
  'torch.cpu.amp.autocast_mode': CPU_AUTOCAST,
};

/** Classes that have other names besides that of their module. */
export const LIBRARY_ALIASES: Readonly<Record<string, string>> = {
  'torch.nn.functional.threshold': 'torch.nn.functional._threshold',
  'torch.no_grad': 'torch.autograd.grad_mode.no_grad',
  'torch.autograd.no_grad': 'torch.autograd.grad_mode.no_grad',
  'torch.profiler.record_function': 'torch.autograd.profiler.record_function',
  'torch.autocast': 'torch.amp.autocast_mode.autocast',
  'torch.amp.autocast': 'torch.amp.autocast_mode.autocast',
  'torch.cuda.amp.autocast': 'torch.cuda.amp.autocast_mode.autocast',
  'torch.cpu.amp.autocast': 'torch.cpu.amp.autocast_mode.autocast',
};

/** Functions that are one of two by the constant value of an argument (PyTorch: boolean_dispatch). */
export const BOOLEAN_DISPATCHED: Readonly<Record<string, Dispatch>> = {
  ...inModule('torch.nn.functional', [1, 2, 3].flatMap(poolings)),
  ...inModule('torch.functional', [
    ['unique', [2, 'return_inverse', '_return_inverse_true', '_return_inverse_false']],
    ['_return_inverse_true', [3, 'return_counts', '_return_inverse_and_counts', '_return_inverse']],
    ['_return_inverse_false', [3, 'return_counts', '_return_counts', '_return_output']],
    // The positions are PyTorch's, which has the two arguments of this one in the other order.
    [
      'unique_consecutive',
      [2, 'return_inverse', '_consecutive_return_inverse_true', '_consecutive_return_inverse_false'],
    ],
    [
      '_consecutive_return_inverse_true',
      [1, 'return_counts', '_consecutive_return_inverse_and_counts', '_consecutive_return_inverse'],
    ],
    [
      '_consecutive_return_inverse_false',
      [1, 'return_counts', '_consecutive_return_counts', '_consecutive_return_output'],
    ],
    ['lu', [2, 'get_infos', '_lu_with_infos', '_lu_no_infos']],
  ]),
};

function poolings(dims: number): [string, Dispatch][] {
  const forms: [string, number][] = [
    [`max_pool${dims}d`, 6],
    [`adaptive_max_pool${dims}d`, 2],
  ];
  if (dims > 1) forms.push([`fractional_max_pool${dims}d`, 4]);
  return forms.map(([name, position]) => [name, [position, 'return_indices', `${name}_with_indices`, `_${name}`]]);
}

function inModule(module: string, functions: readonly [string, Dispatch][]): Record<string, Dispatch> {
  return Object.fromEntries(
    functions.map(([name, [position, argument, whenTrue, whenFalse]]) => [
      `${module}.${name}`,
      [position, argument, `${module}.${whenTrue}`, `${module}.${whenFalse}`],
    ]),
  );
}
