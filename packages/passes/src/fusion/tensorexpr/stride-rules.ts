/** What is asked of a tensor's strides: of the whole, or of one dimension after the other (PyTorch: StrideInput). */
export type StrideRule = 'TENSOR_CONT' | 'TENSOR_CONT_CHANNELS_LAST' | 'S_ONE' | 'S_CONT' | 'S_TRAN_CONT' | 'S_AS_ARG';

type Numbers = readonly number[];

/** The manner in which a tensor lies in memory, as a group for any sizes asks it of its inputs (PyTorch: summarizeInputStrides). */
export function inputStrides(sizes: Numbers, strides: Numbers): readonly StrideRule[] {
  if (isDense(sizes, strides, [...sizes.keys()].reverse())) return ['TENSOR_CONT'];
  if (isChannelsLast(sizes, strides)) return ['TENSOR_CONT_CHANNELS_LAST'];
  const rules: StrideRule[] = [];
  strides.forEach((_, dim) => rules.push(ruleOf(sizes, strides, dim, rules)));
  return rules;
}

/** The manner in which the result of a group lies in memory (PyTorch: summarizeOutputStrides). */
export function outputStrides(sizes: Numbers, strides: Numbers): StrideRule {
  return isChannelsLast(sizes, strides) ? 'TENSOR_CONT_CHANNELS_LAST' : 'TENSOR_CONT';
}

/** Whether a tensor lies in memory as `rules` say: whatever holds only of some sizes is asked of those at hand. */
export function followsRules(rules: readonly string[], sizes: Numbers, strides: Numbers): boolean {
  switch (rules[0]) {
    case 'TENSOR_CONT':
      return sizes.includes(0) || isDense(sizes, strides, [...sizes.keys()].reverse());
    case 'TENSOR_CONT_CHANNELS_LAST':
      return isDense(sizes, strides, [1, 3, 2, 0]);
    default:
      return rules.every((rule, dim) => rule === ruleOf(sizes, strides, dim, rules));
  }
}

/** @param rules those of the dimensions before, where they are known */
function ruleOf(sizes: Numbers, strides: Numbers, dim: number, rules: readonly string[]): StrideRule {
  const stride = strides[dim];
  if (stride === 1) return 'S_ONE';
  if (dim + 1 < sizes.length && stride === strides[dim + 1] * sizes[dim + 1]) return 'S_CONT';
  const isTransposed = dim > 0 && stride === strides[dim - 1] * sizes[dim - 1] && rules[dim - 1] !== 'S_CONT';
  return isTransposed ? 'S_TRAN_CONT' : 'S_AS_ARG';
}

/** Whether elements lie beside each other, the first of these dimensions innermost. */
function isDense(sizes: Numbers, strides: Numbers, dims: Numbers): boolean {
  let expected = 1;
  for (const dim of dims) {
    if (sizes[dim] === 1) continue;
    if (strides[dim] !== expected) return false;
    expected *= sizes[dim];
  }
  return true;
}

/** Whether the channels of a batch of images lie beside each other (PyTorch: is_channels_last_strides_2d). */
function isChannelsLast(sizes: Numbers, strides: Numbers): boolean {
  if (sizes.length !== 4 || strides[1] === 0) return false;
  let least = 0;
  for (const dim of [1, 3, 2, 0]) {
    if (sizes[dim] === 0 || strides[dim] < least) return false;
    // One image alone may as well be a single channel of the ordinary layout.
    if (dim === 0 && least === strides[1]) return false;
    least = strides[dim] * Math.max(sizes[dim], 1);
  }
  return true;
}
