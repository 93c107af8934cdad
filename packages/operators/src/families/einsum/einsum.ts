import {
  isComplex,
  isIntegral,
  promoteTypes,
  settleAll,
  symAdd,
  symEq,
  Tensor,
  textOf,
  type ScalarType,
  type SymInt,
} from '@cresset/tensor';
import { kernel } from '../../table/builders.ts';
import { copyPieces, lowerCopy } from '../../kernels/copy.ts';
import { scalarWriter } from '../../kernels/elements.ts';
import { check, notImplementedFor } from '../../kernels/errors.ts';
import { finish, type Pieces } from '../../kernels/loops/pieces.ts';
import type { LoweringContext, OperatorRow, TensorMeta } from '../../table/row.ts';
import { dtypeName } from '../../kernels/type-promotion.ts';
import { lowerProduct } from '../products/product-lowering.ts';
import { productPieces, type ProductDims } from '../products/product.ts';

/** Sums of products over named dimensions (ATen/native/Linear.cpp). */

/** A tensor with a label for each dimension. A label that occurs twice in one tensor stands for its diagonal. */
export interface Labelled {
  readonly tensor: Tensor;
  readonly labels: readonly string[];
}

/** Where intermediate results come from and how two operands are converted and multiplied, null where that is done at once. */
interface Multiplier {
  allocate(sizes: readonly SymInt[], dtype: ScalarType): Tensor;
  copy(target: Tensor, source: Tensor): Pieces | null;
  multiply(left: Tensor, right: Tensor, out: Tensor, dims: ProductDims): Pieces | null;
}

const hostMultiplier: Multiplier = {
  allocate: (sizes, dtype) => Tensor.empty(settleAll(sizes), dtype),
  copy: copyPieces,
  multiply: (left, right, out, dims) => productPieces(left, right, out, undefined, dims),
};

function deviceMultiplier(label: string, context: LoweringContext): Multiplier {
  return {
    allocate: context.temporary.bind(context),
    copy: (target, source) => {
      lowerCopy(target, source, context, label);
      return null;
    },
    multiply: (left, right, out, dims) => {
      lowerProduct(label, { left, right, out }, context, dims);
      return null;
    },
  };
}

/** The operand with one dimension a wanted label; a label it lacks, or has with size 1, repeats. */
function viewByLabels(
  { tensor, labels }: Labelled,
  wanted: readonly string[],
  sizes: ReadonlyMap<string, SymInt>,
): Tensor {
  const strides = wanted.map((label) =>
    labels.reduce<SymInt>(
      (stride, own, dim) =>
        own === label && !symEq(tensor.symSizes[dim], 1) ? symAdd(stride, tensor.symStrides[dim]) : stride,
      0,
    ),
  );
  return tensor.asStrided(
    wanted.map((label) => sizes.get(label)!),
    strides,
  );
}

function labelSizes(operands: readonly Labelled[]): Map<string, SymInt> {
  const sizes = new Map<string, SymInt>();
  for (const { tensor, labels } of operands) {
    labels.forEach((label, dim) => {
      const known = sizes.get(label) ?? 1;
      if (symEq(known, 1)) sizes.set(label, tensor.symSizes[dim]);
    });
  }
  return sizes;
}

/** `out` gets the sum over all labels it lacks of the product of both. */
function multiplyLabelled(left: Labelled, right: Labelled, out: Labelled, multiplier: Multiplier): Pieces | null {
  const sizes = labelSizes([left, right]);
  const all = [...new Set([...left.labels, ...right.labels])];
  const kept = all.filter((label) => out.labels.includes(label));
  const inner = all.filter((label) => !out.labels.includes(label));
  const batch = kept.filter((label) => left.labels.includes(label) && right.labels.includes(label));
  const rows = kept.filter((label) => !right.labels.includes(label));
  const columns = kept.filter((label) => !left.labels.includes(label));
  return multiplier.multiply(
    viewByLabels(left, [...batch, ...rows, ...inner], sizes),
    viewByLabels(right, [...batch, ...inner, ...columns], sizes),
    viewByLabels(out, [...batch, ...rows, ...columns], sizes),
    { rows: rows.length, columns: columns.length, inner: inner.length },
  );
}

/** What is known of an operand, or of what comes of two, before anything is computed. */
interface Planned {
  readonly dtype: ScalarType;
  readonly labels: readonly string[];
  readonly sizes: ReadonlyMap<string, SymInt>;
}

/** Two operands, by their places among those that are left, and what is made of them. */
interface Step extends Planned {
  readonly first: number;
  readonly second: number;
}

const hasMany = ({ sizes }: Planned, label: string): boolean => (sizes.get(label) ?? 1) !== 1;

/** Numbers that are added up are wider than a bool or a small integer. */
const summed = (dtype: ScalarType): ScalarType => (isIntegral(dtype, true) ? 'int64' : dtype);

/**
 * The steps of a contraction (in the order of `path`, else from the left). Where nothing is summed up over both operands they are multiplied as
 * elements are, whatever their dtypes, and what only one of them has is summed up before; else it is a product of matrices, of one dtype.
 */
function planSteps(operands: readonly Labelled[], output: readonly string[], path: readonly number[] | null): Step[] {
  const rest: Planned[] = operands.map((operand) => ({
    dtype: operand.tensor.dtype,
    labels: operand.labels,
    sizes: labelSizes([operand]),
  }));
  if (rest.length === 1) {
    const [{ dtype, labels, sizes }] = rest;
    const isSummed = labels.some((label) => !output.includes(label));
    return [{ first: 0, second: 1, dtype: isSummed ? summed(dtype) : dtype, labels: output, sizes }];
  }
  const steps: Step[] = [];
  while (rest.length > 1) {
    const [first, second] = path ? path.slice(2 * steps.length, 2 * steps.length + 2) : [0, 1];
    const [left, right] = [rest[first], rest[second]];
    rest.splice(Math.max(first, second), 1);
    rest.splice(Math.min(first, second), 1);
    const all = [...new Set([...left.labels, ...right.labels])];
    const isKept = (label: string): boolean =>
      output.includes(label) || rest.some((other) => other.labels.includes(label) && hasMany(other, label));
    const gone = all.filter((label) => !isKept(label));
    const isShared = (label: string): boolean => hasMany(left, label) && hasMany(right, label);
    const [ofLeft, ofRight] = [left, right].map((each) =>
      gone.some((label) => hasMany(each, label) && !isShared(label)) ? summed(each.dtype) : each.dtype,
    );
    if (gone.some(isShared)) {
      if (ofLeft === 'bool') throw notImplementedFor('bmm', dtypeName(ofLeft));
      check(ofLeft === ofRight, () => `expected scalar type ${dtypeName(ofLeft)} but found ${dtypeName(ofRight)}`);
    }
    const sizes = new Map(all.map((label) => [label, (hasMany(left, label) ? left : right).sizes.get(label) ?? 1]));
    const labels = rest.length === 0 ? output : all.filter(isKept);
    const step = { first, second, dtype: promoteTypes(ofLeft, ofRight), labels, sizes };
    steps.push(step);
    // As in PyTorch, the result takes its place at the end with a path, at the front without one.
    if (path) rest.push(step);
    else rest.unshift(step);
  }
  return steps;
}

/** Contracts operands pair by pair until `out` is filled. */
function* contract(
  operands: readonly Labelled[],
  out: Labelled,
  multiplier: Multiplier,
  path: readonly number[] | null,
): Pieces {
  const steps = planSteps(operands, out.labels, path);
  const rest = [...operands];
  if (rest.length === 1) {
    const one = Tensor.empty([], out.tensor.dtype);
    scalarWriter(one)(0, 1n);
    rest.push({ tensor: one, labels: [] });
  }
  for (const [at, { first, second, dtype, labels, sizes }] of steps.entries()) {
    const pair = [rest[first], rest[second]];
    rest.splice(Math.max(first, second), 1);
    rest.splice(Math.min(first, second), 1);
    for (const [side, { tensor, labels: own }] of pair.entries()) {
      if (tensor.dtype === dtype) continue;
      const converted = multiplier.allocate(tensor.symSizes, dtype);
      yield* multiplier.copy(converted, tensor) ?? [];
      pair[side] = { tensor: converted, labels: own };
    }
    const isLast = at === steps.length - 1;
    const result = isLast
      ? out
      : {
          tensor: multiplier.allocate(
            labels.map((label) => sizes.get(label)!),
            dtype,
          ),
          labels,
        };
    yield* multiplyLabelled(pair[0], pair[1], result, multiplier) ?? [];
    if (path) rest.push(result);
    else rest.unshift(result);
  }
}

interface EinsumArgs {
  readonly equation: string;
  readonly tensors: readonly Tensor[];
  readonly path: readonly number[] | null;
}

const isLetter = (character: string): boolean => /[a-zA-Z]/.test(character);

/** Subscripts of one term, an ellipsis as '...'. */
function parseTerm(term: string, start: number, place: string): string[] {
  const subscripts: string[] = [];
  for (let at = 0; at < term.length; at++) {
    const character = term[at];
    if (character === ' ') continue;
    if (character === '.') {
      check(
        !subscripts.includes('...'),
        () => `einsum(): found '.' for ${place} for which an ellipsis was already found`,
      );
      check(term.startsWith('...', at), () => `einsum(): found '.' for ${place} that is not part of any ellipsis`);
      subscripts.push('...');
      at += 2;
    } else {
      check(
        isLetter(character),
        () =>
          `einsum(): invalid subscript given at index ${start + at} in the equation string, subscripts must be in [a-zA-Z]`,
      );
      subscripts.push(character);
    }
  }
  return subscripts;
}

/** Operands with labels (ellipsis dimensions as `...0`, counted from the right) and the labels of the result. */
function parseEquation({ equation, tensors }: EinsumArgs): { operands: Labelled[]; output: string[] } {
  check(tensors.length > 0, 'einsum(): must provide at least one operand');
  const arrow = equation.indexOf('->');
  const lhs = arrow < 0 ? equation : equation.slice(0, arrow);
  const terms = lhs.split(',');
  check(terms.length <= tensors.length, 'einsum(): fewer operands were provided than specified in the equation');
  check(terms.length >= tensors.length, 'einsum(): more operands were provided than specified in the equation');
  let start = 0;
  const parsed = terms.map((term, at) => {
    const subscripts = parseTerm(term, start, `operand ${at}`);
    start += term.length + 1;
    return subscripts;
  });
  const operands = parsed.map((subscripts, at) => labelOperand(tensors[at], subscripts, at));
  const ellipsis = Math.max(...operands.map(({ labels }) => labels.filter((label) => label.length > 1).length));
  const ellipsisLabels = Array.from({ length: ellipsis }, (_, dim) => `...${ellipsis - 1 - dim}`);
  checkSizesAgree(operands);
  if (arrow < 0) {
    const all = operands.flatMap(({ labels }) => labels).filter((label) => label.length === 1);
    const once = all.filter((label) => all.indexOf(label) === all.lastIndexOf(label));
    // Capitals come first, as in ASCII.
    return { operands, output: [...ellipsisLabels, ...once.sort((a, b) => (a < b ? -1 : 1))] };
  }
  const output = parseTerm(equation.slice(arrow + 2), arrow + 2, 'the output').flatMap((label) =>
    label === '...' ? ellipsisLabels : [label],
  );
  const known = new Set(operands.flatMap(({ labels }) => labels));
  output.forEach((label, at) => {
    check(
      output.indexOf(label) === at,
      () => `einsum(): output subscript ${label} appears more than once in the output`,
    );
    check(
      known.has(label),
      () => `einsum(): output subscript ${label} does not appear in the equation for any input operand`,
    );
  });
  return { operands, output };
}

function labelOperand(tensor: Tensor, subscripts: readonly string[], at: number): Labelled {
  const named = subscripts.filter((label) => label !== '...').length;
  const hasEllipsis = subscripts.includes('...');
  const fits = hasEllipsis ? tensor.dim >= named : tensor.dim === named;
  check(
    fits,
    () =>
      `einsum(): the number of subscripts in the equation (${named}) ${hasEllipsis ? 'is more than' : 'does not match'} the number of dimensions (${tensor.dim}) for operand ${at}${hasEllipsis ? '' : ' and no ellipsis was given'}`,
  );
  const covered = tensor.dim - named;
  const labels = subscripts.flatMap((label) =>
    label === '...' ? Array.from({ length: covered }, (_, dim) => `...${covered - 1 - dim}`) : [label],
  );
  labels.forEach((label, dim) => {
    const first = labels.indexOf(label);
    check(
      symEq(tensor.symSizes[first], tensor.symSizes[dim]),
      () =>
        `einsum(): subscript ${label} is repeated for operand ${at} but the sizes don't match, ${textOf(tensor.symSizes[dim])} != ${textOf(tensor.symSizes[first])}`,
    );
  });
  return { tensor, labels };
}

function checkSizesAgree(operands: readonly Labelled[]): void {
  const sizes = new Map<string, SymInt>();
  operands.forEach(({ tensor, labels }, at) => {
    labels.forEach((label, dim) => {
      const seen = sizes.get(label) ?? 1;
      const size = tensor.symSizes[dim];
      const isFirst = symEq(seen, 1);
      check(
        isFirst || symEq(size, 1) || symEq(size, seen),
        () =>
          `einsum(): subscript ${label} has size ${textOf(size)} for operand ${at} which does not broadcast with previously seen size ${textOf(seen)}`,
      );
      if (isFirst) sizes.set(label, size);
    });
  });
}

export function labelledRow<Args>(
  schema: string,
  rule: (args: Args) => { operands: readonly Labelled[]; output: readonly string[]; path?: readonly number[] | null },
): OperatorRow {
  const label = schema.slice(0, schema.search(/[.(]/));
  const fill = (args: Args, out: Tensor, multiplier: Multiplier): Pieces => {
    const { operands, output, path } = rule(args);
    return contract(operands, { tensor: out, labels: output }, multiplier, path ?? null);
  };
  return kernel<Args>(schema, {
    out: schema.startsWith('aten::einsum') ? undefined : true,
    shape(args): TensorMeta {
      const { operands, output, path } = rule(args);
      const sizes = labelSizes(operands);
      const { dtype } = planSteps(operands, output, path ?? null).at(-1)!;
      return { sizes: output.map((name) => sizes.get(name)!), dtype };
    },
    host: (args, [out]) => fill(args, out, hostMultiplier),
    lower: (args, [out], context) => finish(fill(args, out, deviceMultiplier(label, context))),
    lowerable: (args) => !rule(args).operands.some(({ tensor }) => isComplex(tensor.dtype)),
  });
}

export const einsumRows: readonly OperatorRow[] = [
  labelledRow<EinsumArgs>('aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor', (args) => ({
    ...parseEquation(args),
    path: args.path,
  })),
];
