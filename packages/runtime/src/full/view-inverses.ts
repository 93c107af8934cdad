import type { Node, Value } from '@cresset/ir';

/** Sizes of a tensor; null for one that may be any. */
export type Sizes = readonly (number | null)[];

/** What is known of a node's other arguments. */
export interface KnownArguments {
  integer(value: Value): number | null;
  integers(value: Value): number[] | null;
}

type Undo = (sizes: Sizes) => Sizes | null;

const same: Undo = (sizes) => sizes;

/** Operators whose result has the sizes of its operands. */
const KEEPING = new Set(
  (
    'abs add celu clamp clamp_min clamp_max clone contiguous cos detach div dropout elu erf exp expm1 feature_dropout gelu hardsigmoid ' +
    'hardswish hardtanh leaky_relu log log10 log1p log2 log_softmax masked_fill maximum minimum mish mul neg pow reciprocal relu relu6 ' +
    'round rsqrt rsub sigmoid sign silu sin softmax softplus sqrt square sub tanh to type_as batch_norm group_norm instance_norm layer_norm'
  )
    .split(' ')
    .map((name) => `aten::${name}`),
);

/** Operators that change the sizes of the last dimensions only: how many these are. */
const SPATIAL: readonly [RegExp, number][] = [
  [/^aten::((max|avg|adaptive_avg|adaptive_max)_pool1d|upsample_\w+1d|reflection_pad1d)/, 1],
  [/^aten::((max|avg|adaptive_avg|adaptive_max)_pool2d|upsample_\w+2d|reflection_pad2d|replication_pad2d)/, 2],
  [/^aten::((max|avg|adaptive_avg)_pool3d|upsample_\w+3d)/, 3],
];

/** The sizes of an operand from those of the result, for the node's kind; null where they do not tell. */
export function undoView(node: Node, known: KnownArguments): Undo | null {
  const kind = node.kind.replace(/([^_])_$/, '$1');
  if (KEEPING.has(kind)) return same;
  const spatial = SPATIAL.find(([pattern]) => pattern.test(kind));
  if (spatial) return (sizes) => sizes.map((size, dim) => (dim < sizes.length - spatial[1] ? size : null));
  const integer = (at: number): number | null => (at < node.inputs.length ? known.integer(node.input(at)) : null);
  const a = integer(1);
  const b = integer(2);
  switch (kind) {
    case 'aten::unsqueeze':
      return a === null ? null : (sizes) => sizes.toSpliced(a < 0 ? a + sizes.length : a, 1);
    case 'aten::squeeze':
      return a === null ? null : (sizes) => sizes.toSpliced(a < 0 ? a + sizes.length + 1 : a, 0, 1);
    case 'aten::select':
      return a === null ? null : (sizes) => sizes.toSpliced(a < 0 ? a + sizes.length + 1 : a, 0, null);
    case 'aten::slice': {
      const isWhole = b === 0 && (integer(3) ?? MAX_INDEX) >= MAX_INDEX && integer(4) === 1;
      return isWhole ? same : a === null ? null : (sizes) => sizes.with(at(a, sizes), null);
    }
    case 'aten::cat':
      return a === null ? null : (sizes) => sizes.with(at(a, sizes), null);
    case 'aten::t':
      return (sizes) => sizes.toReversed();
    case 'aten::transpose':
      return a === null || b === null
        ? null
        : (sizes) => sizes.with(at(a, sizes), sizes[at(b, sizes)]).with(at(b, sizes), sizes[at(a, sizes)]);
    case 'aten::permute': {
      const dims = known.integers(node.input(1));
      if (!dims) return null;
      return (sizes) => {
        if (sizes.length !== dims.length) return null;
        const result: (number | null)[] = sizes.map(() => null);
        dims.forEach((dim, index) => (result[at(dim, sizes)] = sizes[index]));
        return result;
      };
    }
    case 'aten::pad':
    case 'aten::constant_pad_nd': {
      const padded = (known.integers(node.input(1))?.length ?? 0) / 2;
      return (sizes) => sizes.map((size, dim) => (dim < sizes.length - padded ? size : null));
    }
    // What has the sizes of the result is one of those that have its elements.
    case 'aten::flatten':
      return same;
    case 'aten::view':
    case 'aten::reshape': {
      const wanted = known.integers(node.input(1));
      return (
        wanted &&
        ((sizes) => (sizes.length === wanted.length ? sizes.map((size, dim) => size ?? positive(wanted[dim])) : null))
      );
    }
    default:
      return null;
  }
}

const MAX_INDEX = 2 ** 31;

function at(dim: number, sizes: Sizes): number {
  return dim < 0 ? dim + sizes.length : dim;
}

function positive(size: number): number | null {
  return size > 0 ? size : null;
}
