import {
  isComplex,
  isFloatingPoint,
  isIntegral,
  hint,
  settle,
  symEq,
  symFunction,
  symMul,
  Tensor,
  type ScalarType,
  type SymFloat,
  type SymInt,
} from '@cresset/tensor';
import {
  accumulator,
  axis,
  binary,
  cast,
  constant,
  exprTypeOf,
  keepsRunningSoftmax,
  param,
  reduce,
  select,
  TensorView,
  type Contraction,
  type Expr,
  type ParamExpr,
} from '@cresset/tensorexpr';
import { broadcastAll, broadcastSizes, expand } from '../../kernels/broadcast.ts';
import { decomposed, kernel } from '../../table/builders.ts';
import { sizesText } from '../../kernels/dimensions.ts';
import { check, OperatorError } from '../../kernels/errors.ts';
import type { HostContext, LoweringContext, OperatorRow, TensorMeta } from '../../table/row.ts';
import { add, mul } from '../../kernels/expressions.ts';
import { numbersInPieces, fillInPieces } from '../../kernels/numbers/numbers.ts';
import { type Pieces, filled } from '../../kernels/loops/pieces.ts';
import { lowerProduct } from '../products/product-lowering.ts';
import { productPieces } from '../products/product.ts';
import { hostSoftmax, lowerSoftmax, softmaxExpr } from './softmax.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { cppTypeName } from '../../kernels/type-names.ts';
import { transposeView } from '../../kernels/views.ts';
import { copyPieces } from '../../kernels/copy.ts';

/** Scaled dot product attention (ATen/native/transformers/attention.cpp). */

interface AttentionArgs {
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
  readonly attn_mask: Tensor | null;
  readonly dropout_p: number;
  readonly is_causal: boolean;
  readonly scale: number | null;
  readonly enable_gqa?: boolean;
}

/** Views that share their leading dimensions: `q [batch, L, E]`, `k [batch, S, E]`, `v [batch, S, Ev]`. */
interface Heads {
  readonly q: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
  readonly mask: Tensor | null;
  /** The result's view with the same leading dimensions. */
  view(out: Tensor): Tensor;
  readonly outSizes: readonly SymInt[];
}

/**
 * Whether PyTorch has a fused kernel for these arguments on the CPU (use_flash_attention_cpp), which applies a mask and what is causal both;
 * what it computes step by step takes one of them.
 */
function isFused(args: AttentionArgs): boolean {
  const { query, key, value, attn_mask: mask, dropout_p: dropout, enable_gqa: grouped = false } = args;
  const operands = [query, key, value];
  return (
    !('dropout_mask' in args) &&
    dropout === 0 &&
    isFloatingPoint(query.dtype) &&
    operands.every(({ dim, symStrides }) => dim === 4 && symEq(symStrides[3], 1)) &&
    operands.every(({ symSizes }) => symEq(symSizes[0], query.symSizes[0]) && symEq(symSizes[3], query.symSizes[3])) &&
    (grouped || operands.every(({ symSizes }) => symEq(symSizes[1], query.symSizes[1]))) &&
    (mask === null || mask.dim === 2 || mask.dim === 4)
  );
}

function checkArguments(args: AttentionArgs): void {
  const { query, key, value, attn_mask: mask, is_causal: causal } = args;
  check(
    query.dtype === key.dtype && query.dtype === value.dtype,
    () =>
      `Expected query, key, and value to have the same dtype, but got query.dtype: ${cppTypeName(query.dtype)} key.dtype: ${cppTypeName(key.dtype)} and value.dtype: ${cppTypeName(value.dtype)} instead.`,
  );
  check(
    query.dim >= 2 && key.dim >= 2 && value.dim >= 2,
    () =>
      `Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: ${query.dim} key.dim: ${key.dim} and value.dim: ${value.dim} instead.`,
  );
  if (!mask) return;
  const fits: readonly ScalarType[] = ['bool', 'float32', query.dtype];
  check(
    fits.includes(mask.dtype),
    () =>
      `Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: ${cppTypeName(mask.dtype)} and  query.dtype: ${cppTypeName(query.dtype)} instead.`,
  );
  check(
    !causal || isFused(args),
    '_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True',
  );
}

function checkProduct(left: Tensor, right: Tensor): void {
  check(symEq(right.symSizes[right.dim - 2], left.symSizes[left.dim - 1]), () => {
    const { sizes } = left;
    if (left.dim === 2 && right.dim === 2)
      return `mat1 and mat2 shapes cannot be multiplied (${sizes.join('x')} and ${right.sizes.join('x')})`;
    const batch = sizes.slice(0, -2).reduce((a, b) => a * b, 1);
    return `Expected size for first two dimensions of batch2 tensor to be: ${sizesText([batch, sizes[left.dim - 1]])} but got: ${sizesText([batch, right.sizes[right.dim - 2]])}.`;
  });
}

function headsOf(args: AttentionArgs): Heads {
  checkArguments(args);
  const { query, key, value, attn_mask: mask, enable_gqa: grouped = false } = args;
  checkProduct(query, transposeView(key, key.dim - 2, key.dim - 1));
  const groups = grouped && query.dim >= 3 && !symEq(query.symSizes[query.dim - 3], key.symSizes[key.dim - 3]);
  if (groups) return groupedHeads(args);
  const batch = broadcastAll([query, key, value].map(({ symSizes }) => symSizes.slice(0, -2)));
  const spread = (tensor: Tensor): Tensor => expand(tensor, [...batch, ...tensor.symSizes.slice(-2)]);
  const length = query.symSizes[query.dim - 2];
  const scores = [...batch, length, key.symSizes[key.dim - 2]];
  if (mask) broadcastSizes(scores, mask.symSizes);
  return {
    q: spread(query),
    k: spread(key),
    v: spread(value),
    mask: mask && expand(mask, scores),
    view: (out) => out,
    outSizes: [...batch, length, value.symSizes[value.dim - 1]],
  };
}

/** Several query heads for each key and value head: heads split in two dimensions, the second repeated for the keys. */
function groupedHeads({ query, key, value, attn_mask: mask }: AttentionArgs): Heads {
  const at = query.dim - 3;
  const heads = settle(query.symSizes[at]);
  const keyHeads = settle(key.symSizes[key.dim - 3]);
  const valueHeads = settle(value.symSizes[value.dim - 3]);
  check(
    heads % keyHeads === 0 && heads % valueHeads === 0,
    'Number of heads in key and value must divide the number of heads in query',
  );
  check(keyHeads === valueHeads, 'Number of heads in key and value must be equal for grouped query attention');
  const repeat = heads / keyHeads;
  const split = (tensor: Tensor): Tensor => {
    const dim = tensor.dim - 3;
    const sizes = tensor.symSizes.toSpliced(dim, 1, keyHeads, repeat);
    const stride = tensor.symStrides[dim];
    const own = symEq(tensor.symSizes[dim], heads) ? [symMul(stride, repeat), stride] : [stride, 0];
    return tensor.asStrided(sizes, tensor.symStrides.toSpliced(dim, 1, ...own));
  };
  const length = query.symSizes[query.dim - 2];
  const scores = [...query.symSizes.slice(0, -2), length, key.symSizes[key.dim - 2]];
  return {
    q: split(query),
    k: split(key),
    v: split(value),
    mask: mask && split(expand(mask, scores)),
    view: split,
    outSizes: [...query.symSizes.slice(0, -2), length, value.symSizes[value.dim - 1]],
  };
}

/** Scores are floats, which integers are not multiplied with; where there are no scores nobody notices. */
function checkScores({ q, k }: Heads): void {
  if (isFloatingPoint(q.dtype) || isComplex(q.dtype)) return;
  const scores = [...q.sizes.slice(0, -1), k.sizes[k.dim - 2]];
  if (scores.includes(0)) return;
  throw new OperatorError(
    q.dim === 2
      ? `expected m1 and m2 to have the same dtype, but got: float != ${cppTypeName(q.dtype)}`
      : `expected scalar type Float but found ${dtypeName(q.dtype)}`,
  );
}

/** What a mask of booleans leaves out becomes an infinity of the queries' dtype, which integers do not have. */
function checkInfinity({ query: { dtype }, attn_mask: mask }: AttentionArgs): void {
  if (mask?.dtype !== 'bool' || !isIntegral(dtype, false)) return;
  const name = dtype === 'int32' ? 'int' : `${dtype}_t`;
  throw new OperatorError(`value cannot be converted to type ${name} without overflow`);
}

function scaleOf({ query, scale }: AttentionArgs): SymFloat {
  return scale ?? symFunction('float', '1 / sqrt', [query.symSizes[query.dim - 1]], (width) => 1 / Math.sqrt(width));
}

function* hostAttention(args: AttentionArgs, [out, weights]: readonly Tensor[], context: HostContext): Pieces {
  const { q, k, v, mask, view } = headsOf(args);
  const [length, span] = [q.sizes[q.dim - 2], k.sizes[k.dim - 2]];
  const scoreType = q.dtype === 'float64' ? 'float64' : 'float32';
  const scores = Tensor.empty([...q.sizes.slice(0, -1), span], scoreType);
  const keys = transposeView(yield* asType(k, scoreType), k.dim - 2, k.dim - 1);
  yield* productPieces(yield* asType(q, scoreType), keys, scores);
  const scale = hint(scaleOf(args));
  const masked = mask && (yield* numbersInPieces(mask));
  // `_scaled_dot_product_attention_math` adds a mask of any type as numbers.
  const choosing = mask?.dtype === 'bool' && !weights;
  yield* fillInPieces(scores, (values) =>
    filled(values, 4, (i) => {
      const row = Math.floor(i / span) % length;
      if (args.is_causal && i % span > row) return -Infinity;
      if (choosing) return masked![i] === 0 ? -Infinity : values[i] * scale;
      return values[i] * scale + (masked ? masked[i] : 0);
    }),
  );
  yield* hostSoftmax('safe_softmax', scores, scores.dim - 1, scores);
  if (weights) yield* copyPieces(view(weights), scores);
  if (args.dropout_p > 0) {
    yield* fillInPieces(scores, (values) =>
      filled(values, 32, (i) =>
        context.generator.nextUniform() < args.dropout_p ? 0 : values[i] / (1 - args.dropout_p),
      ),
    );
  }
  const result = view(out);
  if (out.dtype === scoreType) {
    yield* productPieces(scores, v, result);
    return;
  }
  const wide = Tensor.empty(result.sizes, scoreType);
  yield* productPieces(scores, yield* asType(v, scoreType), wide);
  yield* copyPieces(result, wide);
}

/** Half precision is widened once; sums and softmax are worked out in float32. */
function* asType(tensor: Tensor, dtype: 'float32' | 'float64'): Pieces<Tensor> {
  if (tensor.dtype === dtype) return tensor;
  const wide = Tensor.empty(tensor.sizes, dtype);
  yield* copyPieces(wide, tensor);
  return wide;
}

const label = 'aten::scaled_dot_product_attention';

/** The score of a sum of products, at an index of the scores. */
function scoreOf(
  args: AttentionArgs,
  mask: Tensor | null,
  isMath: boolean,
  context: LoweringContext,
): (sum: Expr, index: readonly Expr[]) => Expr {
  const paramOf = (scale: SymFloat): ParamExpr => param('float', scale);
  const open = args.scale === null ? null : context.openParam?.(isMath ? 7 : 6, (scale) => paramOf(Number(scale)));
  const scale = open ?? paramOf(scaleOf(args));
  const maskView = mask && new TensorView(mask);
  const lowest = constant('float', -Infinity);
  const withMask = (score: Expr, element: Expr): Expr =>
    element.type === 'bool' && !isMath ? select(element, score, lowest) : add(score, cast('float', element));
  return (sum, index) => {
    const scaled = mul(sum, scale);
    const masked = maskView ? withMask(scaled, maskView.at(index)) : scaled;
    return args.is_causal
      ? select(binary('le', index[index.length - 1], index[index.length - 2]), masked, lowest)
      : masked;
  };
}

/** One kernel where the device keeps a running softmax and nobody wants the weights. */
function lowerAttention(args: AttentionArgs, [out, weights]: readonly Tensor[], context: LoweringContext): void {
  if (symEq(out.symNumel, 0)) return;
  const [rows, columns] = out.symSizes.slice(-2);
  const [positions, depth] = args.key.symSizes.slice(-2);
  const isOne = !weights && keepsRunningSoftmax({ rows, columns, positions, depth }, context.device.capabilities);
  if (isOne) context.launch(wholeAttention(args, out, context));
  else lowerInSteps(args, out, weights, context);
}

function wholeAttention(args: AttentionArgs, out: Tensor, context: LoweringContext): Contraction {
  const { q, k, v, mask, view } = headsOf(args);
  const [target, queries, keys, values] = [view(out), q, k, v].map((tensor) => new TensorView(tensor));
  const all = target.axes();
  const batch = all.slice(0, -2);
  const [m, n] = all.slice(-2);
  const score = scoreOf(args, mask, false, context);
  const scoreAt = (position: Expr): Expr => {
    const depth = axis('e', queries.sizes.at(-1)!);
    const [x, y] = [queries.at([...batch, m, depth]), keys.at([...batch, position, depth])];
    return score(reduce('sum', [depth], mul(cast('float', x), cast('float', y))), [...batch, m, position]);
  };
  const position = axis('s', keys.sizes.at(-2)!);
  return {
    kind: 'contraction',
    label,
    batch,
    m,
    n,
    k: position,
    left: softmaxExpr(mask ? 'safe_softmax' : 'softmax', scoreAt, position),
    right: cast('float', values.at([...batch, position, n])),
    stores: [{ operand: target.operand, offset: target.offsetAt(all), value: accumulator }],
  };
}

/** Scores, softmax and weighted sum: three kernels, scaling and masking in the store of the first. */
function lowerInSteps(args: AttentionArgs, out: Tensor, weights: Tensor | undefined, context: LoweringContext): void {
  const { q, k, v, mask, view } = headsOf(args);
  const scores = context.temporary([...q.symSizes.slice(0, -1), k.symSizes[k.dim - 2]], q.dtype);
  const product = { left: q, right: transposeView(k, k.dim - 2, k.dim - 1), out: scores };
  lowerProduct(label, product, context, undefined, scoreOf(args, mask, !!weights, context));
  const probabilities = weights ? view(weights) : context.temporary(scores.symSizes, q.dtype);
  lowerSoftmax(label, mask ? 'safe_softmax' : 'softmax', scores, scores.dim - 1, probabilities, context);
  lowerProduct(label, { left: probabilities, right: v, out: view(out) }, context);
}

const attentionArguments =
  'Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False';

function attentionRow(schema: string, shapes: (heads: Heads, args: AttentionArgs) => TensorMeta[]): OperatorRow {
  return kernel<AttentionArgs>(schema, {
    shape: (args) => {
      const heads = headsOf(args);
      const results = shapes(heads, args);
      checkScores(heads);
      return results;
    },
    host: hostAttention,
    lower: lowerAttention,
    lowerable: ({ query, dropout_p: p }) => exprTypeOf(query.dtype) === 'float' && p === 0,
  });
}

/** Which sizes a mask of each type has, of scores `[B, heads, L, L]`; a mask of another type has those of the scores. */
const maskedSoftmax = decomposed(
  'aten::_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? mask_type=None) -> Tensor',
  `
def _masked_softmax(self: Tensor, mask: Tensor, dim: Optional[int], mask_type: Optional[int]) -> Tensor:
    assert mask.dtype == 11, "Mask should be a boolean tensor"
    kind = 2
    if mask_type is not None and mask.dim() == 2 and self.dim() == 4:
        kind = mask_type
    own = mask
    if kind == 0:
        assert mask.size() == [self.size(2), self.size(2)], "For mask_type == 0 mask shape should be (L, L)"
        own = mask.view([1, 1, self.size(2), self.size(2)])
    elif kind == 1:
        assert mask.size() == [self.size(0), self.size(2)], "For mask_type == 1 mask shape should be (B, L)"
        own = mask.view([self.size(0), 1, 1, self.size(2)])
    else:
        assert mask.size() == self.size(), "For mask_type == 2 mask shape should match input shape"
    axis = self.dim() - 1
    if dim is not None:
        axis = dim
    return torch.softmax(torch.masked_fill(self, own, float("-inf")), axis)
`,
  { out: true },
);

export const attentionRows: readonly OperatorRow[] = [
  maskedSoftmax,
  attentionRow(
    `aten::scaled_dot_product_attention(${attentionArguments}, *, float? scale=None, bool enable_gqa=False) -> Tensor`,
    ({ outSizes }, args) => {
      checkInfinity(args);
      return [{ sizes: outSizes, dtype: args.query.dtype }];
    },
  ),
  attentionRow(
    `aten::_scaled_dot_product_attention_math(${attentionArguments}, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)`,
    ({ outSizes }, { query, key }) => [
      { sizes: outSizes, dtype: query.dtype },
      { sizes: [...outSizes.slice(0, -1), key.symSizes[key.dim - 2]], dtype: query.dtype },
    ],
  ),
];
