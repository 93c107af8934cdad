import { Type, type WhyNot } from './type.ts';

/** A type that has one instance and no parts. */
abstract class SingletonType extends Type {
  protected annotation(): string {
    return this.str();
  }

  protected override annotationStrImpl(): string {
    return this.annotation();
  }
}

/** The supertype of every type. */
export class AnyType extends SingletonType {
  readonly kind = 'AnyType';
  static readonly #instance = new AnyType();

  static get(): AnyType {
    return AnyType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'Any';
  }
}

/** The supertype of every List, for `isinstance(x, list)`. */
export class AnyListType extends SingletonType {
  readonly kind = 'AnyListType';
  static readonly #instance = new AnyListType();

  static get(): AnyListType {
    return AnyListType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'list';
  }
}

/** The supertype of every Tuple, for `isinstance(x, tuple)`. */
export class AnyTupleType extends SingletonType {
  readonly kind = 'AnyTupleType';
  static readonly #instance = new AnyTupleType();

  static get(): AnyTupleType {
    return AnyTupleType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'tuple';
  }
}

/** The supertype of every class. */
export class AnyClassType extends SingletonType {
  readonly kind = 'AnyClassType';
  static readonly #instance = new AnyClassType();

  static get(): AnyClassType {
    return AnyClassType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'AnyClassType';
  }
}

/** The supertype of every enum. */
export class AnyEnumType extends SingletonType {
  readonly kind = 'AnyEnumType';
  static readonly #instance = new AnyEnumType();

  static get(): AnyEnumType {
    return AnyEnumType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'AnyEnumType';
  }
}

/** The supertype of int, float and complex: `Scalar` in schemas, `number` in Python text. */
export class NumberType extends SingletonType {
  readonly kind = 'NumberType';
  static readonly #instance = new NumberType();

  static get(): NumberType {
    return NumberType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'Scalar';
  }

  protected override annotation(): string {
    return 'number';
  }
}

/** Python's `int`. */
export class IntType extends SingletonType {
  readonly kind = 'IntType';
  static readonly #instance = new IntType();

  static get(): IntType {
    return IntType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'int';
  }

  override isSubtypeOf(other: Type, whyNot?: WhyNot): boolean {
    return other.kind === 'NumberType' || this.isSubtypeOfBase(other, whyNot);
  }
}

/** Python's `float`. */
export class FloatType extends SingletonType {
  readonly kind = 'FloatType';
  static readonly #instance = new FloatType();

  static get(): FloatType {
    return FloatType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'float';
  }

  override isSubtypeOf(other: Type, whyNot?: WhyNot): boolean {
    return other.kind === 'NumberType' || this.isSubtypeOfBase(other, whyNot);
  }
}

/** Python's `complex`. */
export class ComplexType extends SingletonType {
  readonly kind = 'ComplexType';
  static readonly #instance = new ComplexType();

  static get(): ComplexType {
    return ComplexType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'complex';
  }

  override isSubtypeOf(other: Type, whyNot?: WhyNot): boolean {
    return other.kind === 'NumberType' || this.isSubtypeOfBase(other, whyNot);
  }
}

/** Python's `bool`: no subtype of int here. */
export class BoolType extends SingletonType {
  readonly kind = 'BoolType';
  static readonly #instance = new BoolType();

  static get(): BoolType {
    return BoolType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'bool';
  }
}

/** Python's `str`. */
export class StringType extends SingletonType {
  readonly kind = 'StringType';
  static readonly #instance = new StringType();

  static get(): StringType {
    return StringType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'str';
  }
}

/** The type of None: a subtype of every Optional. */
export class NoneType extends SingletonType {
  readonly kind = 'NoneType';
  static readonly #instance = new NoneType();

  static get(): NoneType {
    return NoneType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'NoneType';
  }

  override isSubtypeOf(other: Type, whyNot?: WhyNot): boolean {
    return other.kind === 'OptionalType' || this.isSubtypeOfBase(other, whyNot);
  }
}

/** Whether an attribute of this type may be None, as a tensor may that is undefined. Of others, None says that they were not assigned yet. */
export function mayHoldNone(type: Type): boolean {
  return type.kind === 'TensorType' || NoneType.get().isSubtypeOf(type);
}

/** A `torch.device`. */
export class DeviceObjType extends SingletonType {
  readonly kind = 'DeviceObjType';
  static readonly #instance = new DeviceObjType();

  static get(): DeviceObjType {
    return DeviceObjType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'Device';
  }
}

/** A device stream. */
export class StreamObjType extends SingletonType {
  readonly kind = 'StreamObjType';
  static readonly #instance = new StreamObjType();

  static get(): StreamObjType {
    return StreamObjType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'Stream';
  }
}

/** A random number generator. */
export class GeneratorType extends SingletonType {
  readonly kind = 'GeneratorType';
  static readonly #instance = new GeneratorType();

  static get(): GeneratorType {
    return GeneratorType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'Generator';
  }
}

/** A quantizer of tensors. */
export class QuantizerType extends SingletonType {
  readonly kind = 'QuantizerType';
  static readonly #instance = new QuantizerType();

  static get(): QuantizerType {
    return QuantizerType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'Quantizer';
  }
}

/** A quantisation scheme. */
export class QSchemeType extends SingletonType {
  readonly kind = 'QSchemeType';
  static readonly #instance = new QSchemeType();

  static get(): QSchemeType {
    return QSchemeType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'QScheme';
  }
}

/** An untyped storage. */
export class StorageType extends SingletonType {
  readonly kind = 'StorageType';
  static readonly #instance = new StorageType();

  static get(): StorageType {
    return StorageType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'Storage';
  }
}

/** An opaque object of C++. */
export class CapsuleType extends SingletonType {
  readonly kind = 'CapsuleType';
  static readonly #instance = new CapsuleType();

  static get(): CapsuleType {
    return CapsuleType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'Capsule';
  }
}

/** An opaque Python object. */
export class PyObjectType extends SingletonType {
  readonly kind = 'PyObjectType';
  static readonly #instance = new PyObjectType();

  static get(): PyObjectType {
    return PyObjectType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'PyObject';
  }
}

/** A dtype in a schema: an int to programs (see Argument.realType). */
export class ScalarTypeType extends SingletonType {
  readonly kind = 'ScalarTypeType';
  static readonly #instance = new ScalarTypeType();

  static get(): ScalarTypeType {
    return ScalarTypeType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'ScalarType';
  }
}

/** A layout in a schema: an int to programs (see Argument.realType). */
export class LayoutType extends SingletonType {
  readonly kind = 'LayoutType';
  static readonly #instance = new LayoutType();

  static get(): LayoutType {
    return LayoutType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'Layout';
  }
}

/** A memory format in a schema: an int to programs (see Argument.realType). */
export class MemoryFormatType extends SingletonType {
  readonly kind = 'MemoryFormatType';
  static readonly #instance = new MemoryFormatType();

  static get(): MemoryFormatType {
    return MemoryFormatType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'MemoryFormat';
  }
}

/** A possibly symbolic int in a schema: plain int to programs (see Argument.realType). */
export class SymIntType extends SingletonType {
  readonly kind = 'SymIntType';
  static readonly #instance = new SymIntType();

  static get(): SymIntType {
    return SymIntType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'SymInt';
  }

  protected override annotation(): string {
    return 'int';
  }
}

/** A possibly symbolic float in a schema: plain float to programs (see Argument.realType). */
export class SymFloatType extends SingletonType {
  readonly kind = 'SymFloatType';
  static readonly #instance = new SymFloatType();

  static get(): SymFloatType {
    return SymFloatType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'SymFloat';
  }

  protected override annotation(): string {
    return 'float';
  }
}

/** A possibly symbolic bool in a schema: plain bool to programs (see Argument.realType). */
export class SymBoolType extends SingletonType {
  readonly kind = 'SymBoolType';
  static readonly #instance = new SymBoolType();

  static get(): SymBoolType {
    return SymBoolType.#instance;
  }

  private constructor() {
    super();
  }

  override str(): string {
    return 'SymBool';
  }

  protected override annotation(): string {
    return 'bool';
  }
}
