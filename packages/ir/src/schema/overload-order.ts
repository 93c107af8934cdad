import { piecesOf, resultsOf } from './schema-pieces.ts';

/** Overloads that PyTorch registers after others that the same call would fit. */
const LATER_OVERLOADS: ReadonlySet<string> = new Set([
  'a',
  'any',
  'center',
  'correction',
  'dims',
  'hacked_twin',
  'int_to_int',
  'padding',
  'prim_Device',
  'prim_dtype',
  'prim_other',
  'Tensor_hacked_twin',
]);

/** An operator's names, and its schema as it was registered. */
interface Overload {
  readonly name: string;
  readonly overloadName: string;
  readonly schemaText: string;
}

/**
 * Puts overloads in an order in which the first that fits a call is the one PyTorch takes: by what they accept, from narrow to
 * wide, and in the order they are given where that is equal. PyTorch has them in the order it happens to register them. It is told from texts:
 * most of the schemas are never matched against anything, and need not be parsed.
 */
export function sortOverloads<T extends Overload>(overloads: readonly T[]): readonly T[] {
  return overloads.length < 2
    ? overloads
    : overloads
        .map((overload) => ({ overload, rank: rankOf(overload) }))
        .sort((left, right) => left.rank - right.rank)
        .map(({ overload }) => overload);
}

const SIGNATURE = /\(([^]*)\)\s*->\s*([^]*)$/;
/** One tensor: no list of them, and none that may be left out. */
const ONE_TENSOR = /^Tensor(?:\([^)]*\))?(?:\s|$)/;

function rankOf({ name, overloadName, schemaText }: Overload): number {
  const [, inBrackets = '', results = ''] = SIGNATURE.exec(schemaText) ?? [];
  const args = piecesOf(inBrackets);
  const accepts = (type: RegExp): boolean => args.some((arg) => type.test(arg));
  if (accepts(/^(?:Any|list|tuple)\b/)) return 5;
  // A number that is an integer is made a float as any other is.
  if (accepts(/^Scalar\b/) && !accepts(/^Tensor\b/) && name !== 'aten::Float') return 4;
  if (LATER_OVERLOADS.has(overloadName)) return 3;
  // The overload without a name is the plain form: `clamp` with numbers before `clamp.Tensor`, `all` before `all.dims`.
  if (overloadName === '' && /^[\s*,]*Tensor\b/.test(inBrackets) && name !== 'aten::split') return 0;
  // Operators on tensors are registered before those on numbers: `x - True` subtracts a number from a tensor.
  const givesTensor = resultsOf(results).some((type) => ONE_TENSOR.test(type));
  return overloadName !== '' && accepts(ONE_TENSOR) && givesTensor ? 1 : 2;
}
