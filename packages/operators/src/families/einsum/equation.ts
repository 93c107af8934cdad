import { List, symEq, type Tensor, textOf, typeOfValue, type IValue, type SymInt } from '@cresset/tensor';
import { check } from '../../kernels/errors.ts';

/** Which dimensions of operands an einsum takes together, as an equation or as lists of numbers. */

/** A tensor with a label for each dimension. A label that occurs twice in one tensor stands for its diagonal. */
export interface Labelled {
  readonly tensor: Tensor;
  readonly labels: readonly string[];
}

export interface EinsumArgs {
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
export function parseEquation({ equation, tensors }: EinsumArgs): { operands: Labelled[]; output: string[] } {
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

/** Operands in turns with lists of numbers of dimensions, and a list of those of the result, if that is said. */
export interface SublistArgs {
  readonly a: Tensor;
  readonly rest: readonly IValue[];
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The same with an equation. */
export function equationOf({ a, rest }: SublistArgs): EinsumArgs {
  check(
    rest.length > 0,
    'einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list',
  );
  const args = [a, ...rest];
  const tensors: Tensor[] = [];
  const terms: string[] = [];
  let output = '';
  for (let at = 0; at < args.length; at += 2) {
    const isLast = at === args.length - 1;
    if (isLast) output = `->${termOf(args[at], at)}`;
    else {
      tensors.push(args[at] as Tensor);
      terms.push(termOf(args[at + 1], at + 1));
    }
  }
  return { equation: terms.join(',') + output, tensors, path: null };
}

function termOf(sublist: IValue, at: number): string {
  const isList = sublist instanceof List && sublist.elementType.kind === 'IntType';
  check(
    isList,
    () => `einsum(): expected List[int] in argument ${at}, but got ${typeOfValue(sublist)?.annotationStr() ?? 'Any'}`,
  );
  return (sublist as List).items
    .map((subscript, position) => {
      const letter = LETTERS[Number(subscript)];
      check(
        letter !== undefined,
        () =>
          `einsum(): expected subscript ${position} in argument ${at} to be within the range [0, 52), but got ${String(subscript)}`,
      );
      return letter;
    })
    .join('');
}
