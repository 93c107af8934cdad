import type { Graph } from '@cresset/ir';
import type {
  ComputeDevice,
  Expr,
  ExprType,
  Kernel,
  ParamExpr,
  ReduceFunction,
  Routine,
  Store,
} from '@cresset/tensorexpr';
import type {
  Complex,
  DeviceValue,
  Dict,
  GeneratorValue,
  IValue,
  List,
  ScalarType,
  SymInt,
  Tensor,
} from '@cresset/tensor';

import type { ErrorKind } from '../kernels/errors.ts';
import type { Pieces } from '../kernels/loops/pieces.ts';

/**
 * One operator: its schema (PyTorch's own declaration) and everything the rest of the house asks about it. Rows stand in
 * files by family and are made with the functions of builders.ts; nobody else keeps a list of operators.
 *
 * How a row may say what it computes, any of:
 * - `scalar`: on raw IValues, for operators on numbers, strings, lists and dicts;
 * - `view`: makes another Tensor over the same storage; reads no data, so it is the same on every device;
 * - `shape` with `host` and `lower`: the outputs are allocated by `shape`, then filled on the host or on the device;
 * - `host` and `device` alone: return their results themselves, where sizes depend on data;
 * - `decomposition`: TorchScript text, compiled by the frontend and run in the node's place.
 */
export interface OperatorRow {
  readonly schema: string;
  readonly scalar?: ScalarKernel;
  /**
   * What it makes of sizes, where these may be other numbers the next time: whole numbers come as numbers or expressions, lists of such as arrays, all else
   * as IValues. A truth value is noted with what it goes by. Null where it goes by the numbers themselves.
   */
  readonly sizes?: (...args: never[]) => SymInt | readonly SymInt[] | boolean | null;
  /** Its shape, view and lowering take expressions in the place of whole numbers (PyTorch's `SymInt`); others get numbers, which are guarded. Scalars are
   * expressions only where it says so. */
  readonly takesSizes?: true | 'scalars';
  /** A view of its argument, in pieces where there are many; null where none is possible: then the row has to compute (`reshape`, `to`). */
  readonly view?: (args: never) => Results | Pieces<Results> | null;
  readonly shape?: ShapeRule<never>;
  readonly host?: HostKernel<never>;
  readonly lower?: Lowering<never>;
  readonly device?: DeviceKernel<never>;
  /** For a pointwise operator: its value as an expression, from which host kernel, lowering and fusion are derived. */
  readonly pointwise?: PointwiseRule;
  /** For a reduction: its value as an expression over reduced axes, from which host kernel and lowering are derived. */
  readonly reduction?: ReductionRule;
  /** Whether the lowering takes these arguments; absent where it takes all. */
  readonly lowerable?: (args: never) => boolean;
  readonly decomposition?: string;
  /** The graph of the decomposition, where that was compiled with names of its author's. */
  readonly decomposed?: Graph;
  /** How its gradients are worked out, where that is not in the table of formulas: a custom operator's. */
  readonly backward?: RowBackward;
  /** Computes it somewhere else, as a custom operator's function in the page: where there is no device, or nothing for that. */
  readonly remote?: (args: readonly IValue[]) => Promise<readonly IValue[]>;
  /** It reads no tensor's elements (`size`, `dim`, `zeros_like`): running it on the host needs no readback. */
  readonly readsNoData?: boolean;
  /** It gives something else than tensors and looks into tensors for it (`x.item()`, `'{}'.format(x)`): they are brought to
   * the host first. */
  readonly readsElements?: true;
  /** It reads its tensors in the dtype that they have in common, as pointwise rows do: PyTorch takes or refuses that one. */
  readonly promotes?: true;
  /** It knows what the integers of a quantised tensor stand for; all others that compute refuse such. */
  readonly takesQuantized?: boolean;
  /** Two runs with equal arguments may differ (random numbers): never folded, merged or removed as a duplicate. */
  readonly nondeterministic?: boolean;
  /** It does something beside making its results and writing to its arguments: it is never removed or moved. */
  readonly hasSideEffects?: boolean;
  /** Its results are memory of their own, though it has a `view` (which never gives one). */
  readonly copies?: true;
  /** There is an in-place form too, `add_` for `add`, with this overload name; its row is derived on registration. */
  readonly inPlace?: string;
  /** There is a form with `out=` arguments too: its overload name, and for several results the arguments' names, as in
   * `dim_max(max, max_values)`. Its row is derived too. */
  readonly out?: string;
  /** Each element of its result is one of its tensors' elements, converted where dtypes differ, or the same whatever these hold. */
  readonly moves?: true;
  /** Its kernels may have `self` itself as their output: what they write there they have read before. Its in-place form then writes
   * no more than what changes. */
  readonly writesInPlace?: true;
  /** Its in-place form gives `self` other sizes where the result has such, as only `out=` forms do else. */
  readonly resizesSelf?: true;
  /** What arguments, by name, may share with the memory that is written in place or as `out=`. Others share all of theirs with it, or nothing. */
  readonly mayShare?: (args: never) => Sharing;
  /** Writes `self` in place where several elements of it are one in memory (`expand`): only what changes. Such tensors are refused without. */
  readonly onExpanded?: HostKernel<never>;
  /** On a derived row: the row whose results it writes to `self` or to its `out` arguments. */
  readonly derived?: { readonly from: OperatorRow; readonly form: 'in-place' | 'out' };
}

export type Sharing = Readonly<Record<string, 'nothing' | 'anything'>>;

/** A function that gives the gradients of an operator's inputs. */
export interface RowBackward {
  readonly graph: Graph;
  /** What it takes, as formulas name it: `grad`, arguments, results. */
  readonly parameters: readonly string[];
  /** The arguments that it gives the gradients of, in order. */
  readonly inputs: readonly string[];
}

/** Works on IValues as they are: ints are bigints, floats numbers, lists `List`. One argument a schema argument (those of
 * a vararg operator all in order); a Tuple of results where the schema returns several, null where it returns none. */
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
  readonly sizes: readonly SymInt[];
  readonly dtype: ScalarType;
  readonly strides?: readonly SymInt[];
}

/**
 * Sizes and dtypes of the outputs from those of the inputs, without reading data; throws PyTorch's error where the
 * arguments do not fit. Used at run time and by shape propagation. One TensorMeta for each tensor output; null where the
 * sizes depend on data after all, and the host kernel makes its results itself.
 */
export type ShapeRule<Args> = (args: Args) => TensorMeta | readonly TensorMeta[] | null;

export interface HostContext {
  /** The default random generator (Philox); its draws follow `manual_seed`. */
  readonly generator: RandomGenerator;
  /** `torch.is_grad_enabled()`, which a program may set. */
  gradEnabled: boolean;
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
  /** Takes the next `count` draws of 64 bits out of the stream, for whoever works them out, in any order. */
  stream(count: number): RandomStream;
  /** Notes where it is in its stream: what it gives goes back there. */
  mark?(): () => void;
}

/** Draws taken from a generator; draw `i` is number `first + i` of the Philox stream with this key. */
export interface RandomStream {
  readonly key: bigint;
  readonly first: bigint;
  /** `key` and `first` where they are to stay open in what is recorded. */
  readonly open?: { readonly key: ParamExpr; readonly first: ParamExpr };
  /** The lower and the upper word of a draw. */
  low(draw: number): number;
  high(draw: number): number;
}

/**
 * The reference kernel. With a ShapeRule it fills `outputs` (contiguous unless the rule gave strides, or a view where an
 * in-place or `out=` form is derived: write through strides) and returns nothing; without, it returns its results. One
 * that may take long does so in pieces.
 */
export type HostKernel<Args> = (
  args: Args,
  outputs: readonly Tensor[],
  context: HostContext,
) => Results | Pieces<Results>;

/** What is said of a bad position, where it tells a size that may be another one the next time: `#` stands for that. */
export interface Complaint {
  readonly text: string;
  readonly size: SymInt;
}

/** Computes on a device and makes its results itself, where their sizes depend on data (which it may wait for) or where
 * it writes to its arguments. */
export type DeviceKernel<Args> = (args: Args, context: LoweringContext) => Results | Promise<Results>;

/** Describes the same work as kernels for a device. Inputs and outputs are on the device when it runs. */
export type Lowering<Args> = (args: Args, outputs: readonly Tensor[], context: LoweringContext) => void;

export interface LoweringContext {
  readonly device: ComputeDevice;
  /** A tensor for an intermediate result, contiguous, contents undefined; freed when the lowering returns. */
  temporary(sizes: readonly SymInt[], dtype: ScalarType): Tensor;
  launch(kernel: Kernel): void;
  /** Only where the device has routines. */
  launchRoutine?(routine: Routine): void;
  /**
   * The param for argument `at`, a number, where what is recorded serves for all for which `refuses` does not throw, with what `paramOf` gives for them;
   * null where the number is one like others.
   */
  openParam?(at: number, paramOf: (value: Scalar) => ParamExpr, refuses?: (value: Scalar) => void): ParamExpr | null;
  readonly generator: RandomGenerator;
  /** Stores that note a bad position where `isBad` holds: the run then fails with `complaint`, in whose text `%` stands for
   * the position. Nothing waits for them: they are looked at when results are fetched. */
  faults(isBad: Expr, position: Expr, complaint: Complaint | string, kind?: ErrorKind): readonly Store[];
  /** Brings tensors that the device is computing to the host. */
  fetch(...tensors: readonly Tensor[]): Promise<unknown>;
}

/**
 * Puts params that stay open in what is recorded in the place of others among the values of a pointwise row's body.
 * @param paramOf the param for another number in the place of the argument of that name
 */
export type OpenUp = (
  row: OperatorRow,
  args: PointwiseArguments,
  values: PointwiseArguments,
  computing: ScalarType,
  paramOf: (name: string, value: Scalar) => ParamExpr,
) => void;

/** How an operator's result dtype follows from its arguments; see type-promotion.ts. */
export type PromotionRule =
  /** c10's promotion of all tensor and Scalar arguments; the body computes in that dtype. */
  | 'promote'
  /** As `promote`, but integers become the default float dtype. */
  | 'promote-to-float'
  /** Computes in the promoted dtype and gives bool. */
  | 'compare'
  /** Computes in the dtype of the first tensor, which the result has too. */
  | 'same-as-first'
  /** Arguments become bool, the result is bool. */
  | 'logical';

/** The dtype a pointwise operator computes in and the one its result has. */
export interface ComputingTypes {
  readonly computing: ScalarType;
  readonly result: ScalarType;
}

export interface PointwiseRule {
  /** A rule, or what follows it where none fits: `promoted` is c10's promotion of all arguments not set `apart`. */
  readonly dtype: PromotionRule | ((promoted: ScalarType, args: PointwiseArguments) => ComputingTypes);
  /** Names of arguments that take no part in the promotion and keep their own type (masks, conditions). */
  readonly apart?: readonly string[];
  /** Throws PyTorch's error where the arguments, or the dtype computed in, are refused: of numbers each for itself. */
  readonly refuses?: (dtype: ScalarType, args: PointwiseArguments) => void;
  /** A number as `other` is not rounded to the half precision that is computed in, as PyTorch's kernels of products have it. */
  readonly exactOther?: true;
  /** Whether in place a tensor of this dtype is written though several of its elements are one in memory (`expand`). */
  readonly mayMeet?: (dtype: ScalarType) => boolean;
  /** Tensors and Scalars come as expressions of the computing type (Scalars as params), other arguments as they are. */
  readonly body?: (args: PointwiseArguments, type: ExprType, dtype: ScalarType) => Expr;
  /** The value of one element from numbers, bigints where integers are computed with, for functions the scalar language lacks: host only. */
  readonly number?: (args: PointwiseArguments, dtype: ScalarType) => number | bigint;
  /** The value of one element where the computing type is complex: host only. Absent where PyTorch refuses. */
  readonly complex?: (args: PointwiseArguments, dtype: ScalarType) => Complex | number | boolean;
}

/** How a reduction's result follows from elements; see reduction.ts. */
export interface ReductionRule {
  /** The dtype of the result; elements are converted to `computing` (default: the result's) first. */
  readonly dtype: (self: ScalarType, args: PointwiseArguments) => ScalarType;
  readonly computing?: (self: ScalarType, args: PointwiseArguments) => ScalarType;
  /** Throws PyTorch's error where the arguments are refused (reducing over nothing, a dtype). */
  readonly refuses?: (self: Tensor, dims: readonly number[], args: PointwiseArguments) => void;
  /** An empty list of dimensions means none, where it means all of them else. */
  readonly emptyIsNone?: true;
  /** `self` is an element, `over(fn, body)` reduces over the reduced axes, `count` is their number of points, `float`. */
  readonly body: (element: ReductionElement, args: PointwiseArguments) => Expr;
  /** As `body`, on the elements of one reduced group, for complex numbers: host only. */
  readonly complex?: (
    elements: readonly Complex[],
    args: PointwiseArguments,
  ) => Complex | number | boolean | Pieces<Complex | number | boolean>;
}

export interface ReductionElement {
  readonly self: Expr;
  readonly count: Expr;
  readonly type: ExprType;
  over(fn: ReduceFunction, body: Expr): Expr;
}

/** Arguments of a pointwise body by name. */
// The names and kinds follow from the row's schema, which TypeScript does not read: the body's author knows them.
// oxlint-disable-next-line typescript/no-explicit-any
export type PointwiseArguments = Record<string, any>;
