import {
  isComplex,
  isIntegral,
  promoteTypes,
  settleAll,
  symAdd,
  symEq,
  Tensor,
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
import { equationOf, parseEquation, type EinsumArgs, type Labelled, type SublistArgs } from './equation.ts';
import { lowerProduct } from '../products/product-lowering.ts';
import { productPieces, type ProductDims } from '../products/product.ts';

/** Sums of products over named dimensions (ATen/native/Linear.cpp). */

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
  labelledRow<SublistArgs>('aten::einsum.sublist(Tensor a, ...) -> Tensor', (args) => parseEquation(equationOf(args))),
];
