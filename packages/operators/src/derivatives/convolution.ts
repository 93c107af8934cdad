import { forOverloads, type DerivativeTable } from './derivative.ts';

const rank = (n: number, transposed: boolean): DerivativeTable[string] => ({
  'input, weight, bias': `convolution_slopes(grad, input, weight, bias, stride, padding, dilation, ${transposed ? 'True, output_padding' : `False, [0] * ${n}`}, groups, wanted)`,
  '*': 'input, weight',
});

const general = {
  'input, weight, bias':
    'convolution_slopes(grad, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, wanted)',
  '*': 'input, weight',
};

/** With its padding named, what is taken in is padded before. */
const named = (n: number): DerivativeTable[string] => ({ '=': namedPadding(`[0] * ${n}`) });

const namedPadding = (zeros: string): string => `
given = input if input.dim() == weight.dim() else input.unsqueeze(0)
if padding != "valid":
    margins: List[int] = []
    count = weight.dim() - 2
    for at in range(count):
        d = count - 1 - at
        step = dilation[d] if len(dilation) > 1 else dilation[0]
        total = step * (weight.size(d + 2) - 1)
        margins.append(total // 2)
        margins.append(total - total // 2)
    given = torch.constant_pad_nd(given, margins, 0)
result = torch.convolution(given, weight, bias, stride, ${zeros}, dilation, False, ${zeros}, groups)
return result if input.dim() == weight.dim() else result.squeeze(0)`;

/** Convolutions. */
export const convolutionDerivatives: DerivativeTable = {
  ...forOverloads('convolution _convolution _convolution.deprecated', general),
  conv1d: rank(1, false),
  conv2d: rank(2, false),
  conv3d: rank(3, false),
  'conv1d.padding': named(1),
  'conv2d.padding': named(2),
  'conv3d.padding': named(3),
  _convolution_mode: { '=': namedPadding('[0] * (weight.dim() - 2)') },
  conv_transpose1d: rank(1, true),
  'conv_transpose2d.input': rank(2, true),
  'conv_transpose3d.input': rank(3, true),
};
