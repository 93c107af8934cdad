import type { DtypeLimits } from '../../dispatch/dtype-refusals.ts';
import { castable, each, same } from '../../dispatch/writable-dtypes.ts';

const argument = same("Expected object of scalar type {want} but got scalar type {got} for argument 'out'");
const scalarTypeSnake = same('expected scalar_type {want} but found {got}');

/** Dtypes that PyTorch's kernels of this family refuse, to read and to write. */
export const numpyDtypes: DtypeLimits = {
  refused: [
    ['cdist', 'hb', 'cdist _cdist_forward', 'with elements'],
    ['pdist only supports floating-point dtypes', 'itc', 'pdist', 'after sizes'],
    ['pdist', 'hb', 'pdist', 'with elements'],
    ['cummax_cpu', 'c', 'cummax', 'with lines'],
    ['cummin_cpu', 'c', 'cummin', 'with lines'],
    ['logaddexp_cpu', 'it', 'logaddexp'],
    ['logaddexp2_cpu', 'it', 'logaddexp2'],
    ['logcumsumexp_out_cpu', 'it', 'logcumsumexp'],
    ['polar_cpu', 'h', 'polar'],
    ['xlog1py_cpu', 'c', 'special_xlog1py'],
    [
      'Expected both inputs to be Half, Float or Double tensors but got {D} and {D}',
      'itcb',
      'complex polar',
      'after sizes',
    ],
    ['heaviside is not yet implemented for complex tensors.', 'c', 'heaviside'],
  ],
  written: [
    ...each('complex polar', argument),
    ...each('logcumsumexp diff', scalarTypeSnake),
    ...each('ldexp', castable("ldexp can't be cast to the desired output type {got}")),
    ...each('ldexp_', { ...castable("ldexp can't be cast to the desired output type {got}"), isFirst: true }),
    ...each('heaviside', same('heaviside is not yet implemented for tensors with different dtypes.')),
  ],
};
