import type { ComputeDevice, Expr, ExprType, Kernel } from '@cresset/tensorexpr';
import type { Complex, DeviceValue, Dict, GeneratorValue, IValue, List, ScalarType, Tensor } from '@cresset/tensor';

/**
 * One operator: its schema (PyTorch's own declaration) and everything the rest of the house asks about it. Rows stand in
 * files by family and are made with the functions of builders.ts; nobody else keeps a list of operators.
 *
 * How a row may say what it computes, any of:
 * - `scalar`: on raw IValues, for operators on numbers, strings, lists and dicts;
 * - `view`: makes another Tensor over the same storage; reads no data, so it is the same on every device;
 * - `shape` with `host` and `lower`: the outputs are allocated by `shape`, then filled on the host or on the device;
 * - `host` alone: returns its results itself, where their size depends on data;
 * - `decomposition`: TorchScript text, compiled by the frontend and run in the node's place.
 */
export interface OperatorRow {
  readonly schema: string;
  readonly scalar?: ScalarKernel;
  readonly view?: (args: never) => Results;
  readonly shape?: ShapeRule<never>;
  readonly host?: HostKernel<never>;
  readonly lower?: Lowering<never>;
  /** For a pointwise operator: its value as an expression, from which host kernel, lowering and fusion are derived. */
  readonly pointwise?: PointwiseRule;
  readonly decomposition?: string;
  /** It reads no tensor's elements (`size`, `dim`, `zeros_like`): running it on the host needs no readback. */
  readonly readsNoData?: boolean;
  /** Two runs with equal arguments may differ (random numbers): never folded, merged or removed as a duplicate. */
  readonly nondeterministic?: boolean;
}

/** Works on IValues as they are: ints are bigints, floats numbers, lists `List`. One argument a schema argument. */
export type ScalarKernel = (...args: IValue[]) => IValue;

/**
 * An argument as kernels get it, unboxed by its schema type: `int` a number (saturated to ±2^63 as a double; exact up to
 * 2^53), `int[]` a number[], `Tensor[]` a Tensor[], `ScalarType` a dtype name, `Scalar` a bigint (int), number (float),
 * boolean or Complex, `float` a number, `str` a byte string, an optional null where absent.
 */
export type Unboxed =
  | null
  | boolean
  | number
  | bigint
  | string
  | Complex
  | Tensor
  | DeviceValue
  | GeneratorValue
  | List
  | Dict
  | readonly number[]
  | readonly boolean[]
  | readonly string[]
  | readonly Tensor[]
  | readonly (Tensor | null)[];

/** A Scalar argument: int and float stay distinguishable. */
export type Scalar = bigint | number | boolean | Complex;

/** What a kernel returns, boxed again by the schema's return types: one result, or an array of them for several. */
export type Results = Unboxed | readonly Unboxed[] | void;

/** Sizes and dtype of an output; strides only where they are not contiguous. */
export interface TensorMeta {
  readonly sizes: readonly number[];
  readonly dtype: ScalarType;
  readonly strides?: readonly number[];
}

/**
 * Sizes and dtypes of the outputs from those of the inputs, without reading data; throws PyTorch's error where the
 * arguments do not fit. Used at run time and by shape propagation. One TensorMeta for each tensor output.
 */
export type ShapeRule<Args> = (args: Args) => TensorMeta | readonly TensorMeta[];

export interface HostContext {
  /** The default random generator (Philox); its draws follow `manual_seed`. */
  readonly generator: RandomGenerator;
  /** Shows what a program prints. */
  print(text: string): void;
  /** Shows a program's or a kernel's warning once. */
  warn(text: string): void;
}

export interface RandomGenerator {
  manualSeed(seed: bigint): void;
  /** A float64 in [0, 1) with 53 random bits. */
  nextUniform(): number;
  /** 32 random bits. */
  nextUint32(): number;
  nextNormal(): number;
}

/**
 * The reference kernel. With a ShapeRule it fills `outputs` (contiguous unless the rule gave strides, or a view where an
 * in-place or `out=` form is derived: write through strides) and returns nothing; without, it returns its results.
 */
export type HostKernel<Args> = (args: Args, outputs: readonly Tensor[], context: HostContext) => Results;

/** Describes the same work as kernels for a device. Inputs and outputs are on the device when it runs. */
export type Lowering<Args> = (args: Args, outputs: readonly Tensor[], context: LoweringContext) => void;

export interface LoweringContext {
  readonly device: ComputeDevice;
  /** A tensor for an intermediate result, contiguous, contents undefined; freed when the lowering returns. */
  temporary(sizes: readonly number[], dtype: ScalarType): Tensor;
  launch(kernel: Kernel): void;
}

/** How an operator's result dtype follows from its arguments; see type-promotion.ts. */
export type PromotionRule =
  /** c10's promotion of all tensor and Scalar arguments; the body computes in that dtype. */
  | 'promote'
  /** As `promote`, but integers become the default float dtype. */
  | 'promote-to-float'
  /** Computes in the promoted dtype and gives bool. */
  | 'compare'
  /** Each argument stays as it is, the result has the dtype of the first. */
  | 'same-as-first'
  /** Arguments become bool, the result is bool. */
  | 'logical';

export interface PointwiseRule {
  readonly dtype: PromotionRule;
  /** Dtypes PyTorch's CPU kernel refuses, with its message core: `"bitwise_not" not implemented for`. */
  readonly refuses?: (dtype: ScalarType) => string | null;
  /** Tensors and Scalars come as expressions of the computing type (Scalars as params), other arguments as they are. */
  readonly body: (args: PointwiseArguments, type: ExprType, dtype: ScalarType) => Expr;
}

/** Arguments of a pointwise body by name. */
// The names and kinds follow from the row's schema, which TypeScript does not read: the body's author knows them.
// oxlint-disable-next-line typescript/no-explicit-any
export type PointwiseArguments = Record<string, any>;
