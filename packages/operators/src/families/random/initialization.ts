import { decomposed } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';

/** What `torch.nn.init` fills parameters with. */
export const initializationRows: readonly OperatorRow[] = [
  decomposed(
    'aten::_no_grad_fill_(Tensor(a!) tensor, float val) -> Tensor(a!)',
    `
def _no_grad_fill_(tensor: Tensor, val: float) -> Tensor:
    return torch.fill_(tensor, val)
`,
  ),
  decomposed(
    'aten::_no_grad_zero_(Tensor(a!) tensor) -> Tensor(a!)',
    `
def _no_grad_zero_(tensor: Tensor) -> Tensor:
    return torch.zero_(tensor)
`,
  ),
  decomposed(
    'aten::_no_grad_uniform_(Tensor(a!) tensor, float a, float b, Generator? generator=None) -> Tensor(a!)',
    `
def _no_grad_uniform_(tensor: Tensor, a: float, b: float, generator: Optional[Generator]) -> Tensor:
    return torch.uniform_(tensor, a, b, generator=generator)
`,
  ),
  decomposed(
    'aten::_no_grad_normal_(Tensor(a!) tensor, float mean, float std, Generator? generator=None) -> Tensor(a!)',
    `
def _no_grad_normal_(tensor: Tensor, mean: float, std: float, generator: Optional[Generator]) -> Tensor:
    return torch.normal_(tensor, mean, std, generator=generator)
`,
  ),
];
