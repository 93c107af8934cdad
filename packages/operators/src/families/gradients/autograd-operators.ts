import { declared } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';

const toSweep = 'bool? retain_graph=None, bool create_graph=False';

/** What programs ask of autograd itself; whoever records a run answers. */
export const autogradRows: readonly OperatorRow[] = [
  `aten::backward(Tensor self, Tensor? gradient=None, ${toSweep}) -> ()`,
  `aten::backward.TensorList(Tensor[] tensors, Tensor?[]? grad_tensors=None, ${toSweep}) -> ()`,
  `aten::_backward(Tensor self, Tensor[] inputs, Tensor? gradient=None, ${toSweep}) -> ()`,
  `aten::grad(Tensor[] outputs, Tensor[] inputs, Tensor?[]? grad_outputs=None, ${toSweep}, bool allow_unused=False) -> Tensor?[]`,
  'aten::retain_grad(Tensor(a!) self) -> ()',
].map((schema) => ({ ...declared(schema), hasSideEffects: true }));
