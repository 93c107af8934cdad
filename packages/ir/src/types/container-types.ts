import { CressetError } from '../error.ts';
import { formatConstant } from '../text/literal-format.ts';
import { Type, type TypePrinter, type WhyNot } from './type.ts';

/** A type over one element type: List, Future, Await, RRef (PyTorch: SingleElementType). */
abstract class SingleElementType extends Type {
  readonly elementType: Type;

  constructor(elementType: Type) {
    super([elementType]);
    this.elementType = elementType;
  }

  override containedTypes(): readonly Type[] {
    return [this.elementType];
  }

  override equalsImpl(other: Type): boolean {
    return other.kind === this.kind && this.elementType.equals((other as SingleElementType).elementType);
  }

  protected isCovariantSubtypeOf(other: Type, whyNot?: WhyNot): boolean {
    return (
      this.isSubtypeOfBase(other, whyNot) ||
      (other.kind === this.kind && this.elementType.isSubtypeOf((other as SingleElementType).elementType, whyNot))
    );
  }
}

/** `List[T]`: mutable, therefore invariant in T. */
export class ListType extends SingleElementType {
  readonly kind = 'ListType';

  override str(): string {
    return `${this.elementType.str()}[]`;
  }

  override toString(): string {
    return `${this.elementType.toString()}[]`;
  }

  protected override annotationStrImpl(printer?: TypePrinter): string {
    return `List[${this.elementType.annotationStr(printer)}]`;
  }

  override isSubtypeOf(other: Type, whyNot?: WhyNot): boolean {
    return this.isSubtypeOfBase(other, whyNot) || other.kind === 'AnyListType';
  }

  protected override createWithContained([elementType]: readonly Type[]): Type {
    return new ListType(elementType!);
  }
}

/** `Future[T]`, what `torch.jit.fork` gives; covariant. */
export class FutureType extends SingleElementType {
  readonly kind = 'FutureType';

  override str(): string {
    return `Future(${this.elementType.str()})`;
  }

  override toString(): string {
    return `Future[${this.elementType.toString()}]`;
  }

  protected override annotationStrImpl(printer?: TypePrinter): string {
    return `Future[${this.elementType.annotationStr(printer)}]`;
  }

  override isSubtypeOf(other: Type, whyNot?: WhyNot): boolean {
    return this.isCovariantSubtypeOf(other, whyNot);
  }

  protected override createWithContained([elementType]: readonly Type[]): Type {
    return new FutureType(elementType!);
  }
}

/** `Await[T]`, what `torch.jit._awaitable` gives; covariant. */
export class AwaitType extends SingleElementType {
  readonly kind = 'AwaitType';

  override str(): string {
    return `Await(${this.elementType.str()})`;
  }

  protected override annotationStrImpl(printer?: TypePrinter): string {
    return `Await[${this.elementType.annotationStr(printer)}]`;
  }

  override isSubtypeOf(other: Type, whyNot?: WhyNot): boolean {
    return this.isCovariantSubtypeOf(other, whyNot);
  }

  protected override createWithContained([elementType]: readonly Type[]): Type {
    return new AwaitType(elementType!);
  }
}

/** `RRef[T]` of distributed programs: only its text is of use here. */
export class RRefType extends SingleElementType {
  readonly kind = 'RRefType';

  override str(): string {
    return `RRef(${this.elementType.str()})`;
  }

  override toString(): string {
    return `RRef[${this.elementType.toString()}]`;
  }

  protected override annotationStrImpl(printer?: TypePrinter): string {
    return `RRef[${this.elementType.annotationStr(printer)}]`;
  }

  protected override createWithContained([elementType]: readonly Type[]): Type {
    return new RRefType(elementType!);
  }
}

const DICT_KEY_KINDS: ReadonlySet<string> = new Set([
  'AnyType',
  'IntType',
  'BoolType',
  'FloatType',
  'ComplexType',
  'StringType',
  'TensorType',
  'DeviceObjType',
]);

/** `Dict[K, V]`: mutable, therefore invariant. Throws `IR_TYPE` for a key type that PyTorch does not take. */
export class DictType extends Type {
  readonly kind = 'DictType';
  readonly keyType: Type;
  readonly valueType: Type;

  constructor(keyType: Type, valueType: Type) {
    super([keyType, valueType]);
    if (!DICT_KEY_KINDS.has(keyType.kind)) {
      throw new CressetError(
        'IR_TYPE',
        `Cannot create dict for key type '${keyType.str()}', only int, float, complex, Tensor, device and string keys are supported`,
      );
    }
    this.keyType = keyType;
    this.valueType = valueType;
  }

  override str(): string {
    return `Dict(${this.keyType.str()}, ${this.valueType.str()})`;
  }

  protected override annotationStrImpl(printer?: TypePrinter): string {
    return `Dict[${this.keyType.annotationStr(printer)}, ${this.valueType.annotationStr(printer)}]`;
  }

  override containedTypes(): readonly Type[] {
    return [this.keyType, this.valueType];
  }

  override equalsImpl(other: Type): boolean {
    return other instanceof DictType && this.keyType.equals(other.keyType) && this.valueType.equals(other.valueType);
  }

  protected override createWithContained([keyType, valueType]: readonly Type[]): Type {
    return new DictType(keyType!, valueType!);
  }
}

/** What makes a tuple a NamedTuple. */
export interface NamedTupleSpec {
  /** Qualified name of the class; absent for a named tuple without one. */
  readonly name: string | undefined;
  readonly fieldNames: readonly string[];
  /** Default values of the last fields, by field name. */
  readonly fieldDefaults?: ReadonlyMap<string, unknown>;
}

/** `Tuple[T…]`, or a NamedTuple where `named` is given; covariant. */
export class TupleType extends Type {
  readonly kind = 'TupleType';
  readonly elements: readonly Type[];
  readonly named: NamedTupleSpec | undefined;

  constructor(elements: readonly Type[], named?: NamedTupleSpec) {
    super(elements);
    if (named !== undefined && named.fieldNames.length !== elements.length) {
      throw new CressetError(
        'IR_TYPE',
        `NamedTuple has ${named.fieldNames.length} names for ${elements.length} fields`,
      );
    }
    this.elements = elements;
    this.named = named;
  }

  static createNamed(
    name: string | undefined,
    fieldNames: readonly string[],
    fieldTypes: readonly Type[],
    fieldDefaults?: ReadonlyMap<string, unknown>,
  ): TupleType {
    return new TupleType(
      fieldTypes,
      fieldDefaults === undefined ? { name, fieldNames } : { name, fieldNames, fieldDefaults },
    );
  }

  /** Qualified name of a NamedTuple's class. */
  get name(): string | undefined {
    return this.named?.name;
  }

  get fieldNames(): readonly string[] | undefined {
    return this.named?.fieldNames;
  }

  override str(): string {
    return this.name ?? `(${this.elements.map((type) => type.str()).join(', ')})`;
  }

  override toString(): string {
    const { fieldNames: names, fieldDefaults } = this.named ?? {};
    const fields = this.elements.map((type, index) => {
      if (names === undefined) return `${type}`;
      const value = fieldDefaults?.get(names[index]!);
      return `${names[index]} : ${type}${value === undefined ? '' : ` = ${formatConstant(value)}`}`;
    });
    return `${names === undefined ? '' : 'NamedTuple'}(${fields.join(', ')})`;
  }

  protected override annotationStrImpl(printer?: TypePrinter): string {
    if (this.name !== undefined) {
      return this.name;
    }
    // `Tuple[()]` is Python's spelling of the empty tuple type.
    const inner =
      this.elements.length === 0 ? '()' : this.elements.map((type) => type.annotationStr(printer)).join(', ');
    return `Tuple[${inner}]`;
  }

  override containedTypes(): readonly Type[] {
    return this.elements;
  }

  override equalsImpl(other: Type): boolean {
    if (!(other instanceof TupleType) || !this.#elementwise(other, (left, right) => left.equals(right))) {
      return false;
    }
    if (this.named === undefined || other.named === undefined) {
      return this.named === other.named;
    }
    return this.name === other.name && this.#hasFieldNamesOf(other.named);
  }

  override isSubtypeOf(other: Type, whyNot?: WhyNot): boolean {
    if (this.isSubtypeOfBase(other, whyNot) || other.kind === 'AnyTupleType') {
      return true;
    }
    if (!(other instanceof TupleType)) {
      return false;
    }
    // An unnamed tuple is no subtype of a named one; a named one of another name needs the same field names.
    if (other.named !== undefined && (this.named === undefined || !this.#hasFieldNamesOf(other.named))) {
      return false;
    }
    return this.#elementwise(other, (left, right) => left.isSubtypeOf(right, whyNot));
  }

  protected override createWithContained(contained: readonly Type[]): Type {
    return new TupleType(contained, this.named);
  }

  #elementwise(other: TupleType, holds: (left: Type, right: Type) => boolean): boolean {
    return (
      this.elements.length === other.elements.length &&
      this.elements.every((type, index) => holds(type, other.elements[index]!))
    );
  }

  #hasFieldNamesOf(spec: NamedTupleSpec): boolean {
    return this.named!.fieldNames.every((field, index) => field === spec.fieldNames[index]);
  }
}
