import { Complex, isComplex, realType, Tensor, type ScalarType } from '@cresset/tensor';
import { binary, cast, exprTypeOf, param, unary, type Expr, type Store } from '@cresset/tensorexpr';
import { boxingOf } from '../../table/boxing.ts';
import * as complex from './complex-expressions.ts';
import type { ComplexExpr } from './complex-expressions.ts';
import { partOf } from '../../kernels/copy.ts';
import { lowerFill } from '../../kernels/fill.ts';
import { deviceViews } from '../../kernels/loops/pointwise.ts';
import { lowerReduction } from '../../kernels/loops/reduction.ts';
import type { LoweringContext, OperatorRow, PointwiseArguments, Scalar, Unboxed } from '../../table/row.ts';

/**
 * Complex numbers on a device: two floats beside each other. Kernels see real tensors only, the parts of the complex ones:
 * pointwise operators as expressions of both parts, operators that move elements or add them up once for each part, products
 * as four real products.
 */

type Arguments = Record<string, Unboxed>;
type Body = (args: Record<string, ComplexExpr>, given: PointwiseArguments) => ComplexExpr | Expr;

const one =
  (fn: (a: ComplexExpr) => ComplexExpr | Expr): Body =>
  ({ self }) =>
    fn(self);
const logarithm = (base: number): Body =>
  one((a) => complex.scaled(complex.log(a), complex.number(1 / Math.log(base))));

const bodies: Readonly<Record<string, Body>> = {
  add: ({ self, other, alpha }) => complex.add(self, complex.multiply(alpha, other)),
  sub: ({ self, other, alpha }) => complex.subtract(self, complex.multiply(alpha, other)),
  rsub: ({ self, other, alpha }) => complex.subtract(other, complex.multiply(alpha, self)),
  mul: ({ self, other }) => complex.multiply(self, other),
  div: ({ self, other }) => complex.divide(self, other),
  pow: ({ self, exponent }) => complex.power(self, exponent),
  addcmul: ({ self, tensor1, tensor2, value }) =>
    complex.add(self, complex.multiply(value, complex.multiply(tensor1, tensor2))),
  addcdiv: ({ self, tensor1, tensor2, value }) =>
    complex.add(self, complex.divide(complex.multiply(value, tensor1), tensor2)),
  lerp: ({ self, end, weight }) => complex.add(self, complex.multiply(weight, complex.subtract(end, self))),
  where: ({ condition, self, other }) => complex.choose(complex.truth(condition), self, other),
  fill: ({ value }) => value,
  masked_fill: ({ self, mask, value }) => complex.choose(complex.truth(mask), value, self),
  eq: ({ self, other }) => complex.equal(self, other),
  ne: ({ self, other }) => unary('not', complex.equal(self, other)),
  logical_not: one((a) => unary('not', complex.truth(a))),
  logical_and: ({ self, other }) => binary('and', complex.truth(self), complex.truth(other)),
  logical_or: ({ self, other }) => binary('or', complex.truth(self), complex.truth(other)),
  logical_xor: ({ self, other }) => binary('xor', complex.truth(self), complex.truth(other)),
  isnan: one((a) => binary('or', unary('isnan', a.re), unary('isnan', a.im))),
  isinf: one((a) => binary('or', unary('isinf', a.re), unary('isinf', a.im))),
  isfinite: one((a) => binary('and', unary('isfinite', a.re), unary('isfinite', a.im))),
  abs: one(complex.magnitude),
  angle: one(complex.angle),
  neg: one(complex.negate),
  conj_physical: one(complex.conjugate),
  sgn: one(complex.sign),
  square: one((a) => complex.multiply(a, a)),
  reciprocal: one((a) => complex.divide(complex.one, a)),
  exp: one(complex.exp),
  exp2: one((a) => complex.exp(complex.scaled(a, complex.number(Math.LN2)))),
  expm1: one((a) => complex.subtract(complex.exp(a), complex.one)),
  log: one(complex.log),
  log2: logarithm(2),
  log10: logarithm(10),
  log1p: one((a) => complex.log(complex.add(a, complex.one))),
  sqrt: one(complex.sqrt),
  rsqrt: one((a) => complex.divide(complex.one, complex.sqrt(a))),
  sin: one(complex.sin),
  cos: one(complex.cos),
  tan: one(complex.tan),
  sinh: one(complex.sinh),
  cosh: one(complex.cosh),
  tanh: one(complex.tanh),
  sigmoid: one(complex.sigmoid),
  silu: one((a) => complex.multiply(a, complex.sigmoid(a))),
};

/** Operators that do the same with both parts: they move elements, or add them up. */
const byParts = new Set(
  (
    'cat stack clone contiguous index index_select gather scatter scatter_add index_put index_add index_copy index_fill ' +
    'masked_scatter take put take_along_dim flip roll rot90 repeat repeat_interleave tile tril triu pad constant_pad_nd ' +
    'im2col col2im pixel_shuffle pixel_unshuffle sum mean cumsum trace diag_embed diagonal_scatter ' +
    'select_scatter slice_scatter block_diag reshape flatten unfold_copy expand_copy permute_copy avg_pool1d ' +
    'avg_pool2d avg_pool3d zeros zeros_like new_zeros empty empty_like new_empty full full_like new_full nansum diff ' +
    'reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d'
  ).split(' '),
);

/** Scalar arguments that are elements, not factors: each part gets its own. */
const elementArguments = new Set(['value', 'fill_value']);

/** Tensor arguments that are no elements: both parts are taken from, or go to, the same places. */
const placeArguments = new Set(['index', 'indices', 'mask', 'repeats']);

/** Products: the arguments that are multiplied, and the one that is added, if there is one. */
const products: Readonly<Record<string, readonly [left: string, right: string, added?: string]>> = {
  mm: ['self', 'mat2'],
  bmm: ['self', 'mat2'],
  mv: ['self', 'vec'],
  dot: ['self', 'tensor'],
  matmul: ['self', 'other'],
  linear: ['input', 'weight', 'bias'],
  conv1d: ['input', 'weight', 'bias'],
  conv2d: ['input', 'weight', 'bias'],
  conv3d: ['input', 'weight', 'bias'],
  conv_transpose1d: ['input', 'weight', 'bias'],
  conv_transpose2d: ['input', 'weight', 'bias'],
  conv_transpose3d: ['input', 'weight', 'bias'],
  addmm: ['mat1', 'mat2', 'self'],
  addmv: ['mat', 'vec', 'self'],
  addbmm: ['batch1', 'batch2', 'self'],
  baddbmm: ['batch1', 'batch2', 'self'],
};

/** Products of however many operands, by the argument that lists them or by the two that are them. */
const multilinear: Readonly<Record<string, readonly string[]>> = {
  einsum: ['tensors'],
  linalg_multi_dot: ['tensors'],
  tensordot: ['self', 'other'],
  inner: ['self', 'other'],
};

/** More than that many complex operands would be too many real products. */
const mostComplex = 3;

const operandsOf = (name: string, args: Arguments): Tensor[] =>
  multilinear[name].flatMap((key) => args[key] as Tensor[]);

const baseName = (row: OperatorRow): string => boxingOf(row).signature.name.replace('aten::', '');

/** Whether `lowerComplex` takes a row that complex numbers go into or come out of. */
export function takesComplex(row: OperatorRow, args: Arguments): boolean {
  const name = baseName(row);
  const lowerable = row.lowerable?.(partArguments(args, 0, (tensor) => tensor) as never) ?? true;
  if (row.pointwise) return name in bodies;
  if (name in products) return row.lower !== undefined && lowerable && !Object.values(args).some(isNotReal);
  if (name in multilinear) {
    const complexOnes = operandsOf(name, args).filter(({ dtype }) => isComplex(dtype));
    return row.lower !== undefined && lowerable && complexOnes.length <= mostComplex;
  }
  if (truths.has(name)) return row.reduction !== undefined;
  if (conversions.has(name) || isTransform(name)) {
    return row.lower !== undefined && (row.lowerable?.(args as never) ?? true);
  }
  return (
    (byParts.has(name) || ones.has(name)) &&
    lowerable &&
    (row.lower ?? row.reduction) !== undefined &&
    // What makes its results itself, since their sizes depend on data, knows nothing of parts.
    !(row.device && !row.shape?.(args as never)) &&
    !Object.values(args).some(isNotReal)
  );
}

/** A complex number that would be a factor: parts do not stay apart then. */
const isNotReal = (value: Unboxed): boolean => value instanceof Complex && value.im !== 0;

/** Rows that write the same number everywhere. */
const ones = new Set(['ones', 'ones_like', 'new_ones']);

/** Rows whose own lowering knows of parts: they copy elements, from real to complex ones and back too. */
const conversions = new Set(
  (
    'to _to_copy type_as copy fill clone contiguous reshape flatten view_copy complex polar conj _conj mH adjoint matrix_H byte char ' +
    'short int long half float double bool bfloat16 stft istft rand randn rand_like randn_like'
  ).split(' '),
);

export function lowerComplex(
  row: OperatorRow,
  args: Arguments,
  outputs: readonly Tensor[],
  context: LoweringContext,
): void {
  if (outputs.every(({ numel }) => numel === 0)) return;
  const name = baseName(row);
  if (row.pointwise) lowerBody(row, bodies[name], args, outputs[0], context);
  else if (truths.has(name)) lowerTruths(row, args, outputs[0], context);
  else if (name in products) lowerProduct(row, products[name], args, outputs[0], context);
  else if (name in multilinear) lowerMultilinear(row, args, outputs[0], context);
  else if (conversions.has(name) || isTransform(name)) row.lower!(args as never, outputs, context);
  else if (ones.has(name)) {
    lowerPart(row, args, outputs, 0, context);
    lowerFill(partOf(outputs[0], 1), 0n, context, `aten::${name}`);
  } else {
    lowerPart(row, args, outputs, 0, context);
    // What is real has no other part: complex numbers that are written to it leave theirs behind.
    if (outputs.some(({ dtype }) => isComplex(dtype))) lowerPart(row, args, outputs, 1, context);
  }
}

const isTransform = (name: string): boolean => /^_?fft_/.test(name);

const partTensor = (tensor: Tensor, part: 0 | 1): Tensor => (isComplex(tensor.dtype) ? partOf(tensor, part) : tensor);

/**
 * The arguments as one part of the result sees them.
 *
 * @param zeros what real tensors are to the imaginary part
 */
function partArguments(args: Arguments, part: 0 | 1, zeros: (tensor: Tensor) => Tensor): Arguments {
  return Object.fromEntries(
    Object.entries(args).map(([name, value]): [string, Unboxed] => {
      const partOfTensor = (tensor: Tensor): Tensor =>
        part === 0 || isComplex(tensor.dtype) || placeArguments.has(name) ? partTensor(tensor, part) : zeros(tensor);
      if (value instanceof Tensor) return [name, partOfTensor(value)];
      if (Array.isArray(value) && value.some((item) => item instanceof Tensor)) {
        return [name, value.map((item) => (item instanceof Tensor ? partOfTensor(item) : item)) as Unboxed];
      }
      if (value instanceof Complex) return [name, part === 0 || !elementArguments.has(name) ? value.re : value.im];
      if (part === 1 && elementArguments.has(name) && value !== null) return [name, 0];
      return [name, value];
    }),
  );
}

function lowerPart(
  row: OperatorRow,
  args: Arguments,
  outputs: readonly Tensor[],
  part: 0 | 1,
  context: LoweringContext,
): void {
  let zero: Tensor | null = null;
  const given = partArguments(args, part, ({ sizes }) => {
    if (!zero) {
      zero = context.temporary([1], realType(outputs[0].dtype));
      lowerFill(zero, 0n, context, `aten::${baseName(row)}`);
    }
    return zero.asStrided(sizes, new Array<number>(sizes.length).fill(0));
  });
  // What is asked for as a complex dtype is each part's real one.
  const dtype = typeof given.dtype === 'string' ? realType(given.dtype as ScalarType) : given.dtype;
  const own = 'dtype' in given ? { ...given, dtype } : given;
  const parts = outputs.map((output) => partTensor(output, part));
  if (row.reduction) lowerReduction(row, own, parts[0], context);
  else row.lower!(own as never, parts, context);
}

/** (a + bi)(c + di), the product being whatever the row computes. */
function lowerProduct(
  row: OperatorRow,
  [left, right, added]: readonly [string, string, string?],
  args: Arguments,
  output: Tensor,
  context: LoweringContext,
): void {
  const [a, c] = [left, right].map((name) => args[name] as Tensor);
  const sum = added === undefined ? null : (args[added] as Tensor | null);
  const dtype = realType(output.dtype);
  const isPresent = (tensor: Tensor, part: 0 | 1): boolean => part === 0 || isComplex(tensor.dtype);
  const multiply = (p: 0 | 1, q: 0 | 1, addend: Tensor | null): Tensor => {
    const result = context.temporary(output.sizes, dtype);
    const given: Arguments = { ...args, [left]: partTensor(a, p), [right]: partTensor(c, q) };
    if (added !== undefined) given[added] = addend;
    // Where something is always added, it counts nothing the second time.
    if (added === 'self' && !addend) Object.assign(given, { self: partTensor(sum!, 0), beta: 0n });
    row.lower!(given as never, [result], context);
    return result;
  };
  const combine = (part: 0 | 1, first: Tensor, second: Tensor | null, fn: 'add' | 'sub'): void => {
    const target = partOf(output, part);
    const operands = second ? [first, second] : [first];
    const { axes, views, target: view } = deviceViews(target, operands);
    const [x, y] = views.map((each) => each.at(axes));
    const stores = [{ operand: view.operand, offset: view.offsetAt(axes), value: y ? binary(fn, x, y) : x }];
    context.launch({ kind: 'nest', label: `aten::${baseName(row)}`, axes, innerAxes: [], stores });
  };
  const hasBoth = isPresent(a, 1) && isPresent(c, 1);
  combine(0, multiply(0, 0, sum && partTensor(sum, 0)), hasBoth ? multiply(1, 1, null) : null, 'sub');
  const imaginary = sum && isComplex(sum.dtype) ? partOf(sum, 1) : null;
  const mixed = [
    ...(isPresent(c, 1) ? [multiply(0, 1, imaginary)] : []),
    ...(isPresent(a, 1) ? [multiply(1, 0, isPresent(c, 1) ? null : imaginary)] : []),
  ];
  combine(1, mixed[0], mixed[1] ?? null, 'add');
}

/** A real product for each choice of one part of every operand: with `n` imaginary parts it counts iⁿ times. */
function lowerMultilinear(row: OperatorRow, args: Arguments, output: Tensor, context: LoweringContext): void {
  const name = baseName(row);
  const operands = operandsOf(name, args);
  let choices: (0 | 1)[][] = [[]];
  for (const { dtype } of operands) {
    choices = choices.flatMap((chosen) =>
      isComplex(dtype)
        ? [
            [...chosen, 0],
            [...chosen, 1],
          ]
        : [[...chosen, 0]],
    );
  }
  const terms = choices.map((chosen) => {
    const parts = operands.map((operand, at) => partTensor(operand, chosen[at]));
    const result = context.temporary(output.sizes, realType(output.dtype));
    const [first, second] = multilinear[name];
    const given = second === undefined ? { [first]: parts } : { [first]: parts[0], [second]: parts[1] };
    row.lower!({ ...args, ...given } as never, [result], context);
    return { result, power: chosen.filter((part) => part === 1).length };
  });
  for (const part of [0, 1] as const) {
    const own = terms.filter(({ power }) => power % 2 === part);
    const target = partOf(output, part);
    const {
      axes,
      views,
      target: view,
    } = deviceViews(
      target,
      own.map(({ result }) => result),
    );
    const sum = own.reduce<Expr>(
      (added, { power }, at) => binary(power < 2 ? 'add' : 'sub', added, views[at].at(axes)),
      complex.number(0),
    );
    const stores = [{ operand: view.operand, offset: view.offsetAt(axes), value: sum }];
    context.launch({ kind: 'nest', label: `aten::${name}`, axes, innerAxes: [], stores });
  }
}

/** Reductions that ask of each number only whether it is zero. */
const truths = new Set(['any', 'all', 'count_nonzero']);

function lowerTruths(row: OperatorRow, args: Arguments, output: Tensor, context: LoweringContext): void {
  const self = args.self as Tensor;
  const flags = context.temporary(self.sizes, 'bool');
  lowerBody(row, one(complex.truth), { self }, flags, context);
  lowerReduction(row, { ...args, self: flags }, output, context);
}

const scalarExpr = (value: Scalar): ComplexExpr =>
  value instanceof Complex
    ? complex.complexOf(param('float', value.re), param('float', value.im))
    : complex.complexOf(param('float', Number(value)));

function lowerBody(row: OperatorRow, body: Body, args: Arguments, output: Tensor, context: LoweringContext): void {
  const names = Object.keys(args).filter((name) => args[name] instanceof Tensor);
  const parts = names.flatMap((name) => {
    const tensor = args[name] as Tensor;
    return isComplex(tensor.dtype) ? [partOf(tensor, 0), partOf(tensor, 1)] : [tensor];
  });
  const targets = isComplex(output.dtype) ? [partOf(output, 0), partOf(output, 1)] : [output];
  const { axes, target, views } = deviceViews(targets[0], [...targets.slice(1), ...parts]);
  const stored = [target, ...views.slice(0, targets.length - 1)];
  const loads = views.slice(targets.length - 1).map((view) => view.at(axes));
  const values: Record<string, ComplexExpr> = {};
  for (const name of names) {
    const re = cast('float', loads.shift()!);
    values[name] = complex.complexOf(re, isComplex((args[name] as Tensor).dtype) ? loads.shift()! : undefined);
  }
  for (const { name, type } of boxingOf(row).signature.args) {
    const value = args[name];
    if (type === 'Scalar' && !(value instanceof Tensor) && value !== null) values[name] = scalarExpr(value as Scalar);
  }
  const result = body(values, args);
  // A truth value that is written into complex numbers has no imaginary part.
  const exprs = 're' in result ? [result.re, result.im] : [result, complex.number(0)];
  const stores = stored.map((view, at): Store => ({
    operand: view.operand,
    offset: view.offsetAt(axes),
    value: cast(exprTypeOf(targets[at].dtype), exprs[at]),
  }));
  context.launch({ kind: 'nest', label: `aten::${baseName(row)}`, axes, innerAxes: [], stores });
}
