import { CressetError } from '../error.ts';

/** Kinds of types, in PyTorch's order (C10_FORALL_TYPES): members of a Union are sorted by it. */
const TYPE_KINDS = [
  'AnyType',
  'EnumType',
  'AnyEnumType',
  'TensorType',
  'StorageType',
  'TupleType',
  'ListType',
  'DictType',
  'NumberType',
  'FloatType',
  'ComplexType',
  'FutureType',
  'AwaitType',
  'RRefType',
  'IntType',
  'NoneType',
  'StringType',
  'GeneratorType',
  'QuantizerType',
  'BoolType',
  'OptionalType',
  'VarType',
  'DeviceObjType',
  'StreamObjType',
  'FunctionType',
  'ClassType',
  'PyObjectType',
  'CapsuleType',
  'InterfaceType',
  'QSchemeType',
  'ScalarTypeType',
  'LayoutType',
  'MemoryFormatType',
  'AnyListType',
  'AnyTupleType',
  'AnyClassType',
  'SymIntType',
  'SymFloatType',
  'SymBoolType',
  'UnionType',
] as const;

export type TypeKind = (typeof TYPE_KINDS)[number];

const KIND_ORDER: ReadonlyMap<TypeKind, number> = new Map(TYPE_KINDS.map((kind, index) => [kind, index]));

/** Position of a kind in PyTorch's list of kinds. */
export function typeKindOrder(kind: TypeKind): number {
  return KIND_ORDER.get(kind)!;
}

/** Overrides how a type is written in `annotationStr`; undefined falls through to the default (PyTorch: TypePrinter). */
export type TypePrinter = (type: Type) => string | undefined;

const MAX_TYPE_DEPTH = 100;
const MAX_TYPE_SIZE = 50_000;

/** Collects the reasons why a type is not a subtype of another. */
export type WhyNot = string[];

/**
 * A static type of TorchScript (PyTorch: c10::Type). Immutable, except that a ClassType grows while its class is compiled.
 *
 * Narrow with `instanceof`. Three spellings: {@link str} is that of schemas and messages, {@link toString} that of graphs
 * (refined tensors with their dtype and sizes), {@link annotationStr} that of Python source.
 */
export abstract class Type {
  abstract readonly kind: TypeKind;
  /** Types within each other, this one counted; a class is one type, whatever its attributes are. */
  readonly #depth: number;
  /** Types it is made of; one that occurs twice counts twice, as it does for whoever prints or compares them. */
  readonly #size: number;

  /** Throws `IR_TYPE` for what no program declares: statements in a row can make each its own type of that of the one before. */
  constructor(contained: readonly Type[] = []) {
    let [depth, size] = [1, 1];
    for (const type of contained) {
      depth = Math.max(depth, type.#depth + 1);
      size += type.#size;
    }
    if (depth > MAX_TYPE_DEPTH || size > MAX_TYPE_SIZE) {
      throw new CressetError('IR_TYPE', 'a type has too many types within it');
    }
    this.#depth = depth;
    this.#size = size;
  }

  /** The spelling in schemas and messages: `int[]`, `Tensor?`, `Dict(str, int)` (PyTorch: Type::str). */
  abstract str(): string;

  /** The spelling in graphs: as {@link str}, with what is known of tensors (PyTorch: operator<<). */
  toString(): string {
    return this.str();
  }

  /** The spelling in error messages (PyTorch: repr_str). */
  reprStr(): string {
    return this.annotationStr();
  }

  /** The spelling in Python source: `List[int]`, `Optional[Tensor]` (PyTorch: annotation_str). */
  annotationStr(printer?: TypePrinter): string {
    return printer?.(this) ?? this.annotationStrImpl(printer);
  }

  protected annotationStrImpl(_printer?: TypePrinter): string {
    return this.str();
  }

  /** Whether both are the same type (PyTorch: operator==). */
  equals(other: Type): boolean {
    return this === other || (this.equalsImpl(other) && (!this.isAsymmetric() || other.equalsImpl(this)));
  }

  /** One direction of {@link equals}; called by other types too, therefore public. */
  equalsImpl(other: Type): boolean {
    return this.kind === other.kind;
  }

  /** True where `a == b` has to be asked from both sides (PyTorch: symmetric() is false). */
  protected isAsymmetric(): boolean {
    return false;
  }

  /** Whether every value of this type is one of `other` (PyTorch: isSubtypeOfExt); reasons go to `whyNot`. */
  isSubtypeOf(other: Type, whyNot?: WhyNot): boolean {
    return this.isSubtypeOfBase(other, whyNot);
  }

  /** The rules that hold for every type: Any, equality, and membership in an Optional or a Union. */
  protected isSubtypeOfBase(other: Type, whyNot?: WhyNot): boolean {
    return other.kind === 'AnyType' || this.equals(other) || other.hasMember(this, whyNot);
  }

  /** Whether this type is an alternative (Optional, Union) that takes in `_candidate`. */
  hasMember(_candidate: Type, _whyNot?: WhyNot): boolean {
    return false;
  }

  containedTypes(): readonly Type[] {
    return [];
  }

  /** The same kind of type over other contained types. */
  withContained(contained: readonly Type[]): Type {
    const current = this.containedTypes();
    if (current.length !== contained.length) {
      throw new CressetError('IR_TYPE', `${this.str()} contains ${current.length} types, not ${contained.length}`);
    }
    return current.every((type, index) => type === contained[index]) ? this : this.createWithContained(contained);
  }

  protected createWithContained(_contained: readonly Type[]): Type {
    throw new CressetError('IR_TYPE', `type with contained types did not overload createWithContained: ${this.str()}`);
  }

  /** Whether a type variable occurs in it. */
  hasFreeVariables(): boolean {
    return this.containedTypes().some((type) => type.hasFreeVariables());
  }

  /** Whether it is the class of a module, or an interface of modules. */
  isModule(): boolean {
    return false;
  }

  /** Whether a value of this type may need a gradient (PyTorch: requires_grad). */
  requiresGradMaybe(): boolean {
    return this.containedTypes().some((type) => type.requiresGradMaybe());
  }
}

/** A type variable in a schema, `t` in `t[]` (PyTorch: VarType). */
export class VarType extends Type {
  readonly kind = 'VarType';
  readonly name: string;

  constructor(name: string) {
    super();
    this.name = name;
  }

  override str(): string {
    return this.name;
  }

  override equalsImpl(other: Type): boolean {
    return other instanceof VarType && other.name === this.name;
  }

  override hasFreeVariables(): boolean {
    return true;
  }
}

/** Looks for a type among `type` and all types within it, depth first. */
export function someContainedType(type: Type, predicate: (type: Type) => boolean): boolean {
  return predicate(type) || type.containedTypes().some((inner) => someContainedType(inner, predicate));
}
