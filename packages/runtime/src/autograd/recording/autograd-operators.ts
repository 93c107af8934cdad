import { OptionalType, TensorType } from '@cresset/ir';
import { OperatorError } from '@cresset/operators';
import { List, type IValue, type Tensor } from '@cresset/tensor';
import type { Invocation } from '../../dispatch/dispatch.ts';
import type { Execution } from '../../run/execution.ts';
import { differentiate } from '../differentiate.ts';
import { gradientEdge } from './record.ts';
import { forgetHistory, historyOf, isDifferentiable, requiresGrad, versionOf } from './tensor-history.ts';

type AutogradOperator = (args: readonly IValue[], execution: Execution) => Invocation;

/** An operator that answers at once, of one tensor. */
const of =
  (answer: (tensor: Tensor, ...args: IValue[]) => IValue): AutogradOperator =>
  (args) => [answer(...(args as [Tensor]))];

export const isLeaf = (tensor: Tensor): boolean =>
  !requiresGrad(tensor) || gradientEdge(tensor)?.node.name === 'AccumulateGrad';

/** Errors are those of operators, which are not always those of Python's functions. */
const isOfProgram = true;

/** Operators that ask or change what autograd knows, by name. */
export const autogradOperators: Readonly<Record<string, AutogradOperator>> = {
  'prim::requires_grad': of(requiresGrad),
  'aten::is_leaf': of(isLeaf),
  'aten::retains_grad': of((tensor) => historyOf(tensor).retainsGrad),
  'aten::_version': of((tensor) => BigInt(versionOf(tensor))),
  'aten::output_nr': of((tensor) => BigInt(gradientEdge(tensor)?.output ?? 0)),
  'aten::requires_grad_': of((tensor, required) => {
    // What is computed of something that requires a gradient does so anyway.
    if (!isLeaf(tensor) && required === false) {
      throw new OperatorError(
        "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach().",
      );
    }
    if (required !== false && !isDifferentiable(tensor)) {
      throw new OperatorError('Only Tensors of floating point and complex dtype can require gradients');
    }
    tensor.requiresGrad = required !== false;
    return tensor;
  }),
  'aten::detach_': of((tensor) => {
    if (historyOf(tensor).view) {
      throw new OperatorError(
        "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be called on these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution.",
      );
    }
    forgetHistory(tensor);
    tensor.requiresGrad = false;
    return tensor;
  }),
  'aten::retain_grad': ([tensor]) => {
    retainGrad(tensor as Tensor);
    return [];
  },
  'aten::backward': async ([self, gradient, retainGraph, createGraph], execution) => {
    await differentiate(
      {
        outputs: [self as Tensor],
        gradients: [gradient as Tensor | null],
        inputs: null,
        retainGraph,
        createGraph,
        isOfProgram,
      },
      execution,
    );
    return [];
  },
  'aten::backward.TensorList': async ([tensors, given, retainGraph, createGraph], execution) => {
    const outputs = (tensors as List).items as Tensor[];
    const gradients = given === null ? outputs.map(() => null) : ((given as List).items as (Tensor | null)[]);
    await differentiate({ outputs, gradients, inputs: null, retainGraph, createGraph, isOfProgram }, execution);
    return [];
  },
  'aten::_backward': async ([self, inputs, gradient, retainGraph, createGraph], execution) => {
    const leaves = (inputs as List).items as Tensor[];
    await differentiate(
      {
        outputs: [self as Tensor],
        gradients: [gradient as Tensor | null],
        inputs: null,
        leaves,
        retainGraph,
        createGraph,
        isOfProgram,
      },
      execution,
    );
    return [];
  },
  'aten::grad': async ([outputs, inputs, gradients, retainGraph, createGraph, allowUnused], execution) => {
    const roots = (outputs as List).items as Tensor[];
    const given = gradients === null ? roots.map(() => null) : ((gradients as List).items as (Tensor | null)[]);
    const wanted = (inputs as List).items as Tensor[];
    const task = {
      outputs: roots,
      gradients: given,
      inputs: wanted,
      retainGraph,
      createGraph,
      allowUnused,
      isOfProgram,
    };
    return [new List(OptionalType.create(TensorType.get()), await differentiate(task, execution))];
  },
};

/** Has a tensor that is no leaf keep its gradient (`Tensor.retain_grad`). */
export function retainGrad(tensor: Tensor): void {
  if (!requiresGrad(tensor)) throw new OperatorError("can't retain_grad on Tensor that has requires_grad=False");
  if (isLeaf(tensor)) return;
  const { node, output } = gradientEdge(tensor)!;
  node.retained.set(output, tensor);
  historyOf(tensor).retainsGrad = true;
}
