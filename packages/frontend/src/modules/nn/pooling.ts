const TUPLE: Readonly<Record<number, string>> = { 1: '_single', 2: '_pair', 3: '_triple', 4: '_quadruple' };
const WINDOW = ['kernel_size', 'stride', 'padding'];

const forward = (params: string, returns: string, expression: string): string => `
    def forward(self, ${params})${returns}:
        return ${expression}
`;

const maxPool = (n: number): string => `
class MaxPool${n}d(_MaxPoolNd):${forward('input: Tensor', '', `F.max_pool${n}d(input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode, return_indices=self.return_indices)`)}`;

const unpool = (n: number): string => `
class MaxUnpool${n}d(_MaxUnpoolNd):
    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        self.kernel_size = ${TUPLE[n]}(kernel_size)
        self.stride = ${TUPLE[n]}(stride if stride is not None else kernel_size)
        self.padding = ${TUPLE[n]}(padding)
${forward('input: Tensor, indices: Tensor, output_size: Optional[List[int]] = None', ' -> Tensor', `F.max_unpool${n}d(input, indices, self.kernel_size, self.stride, self.padding, output_size)`)}`;

const averagePool = (n: number): string => {
  const own = n === 1 ? '' : ', divisor_override=None';
  const keep = (name: string): string => (n === 1 ? `_single(${name})` : name);
  return `
class AvgPool${n}d(_AvgPoolNd):
    __constants__ = ['kernel_size', 'stride', 'padding', 'ceil_mode', 'count_include_pad'${n === 1 ? '' : ", 'divisor_override'"}]
    ceil_mode: bool
    count_include_pad: bool

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True${own}):
        super().__init__()
        self.kernel_size = ${keep('kernel_size')}
        self.stride = ${keep('(stride if stride is not None else kernel_size)')}
        self.padding = ${keep('padding')}
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
${n === 1 ? '' : '        self.divisor_override = divisor_override\n'}${forward('input: Tensor', ' -> Tensor', `F.avg_pool${n}d(input, ${WINDOW.map((name) => `self.${name}`).join(', ')}, self.ceil_mode, self.count_include_pad${n === 1 ? '' : ', self.divisor_override'})`)}`;
};

const fractional = (n: number): string => `
class FractionalMaxPool${n}d(Module):
    __constants__ = ['kernel_size', 'return_indices', 'output_size', 'output_ratio']
    return_indices: bool

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices: bool = False, _random_samples=None):
        super().__init__()
        self.kernel_size = ${TUPLE[n]}(kernel_size)
        self.return_indices = return_indices
        self.register_buffer('_random_samples', _random_samples)
        self.output_size = ${TUPLE[n]}(output_size) if output_size is not None else None
        self.output_ratio = ${TUPLE[n]}(output_ratio) if output_ratio is not None else None
        if output_size is None and output_ratio is None:
            raise ValueError('FractionalMaxPool${n}d requires specifying either an output size, or a pooling ratio')
        if output_size is not None and output_ratio is not None:
            raise ValueError('only one of output_size and output_ratio may be specified')
        if self.output_ratio is not None:
            if not all(0 < ratio < 1 for ratio in self.output_ratio):
                raise ValueError(f'output_ratio must be between 0 and 1 (got {output_ratio})')
${forward('input: Tensor', '', `F.fractional_max_pool${n}d(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, _random_samples=self._random_samples)`)}`;

const powerPool = (n: number): string => `
class LPPool${n}d(_LPPoolNd):${forward('input: Tensor', ' -> Tensor', `F.lp_pool${n}d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)`)}`;

const adaptive = (n: number): string => `
class AdaptiveMaxPool${n}d(_AdaptiveMaxPoolNd):${forward('input: Tensor', '', `F.adaptive_max_pool${n}d(input, self.output_size, self.return_indices)`)}
class AdaptiveAvgPool${n}d(_AdaptiveAvgPoolNd):${forward('input: Tensor', ' -> Tensor', `F.adaptive_avg_pool${n}d(input, self.output_size)`)}`;

export const POOLING = `
class _MaxPoolNd(Module):
    __constants__ = ['kernel_size', 'stride', 'padding', 'dilation', 'return_indices', 'ceil_mode']
    return_indices: bool
    ceil_mode: bool

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices: bool = False, ceil_mode: bool = False):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

class _MaxUnpoolNd(Module):
    pass

class _AvgPoolNd(Module):
    __constants__ = ['kernel_size', 'stride', 'padding', 'ceil_mode', 'count_include_pad']

class _LPPoolNd(Module):
    __constants__ = ['norm_type', 'kernel_size', 'stride', 'ceil_mode']
    norm_type: float
    ceil_mode: bool

    def __init__(self, norm_type: float, kernel_size, stride=None, ceil_mode: bool = False):
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

class _AdaptiveMaxPoolNd(Module):
    __constants__ = ['output_size', 'return_indices']
    return_indices: bool

    def __init__(self, output_size, return_indices: bool = False):
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

class _AdaptiveAvgPoolNd(Module):
    __constants__ = ['output_size']

    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size
${[1, 2, 3].map((n) => maxPool(n) + unpool(n) + averagePool(n) + powerPool(n) + adaptive(n)).join('')}${fractional(2)}${fractional(3)}`;

const padded = (kind: string, base: string, n: number): string => `
class ${kind}Pad${n}d(${base}):
    def __init__(self, padding):
        super().__init__()
        self.padding = _ntuple(${2 * n})(padding)
`;

const padBase = (name: string, mode: string, checks: boolean): string => `
class ${name}(Module):
    __constants__ = ['padding']

    def forward(self, input: Tensor) -> Tensor:
${checks ? '        self._check_input_dim(input)\n' : ''}        return F.pad(input, self.padding, '${mode}')
`;

const circular = (n: number): string => `${padded('Circular', '_CircularPadNd', n)}
    def _check_input_dim(self, input):
        if input.dim() != ${n + 1} and input.dim() != ${n + 2}:
            raise ValueError(f'expected ${n + 1}D or ${n + 2}D input (got {input.dim()}D input)')
`;

const constant = (n: number): string => `
class ConstantPad${n}d(_ConstantPadNd):
    def __init__(self, padding, value: float):
        super().__init__(value)
        self.padding = _ntuple(${2 * n})(padding)

class ZeroPad${n}d(ConstantPad${n}d):
    def __init__(self, padding):
        super().__init__(padding, 0.0)
`;

export const PADDING = `${padBase('_CircularPadNd', 'circular', true)}${padBase('_ReflectionPadNd', 'reflect', false)}${padBase('_ReplicationPadNd', 'replicate', false)}
class _ConstantPadNd(Module):
    __constants__ = ['padding', 'value']
    value: float

    def __init__(self, value: float):
        super().__init__()
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, 'constant', self.value)
${[1, 2, 3].map((n) => circular(n) + constant(n) + padded('Reflection', '_ReflectionPadNd', n) + padded('Replication', '_ReplicationPadNd', n)).join('')}`;
