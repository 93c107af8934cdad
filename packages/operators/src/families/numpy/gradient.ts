import { decomposed, declared } from '../../table/builders.ts';
import type { OperatorRow } from '../../table/row.ts';

/** Finite differences (ATen/native/ReduceOps.cpp: gradient). dtype 0 is uint8. */

const CHECKED = `
def checked_dims(self: Tensor, dim: Optional[List[int]], spacings: int, edge_order: int) -> List[int]:
    assert self.dtype != 0, "torch.gradient does not support uint8 input."
    if spacings >= 0:
        if dim is None:
            assert spacings == 1 or spacings == self.dim(), f"torch.gradient expected spacing to be unspecified, a scalar or a list of length equal to 'self.dim() = {self.dim()}', since dim argument was not given, but got a list of length {spacings}"
        else:
            assert spacings == len(dim), f"torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the same length, but got a spacing argument of length {spacings} and a dim argument of length {len(dim)}."
    assert edge_order == 1 or edge_order == 2, "torch.gradient only supports edge_order=1 and edge_order=2."
    dims: List[int] = list(range(self.dim())) if dim is None else dim
    wrapped: List[int] = []
    for d in dims:
        size = self.size(d)
        w = d if d >= 0 else d + self.dim()
        assert w not in wrapped, f"dim {w} appears multiple times in the list of dims"
        wrapped.append(w)
        if dim is not None:
            assert size >= edge_order + 1, "torch.gradient expected each dimension size to be at least edge_order+1"
    for w in wrapped:
        assert self.size(w) >= edge_order + 1, "torch.gradient expected each dimension size to be at least edge_order+1"
    return wrapped
`;

const EVENLY = `
def evenly(self: Tensor, dims: List[int], spacing: List[number], edge_order: int) -> List[Tensor]:
    result: List[Tensor] = []
    for at in range(len(dims)):
        d = dims[at]
        h = spacing[at if len(spacing) > 1 else 0]
        n = self.size(d)
        if edge_order == 1:
            first = (torch.narrow(self, d, 1, 1) - torch.narrow(self, d, 0, 1)) / h
            last = (torch.narrow(self, d, n - 1, 1) - torch.narrow(self, d, n - 2, 1)) / h
        else:
            first = (torch.narrow(self, d, 1, 1) * 4 - torch.narrow(self, d, 0, 1) * 3 - torch.narrow(self, d, 2, 1)) / (h * 2)
            last = (torch.narrow(self, d, n - 1, 1) * 3 - torch.narrow(self, d, n - 2, 1) * 4 + torch.narrow(self, d, n - 3, 1)) / (h * 2)
        centre = (torch.narrow(self, d, 2, n - 2) - torch.narrow(self, d, 0, n - 2)) / h
        result.append(torch.cat([first, centre / 2, last], d))
    return result
`;

const BY_COORDINATES = `
def by_coordinates(self: Tensor, dims: List[int], spacing: List[Tensor], edge_order: int) -> List[Tensor]:
    result: List[Tensor] = []
    for at in range(len(dims)):
        d = dims[at]
        points = spacing[at if len(spacing) > 1 else 0]
        assert points.dim() == 1, f"torch.gradient expected each element of spacing to have one dimension, but got an element with {points.dim()} dimensions!"
        n = self.size(d)
        h = torch.diff(points, 1, 0)
        before = torch.narrow(h, 0, 0, n - 2)
        after = torch.narrow(h, 0, 1, n - 2)
        shape = [1] * self.dim()
        shape[d] = n - 2
        a = torch.reshape(-after / (before * (before + after)), shape)
        b = torch.reshape((after - before) / (before * after), shape)
        c = torch.reshape(before / (after * (before + after)), shape)
        centre = a * torch.narrow(self, d, 0, n - 2) + b * torch.narrow(self, d, 1, n - 2) + c * torch.narrow(self, d, 2, n - 2)
        h0 = h[0]
        h2 = h[n - 2]
        if edge_order == 1:
            first = (torch.narrow(self, d, 1, 1) - torch.narrow(self, d, 0, 1)) / h0
            last = (torch.narrow(self, d, n - 1, 1) - torch.narrow(self, d, n - 2, 1)) / h2
        else:
            h1 = h[1]
            first = torch.narrow(self, d, 0, 1) * (-(2 * h0 + h1) / (h0 * (h0 + h1))) + torch.narrow(self, d, 1, 1) * ((h0 + h1) / (h0 * h1)) + torch.narrow(self, d, 2, 1) * (-h0 / (h1 * (h0 + h1)))
            h1 = h[n - 3]
            last = torch.narrow(self, d, n - 3, 1) * (h2 / (h1 * (h2 + h1))) + torch.narrow(self, d, n - 2, 1) * (-(h2 + h1) / (h2 * h1)) + torch.narrow(self, d, n - 1, 1) * ((2 * h2 + h1) / (h2 * (h2 + h1)))
        result.append(torch.cat([first, centre, last], d))
    return result
`;

const overNumbers = (schema: string, params: string, dim: string, spacing: string): OperatorRow =>
  decomposed(
    schema,
    `
def gradient(self: Tensor, ${params}, edge_order: int) -> List[Tensor]:
    dims = checked_dims(self, ${dim}, -1, edge_order)
    return evenly(self, dims, [${spacing}], edge_order)
${CHECKED}${EVENLY}
def one() -> number:
    return 1
`,
  );

const overTensors = (schema: string, params: string, dim: string): OperatorRow =>
  decomposed(
    schema,
    `
def gradient(self: Tensor, spacing: List[Tensor], ${params}, edge_order: int) -> List[Tensor]:
    dims = checked_dims(self, ${dim}, len(spacing), edge_order)
    return by_coordinates(self, dims, spacing, edge_order)
${CHECKED}${BY_COORDINATES}`,
  );

export const gradientRows: readonly OperatorRow[] = [
  overNumbers(
    'aten::gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) -> Tensor[]',
    'spacing: Optional[number], dim: Optional[int]',
    'None if dim is None else [dim]',
    '1 if spacing is None else spacing',
  ),
  overNumbers(
    'aten::gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> Tensor[]',
    'spacing: number, dim: List[int]',
    'dim',
    'spacing',
  ),
  overNumbers(
    'aten::gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]',
    'dim: List[int]',
    'dim',
    'one()',
  ),
  // No list of TorchScript is a `Scalar[]`: these two can be named in messages, but never called.
  declared(
    'aten::gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int edge_order=1) -> Tensor[]',
  ),
  declared('aten::gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1) -> Tensor[]'),
  overTensors(
    'aten::gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int edge_order=1) -> Tensor[]',
    'dim: Optional[int]',
    'None if dim is None else [dim]',
  ),
  overTensors(
    'aten::gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1) -> Tensor[]',
    'dim: List[int]',
    'dim',
  ),
];
