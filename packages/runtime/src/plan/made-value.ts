import type { Type, TupleType } from '@cresset/ir';
import {
  List,
  realType,
  Tensor,
  Tuple,
  type IValue,
  type ScalarType,
  type Storage,
  hint,
  isSymbolic,
  type SymInt,
  type SymKind,
  type SymNode,
} from '@cresset/tensor';
import { numberOfNow } from './recording/numbers-of-sizes.ts';

/** How a value of a recording is made once more. */
export type MadeValue =
  /** The same again: a number, a constant, an object of the program. */
  | { readonly kind: 'same'; readonly value: IValue }
  | { readonly kind: 'live-in'; readonly at: number }
  | {
      readonly kind: 'tensor';
      /** A storage of the stretch. */
      readonly storage: number;
      readonly dtype: ScalarType;
      readonly sizes: readonly SymInt[];
      readonly strides: readonly SymInt[];
      readonly offset: SymInt;
      readonly requiresGrad: boolean;
    }
  /** A number that is worked out of sizes. */
  | { readonly kind: 'size'; readonly value: SymNode<SymKind> }
  /** Items are numbers of values that are made before. */
  | { readonly kind: 'list'; readonly elementType: Type; readonly items: readonly number[] }
  | { readonly kind: 'tuple'; readonly type: TupleType | null; readonly items: readonly number[] };

/**
 * How a tensor, a list or a tuple is made; any other value is the same again.
 *
 * @param itemOf the number of what is made for an item
 * @param storageOf the number of a storage, of elements of a dtype
 */
export function recipeOf(
  value: IValue,
  itemOf: (item: IValue, at: number) => number,
  storageOf: (storage: Storage, dtype: ScalarType) => number,
): MadeValue {
  if (value instanceof Tensor) {
    const { dtype, symSizes: sizes, symStrides: strides, symStorageOffset: offset, requiresGrad } = value;
    const storage = storageOf(value.storage, realType(dtype));
    return { kind: 'tensor', storage, dtype, sizes, strides, offset, requiresGrad };
  }
  if (value instanceof List) return { kind: 'list', elementType: value.elementType, items: value.items.map(itemOf) };
  if (value instanceof Tuple) return { kind: 'tuple', type: value.type, items: value.items.map(itemOf) };
  return { kind: 'same', value };
}

/** Makes values in order, out of live-ins and storages. */
export function makeValues(
  recipes: readonly MadeValue[],
  liveIns: readonly IValue[],
  storages: readonly Storage[],
): IValue[] {
  const made = new Array<IValue>(recipes.length);
  for (let at = 0; at < recipes.length; at++) made[at] = makeValue(recipes[at], liveIns, storages, made);
  return made;
}

function makeValue(
  recipe: MadeValue,
  liveIns: readonly IValue[],
  storages: readonly Storage[],
  made: readonly IValue[],
): IValue {
  switch (recipe.kind) {
    case 'same':
      return recipe.value;
    case 'live-in':
      return liveIns[recipe.at];
    case 'tensor': {
      const { sizes, strides, offset } = recipe;
      const tensor = new Tensor(storages[recipe.storage], recipe.dtype, now(sizes), now(strides), hint(offset));
      tensor.requiresGrad = recipe.requiresGrad;
      return tensor;
    }
    case 'size':
      return numberOfNow(recipe.value);
    case 'list':
      return new List(
        recipe.elementType,
        recipe.items.map((item) => made[item]),
      );
    case 'tuple':
      return new Tuple(
        recipe.items.map((item) => made[item]),
        recipe.type,
      );
  }
  return recipe satisfies never;
}

/** Sizes as they are now: the same list again where they are no others. */
const now = (sizes: readonly SymInt[]): readonly number[] =>
  isSymbolic(sizes) ? sizes.map(hint) : (sizes as readonly number[]);
