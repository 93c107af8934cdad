import { slicePositions, type OperatorRow } from '@cresset/operators';
import {
  List,
  NestedTensor,
  symMax,
  symMin,
  symMul,
  symNe,
  type SymFloat,
  type SymInt,
  type Tensor,
} from '@cresset/tensor';

/**
 * What operators of the language make of sizes, as `OperatorRow.sizes` says of others: null where they go by the numbers. It is here, since only what is
 * recorded has a use for it, and a page without recordings all of these operators.
 */

/** A list of whole numbers, or what such a list is worked out of. */
type SizeList = List | readonly SymInt[];

type Bound = SymInt | null;

/** The items of a list; null where they are no whole numbers. */
function sizesIn(list: SizeList): readonly SymInt[] | null {
  if (!(list instanceof List)) return list;
  return list.items.every((item) => typeof item === 'bigint') ? list.items.map(Number) : null;
}

const sizeCount = (list: SizeList): number | null => sizesIn(list)?.length ?? null;

function sizeAt(list: SizeList, index: SymInt): SymInt | null {
  return typeof index === 'number' ? (sizesIn(list)?.at(index) ?? null) : null;
}

function sizesBetween(list: SizeList, ...bounds: readonly Bound[]): readonly SymInt[] | null {
  const items = sizesIn(list);
  if (!items || bounds.some((bound) => bound !== null && typeof bound !== 'number')) return null;
  const [start, end, step] = bounds.map((bound) => (bound === null ? null : BigInt(bound as number)));
  return step ? slicePositions(start, end, step, items.length).map((at) => items[at]) : null;
}

function sizesOfBoth(a: SizeList, b: SizeList): readonly SymInt[] | null {
  const [first, second] = [sizesIn(a), sizesIn(b)];
  return first && second && [...first, ...second];
}

const extremeOf =
  (of: (a: SymInt, b: SymInt) => SymInt) =>
  (list: SizeList): SymInt | null => {
    const items = sizesIn(list);
    return items && items.length > 0 ? items.reduce(of) : null;
  };

/** By the names of operators. */
export const scalarsOfSizes: ReadonlyMap<string, OperatorRow['sizes']> = new Map<string, OperatorRow['sizes']>([
  ['aten::len.t', sizeCount],
  ['aten::list.t', sizesIn],
  ['aten::copy.t', sizesIn],
  ['aten::__getitem__.t', sizeAt],
  ['aten::select.t', sizeAt],
  ['aten::slice.t', sizesBetween],
  ['aten::add.t', sizesOfBoth],
  ['aten::len.Tensor', (t: Tensor) => (t instanceof NestedTensor ? null : (t.symSizes.at(0) ?? null))],
  ['prim::max.self_int', extremeOf(symMax)],
  ['prim::min.self_int', extremeOf(symMin)],
  ['aten::neg.int', (a: SymInt) => symMul(a, -1)],
  ['aten::Bool.int', (a: SymInt) => symNe(a, 0)],
  ['aten::Int.Scalar', (a: SymInt | SymFloat) => (typeof a !== 'number' && a.kind === 'int' ? a : null)],
]);
