import { AwaitType, FutureType, TupleType } from './container-types.ts';
import { AnyType } from './primitive-types.ts';
import type { Type } from './type.ts';
import { OptionalType, standardizeUnionMembers, UnionType, unshapedType } from './union-type.ts';

/** Types whose values may alias those of one type; a Union has several (PyTorch: AliasTypeSet). */
export type AliasTypeSet = readonly Type[];

/**
 * Tells which types can be written to, and maps each to the type that stands for all types it may alias: an Optional to
 * its element, a refined tensor to Tensor, a tuple to a tuple of its mutable members (PyTorch: MutableTypePtrHelper).
 */
export class MutableTypes {
  /** Of types that were asked for; types do not change. */
  static readonly #known = new WeakMap<Type, AliasTypeSet | 'immutable'>();

  isMutable(type: Type): boolean {
    return this.aliasTypeSet(type) !== undefined;
  }

  /** Undefined for a type that cannot be written to and holds nothing that can. */
  aliasTypeSet(type: Type): AliasTypeSet | undefined {
    let set = MutableTypes.#known.get(type);
    if (set === undefined) {
      set = this.#compute(type) ?? 'immutable';
      MutableTypes.#known.set(type, set);
    }
    return set === 'immutable' ? undefined : set;
  }

  #compute(type: Type): AliasTypeSet | undefined {
    switch (type.kind) {
      case 'ListType':
      case 'DictType':
      case 'ClassType':
      case 'TensorType':
        return [unshapedType(type)];
      case 'AnyType':
        return [AnyType.get()];
      default:
        break;
    }
    if (type instanceof OptionalType) {
      return this.aliasTypeSet(type.elementType);
    }
    if (type instanceof UnionType) {
      return this.#ofMembers(type.members);
    }
    if (type instanceof TupleType) {
      const members = this.#ofMembers(type.elements);
      return members === undefined ? undefined : [new TupleType(members)];
    }
    if (type instanceof FutureType) {
      const element = this.aliasTypeSet(type.elementType);
      return element === undefined ? undefined : [new FutureType(singleTypeOf(element))];
    }
    if (type instanceof AwaitType) {
      const element = this.aliasTypeSet(type.elementType);
      return element === undefined ? undefined : [new AwaitType(singleTypeOf(element))];
    }
    return undefined;
  }

  #ofMembers(types: readonly Type[]): AliasTypeSet | undefined {
    const members = types.flatMap((type) => this.aliasTypeSet(type) ?? []);
    return members.length === 0 ? undefined : members;
  }
}

/** One type for a set: itself, or the Union of its members (PyTorch: toSingleType). */
export function singleTypeOf(types: AliasTypeSet): Type {
  const members = types.length === 1 ? types : standardizeUnionMembers(types);
  return members.length === 1 ? members[0] : UnionType.create(members);
}
