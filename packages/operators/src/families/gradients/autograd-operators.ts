import type { Tensor } from '@cresset/tensor';
import { declared, property } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';

const toSweep = 'bool? retain_graph=None, bool create_graph=False';

const asked: readonly OperatorRow[] = [
  `aten::backward(Tensor self, Tensor? gradient=None, ${toSweep}) -> ()`,
  `aten::backward.TensorList(Tensor[] tensors, Tensor?[]? grad_tensors=None, ${toSweep}) -> ()`,
  `aten::_backward(Tensor self, Tensor[] inputs, Tensor? gradient=None, ${toSweep}) -> ()`,
  'aten::retain_grad(Tensor(a!) self) -> ()',
].map((schema) => ({ ...declared(schema), hasSideEffects: true }));

/** It only answers: where nobody uses the gradients it goes, as in PyTorch. */
const grad = declared(
  `aten::grad(Tensor[] outputs, Tensor[] inputs, Tensor?[]? grad_outputs=None, ${toSweep}, bool allow_unused=False) -> Tensor?[]`,
);

/** What programs ask of autograd itself; whoever records a run answers. */
export const autogradRows: readonly OperatorRow[] = [
  ...asked,
  grad,
  property<{ self: Tensor; requires_grad: boolean }>(
    'aten::requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)',
    ({ self, requires_grad: requiresGrad }) => Object.assign(self, { requiresGrad }),
  ),
];
