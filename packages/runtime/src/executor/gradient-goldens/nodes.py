"""What the frontend does not write: graphs as text, in which passes and profiling have been."""

TENSOR = 'Float(4, 6, requires_grad=1, device=cpu)'
LIST = 'Tensor[]'


def of(inputs: str, body: str, outputs: str) -> str:
    lines = '\n'.join(f'  {line.strip()}' for line in body.strip().split('\n'))
    return f'graph({inputs}):\n{lines}\n  return ({outputs})\n'


GRAPHS = {
    'chunks': of(
        f'%x : {TENSOR}',
        '%a : Tensor, %b : Tensor, %c : Tensor = prim::ConstantChunk[chunks=3, dim=1](%x)\n%r : Tensor = aten::mul(%a, %b)',
        '%r, %c',
    ),
    'profiled': of(
        '%x : Tensor',
        '%p : Tensor = prim::profile[profiled_type=Float(4, 6, requires_grad=1), seen_none=0](%x)\n'
        '%r : Tensor = aten::exp(%p)\n'
        '%q : Tensor = prim::profile[profiled_type=Float(4, 6, requires_grad=0), seen_none=0](%r)',
        '%q',
    ),
    'gradients added': of(
        '%x : Tensor, %y : Tensor', '%s : Tensor = prim::AutogradAdd(%x, %y)\n%r : Tensor = aten::tanh(%s)', '%r'
    ),
    'zero': of(
        '%x : Tensor', '%z : Tensor = prim::AutogradZero()\n%s : Tensor = prim::AutogradAdd(%x, %z)', '%s'
    ),
    'concatenation': of(
        f'%x : {LIST}, %y : Tensor',
        '%1 : int = prim::Constant[value=1]()\n%c : Tensor = aten::cat(%x, %1)\n%r : Tensor = aten::mul(%c, %y)',
        '%r',
    ),
    'stack': of(
        f'%x : {LIST}', '%1 : int = prim::Constant[value=1]()\n%r : Tensor = aten::stack(%x, %1)', '%r'
    ),
    'split': of(
        '%x : Tensor',
        '%1 : int = prim::Constant[value=1]()\n%2 : int = prim::Constant[value=2]()\n'
        '%e : Tensor = aten::exp(%x)\n%r : Tensor[] = aten::split(%e, %2, %1)',
        '%r',
    ),
    'unbind': of(
        '%x : Tensor', '%1 : int = prim::Constant[value=1]()\n%r : Tensor[] = aten::unbind(%x, %1)', '%r'
    ),
    'meshgrid': of(f'%x : {LIST}', '%r : Tensor[] = aten::meshgrid(%x)', '%r'),
    'index': of('%x : Tensor, %i : Tensor[]', '%r : Tensor = aten::index(%x, %i)', '%r'),
    'to a device': of(
        '%x : Tensor, %d : Device?, %t : int?',
        '%f : bool = prim::Constant[value=0]()\n%r : Tensor = aten::to(%x, %d, %t, %f, %f)',
        '%r',
    ),
    'autocast': of(
        '%x : Tensor',
        '%f : bool = prim::Constant[value=0]()\n%t : bool = prim::Constant[value=1]()\n%5 : int = prim::Constant[value=5]()\n'
        '%15 : int = prim::Constant[value=15]()\n'
        '%a : Tensor = aten::_autocast_to_reduced_precision(%x, %f, %t, %5, %15)\n'
        '%r : Tensor = aten::_autocast_to_full_precision(%a, %f, %t)',
        '%r',
    ),
    'batch norm with its statistics': of(
        '%x : Tensor, %w : Tensor, %b : Tensor',
        '%n : NoneType = prim::Constant()\n%t : bool = prim::Constant[value=1]()\n%m : float = prim::Constant[value=0.1]()\n'
        '%e : float = prim::Constant[value=1e-05]()\n'
        '%r : Tensor, %mean : Tensor, %std : Tensor = aten::native_batch_norm(%x, %w, %b, %n, %n, %t, %m, %e)',
        '%r',
    ),
    'loss': of(
        '%x : Tensor, %t : Long(4, requires_grad=0)',
        '%n : NoneType = prim::Constant()\n%1 : int = prim::Constant[value=1]()\n%i : int = prim::Constant[value=-100]()\n'
        '%r : Tensor = aten::nll_loss(%x, %t, %n, %1, %i)',
        '%r',
    ),
    'sum to a size': of(
        '%x : Tensor, %s : int[]?', '%e : Tensor = aten::exp(%x)\n%r : Tensor = aten::_grad_sum_to_size(%e, %s)', '%r'
    ),
    'sizes known': of(
        f'%x : {TENSOR}, %y : Float(6, requires_grad=1, device=cpu), %w : float',
        '%l : Float(4, 6, requires_grad=1, device=cpu) = aten::lerp(%x, %y, %w)',
        '%l',
    ),
    'embedding': of(
        '%w : Tensor, %i : Long(2, requires_grad=0)',
        '%f : bool = prim::Constant[value=0]()\n%1 : int = prim::Constant[value=-1]()\n'
        '%r : Tensor = aten::embedding(%w, %i, %1, %f, %f)',
        '%r',
    ),
    'dropout that asks whether it trains': of(
        '%x : Tensor, %p : float, %train : bool',
        '%a : Tensor = aten::tanh(%x)\n%r : Tensor = aten::dropout(%a, %p, %train)',
        '%r',
    ),
}
