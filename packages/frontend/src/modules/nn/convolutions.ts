import { layer, refusals } from './layer-text.ts';
import { biasOf, resetByFans } from './parameters.ts';

/** Convolutions (PyTorch: torch/nn/modules/conv.py), of one to three dimensions. */

type Dimensions = 1 | 2 | 3;
const TUPLE = { 1: '_single', 2: '_pair', 3: '_triple' } as const;

const ONE = 'stride=1, padding=0';
const CHANNELS = 'in_channels: int, out_channels: int, kernel_size';
const REST = 'padding_mode: str = "zeros", device=None, dtype=None';
const ARGUMENTS = `${CHANNELS}, ${ONE}, dilation=1, groups: int = 1, bias: bool = True, ${REST}`;
const TRANSPOSED_ARGUMENTS = `${CHANNELS}, ${ONE}, output_padding=0, groups: int = 1, bias: bool = True, dilation=1, ${REST}`;

const BASE_ARGUMENTS =
  'in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups, bias, padding_mode, device=None, dtype=None';

const BASE = layer('_ConvNd', BASE_ARGUMENTS, undefined, {
  constants: 'stride padding dilation groups padding_mode output_padding in_channels out_channels kernel_size'.split(
    ' ',
  ),
  fields: [
    ...['in_channels', 'out_channels', 'groups'].map((name) => `${name}: int`),
    ...['kernel_size', 'stride', 'dilation', 'output_padding'].map((name) => `${name}: Tuple[int, ...]`),
    'padding: Union[str, Tuple[int, ...]]',
    'transposed: bool',
    'padding_mode: str',
    '_reversed_padding_repeated_twice: List[int]',
    'weight: Tensor',
    'bias: Optional[Tensor]',
  ],
  checks: refusals(
    ['groups <= 0', "'groups must be a positive integer'"],
    ['in_channels % groups', "'in_channels must be divisible by groups'"],
    ['out_channels % groups', "'out_channels must be divisible by groups'"],
    [
      "isinstance(padding, str) and padding not in ('same', 'valid')",
      `f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}"`,
    ],
    [
      "padding == 'same' and any(step != 1 for step in stride)",
      `"padding='same' is not supported for strided convolutions"`,
    ],
    [
      "padding_mode not in ('zeros', 'reflect', 'replicate', 'circular')",
      `f"padding_mode must be one of {{'zeros', 'reflect', 'replicate', 'circular'}}, but got padding_mode='{padding_mode}'"`,
    ],
  ),
  made: `        if isinstance(padding, str):
            # Of an odd number, one more stands at the end.
            wholes = [spread * (size - 1) if padding == 'same' else 0 for spread, size in zip(dilation, kernel_size)]
            around = [(whole // 2, whole - whole // 2) for whole in wholes]
        else:
            around = [(each, each) for each in padding]
        self._reversed_padding_repeated_twice = [each for sides in reversed(around) for each in sides]
        rows, columns = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        self.weight = Parameter(torch.empty((rows, columns // groups, *kernel_size), dtype=dtype))
${biasOf('out_channels')}        self.reset_parameters()
`,
  methods: resetByFans(' and 0 not in self.weight.shape'),
});

const TRANSPOSED_BASE = `
class _ConvTransposeNd(_ConvNd):
    def _output_padding(self, input: Tensor, output_size: Optional[List[int]], stride: List[int], padding: List[int], kernel_size: List[int], num_spatial_dims: int, dilation: Optional[List[int]] = None) -> List[int]:
        if output_size is None:
            ret = _single(self.output_padding)
        else:
            has_batch_dim = input.dim() == num_spatial_dims + 2
            num_non_spatial_dims = 2 if has_batch_dim else 1
            if len(output_size) == num_non_spatial_dims + num_spatial_dims:
                output_size = output_size[num_non_spatial_dims:]
            if len(output_size) != num_spatial_dims:
                raise ValueError(f"ConvTranspose{num_spatial_dims}D: for {input.dim()}D input, output_size must have {num_spatial_dims} or {num_non_spatial_dims + num_spatial_dims} elements (got {len(output_size)})")
            min_sizes = torch.jit.annotate(List[int], [])
            max_sizes = torch.jit.annotate(List[int], [])
            for d in range(num_spatial_dims):
                dim_size = (input.size(d + num_non_spatial_dims) - 1) * stride[d] - 2 * padding[d] + (dilation[d] if dilation is not None else 1) * (kernel_size[d] - 1) + 1
                min_sizes.append(dim_size)
                max_sizes.append(min_sizes[d] + stride[d] - 1)
            for i in range(len(output_size)):
                size = output_size[i]
                min_size = min_sizes[i]
                max_size = max_sizes[i]
                if size < min_size or size > max_size:
                    raise ValueError(f"requested an output size of {output_size}, but valid sizes range from {min_sizes} to {max_sizes} (for an input of {input.size()[2:]})")
            res = torch.jit.annotate(List[int], [])
            for d in range(num_spatial_dims):
                res.append(output_size[d] - min_sizes[d])
            ret = res
        return ret
`;

/** What `_ConvNd` is given. @param changed values besides those of the same names, and tuples of them */
const handedOn = (n: Dimensions, changed: Readonly<Record<string, string>>): string =>
  BASE_ARGUMENTS.split(', ')
    .map((argument) => argument.split('=')[0]!)
    .map((name) => changed[name] ?? (/_size|stride|dilation|padding$/.test(name) ? `${TUPLE[n]}(${name})` : name))
    .join(', ');

const plain = (n: Dimensions): string =>
  layer(`Conv${n}d`, ARGUMENTS, 'self._conv_forward(input, self.weight, self.bias)', {
    base: '_ConvNd',
    constants: [],
    keeps: [],
    handedOn: handedOn(n, {
      padding: `padding if isinstance(padding, str) else ${TUPLE[n]}(padding)`,
      transposed: 'False',
      output_padding: `${TUPLE[n]}(0)`,
    }),
    methods: `
    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Optional[Tensor]):
        if self.padding_mode != 'zeros':
            return F.conv${n}d(F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode), weight, bias, self.stride, ${TUPLE[n]}(0), self.dilation, self.groups)
        return F.conv${n}d(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)
`,
  });

const transposed = (n: Dimensions): string =>
  layer(`ConvTranspose${n}d`, TRANSPOSED_ARGUMENTS, undefined, {
    base: '_ConvTransposeNd',
    constants: [],
    keeps: [],
    checks: refusals(["padding_mode != 'zeros'", `'Only "zeros" padding mode is supported for ConvTranspose${n}d'`]),
    handedOn: handedOn(n, { transposed: 'True' }),
    methods: `
    def forward(self, input: Tensor, output_size: Optional[List[int]] = None) -> Tensor:
        if self.padding_mode != 'zeros':
            raise ValueError('Only \`zeros\` padding mode is supported for ConvTranspose${n}d')
        assert isinstance(self.padding, tuple)
        output_padding = self._output_padding(input, output_size, self.stride, self.padding, self.kernel_size, ${n}, self.dilation)
        return F.conv_transpose${n}d(input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation)
`,
  });

export const CONV = BASE + TRANSPOSED_BASE + ([1, 2, 3] as const).map((n) => plain(n) + transposed(n)).join('');

const WINDOW = 'dilation=1, padding=0, stride=1';

export const FOLD =
  layer(
    'Fold',
    `output_size, kernel_size, ${WINDOW}`,
    'F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)',
  ) +
  layer(
    'Unfold',
    `kernel_size, ${WINDOW}`,
    'F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)',
  );

export const FLATTEN =
  layer('Flatten', 'start_dim: int = 1, end_dim: int = -1', 'input.flatten(self.start_dim, self.end_dim)') +
  layer('Unflatten', 'dim, unflattened_size', 'input.unflatten(self.dim, self.unflattened_size)');

export const PIXELSHUFFLE =
  layer('PixelShuffle', 'upscale_factor: int', 'F.pixel_shuffle(input, self.upscale_factor)') +
  layer('PixelUnshuffle', 'downscale_factor: int', 'F.pixel_unshuffle(input, self.downscale_factor)');

export const CHANNELSHUFFLE = layer('ChannelShuffle', 'groups: int', 'F.channel_shuffle(input, self.groups)');

const RESIZED = 'size=None, scale_factor=None, mode: str = "nearest", align_corners=None, recompute_scale_factor=None';

export const UPSAMPLING = `${layer(
  'Upsample',
  RESIZED,
  'F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners, recompute_scale_factor=self.recompute_scale_factor)',
  {
    constants: ['size', 'scale_factor', 'mode', 'align_corners', 'name', 'recompute_scale_factor'],
    fields: [
      'name: str',
      'size: Optional[int]',
      'scale_factor: Optional[float]',
      'align_corners: Optional[bool]',
      'recompute_scale_factor: Optional[bool]',
    ],
    checks: `        if isinstance(scale_factor, tuple):
            scale_factor = tuple([float(each) for each in scale_factor])
        else:
            scale_factor = float(scale_factor) if scale_factor else None
`,
    keeps: ['name = type(self).__name__', ...RESIZED.split(', ').map((param) => /^\w+/.exec(param)![0])],
  },
)}
class UpsamplingNearest2d(Upsample):
    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor)

class UpsamplingBilinear2d(Upsample):
    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, 'bilinear', True)
`;
