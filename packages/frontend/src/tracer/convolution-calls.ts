import { Tensor } from '@cresset/tensor';
import type { TracedCall } from './operator-recorder.ts';
import type { TracedArgument } from './traced-arguments.ts';

const PARAMETERS = ['input', 'weight', 'bias', 'stride', 'padding', 'dilation', 'groups'] as const;
const TRANSPOSED_PARAMETERS = [
  'input',
  'weight',
  'bias',
  'stride',
  'padding',
  'output_padding',
  'groups',
  'dilation',
] as const;

/**
 * What is recorded of `conv2d` and its kin: the general convolution that they come to (PyTorch: they are among DONT_RECORD_TRACE, so that
 * their parts are). Undefined for any other operator, and for paddings that are given by name.
 */
export function generalConvolution({ name, args, kwargs = {} }: TracedCall): TracedCall | undefined {
  const match = /^aten::conv(_transpose)?([123])d$/.exec(name);
  if (match === null) {
    return undefined;
  }
  const dims = Number(match[2]);
  const transposed = match[1] !== undefined;
  const names: readonly string[] = transposed ? TRANSPOSED_PARAMETERS : PARAMETERS;
  const given = new Map(names.map((parameter, index) => [parameter, args[index] ?? kwargs[parameter]]));
  if (typeof given.get('padding') === 'string' || !(given.get('input') instanceof Tensor)) {
    return undefined;
  }
  const list = (parameter: string, missing: bigint): TracedArgument => {
    const value = given.get(parameter) ?? missing;
    const items = Array.isArray(value) ? (value as readonly TracedArgument[]) : [value];
    return items.length === 1 ? new Array<TracedArgument>(dims).fill(items[0]) : items;
  };
  return {
    name: 'aten::_convolution',
    args: [
      given.get('input'),
      given.get('weight'),
      given.get('bias') ?? null,
      list('stride', 1n),
      list('padding', 0n),
      list('dilation', 1n),
      transposed,
      list('output_padding', 0n),
      given.get('groups') ?? 1n,
      // benchmark, deterministic, cudnn_enabled, allow_tf32: PyTorch's settings as they are at first.
      false,
      false,
      true,
      true,
    ],
  };
}

/** The number of dimensions of a convolution's input with its batch; undefined for what is none. */
export function convolutionRank(name: string): number | undefined {
  const match = /^aten::conv(?:_transpose)?([123])d$/.exec(name);
  return match === null ? undefined : Number(match[1]) + 2;
}
