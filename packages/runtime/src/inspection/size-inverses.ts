import type { Node, Value } from '@cresset/ir';

/** Sizes of a tensor; null for one that may be any. */
export type Sizes = readonly (number | null)[];

/** What is known of a node's other arguments. */
export interface KnownArguments {
  integer(value: Value): number | null;
  integers(value: Value): number[] | null;
  /** Of a weight. */
  sizes(value: Value): readonly number[] | null;
  isTrue(value: Value): boolean;
}

/** How the sizes of a result are related to those of an operand. */
export interface SizeRelation {
  /** The operand's from the result's; null where they do not tell. */
  undo(sizes: Sizes): Sizes | null;
  /** What is known of the result's; null where nothing is. */
  readonly result: Sizes | null;
}

type Undo = SizeRelation['undo'];

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

/** Operators that change the sizes of the last dimensions only, as many as their names say. */
const SPATIAL = /^aten::(?:(?:adaptive_avg|adaptive_max)_pool|upsample_[a-z]+|reflection_pad|replication_pad)(\d)d/;

/**
 * How the sizes of the result of a node are related to those of one of its operands; null where it is not known.
 *
 * @param operand what is known of the operand's sizes
 */
export function sizeRelation(node: Node, operand: Sizes | null, known: KnownArguments): SizeRelation | null {
  const kind = node.kind.replace(/([^_])_$/, '$1');
  if (KEEPING.has(kind)) return { undo: same, result: operand };
  if (/^aten::(_convolution|conv\dd)$/.test(kind)) return convolution(node, known);
  if (/^aten::(max|avg)_pool\dd$/.test(kind)) return pooling(node, operand, known);
  if (operand && isFlattening(kind, node, known)) return { undo: (sizes) => unflattened(sizes, operand), result: null };
  const undo = undoView(kind, node, known);
  return undo && { undo, result: null };
}

/** A size of the operand that gives `size` windows; others may as well, up to a stride more. */
function beforeWindows(size: number | null, window: number, stride: number, padding: number): number | null {
  return size === null ? null : (size - 1) * stride + window - 2 * padding;
}

function convolution(node: Node, known: KnownArguments): SizeRelation | null {
  const weight = known.sizes(node.input(1));
  const [stride, padding, dilation] = ['stride', 'padding', 'dilation'].map((name) =>
    known.integers(node.namedInput(name)),
  );
  const isTransposed = node.hasNamedInput('transposed') && known.isTrue(node.namedInput('transposed'));
  if (!weight || isTransposed) return null;
  const kernel = weight.slice(2);
  const of = (list: readonly number[] | null, dim: number, otherwise: number): number =>
    list?.[dim] ?? list?.[0] ?? otherwise;
  return {
    undo: (sizes) =>
      sizes.length === weight.length
        ? [
            sizes[0],
            null,
            ...kernel.map((size, dim) =>
              beforeWindows(
                sizes[dim + 2],
                of(dilation, dim, 1) * (size - 1) + 1,
                of(stride, dim, 1),
                of(padding, dim, 0),
              ),
            ),
          ]
        : null,
    result: [null, weight[0], ...kernel.map(() => null)],
  };
}

function pooling(node: Node, operand: Sizes | null, known: KnownArguments): SizeRelation | null {
  const [kernel, strides, paddings] = [1, 2, 3].map((at) => known.integers(node.input(at)));
  if (!kernel) return null;
  const of = (list: readonly number[] | null, dim: number): number | undefined => list?.[dim] ?? list?.[0];
  const rank = Number(/(\d)d$/.exec(node.kind.replace(/_$/, ''))![1]);
  const before = (sizes: Sizes): Sizes =>
    sizes.map((size, at) => {
      const dim = at - sizes.length + rank;
      const window = of(kernel, dim) ?? 1;
      return dim < 0 ? size : beforeWindows(size, window, of(strides, dim) ?? window, of(paddings, dim) ?? 0);
    });
  return { undo: before, result: operand && operand.map((size, at) => (at < operand.length - rank ? size : null)) };
}

/** Whether all dimensions but the first become one: `flatten(x, 1)`, `x.view(x.size(0), -1)`. */
function isFlattening(kind: string, node: Node, known: KnownArguments): boolean {
  if (kind === 'aten::flatten') return known.integer(node.input(1)) === 1 && known.integer(node.input(2)) === -1;
  if (kind !== 'aten::view' && kind !== 'aten::reshape') return false;
  return (known.integers(node.input(1)) ?? node.input(1).node.inputs).length === 2;
}

/** Channels and a square (or cube) of places, of the number that they are together. */
function unflattened([batch, count, ...rest]: Sizes, operand: Sizes): Sizes | null {
  const [, channels, ...places] = operand;
  if (rest.length > 0 || count === undefined) return null;
  if (places.length === 0 || !channels || !count) return operand;
  const side = Math.round((count / channels) ** (1 / places.length));
  return side ** places.length * channels === count ? [batch, channels, ...places.map(() => side)] : operand;
}

/** The sizes of an operand from those of the result. */
function undoView(kind: string, node: Node, known: KnownArguments): Undo | null {
  const spatial = SPATIAL.exec(kind);
  if (spatial) return (sizes) => sizes.map((size, dim) => (dim < sizes.length - Number(spatial[1]) ? size : null));
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
      return isWhole ? same : a === null ? null : (sizes) => put(sizes, a, null);
    }
    case 'aten::cat':
      return a === null ? null : (sizes) => put(sizes, a, null);
    case 'aten::t':
      return (sizes) => sizes.toReversed();
    case 'aten::transpose':
      return a === null || b === null
        ? null
        : (sizes) => {
            const swapped = put(sizes, a, sizes.at(b) ?? null);
            return swapped && put(swapped, b, sizes.at(a) ?? null);
          };
    case 'aten::permute': {
      const dims = known.integers(node.input(1));
      if (!dims) return null;
      return (sizes) => {
        if (sizes.length !== dims.length) return null;
        const result: (number | null)[] = sizes.map(() => null);
        dims.forEach((dim, index) => (result[dim < 0 ? dim + sizes.length : dim] = sizes[index]));
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

/** Null where there is no such dimension: the sizes are those of another path of the program. */
function put(sizes: Sizes, dim: number, size: number | null): Sizes | null {
  const index = dim < 0 ? dim + sizes.length : dim;
  return index in sizes ? sizes.with(index, size) : null;
}

function positive(size: number): number | null {
  return size > 0 ? size : null;
}
