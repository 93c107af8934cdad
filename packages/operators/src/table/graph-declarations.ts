import type { OperatorRow } from './row.ts';

/**
 * Operators that no program calls and passes leave in graphs, or that graphs from elsewhere have: declared for whoever reads such
 * a graph and asks what its nodes alias, and for messages that name all forms of an operator. None of them runs.
 */
export const graphDeclarations: readonly OperatorRow[] = [
  'prim::VarConcat(...) -> Tensor',
  'prim::VarStack(...) -> Tensor',
  'prim::IfThenElse(bool cond, Any(a) x, Any(b) y) -> Any(b|a)',
  'prim::ReductionSizes(int[] size, int[] red_axes, bool keepdim=False) -> int[]',
  'prim::MKLDNNClamp(Tensor self) -> Tensor',
  'prim::MKLDNNClamp_(Tensor(a!) self) -> Tensor(a!)',
  'prim::MKLDNNHardSigmoid(Tensor a) -> Tensor',
  'prim::MKLDNNHardSigmoid_(Tensor(a!) self) -> Tensor(a!)',
  'prim::MKLDNNHardSwish(Tensor a) -> Tensor',
  'prim::MKLDNNHardSwish_(Tensor(a!) self) -> Tensor(a!)',
  'prim::MKLDNNHardTanh(Tensor self) -> Tensor',
  'prim::MKLDNNHardTanh_(Tensor(a!) self) -> Tensor(a!)',
  'prim::MKLDNNScalarMul(Tensor self, Scalar other) -> Tensor',
  'prim::MKLDNNScalarMul_(Tensor(a!) self, Scalar other) -> Tensor(a!)',
  'prim::mkldnn_convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups) -> Tensor',
].map((schema) => ({ schema }));
