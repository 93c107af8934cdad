import { isComplex, Tensor, type ScalarType } from '@cresset/tensor';
import { kernel } from '../../table/builders.ts';
import { scalarWriter } from '../../kernels/elements.ts';
import { check } from '../../kernels/errors.ts';
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

/** Where intermediate results come from and how two operands are multiplied, null where that is done at once. */
interface Multiplier {
  allocate(sizes: readonly number[], dtype: ScalarType): Tensor;
  multiply(left: Tensor, right: Tensor, out: Tensor, dims: ProductDims): Pieces | null;
}

const hostMultiplier: Multiplier = {
  allocate: Tensor.empty,
  multiply: (left, right, out, dims) => productPieces(left, right, out, undefined, dims),
};

function deviceMultiplier(label: string, context: LoweringContext): Multiplier {
  return {
    allocate: context.temporary.bind(context),
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
  sizes: ReadonlyMap<string, number>,
): Tensor {
  const strides = wanted.map((label) =>
    labels.reduce(
      (stride, own, dim) => (own === label && tensor.sizes[dim] !== 1 ? stride + tensor.strides[dim] : stride),
      0,
    ),
  );
  return tensor.asStrided(
    wanted.map((label) => sizes.get(label)!),
    strides,
  );
}

function labelSizes(operands: readonly Labelled[]): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const { tensor, labels } of operands) {
    labels.forEach((label, dim) => {
      const known = sizes.get(label) ?? 1;
      if (known === 1) sizes.set(label, tensor.sizes[dim]);
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

/** Contracts operands pair by pair (in the order of `path`, else from the left) until `out` is filled. */
function* contract(
  operands: readonly Labelled[],
  out: Labelled,
  multiplier: Multiplier,
  path: readonly number[] | null,
): Pieces {
  const rest = [...operands];
  if (rest.length === 1) {
    const one = Tensor.empty([], out.tensor.dtype);
    scalarWriter(one)(0, 1n);
    rest.push({ tensor: one, labels: [] });
  }
  for (let step = 0; rest.length > 1; step++) {
    const [first, second] = path ? [path[2 * step], path[2 * step + 1]] : [0, 1];
    const left = rest[first];
    const right = rest[second];
    rest.splice(Math.max(first, second), 1);
    rest.splice(Math.min(first, second), 1);
    if (rest.length === 0) {
      yield* multiplyLabelled(left, right, out, multiplier) ?? [];
      return;
    }
    const needed = new Set([...out.labels, ...rest.flatMap(({ labels }) => labels)]);
    const labels = [...new Set([...left.labels, ...right.labels])].filter((label) => needed.has(label));
    const sizes = labelSizes([left, right]);
    const tensor = multiplier.allocate(
      labels.map((label) => sizes.get(label)!),
      out.tensor.dtype,
    );
    yield* multiplyLabelled(left, right, { tensor, labels }, multiplier) ?? [];
    // As in PyTorch, the result takes its place at the end with a path, at the front without one.
    if (path) rest.push({ tensor, labels });
    else rest.unshift({ tensor, labels });
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
      tensor.sizes[first] === tensor.sizes[dim],
      () =>
        `einsum(): subscript ${label} is repeated for operand ${at} but the sizes don't match, ${tensor.sizes[dim]} != ${tensor.sizes[first]}`,
    );
  });
  return { tensor, labels };
}

function checkSizesAgree(operands: readonly Labelled[]): void {
  const sizes = new Map<string, number>();
  operands.forEach(({ tensor, labels }, at) => {
    labels.forEach((label, dim) => {
      const seen = sizes.get(label) ?? 1;
      const size = tensor.sizes[dim];
      check(
        size === 1 || seen === 1 || size === seen,
        () =>
          `einsum(): subscript ${label} has size ${size} for operand ${at} which does not broadcast with previously seen size ${seen}`,
      );
      if (seen === 1) sizes.set(label, size);
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
      const { operands, output } = rule(args);
      const sizes = labelSizes(operands);
      const dtype = operands[0].tensor.dtype;
      for (const { tensor } of operands) {
        check(
          tensor.dtype === dtype,
          () => `expected scalar type ${dtypeName(dtype)} but found ${dtypeName(tensor.dtype)}`,
        );
      }
      return { sizes: output.map((name) => sizes.get(name)!), dtype };
    },
    host: (args, [out]) => fill(args, out, hostMultiplier),
    lower: (args, [out], context) => finish(fill(args, out, deviceMultiplier(label, context))),
    lowerable: (args) => !isComplex(rule(args).operands[0].tensor.dtype),
  });
}

export const einsumRows: readonly OperatorRow[] = [
  labelledRow<EinsumArgs>('aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor', (args) => ({
    ...parseEquation(args),
    path: args.path,
  })),
];
