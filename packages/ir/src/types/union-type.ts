import { FutureType, ListType, TupleType } from './container-types.ts';
import { CressetError } from '../error.ts';
import { ComplexType, FloatType, IntType, NoneType, NumberType } from './primitive-types.ts';
import { TensorType } from './tensor-type.ts';
import { Type, type TypePrinter, typeKindOrder, type WhyNot } from './type.ts';

const numberTypes = (): readonly Type[] => [IntType.get(), FloatType.get(), ComplexType.get()];

/**
 * `Optional[T]`: a T or None, equal to `Union[T, None]`.
 *
 * Make one with {@link OptionalType.create}, which flattens nested optionals and folds unions.
 */
export class OptionalType extends Type {
  readonly kind = 'OptionalType';
  readonly elementType: Type;

  /** Optional of `contained`; an Optional of an Optional is the inner one. Throws `IR_TYPE` for None. */
  static create(contained: Type): OptionalType {
    if (contained instanceof OptionalType) {
      return contained;
    }
    if (contained instanceof UnionType) {
      const isNumber = contained.members.length === 3 && contained.canHoldType(NumberType.get());
      if (isNumber) {
        return new OptionalType(NumberType.get());
      }
      const members = contained.members.filter((type) => type.kind !== 'NoneType');
      return new OptionalType(members.length === 1 ? members[0]! : UnionType.create(members));
    }
    if (contained.kind === 'NoneType') {
      throw new CressetError('IR_TYPE', 'an Optional of None has the single type None');
    }
    return new OptionalType(contained);
  }

  static ofTensor(): OptionalType {
    return new OptionalType(TensorType.get());
  }

  private constructor(elementType: Type) {
    super([elementType]);
    this.elementType = elementType;
  }

  override str(): string {
    return `${this.elementType.str()}?`;
  }

  override toString(): string {
    return `${this.elementType.toString()}?`;
  }

  protected override annotationStrImpl(printer?: TypePrinter): string {
    return `Optional[${this.elementType.annotationStr(printer)}]`;
  }

  override containedTypes(): readonly Type[] {
    return [this.elementType];
  }

  protected override createWithContained([elementType]: readonly Type[]): Type {
    return OptionalType.create(elementType!);
  }

  override equalsImpl(other: Type): boolean {
    if (other instanceof UnionType) {
      const optional = other.toOptional();
      return optional !== undefined && this.equals(optional);
    }
    return other instanceof OptionalType && this.elementType.equals(other.elementType);
  }

  override isSubtypeOf(other: Type, whyNot?: WhyNot): boolean {
    if (other instanceof OptionalType) {
      return this.elementType.isSubtypeOf(other.elementType, whyNot);
    }
    if (other instanceof UnionType) {
      if (!other.canHoldType(NoneType.get())) {
        whyNot?.push(`${other.reprStr()} cannot hold None`);
        return false;
      }
      const { elementType } = this;
      if (!(elementType instanceof UnionType ? elementType.isSubtypeOf(other) : other.canHoldType(elementType))) {
        whyNot?.push(`${other.reprStr()} cannot hold ${elementType.reprStr()}`);
        return false;
      }
      return true;
    }
    return this.isSubtypeOfBase(other, whyNot);
  }

  override hasMember(candidate: Type, whyNot?: WhyNot): boolean {
    return candidate.isSubtypeOf(this.elementType, whyNot);
  }
}

/**
 * `Union[A, B, …]`: flattened, without members that another one takes in, and sorted.
 *
 * Make one with {@link UnionType.create}, which may give an Optional instead.
 */
export class UnionType extends Type {
  readonly kind = 'UnionType';
  readonly members: readonly Type[];

  /** Throws `IR_TYPE` where only one type is left after unification. */
  static create(types: readonly Type[]): UnionType | OptionalType {
    const members = standardizeUnionMembers(types);
    if (members.length < 2) {
      const names = types.map((type) => type.reprStr()).join(', ');
      throw new CressetError(
        'IR_TYPE',
        `After type unification was performed, the Union with the original types {${names}} has the single type ` +
          `${members[0]?.reprStr() ?? ''}. Use the common supertype instead of creating a Union type`,
      );
    }
    const notNone = members.filter((type) => type.kind !== 'NoneType');
    if (notNone.length < members.length) {
      if (notNone.length === 1) {
        return OptionalType.create(notNone[0]!);
      }
      if (notNone.length === 3 && numberTypes().every((type) => notNone.includes(type))) {
        return OptionalType.create(NumberType.get());
      }
    }
    return new UnionType(members);
  }

  private constructor(members: readonly Type[]) {
    super(members);
    this.members = members;
  }

  override str(): string {
    return this.#print('(', ')', (type) => type.str());
  }

  protected override annotationStrImpl(printer?: TypePrinter): string {
    return this.#print('[', ']', (type) => type.annotationStr(printer));
  }

  override containedTypes(): readonly Type[] {
    return this.members;
  }

  protected override createWithContained(contained: readonly Type[]): Type {
    return UnionType.create(contained);
  }

  /** Whether a value of `type` may be in this union. */
  canHoldType(type: Type): boolean {
    if (type === NumberType.get()) {
      return numberTypes().every((number) => this.canHoldType(number));
    }
    return this.members.some((member) => type.isSubtypeOf(member));
  }

  /** The same type as an Optional, where it is one. */
  toOptional(): OptionalType | undefined {
    if (!this.canHoldType(NoneType.get())) {
      return undefined;
    }
    const made = UnionType.create(this.members);
    return made instanceof OptionalType ? made : undefined;
  }

  override equalsImpl(other: Type): boolean {
    if (other instanceof UnionType) {
      return (
        other.members.length === this.members.length &&
        this.members.every((left) => other.members.some((right) => left.equals(right)))
      );
    }
    if (other instanceof OptionalType) {
      if (other.elementType === NumberType.get()) {
        return this.members.length === 4 && this.canHoldType(NoneType.get()) && this.canHoldType(NumberType.get());
      }
      return this.toOptional()?.equals(other) ?? false;
    }
    return other.kind === 'NumberType' && this.members.length === 3 && this.canHoldType(NumberType.get());
  }

  override isSubtypeOf(other: Type, whyNot?: WhyNot): boolean {
    const alternatives = alternativesOf(other);
    return this.members.every((left) => alternatives.some((right) => left.isSubtypeOf(right, whyNot)));
  }

  override hasMember(candidate: Type): boolean {
    if (candidate === NumberType.get()) {
      return this.canHoldType(candidate);
    }
    return this.members.some((member) => candidate.isSubtypeOf(member));
  }

  #print(open: string, close: string, print: (type: Type) => string): string {
    const numbers = numberTypes();
    const foldNumbers = this.canHoldType(NumberType.get());
    const shown = foldNumbers
      ? this.members.filter((type) => !numbers.some((number) => number.equals(type)))
      : this.members;
    const parts = shown.map(print);
    if (foldNumbers) {
      parts.push(print(NumberType.get()));
    }
    return `Union${open}${parts.join(', ')}${close}`;
  }
}

function alternativesOf(type: Type): readonly Type[] {
  if (type instanceof UnionType) {
    return type.members;
  }
  if (type instanceof OptionalType) {
    const element = type.elementType;
    return element === NumberType.get() ? [NoneType.get(), ...numberTypes()] : [NoneType.get(), element];
  }
  return type.kind === 'NumberType' ? numberTypes() : [type];
}

/**
 * The members of `candidates` that no type of `toSubtract` takes in: one type, a union, or undefined where none is left
 * (PyTorch: subtractTypeSet). `type` is a Union, or an Optional seen as one.
 */
export function subtractTypeSet(type: UnionType | OptionalType, toSubtract: readonly Type[]): Type | undefined {
  const candidates = type instanceof UnionType ? type.members : alternativesOf(type);
  const left = candidates.filter((candidate) => !toSubtract.some((gone) => candidate.isSubtypeOf(gone)));
  return left.length > 1 ? UnionType.create(left) : left[0];
}

function flattenUnion(type: Type, into: Type[]): void {
  if (type instanceof UnionType) {
    type.members.forEach((member) => flattenUnion(member, into));
  } else if (type instanceof OptionalType) {
    flattenUnion(type.elementType, into);
    into.push(NoneType.get());
  } else if (type.kind === 'NumberType') {
    into.push(...numberTypes());
  } else {
    into.push(type);
  }
}

/** Flattens, unifies what unifies without making an Optional, and sorts (PyTorch: standardizeVectorForUnion). */
export function standardizeUnionMembers(types: readonly Type[]): Type[] {
  const members: Type[] = [];
  types.forEach((type) => flattenUnion(type, members));
  for (let last = members.length - 1; last > 0; last--) {
    for (let index = last - 1; index >= 0; index--) {
      const unified = unifyUnionMembers(members[last]!, members[index]!);
      if (unified !== undefined) {
        members[index] = unified;
        members[last] = members.at(-1)!;
        members.pop();
        break;
      }
    }
  }
  return members.sort((left, right) => {
    const order = typeKindOrder(left.kind) - typeKindOrder(right.kind);
    return order !== 0 ? order : Number(left.str() > right.str()) - Number(left.str() < right.str());
  });
}

function unifyUnionMembers(left: Type, right: Type): Type | undefined {
  const oneIsNone = (left.kind === 'NoneType') !== (right.kind === 'NoneType');
  return oneIsNone ? undefined : unifyTypes(left, right);
}

/** The type without what is known of the tensors in it (PyTorch: unshapedType). */
export function unshapedType(type: Type): Type {
  if (type instanceof TensorType) {
    return TensorType.get();
  }
  const contained = type.containedTypes();
  if (contained.length === 0 || type.kind === 'ClassType' || type.kind === 'EnumType') {
    return type;
  }
  return type.withContained(contained.map(unshapedType));
}

/**
 * The type that values of both types have in common, or undefined where there is none (PyTorch: unifyTypes).
 *
 * @param defaultToUnion give a Union where there is no common type otherwise
 * @param typeHint a type asked for by an annotation, returned where it takes in both
 */
export function unifyTypes(left: Type, right: Type, defaultToUnion = false, typeHint?: Type): Type | undefined {
  const unified = unifyTypesOrNothing(left, right, defaultToUnion, typeHint);
  return unified === undefined && defaultToUnion ? UnionType.create([left, right]) : unified;
}

function unifyTypesOrNothing(left: Type, right: Type, defaultToUnion: boolean, typeHint?: Type): Type | undefined {
  if (left.isSubtypeOf(right)) {
    return right;
  }
  if (right.isSubtypeOf(left)) {
    return left;
  }
  if (left instanceof TensorType && right instanceof TensorType) {
    return left.merge(right);
  }
  if (left.kind === 'NoneType' || right.kind === 'NoneType') {
    return OptionalType.create(left.kind === 'NoneType' ? right : left);
  }
  if (left instanceof OptionalType || right instanceof OptionalType) {
    const [optional, other] = left instanceof OptionalType ? [left, right] : [right as OptionalType, left];
    const element = unifyTypes(optional.elementType, other);
    if (element !== undefined) {
      return OptionalType.create(element);
    }
  }
  if (left instanceof TupleType && right instanceof TupleType) {
    return unifyTuples(left, right, defaultToUnion);
  }
  if (left instanceof FutureType && right instanceof FutureType) {
    const element = unifyTypes(left.elementType, right.elementType);
    return element === undefined ? undefined : new FutureType(element);
  }
  const unshapedLeft = unshapedType(left);
  const unshapedRight = unshapedType(right);
  if (unshapedLeft.isSubtypeOf(unshapedRight)) {
    return unshapedRight;
  }
  if (unshapedRight.isSubtypeOf(unshapedLeft)) {
    return unshapedLeft;
  }
  const hintTakesBoth =
    typeHint !== undefined && typeHint !== NoneType.get() && left.isSubtypeOf(typeHint) && right.isSubtypeOf(typeHint);
  return hintTakesBoth ? typeHint : undefined;
}

function unifyTuples(left: TupleType, right: TupleType, defaultToUnion: boolean): Type | undefined {
  if (left.elements.length !== right.elements.length) {
    return undefined;
  }
  const elements: Type[] = [];
  for (const [index, element] of left.elements.entries()) {
    const unified = unifyTypes(element, right.elements[index]!, defaultToUnion);
    if (unified === undefined) {
      return undefined;
    }
    elements.push(unified);
  }
  const isSameClass = left.named !== undefined && left.named === right.named;
  return isSameClass ? left.withContained(elements) : new TupleType(elements);
}

/** {@link unifyTypes} over a list; reasons for failure go to `whyNot` (PyTorch: unifyTypeList). */
export function unifyTypeList(
  types: readonly Type[],
  whyNot: WhyNot = [],
  defaultToUnion = false,
  typeHint?: Type,
): Type | undefined {
  if (types.length === 0) {
    whyNot.push('Cannot get unified type from empty list');
    return undefined;
  }
  let result = types[0]!;
  for (let index = 1; index < types.length; index++) {
    const unified = unifyTypes(result, types[index]!, defaultToUnion, typeHint);
    if (unified === undefined) {
      whyNot.push(
        `Could not unify type list since element ${index} of type ${types[index]!.reprStr()} ` +
          `did not match the types before it (${result.reprStr()})`,
      );
      return undefined;
    }
    result = unified;
  }
  return result;
}

/** `T?[]` and friends that schemas name often. */
export function listOfOptionalTensors(): ListType {
  return new ListType(OptionalType.ofTensor());
}
