/** The forms of `unique` by what they give beside the values; which one is called follows from constant arguments. */
const uniqueForm = (name: string, params: string, args: string, impl: string, result: string, type: string): string => `
def ${name}(input: Tensor, ${params}return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None) -> ${type}:
    output, inverse, counts = ${impl}(input, ${args}return_inverse, return_counts, dim)
    return ${result}
`;

const UNIQUE_FORMS = [
  ['output', 'output', 'Tensor'],
  ['inverse', 'output, inverse', 'Tuple[Tensor, Tensor]'],
  ['counts', 'output, counts', 'Tuple[Tensor, Tensor]'],
  ['inverse_and_counts', 'output, inverse, counts', 'Tuple[Tensor, Tensor, Tensor]'],
].flatMap(([name, result, type]) => [
  uniqueForm(`_return_${name}`, 'sorted: bool = True, ', 'sorted, ', '_unique_impl', result!, type!),
  uniqueForm(`_consecutive_return_${name}`, '', '', '_unique_consecutive_impl', result!, type!),
]);

/** The overloads of `norm`: `p` is a name or a number, `dim` one dimension or several. */
const NORM_FORMS = (
  [
    ['str = "fro"', 'List[int]'],
    ['Optional[number]', 'List[int]'],
    ['Optional[number]', 'int'],
    ['str = "fro"', 'int'],
  ] as const
).map(([p, dim], at) => {
  const isNamed = p.startsWith('str');
  const lines = [
    `def norm__${at}(input: Tensor, p: ${p}, dim: Optional[${dim}] = None, keepdim: bool = False, out: Optional[Tensor] = None, dtype: Optional[int] = None) -> Tensor:`,
    dim === 'int' ? '    dims = None if dim is None else [dim]' : '    dims = dim',
    isNamed ? '    if p == "fro" and (dims is None or len(dims) <= 2):' : '    order = 2.0 if p is None else p',
    ...normCalls(isNamed ? '        ' : '    ', 'vector_norm', isNamed ? '2' : 'order', 'dims'),
    ...(isNamed
      ? [
          '    every = list(range(input.dim())) if dims is None else dims',
          ...normCalls('    ', 'matrix_norm', 'p', 'every'),
        ]
      : []),
  ];
  return `\n${lines.join('\n')}\n`;
});

/** A norm into `out`, where it is given. */
function normCalls(indent: string, fn: string, order: string, dims: string): string[] {
  const call = `torch.linalg.${fn}(input, ${order}, ${dims}, keepdim, dtype=dtype`;
  return [`${indent}if out is None:`, `${indent}    return ${call})`, `${indent}return ${call}, out=out)`];
}

/** Functions of `torch.functional`, which `torch` shows under its own name. */
export const TENSOR_FUNCTIONS = `
def stft(input: Tensor, n_fft: int, hop_length: Optional[int] = None, win_length: Optional[int] = None, window: Optional[Tensor] = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: Optional[bool] = None, return_complex: Optional[bool] = None, align_to_window: Optional[bool] = None) -> Tensor:
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if center:
        signal_dim = input.dim()
        extended_shape = [1] * (3 - signal_dim) + list(input.size())
        pad = int(n_fft // 2)
        input = torch.nn.functional.pad(input.view(extended_shape), [pad, pad], pad_mode)
        input = input.view(input.shape[-signal_dim:])
    return torch._VF.stft(input, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window)

def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    if compute_mode == "use_mm_for_euclid_dist_if_necessary":
        return torch._VF.cdist(x1, x2, p, None)
    elif compute_mode == "use_mm_for_euclid_dist":
        return torch._VF.cdist(x1, x2, p, 1)
    elif compute_mode == "donot_use_mm_for_euclid_dist":
        return torch._VF.cdist(x1, x2, p, 2)
    else:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")

def tensordot__0(a: Tensor, b: Tensor, dims: int = 2, out: Optional[Tensor] = None) -> Tensor:
    if dims < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
    if dims > min(a.dim(), b.dim()):
        raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
    dims_a: List[int] = []
    dims_b: List[int] = []
    for d in range(dims):
        dims_a.append(d - dims)
        dims_b.append(d)
    if out is not None:
        return torch._VF.tensordot(a, b, dims_a, dims_b, out=out)
    return torch._VF.tensordot(a, b, dims_a, dims_b)

def tensordot__1(a: Tensor, b: Tensor, dims: Tuple[List[int], List[int]], out: Optional[Tensor] = None) -> Tensor:
    if out is not None:
        return torch._VF.tensordot(a, b, dims[0], dims[1], out=out)
    return torch._VF.tensordot(a, b, dims[0], dims[1])

def tensordot__2(a: Tensor, b: Tensor, dims: List[List[int]], out: Optional[Tensor] = None) -> Tensor:
    if out is not None:
        return torch._VF.tensordot(a, b, dims[0], dims[1], out=out)
    return torch._VF.tensordot(a, b, dims[0], dims[1])

def tensordot__3(a: Tensor, b: Tensor, dims: Tensor, out: Optional[Tensor] = None) -> Tensor:
    if dims.numel() == 1:
        return tensordot__0(a, b, int(dims.item()), out)
    pairs: List[List[int]] = dims.tolist()
    if out is not None:
        return torch._VF.tensordot(a, b, pairs[0], pairs[1], out=out)
    return torch._VF.tensordot(a, b, pairs[0], pairs[1])

def _unique_impl(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None) -> Tuple[Tensor, Tensor, Tensor]:
    if dim is not None:
        output, inverse, counts = torch._VF.unique_dim(input, dim, sorted, return_inverse, return_counts)
    else:
        output, inverse, counts = torch._unique2(input, sorted, return_inverse, return_counts)
    return output, inverse, counts

def _unique_consecutive_impl(input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: Optional[int] = None) -> Tuple[Tensor, Tensor, Tensor]:
    output, inverse, counts = torch._VF.unique_consecutive(input, return_inverse, return_counts, dim)
    return output, inverse, counts
${UNIQUE_FORMS.join('')}
def _check_list_size(out_len: int, get_infos: bool, out: List[Tensor]) -> None:
    count = 3 if get_infos else 2
    if out_len != count:
        raise TypeError(f"expected tuple of {count} elements but got {out_len}")

def _lu_impl(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Tuple[Tensor, Tensor, Tensor]:
    return torch._lu_with_info(A, pivot, not get_infos)

def _lu_with_infos(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Optional[Tuple[Tensor, Tensor, Tensor]] = None) -> Tuple[Tensor, Tensor, Tensor]:
    factors, pivots, infos = _lu_impl(A, pivot, get_infos, None)
    if out is not None:
        out[0].resize_as_(factors).copy_(factors)
        out[1].resize_as_(pivots).copy_(pivots)
        out[2].resize_as_(infos).copy_(infos)
        return out
    return factors, pivots, infos

def _lu_no_infos(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Optional[Tuple[Tensor, Tensor]] = None) -> Tuple[Tensor, Tensor]:
    factors, pivots, _ = _lu_impl(A, pivot, get_infos, None)
    if out is not None:
        out[0].resize_as_(factors).copy_(factors)
        out[1].resize_as_(pivots).copy_(pivots)
        return out
    return factors, pivots
${NORM_FORMS.join('')}`;
