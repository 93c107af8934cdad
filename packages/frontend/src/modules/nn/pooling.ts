import { layer, refusals } from './layer-text.ts';

/** Pooling and padding (PyTorch: torch/nn/modules/pooling.py and padding.py), of one to three dimensions. */

const TUPLE: Readonly<Record<number, string>> = { 1: '_single', 2: '_pair', 3: '_triple' };
const WINDOW = 'kernel_size, stride=None, padding=0';
const STRIDE = 'kernel_size if stride is None else stride';

/** A class whose base class keeps all that it is given. */
const derived = (name: string, base: string, expression: string, returns = ' -> Tensor'): string =>
  layer(name, '', expression, { base, constants: [], returns });

const maxPool = (n: number): string =>
  derived(
    `MaxPool${n}d`,
    '_MaxPoolNd',
    `F.max_pool${n}d(input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode, return_indices=self.return_indices)`,
    '',
  );

/** What is kept of a window. @param as the function that makes tuples of its sizes, where they become such */
const windowOf = (as = ''): readonly string[] => {
  const sizes = { kernel_size: 'kernel_size', stride: STRIDE, padding: 'padding' };
  return Object.entries(sizes).map(([name, size]) => `${name} = ${as === '' ? size : `${as}(${size})`}`);
};

const unpool = (n: number): string =>
  layer(
    `MaxUnpool${n}d`,
    WINDOW,
    `F.max_unpool${n}d(input, indices, self.kernel_size, self.stride, self.padding, output_size)`,
    {
      base: '_MaxUnpoolNd',
      inputs: 'input: Tensor, indices: Tensor, output_size: Optional[List[int]] = None',
      constants: [],
      keeps: windowOf(TUPLE[n]),
    },
  );

const averagePool = (n: number): string => {
  const own = n === 1 ? [] : ['divisor_override'];
  const names = ['ceil_mode', 'count_include_pad', ...own];
  const passed = ['kernel_size', 'stride', 'padding', ...names].map((name) => `self.${name}`).join(', ');
  return layer(
    `AvgPool${n}d`,
    [WINDOW, 'ceil_mode: bool = False', 'count_include_pad: bool = True', ...own.map((name) => `${name}=None`)].join(
      ', ',
    ),
    `F.avg_pool${n}d(input, ${passed})`,
    {
      base: '_AvgPoolNd',
      constants: ['kernel_size', 'stride', 'padding', ...names],
      keeps: [...windowOf(n === 1 ? '_single' : ''), ...names],
    },
  );
};

const fractional = (n: number): string =>
  layer(
    `FractionalMaxPool${n}d`,
    'kernel_size, output_size=None, output_ratio=None, return_indices: bool = False, _random_samples=None',
    `F.fractional_max_pool${n}d(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, _random_samples=self._random_samples)`,
    {
      returns: '',
      constants: ['kernel_size', 'return_indices', 'output_size', 'output_ratio'],
      checks: refusals(
        [
          'output_size is None and output_ratio is None',
          `'FractionalMaxPool${n}d requires specifying either an output size, or a pooling ratio'`,
        ],
        ['None not in (output_size, output_ratio)', "'only one of output_size and output_ratio may be specified'"],
        [
          `output_ratio is not None and not all(0 < each < 1 for each in ${TUPLE[n]}(output_ratio))`,
          "f'output_ratio must be between 0 and 1 (got {output_ratio})'",
        ],
      ),
      keeps: [
        `kernel_size = ${TUPLE[n]}(kernel_size)`,
        'return_indices',
        ...['output_size', 'output_ratio'].map((name) => `${name} = None if ${name} is None else ${TUPLE[n]}(${name})`),
      ],
      made: "        self.register_buffer('_random_samples', _random_samples)\n",
    },
  );

const powerPool = (n: number): string =>
  derived(
    `LPPool${n}d`,
    '_LPPoolNd',
    `F.lp_pool${n}d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)`,
  );

const adaptive = (n: number): string =>
  derived(
    `AdaptiveMaxPool${n}d`,
    '_AdaptiveMaxPoolNd',
    `F.adaptive_max_pool${n}d(input, self.output_size, self.return_indices)`,
    '',
  ) + derived(`AdaptiveAvgPool${n}d`, '_AdaptiveAvgPoolNd', `F.adaptive_avg_pool${n}d(input, self.output_size)`);

const MAX_POOL = ['kernel_size', 'stride', 'padding', 'dilation', 'return_indices', 'ceil_mode'];

export const POOLING = `${layer(
  '_MaxPoolNd',
  `${WINDOW}, dilation=1, return_indices: bool = False, ceil_mode: bool = False`,
  undefined,
  {
    constants: MAX_POOL,
    keeps: MAX_POOL.map((name) => (name === 'stride' ? `stride = ${STRIDE}` : name)),
  },
)}
class _MaxUnpoolNd(Module):
    pass

class _AvgPoolNd(Module):
    pass
${layer('_LPPoolNd', 'norm_type: float, kernel_size, stride=None, ceil_mode: bool = False')}${layer('_AdaptiveMaxPoolNd', 'output_size, return_indices: bool = False')}${layer('_AdaptiveAvgPoolNd', 'output_size')}${[1, 2, 3].map((n) => maxPool(n) + unpool(n) + averagePool(n) + powerPool(n) + adaptive(n)).join('')}${fractional(2)}${fractional(3)}`;

/** Padding of two sizes a dimension. */
const padded = (kind: string, base: string, n: number, methods = ''): string =>
  layer(`${kind}Pad${n}d`, 'padding', undefined, {
    base,
    constants: [],
    keeps: [`padding = _ntuple(${2 * n})(padding)`],
    methods,
  });

const padBase = (name: string, mode: string, checks = ''): string =>
  layer(name, '', undefined, {
    constants: ['padding'],
    methods: `
    def forward(self, input: Tensor) -> Tensor:
${checks}        return F.pad(input, self.padding, '${mode}')
`,
  });

const circular = (n: number): string =>
  padded(
    'Circular',
    '_CircularPadNd',
    n,
    `
    def _check_input_dim(self, input):
        if input.dim() != ${n + 1} and input.dim() != ${n + 2}:
            raise ValueError(f'expected ${n + 1}D or ${n + 2}D input (got {input.dim()}D input)')
`,
  );

const constant = (n: number): string =>
  layer(`ConstantPad${n}d`, 'padding, value: float', undefined, {
    base: '_ConstantPadNd',
    constants: [],
    handedOn: 'value',
    keeps: [`padding = _ntuple(${2 * n})(padding)`],
  }) +
  layer(`ZeroPad${n}d`, 'padding', undefined, {
    base: `ConstantPad${n}d`,
    constants: [],
    handedOn: 'padding, 0.0',
    keeps: [],
  });

export const PADDING = [
  padBase('_CircularPadNd', 'circular', '        self._check_input_dim(input)\n'),
  padBase('_ReflectionPadNd', 'reflect'),
  padBase('_ReplicationPadNd', 'replicate'),
  layer('_ConstantPadNd', 'value: float', "F.pad(input, self.padding, 'constant', self.value)", {
    constants: ['padding', 'value'],
  }),
  ...[1, 2, 3].flatMap((n) => [
    circular(n),
    constant(n),
    padded('Reflection', '_ReflectionPadNd', n),
    padded('Replication', '_ReplicationPadNd', n),
  ]),
].join('');
