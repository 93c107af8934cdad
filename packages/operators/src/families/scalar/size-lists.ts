import { List, symAdd, type SymInt } from '@cresset/tensor';
import { slicePositions } from './strings.ts';

/** Operators on lists of whole numbers, where these are expressions of sizes (`OperatorRow.sizes`). Each gives null where it goes by the numbers. */

/** A list of whole numbers, or what such a list is worked out of. */
export type SizeList = List | readonly SymInt[];

type Bound = SymInt | null;

/** The items of a list; null where they are no whole numbers. */
export function sizesIn(list: SizeList): readonly SymInt[] | null {
  if (!(list instanceof List)) return list;
  return list.items.every((item) => typeof item === 'bigint') ? list.items.map(Number) : null;
}

export const sizeCount = (list: SizeList): number | null => sizesIn(list)?.length ?? null;

export function sizeAt(list: SizeList, index: SymInt): SymInt | null {
  return typeof index === 'number' ? (sizesIn(list)?.at(index) ?? null) : null;
}

export function sizesBetween(list: SizeList, start: Bound, end: Bound, step: SymInt): readonly SymInt[] | null {
  const items = sizesIn(list);
  const bounds = [start, end, step];
  if (!items || step === 0 || bounds.some((bound) => bound !== null && typeof bound !== 'number')) return null;
  const [from, to, by] = bounds.map((bound) => (bound === null ? null : BigInt(bound as number)));
  return slicePositions(from, to, by!, items.length).map((at) => items[at]);
}

export function sizesOfBoth(a: SizeList, b: SizeList): readonly SymInt[] | null {
  const [first, second] = [sizesIn(a), sizesIn(b)];
  return first && second && [...first, ...second];
}

/** Sizes of a tensor are no more than these. */
const MOST_ITEMS = 64;

export function sizesRepeated(list: SizeList, count: SymInt): readonly SymInt[] | null {
  const items = sizesIn(list);
  if (!items || typeof count !== 'number' || items.length * count > MOST_ITEMS) return null;
  return Array.from({ length: Math.max(0, count) }, () => items).flat();
}

export const sumOfSizes = (list: SizeList): SymInt | null => sizesIn(list)?.reduce<SymInt>(symAdd, 0) ?? null;
