import { TypeVerbosity, typeVerbosity } from './type-verbosity.ts';
import { CressetError } from '../error.ts';
import { BoolType, ComplexType, FloatType, IntType } from './primitive-types.ts';
import { type ScalarTypeName, scalarTypeIrName } from './scalar-type.ts';
import { Type, type WhyNot } from './type.ts';

/**
 * One dimension of a tensor type: a size where it is 0 or more, the name of an unknown size where it is negative
 * (PyTorch: ShapeSymbol). Two dimensions with the same negative number are known to be equal.
 */
export type ShapeSymbol = number;

let lastShapeSymbol = 0;

/** A new unknown size, different from all others. */
export function newShapeSymbol(): ShapeSymbol {
  return --lastShapeSymbol;
}

/** What a TensorType can know. A field that is absent is unknown. */
export interface TensorTypeFields {
  readonly scalarType?: ScalarTypeName | undefined;
  /** `cpu`, `cuda:0`, … */
  readonly device?: string | undefined;
  /** The sizes; absent where even the rank is unknown. */
  readonly shape?: readonly ShapeSymbol[] | undefined;
  /** One stride a dimension, in elements; absent where nothing is known of them. */
  readonly strides?: readonly (number | undefined)[] | undefined;
  readonly requiresGrad?: boolean | undefined;
  /** True for a tensor known to be undefined (a zero gradient); null where it may be either. Usually false. */
  readonly undefinedness?: boolean | null | undefined;
}

/** `Tensor`, refined by whatever is known of dtype, device, sizes, strides and gradient. */
export class TensorType extends Type {
  readonly kind = 'TensorType';
  static readonly #unrefined = new TensorType({});
  static readonly #inferred = new TensorType({}, true);

  readonly scalarType: ScalarTypeName | undefined;
  readonly device: string | undefined;
  /** The sizes as known or symbolic (negative) numbers; undefined where the rank is unknown (PyTorch: symbolic_sizes). */
  readonly shape: readonly ShapeSymbol[] | undefined;
  readonly strides: readonly (number | undefined)[] | undefined;
  readonly requiresGrad: boolean | undefined;
  readonly undefinedness: boolean | null;
  /** True where a parameter without annotation was taken for a Tensor; only messages differ. */
  readonly isInferred: boolean;

  /** The type of any tensor. */
  static get(): TensorType {
    return TensorType.#unrefined;
  }

  /** The type of any tensor, where no annotation said so (PyTorch: getInferred). */
  static getInferred(): TensorType {
    return TensorType.#inferred;
  }

  static create(fields: TensorTypeFields): TensorType {
    return new TensorType(fields);
  }

  /** Known dtype, device and sizes, contiguous strides. */
  static createContiguous(scalarType: ScalarTypeName, device: string, sizes: readonly number[]): TensorType {
    return new TensorType({ scalarType, device, shape: sizes, strides: contiguousStrides(sizes) });
  }

  /** The tensor type a number turns into, 0-dimensional and on the CPU (PyTorch: fromNumberType, fromBoolType). */
  static fromNumberType(type: Type): TensorType {
    if (type === FloatType.get()) {
      return TensorType.createContiguous('float64', 'cpu', []);
    }
    if (type === IntType.get()) {
      return TensorType.createContiguous('int64', 'cpu', []);
    }
    if (type === ComplexType.get()) {
      return TensorType.createContiguous('complex128', 'cpu', []);
    }
    if (type === BoolType.get()) {
      return TensorType.createContiguous('bool', 'cpu', []);
    }
    return new TensorType({ device: 'cpu', shape: [], strides: [] });
  }

  private constructor(fields: TensorTypeFields, isInferred = false) {
    super();
    this.scalarType = fields.scalarType;
    this.device = fields.device;
    this.shape = fields.shape;
    this.strides = fields.strides;
    this.requiresGrad = fields.requiresGrad;
    this.undefinedness = fields.undefinedness === undefined ? false : fields.undefinedness;
    this.isInferred = isInferred;
  }

  /** The rank, where it is known. */
  get dim(): number | undefined {
    return this.shape?.length;
  }

  /** The sizes, undefined for each unknown one; undefined where the rank is unknown (PyTorch: sizes). */
  get sizes(): readonly (number | undefined)[] | undefined {
    return this.shape?.map((size) => (size >= 0 ? size : undefined));
  }

  /** The sizes where all are known (PyTorch: sizes().concrete_sizes()). */
  get concreteSizes(): readonly number[] | undefined {
    return this.shape?.every((size) => size >= 0) ? this.shape : undefined;
  }

  get concreteStrides(): readonly number[] | undefined {
    return this.strides?.every((stride) => stride !== undefined) ? (this.strides as readonly number[]) : undefined;
  }

  /** Number of elements, where all sizes are known. */
  get numel(): number | undefined {
    return this.concreteSizes?.reduce((product, size) => product * size, 1);
  }

  /** Whether everything but gradient and definedness is known (PyTorch: isComplete). */
  isComplete(): boolean {
    return (
      this.scalarType !== undefined &&
      this.device !== undefined &&
      this.concreteSizes !== undefined &&
      this.concreteStrides !== undefined
    );
  }

  /** PyTorch: isSummarized. */
  isSummarized(): boolean {
    return !(this.isComplete() && this.requiresGrad !== undefined && this.undefinedness !== null);
  }

  /** A copy with some fields changed; a field given as undefined becomes unknown. */
  with(fields: TensorTypeFields): TensorType {
    return new TensorType({ ...this.#fields(), ...fields });
  }

  withScalarType(scalarType: ScalarTypeName | undefined): TensorType {
    return this.with({ scalarType });
  }

  withDevice(device: string | undefined): TensorType {
    return this.with({ device });
  }

  withRequiresGrad(requiresGrad: boolean | undefined): TensorType {
    return this.with({ requiresGrad });
  }

  withUndefined(): TensorType {
    return this.with({ undefinedness: true });
  }

  /** Known rank, unknown sizes and strides; undefined makes the rank unknown too. */
  withDim(dim: number | undefined): TensorType {
    return this.with({
      shape: dim === undefined ? undefined : Array.from({ length: dim }, newShapeSymbol),
      strides: dim === undefined ? undefined : Array.from({ length: dim }, () => undefined),
    });
  }

  /** Keeps the rank, forgets sizes and strides. */
  dimensionedOnly(): TensorType {
    return this.withDim(this.dim);
  }

  /** Sizes with contiguous strides. */
  withSizes(sizes: readonly number[]): TensorType {
    return this.with({ shape: sizes, strides: contiguousStrides(sizes) });
  }

  withSizesStrides(sizes: readonly number[], strides: readonly number[]): TensorType {
    return this.with({ shape: sizes, strides });
  }

  /** Sizes with symbols, strides kept. */
  withSymbolicShapes(shape: readonly ShapeSymbol[] | undefined): TensorType {
    return this.with({ shape });
  }

  /** Sizes of which some are unknown; strides kept. */
  withPartialSizes(sizes: readonly (number | undefined)[]): TensorType {
    return this.with({ shape: sizes.map((size) => size ?? newShapeSymbol()) });
  }

  /** Contiguous strides; throws `IR_TYPE` unless all sizes are known. */
  contiguous(): TensorType {
    const sizes = this.concreteSizes;
    if (sizes === undefined) {
      throw new CressetError('IR_TYPE', `cannot give contiguous strides to ${this}: its sizes are not known`);
    }
    return this.withSizes(sizes);
  }

  /** What both know alike (PyTorch: merge). */
  merge(other: TensorType, mergeSizes = true): TensorType {
    const same = <T>(left: T, right: T): T | undefined => (left === right ? left : undefined);
    return new TensorType({
      scalarType: same(this.scalarType, other.scalarType),
      device: same(this.device, other.device),
      shape: mergeSizes ? mergeShapes(this.shape, other.shape) : this.shape,
      strides: mergeSizes ? mergeStrides(this.strides, other.strides) : this.strides,
      requiresGrad: same(this.requiresGrad, other.requiresGrad),
      undefinedness: this.undefinedness === other.undefinedness ? this.undefinedness : null,
    });
  }

  override str(): string {
    return 'Tensor';
  }

  override reprStr(): string {
    return this.isInferred ? 'Tensor (inferred)' : 'Tensor';
  }

  override toString(): string {
    const dtype = this.scalarType === undefined ? '' : scalarTypeIrName(this.scalarType);
    const bare = this.scalarType === undefined || this.shape === undefined ? 'Tensor' : '';
    return `${dtype}${bare}${this.#details()}${this.undefinedness === true ? '[Undefined]' : ''}`;
  }

  override equalsImpl(other: Type): boolean {
    return (
      other instanceof TensorType &&
      this.scalarType === other.scalarType &&
      this.device === other.device &&
      this.requiresGrad === other.requiresGrad &&
      this.undefinedness === other.undefinedness &&
      sameSizes(this.sizes, other.sizes) &&
      sameSizes(this.strides, other.strides)
    );
  }

  override isSubtypeOf(other: Type, whyNot?: WhyNot): boolean {
    if (other instanceof TensorType) {
      return this === other || this.merge(other).equals(other);
    }
    return this.isSubtypeOfBase(other, whyNot);
  }

  override requiresGradMaybe(): boolean {
    return this.requiresGrad ?? true;
  }

  #fields(): TensorTypeFields {
    const { scalarType, device, shape, strides, requiresGrad, undefinedness } = this;
    return { scalarType, device, shape, strides, requiresGrad, undefinedness };
  }

  #details(): string {
    const parts = this.shape?.map((size) => {
      const symbolic = typeVerbosity() === TypeVerbosity.Symbolic ? `SS(${size})` : '*';
      return size >= 0 ? String(size) : symbolic;
    });
    const strides = this.concreteStrides;
    const out = parts ?? [];
    if (parts !== undefined && parts.length > 0 && strides?.length === parts.length) {
      if (typeVerbosity() >= TypeVerbosity.TypeAndStride) {
        out.push(`strides=[${strides.join(', ')}]`);
      }
    }
    if (typeVerbosity() >= TypeVerbosity.Full) {
      if (this.requiresGrad !== undefined) {
        out.push(`requires_grad=${this.requiresGrad ? 1 : 0}`);
      }
      if (this.device !== undefined) {
        out.push(`device=${this.device}`);
      }
    }
    return parts === undefined && out.length === 0 ? '' : `(${out.join(', ')})`;
  }
}

/** Row-major strides, in elements. Like PyTorch's, a dimension of size 0 makes the strides before it 0. */
export function contiguousStrides(sizes: readonly number[]): number[] {
  const strides = Array.from(sizes, () => 1);
  for (let index = sizes.length - 2; index >= 0; index--) {
    strides[index] = strides[index + 1]! * sizes[index + 1]!;
  }
  return strides;
}

function sameSizes(
  left: readonly (number | undefined)[] | undefined,
  right: readonly (number | undefined)[] | undefined,
): boolean {
  if (left === undefined || right === undefined) {
    return left === right;
  }
  return left.length === right.length && left.every((size, index) => size === right[index]);
}

function mergeShapes(
  left: readonly ShapeSymbol[] | undefined,
  right: readonly ShapeSymbol[] | undefined,
): readonly ShapeSymbol[] | undefined {
  if (left === undefined || right === undefined || left.length !== right.length) {
    return undefined;
  }
  return left.map((size, index) => (size >= 0 && size === right[index] ? size : newShapeSymbol()));
}

function mergeStrides(
  left: readonly (number | undefined)[] | undefined,
  right: readonly (number | undefined)[] | undefined,
): readonly (number | undefined)[] | undefined {
  if (left === undefined || right === undefined || left.length !== right.length) {
    return undefined;
  }
  return left.map((stride, index) => (stride === right[index] ? stride : undefined));
}
