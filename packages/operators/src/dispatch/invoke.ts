import { compilerServices, CressetError, type CompilerServices } from '@cresset/ir';
import {
  contiguousStrides,
  elementSize,
  isComplex,
  isDouble,
  isStorageType,
  numelOf,
  settle,
  settleAll,
  Storage,
  symEq,
  symProduct,
  symSame,
  Tensor,
  Tuple,
  type IValue,
  type ScalarType,
} from '@cresset/tensor';
import type { DeviceCapabilities } from '@cresset/tensorexpr';
import { boxingOf, tensorsOf, type Boxing } from '../table/boxing.ts';
import { copyPieces, lowerCopy } from '../kernels/copy.ts';
import {
  assertNoInternalOverlap,
  assertNoOverlap,
  meetsElsewhere,
  overlapsItself,
  sizesText,
} from '../kernels/dimensions.ts';
import { check, isKernelRefusal } from '../kernels/errors.ts';
import { finish, isInPieces, type Pieces } from '../kernels/loops/pieces.ts';
import {
  hasPointwiseExpr,
  lowerPointwise,
  pointwisePieces,
  pointwiseShape,
  unrefusedShape,
} from '../kernels/loops/pointwise.ts';
import { lowerReduction, reductionPieces, reductionShape } from '../kernels/loops/reduction.ts';
import { checkReadable } from './dtype-refusals.ts';
import { checkWritable } from './writable-dtypes.ts';
import type { HostContext, LoweringContext, OpenUp, OperatorRow, Results, TensorMeta, Unboxed } from '../table/row.ts';

type Arguments = Record<string, Unboxed>;

/** One call of an operator: what its arguments are to kernels, and what its results will be, are worked out once. */
export class OperatorCall {
  #unboxed: Arguments | undefined;
  #outputs: readonly TensorMeta[] | null | undefined;
  #isQuantized: boolean | undefined;

  constructor(
    readonly row: OperatorRow,
    readonly args: readonly IValue[],
  ) {}

  get unboxed(): Arguments {
    return (this.#unboxed ??= boxingOf(this.row).unbox(this.args));
  }

  /** As `outputShapes`; null for in-place and `out=` forms too. */
  get outputs(): readonly TensorMeta[] | null {
    if (this.#outputs === undefined) {
      try {
        this.#outputs = this.isQuantized ? null : outputShapes(this.row, this.unboxed);
      } catch (error) {
        // Whoever asks first what there will be hears as well what PyTorch says of the dtype.
        checkReadable(this.row, this.unboxed);
        const { pointwise } = this.row.derived?.from ?? this.row;
        if (pointwise && isKernelRefusal(error)) checkReadable(this.row, this.unboxed, 'after sizes');
        throw error;
      }
    }
    return this.#outputs;
  }

  /** Whether there are quantised tensors where the row knows plain ones. */
  get isQuantized(): boolean {
    return (this.#isQuantized ??=
      !this.row.takesQuantized && tensorsOf(this.unboxed).some(({ quantizer }) => quantizer !== null));
  }
}

/**
 * The results of an operator that needs no tensor's elements for these arguments: a scalar kernel, a view, a look at sizes.
 * Null where it has to compute. Throws the operator's error.
 */
export function runWithoutData(row: OperatorRow, args: readonly IValue[], context: HostContext): IValue[] | null {
  const results = beginWithoutData(row, args, context);
  return isInPieces(results) ? finish(results) : results;
}

/** As `runWithoutData`, in pieces where there are many results. */
export function beginWithoutData(
  row: OperatorRow,
  args: readonly IValue[],
  context: HostContext,
): IValue[] | Pieces<IValue[]> | null {
  if (row.scalar) return scalarResults(row, args);
  if (!row.view && !row.readsNoData) return null;
  const boxing = boxingOf(row);
  const unboxed = boxing.unbox(args);
  const shown = row.view?.(unboxed as never);
  const isShown = shown !== null && shown !== undefined;
  if (!isShown && (!row.readsNoData || !row.host || row.shape)) return null;
  const results = isShown ? shown : row.host!(unboxed as never, [], context);
  return isInPieces(results) ? boxed(boxing, results) : boxing.box(results);
}

function* boxed(boxing: Boxing, results: Pieces<Results>): Pieces<IValue[]> {
  return boxing.box(yield* results);
}

function scalarResults(row: OperatorRow, args: readonly IValue[]): IValue[] {
  const result = row.scalar!(...args);
  const { returns } = boxingOf(row).signature;
  if (returns.length === 0) return [];
  return returns.length > 1 && result instanceof Tuple ? [...result.items] : [result];
}

/** Whether there is anything to run a row with outside a device; a decomposition is the interpreter's to run. */
export function isImplemented(row: OperatorRow): boolean {
  const { scalar, view, host, pointwise, reduction } = row.derived?.from ?? row;
  return Boolean(scalar ?? view ?? host ?? pointwise ?? reduction);
}

/** Runs an operator on the host; its tensors must be up to date there. One IValue a result of the schema. */
export function runOnHost(row: OperatorRow, args: readonly IValue[], context: HostContext): IValue[] {
  return runWithoutData(row, args, context) ?? computeCallOnHost(new OperatorCall(row, args), context);
}

/** As `runOnHost`, where it is known that the operator has to compute. */
export function computeCallOnHost(call: OperatorCall, context: HostContext): IValue[] {
  return finish(hostPieces(call, context));
}

/** As `computeCallOnHost`, in pieces. */
export function* hostPieces(call: OperatorCall, context: HostContext): Pieces<IValue[]> {
  const { row, unboxed } = call;
  const boxing = boxingOf(row);
  if (call.isQuantized) {
    const plain = row.derived?.from ?? row;
    const form = compilerServices<DispatchServices>().quantizedForm?.(row, unboxed, (args) =>
      computeOnHost(plain, args, outputShapes(plain, args), context),
    );
    check(!!form, () => `Could not run '${boxing.signature.name}' with arguments from the 'QuantizedCPU' backend.`);
    return boxing.box(yield* form!);
  }
  if (!row.derived) {
    return boxing.box(yield* computeOnHost(row, unboxed, checkedShapes(call), context));
  }
  const { from } = row.derived;
  const targets = targetsOf(row, unboxed);
  if (isOnExpanded(row, targets[0])) {
    const args = functionalArguments(from, unboxed);
    const [result = targets[0]] = checkedShapes(call) ?? [];
    prepareTarget(targets[0], result, row, unboxed);
    yield* completed(from.onExpanded!(args as never, targets, context));
    return targets;
  }
  if (from.pointwise) {
    const [target] = targets;
    const [result] = checkedShapes(call)!;
    prepareTarget(target, result, row, unboxed);
    if (isReadAsWritten(target, unboxed)) {
      yield* pointwisePieces(from, unboxed, target);
      return targets;
    }
    const computed = allocateOnHost(result);
    yield* pointwisePieces(from, unboxed, computed);
    yield* copyPieces(target, computed);
  } else {
    const args = functionalArguments(from, unboxed);
    const shapes = checkedShapes(call);
    // A tensor that is refused for its dtype is so before anything else is found wrong.
    shapes?.forEach(({ dtype }, at) => checkWritable(row, dtype, targets[at].dtype));
    if (from.host && canWriteOver(targets[0], row, args, shapes)) {
      yield* completed(from.host(args as never, targets, context));
      return targets;
    }
    const computed = asTensors(yield* computeOnHost(from, args, shapes, context));
    for (let at = 0; at < targets.length; at++) {
      prepareTarget(targets[at], computed[at], row, unboxed);
      yield* copyPieces(targets[at], computed[at]);
    }
  }
  return targets;
}

/** Whether each element of a tensor that arguments are of is read where it is written, and nowhere else. */
const isReadAsWritten = (target: Tensor, args: Arguments): boolean =>
  !tensorsOf(args).some((read) => meetsElsewhere(target, read));

/** Whether the row's kernels may write their result to `self` right away: it is all of it, and nothing else is read there. */
export function canWriteOver(
  self: Tensor,
  { derived }: OperatorRow,
  args: Arguments,
  shapes: readonly TensorMeta[] | null,
): boolean {
  const { from, form } = derived!;
  if (!from.writesInPlace || form !== 'in-place' || !shapes || isComplex(self.dtype) || overlapsItself(self))
    return false;
  const [{ sizes, dtype }] = shapes;
  const isApart = tensorsOf({ ...args, self: null }).every(({ storage }) => storage !== self.storage);
  return isApart && dtype === self.dtype && symSame(sizes, self.symSizes);
}

function* computeOnHost(
  row: OperatorRow,
  args: Arguments,
  shapes: readonly TensorMeta[] | null,
  context: HostContext,
): Pieces<Results> {
  const outputs = shapes?.map((meta) => allocateOnHost(meta));
  if (row.pointwise) yield* pointwisePieces(row, args, outputs![0]);
  else if (row.reduction) yield* reductionPieces(row, args, outputs![0]);
  else if (row.host) {
    const results = yield* completed(row.host(args as never, outputs ?? [], context));
    if (results !== undefined || !outputs) return results;
  } else throw notImplemented(row);
  return resultsOf(row, outputs!);
}

/** What a kernel gives, with all that it does in pieces. */
function* completed(results: Results | Pieces<Results>): Pieces<Results> {
  return isInPieces(results) ? yield* results : results;
}

/** What is thrown for an operator that is known to the compiler but has nothing to run. */
export function notImplemented(row: OperatorRow): CressetError {
  const { name, overload } = boxingOf(row).signature;
  return new CressetError('OPERATOR_NOT_IMPLEMENTED', `${name}${overload && `.${overload}`} is not implemented`);
}

/** Outputs as results: a list where the schema returns one list. */
function resultsOf(row: OperatorRow, outputs: readonly Tensor[]): Results {
  const { returns } = boxingOf(row).signature;
  return returns.length === 1 && !returns[0].type.endsWith('[]') ? outputs[0] : outputs;
}

const asTensors = (results: Results): Tensor[] =>
  (Array.isArray(results) ? results : [results]).filter((result) => result instanceof Tensor);

/** Sizes and dtypes of the outputs, null where they depend on data. Throws the operator's error. */
export function outputShapes(row: OperatorRow, args: Arguments): readonly TensorMeta[] | null {
  if (row.pointwise) return [pointwiseShape(row, args)];
  if (row.reduction) return [reductionShape(row, args)];
  if (!row.shape) return null;
  const shapes = row.shape(args as never);
  return shapes === null || Array.isArray(shapes) ? shapes : [shapes as TensorMeta];
}

/** As `outputShapes`, of what a call makes or writes to. Throws what PyTorch says of dtypes before it looks at sizes, and what it says afterwards. */
export function checkedShapes(call: OperatorCall): readonly TensorMeta[] | null {
  const { row, unboxed } = call;
  if (row.derived) return derivedShapes(row, unboxed);
  checkReadable(row, unboxed);
  const { outputs } = call;
  checkReadable(row, unboxed, 'after sizes');
  return outputs;
}

/** As `outputShapes`, of what the row writes to. Throws what PyTorch says first, a kernel's refusal of a dtype last. */
export function derivedShapes(row: OperatorRow, args: Arguments): readonly TensorMeta[] | null {
  const { from, form } = row.derived!;
  try {
    checkReadable(row, args);
    const shapes = outputShapes(from, from.pointwise ? args : functionalArguments(from, args));
    checkReadable(row, args, 'after sizes');
    return shapes;
  } catch (error) {
    if (from.pointwise && isKernelRefusal(error)) {
      if (form === 'in-place') checkTarget(args.self as Tensor, unrefusedShape(from, args), row, args);
      checkReadable(row, args, 'after sizes');
    }
    throw error;
  }
}

/** A tensor on the host, of zeros unless its memory comes `from` elsewhere. Throws PyTorch's errors where there is no memory for it. */
export function allocateOnHost(
  { sizes, dtype, strides = contiguousStrides(sizes) }: TensorMeta,
  from: (dtype: ScalarType, count: number) => Storage = Storage.zeros,
): Tensor {
  const count = settle(symProduct(sizes));
  check(
    count * elementSize(dtype) < 2 ** 63,
    () => `Storage size calculation overflowed with sizes=${sizesText(settleAll(sizes))}`,
  );
  return new Tensor(from(dtype, count), dtype, sizes, strides);
}

/** The tensors a derived row writes: `self`, or its `out` arguments. */
function targetsOf(row: OperatorRow, args: Arguments): Tensor[] {
  if (row.derived!.form === 'in-place') return [args.self as Tensor];
  const { args: own } = boxingOf(row).signature;
  return own.filter(({ text }) => text.startsWith('Tensor(')).map(({ name }) => args[name] as Tensor);
}

/** What the functional row gets; the dtype that a factory's `out=` form does not take is that of the tensor it fills. */
function functionalArguments(from: OperatorRow, args: Arguments): Arguments {
  const dtype = (args.out as Tensor | undefined)?.dtype;
  return Object.fromEntries(
    boxingOf(from).signature.args.map(({ name }) => [
      name,
      name in args ? args[name] : name === 'dtype' ? dtype! : null,
    ]),
  );
}

/** Runs an operator on quantised tensors, whose row knows plain ones. Throws PyTorch's error where it has no such form. */
export type QuantizedForm = (
  row: OperatorRow,
  args: Arguments,
  compute: (args: Arguments) => Pieces<Results>,
) => Pieces<Results>;

/** Checks that a result may be written to `target`; an `out` argument of other sizes gets new memory. */
function prepareTarget(target: Tensor, result: TensorMeta, row: OperatorRow, args: Arguments): void {
  const { from } = row.derived!;
  const read = functionalArguments(from, args);
  checkTarget(target, result, row, read);
  if (!symSame(target.symSizes, result.sizes)) resize(target, settleAll(result.sizes));
  if (!from.pointwise) checkApart(target, from, read);
}

/** Throws where what is written shares memory with what is read (at::assert_no_partial_overlap, at::assert_no_overlap). */
function checkApart(target: Tensor, { mayShare }: OperatorRow, read: Arguments): void {
  const shared = mayShare?.(read as never) ?? {};
  for (const [name, value] of Object.entries(read)) {
    const shares = shared[name];
    if (shares === 'anything') continue;
    for (const tensor of tensorsOf({ value })) assertNoOverlap(target, tensor, shares === 'nothing');
  }
}

/**
 * Throws where a result of this dtype and, in place, these sizes is not written to `target`, or where elements of it are one.
 * @param read what the functional row is given
 */
export function checkTarget(target: Tensor, result: TensorMeta, row: OperatorRow, read: Arguments): void {
  const { from, form } = row.derived!;
  checkWritable(row, result.dtype, target.dtype, 'before sizes');
  const mayMeet = from.pointwise?.mayMeet?.(target.dtype) || isOnExpanded(row, target);
  if (!mayMeet) assertNoInternalOverlap(target);
  // What a pointwise kernel reads is compared with the memory that the target has before it gets other sizes.
  if (from.pointwise) checkApart(target, from, read);
  const mayResize = form === 'out' ? !(from.pointwise && tensorsOf(read).includes(target)) : from.resizesSelf === true;
  check(mayResize || symSame(target.symSizes, result.sizes), () => {
    const [own, computed] = [target.symSizes, result.sizes].map((sizes) => sizesText(settleAll(sizes)));
    return from.pointwise
      ? `output with shape ${own} doesn't match the broadcast shape ${computed}`
      : `Bad in-place call: input tensor size ${own} and output tensor size ${computed} should match`;
  });
  checkWritable(row, result.dtype, target.dtype);
}

/** Whether a row writes in place to a tensor several of whose elements are one. */
export const isOnExpanded = ({ derived }: OperatorRow, target: Tensor): boolean =>
  derived?.form === 'in-place' && derived.from.onExpanded !== undefined && overlapsItself(target);

/** Gives a tensor new sizes. A storage that has too little memory grows, and its other tensors go on seeing what is written to it (Tensor.resize_). */
export function resize(tensor: Tensor, sizes: readonly number[]): void {
  const needed = bytesNeeded(tensor, sizes);
  check(needed >= 0, 'numel: integer multiplication overflow');
  if (needed > tensor.storage.guardedByteLength) {
    // Other tensors over an empty storage see nothing of it.
    if (tensor.storage.byteLength === 0) tensor.storage = Storage.zeros('uint8', needed);
    else tensor.storage.grow(needed);
  }
  tensor.sizes = sizes;
  tensor.strides = contiguousStrides(sizes);
}

/** The bytes that a storage has to have for a tensor of these sizes. PyTorch multiplies sizes as numbers without a sign. */
const bytesNeeded = ({ dtype, storageOffset }: Tensor, sizes: readonly number[]): number =>
  (storageOffset + numelOf(sizes)) * elementSize(dtype);

/** Whether an `out` argument, which others may see the memory of, has or may have too little of it: what it holds goes along on the host. */
function growsInto(row: OperatorRow, args: Arguments): boolean {
  if (row.derived?.form !== 'out') return false;
  const targets = targetsOf(row, args);
  if (targets.every(({ storage }) => storage.byteLength === 0)) return false;
  const shapes = derivedShapes(row, args);
  return targets.some(
    (target, at) =>
      target.storage.byteLength > 0 &&
      (!shapes ||
        (!symSame(target.symSizes, shapes[at].sizes) &&
          bytesNeeded(target, settleAll(shapes[at].sizes)) > target.storage.guardedByteLength)),
  );
}

/** Whether sizes, or strides, are the same. */
export function areEqual(a: readonly number[], b: readonly number[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false;
  return true;
}

/** How a device computes with complex numbers. */
export interface ComplexLowering {
  takes(row: OperatorRow, args: Arguments): boolean;
  lower(row: OperatorRow, args: Arguments, outputs: readonly Tensor[], context: LoweringContext): void;
}

/** What parts of the library bring for calling operators. */
export interface DispatchServices extends CompilerServices {
  /** Takes quantised tensors; without, rows that say so take them and no others. */
  readonly quantizedForm?: QuantizedForm;
  /** Has a device compute with complex numbers; without, the host does. */
  readonly complexLowering?: ComplexLowering;
}

const refuseComplex = (row: OperatorRow, args: Arguments): string | null =>
  compilerServices<DispatchServices>().complexLowering?.takes(row, args) ? null : 'complex numbers';

const involvesComplex = (args: Arguments, outputs: readonly Tensor[]): boolean =>
  [...tensorsOf(args), ...outputs].some(({ dtype }) => isComplex(dtype));

/** The refusal of work in double precision, for which GPUs have no numbers. */
export const doublePrecision = 'double precision';

/** What decides whether a device takes doubles. */
export type Precision = Pick<DeviceCapabilities, 'doubles'>;

/** Whether an operator on such a tensor computes with doubles; one without dimensions is rounded to what it meets. */
export const holdsDoubles = ({ dtype, dim }: Tensor): boolean => isDouble(dtype) && dim > 0;

/** Why `runOnDevice` does not take these arguments; null where it does: there is a lowering, and for these dtypes. */
export function deviceRefusal(row: OperatorRow, args: readonly IValue[], precision: Precision): string | null {
  return callRefusal(new OperatorCall(row, args), precision);
}

/** As `deviceRefusal`. */
export function callRefusal(call: OperatorCall, { doubles }: Precision): string | null {
  const { row } = call;
  const source = row.derived?.from ?? row;
  if (!source.lower && !source.device && !source.pointwise?.body && !source.reduction) return 'no kernel';
  const { unboxed } = call;
  if (growsInto(row, unboxed)) return 'memory that grows';
  if (row.derived && isOnExpanded(row, unboxed.self as Tensor)) return 'elements that are one in memory';
  const tensors = tensorsOf(unboxed);
  if (!doubles && tensors.some(holdsDoubles)) return doublePrecision;
  const dtypes = tensors.map((tensor) => tensor.dtype);
  if (dtypes.some(isComplex)) return refuseComplex(source, unboxed);
  if (dtypes.some(isStorageType)) return 'a dtype of the host only';
  if (source.pointwise && !hasPointwiseExpr(source, dtypes)) return 'no kernel';
  const made = call.outputs;
  if (!doubles && made?.some((meta) => isDouble(meta.dtype))) return doublePrecision;
  if (made?.some((meta) => isComplex(meta.dtype))) return refuseComplex(source, unboxed);
  if (made?.some((meta) => isStorageType(meta.dtype))) return 'a dtype of the host only';
  return (source.lowerable?.(unboxed as never) ?? true) ? null : 'these arguments';
}

/** Runs an operator on a device: allocates its results there and launches its kernels. One IValue a result of the schema. */
export function runOnDevice(
  row: OperatorRow,
  args: readonly IValue[],
  context: LoweringContext,
): IValue[] | Promise<IValue[]> {
  return computeCallOnDevice(new OperatorCall(row, args), context);
}

/** As `runOnDevice`. */
export function computeCallOnDevice(
  call: OperatorCall,
  context: LoweringContext,
  openUp?: OpenUp,
): IValue[] | Promise<IValue[]> {
  const { row, unboxed } = call;
  const boxing = boxingOf(row);
  const source = row.derived?.from ?? row;
  const args = row.derived ? functionalArguments(source, unboxed) : unboxed;
  const shapes = checkedShapes(call);
  // A row with a lowering that knows its shape for these arguments needs not make its results itself.
  if (source.device && (!shapes || !source.lower)) {
    const results = source.device(args as never, context);
    const finish = (done: Results): IValue[] =>
      row.derived ? writeToTargets(row, asTensors(done), unboxed, context) : boxing.box(done);
    return results instanceof Promise ? results.then(finish) : finish(results);
  }
  if (!row.derived) return boxing.box(resultsOf(row, computeOnDevice(row, args, shapes, context, openUp)));
  const targets = targetsOf(row, unboxed);
  if (source.pointwise && !involvesComplex(unboxed, targets)) {
    prepareTarget(targets[0], shapes![0], row, unboxed);
    if (isReadAsWritten(targets[0], unboxed)) {
      lowerPointwise(source, unboxed, targets[0], context, openUp);
      return targets;
    }
  } else if (source.lower && canWriteOver(targets[0], row, args, shapes)) {
    source.lower(args as never, targets, context);
    return targets;
  }
  return writeToTargets(row, computeOnDevice(source, args, shapes, context), unboxed, context);
}

/** What a derived row writes, as results. What was computed for it is nobody's afterwards, and is freed. */
function writeToTargets(
  row: OperatorRow,
  computed: readonly Tensor[],
  args: Arguments,
  context: LoweringContext,
): Tensor[] {
  const targets = targetsOf(row, args);
  targets.forEach((target, at) => {
    prepareTarget(target, computed[at], row, args);
    lowerCopy(target, computed[at], context, boxingOf(row).signature.name);
  });
  const given = new Set(asTensors(Object.values(args).flat() as Tensor[]).map(({ storage }) => storage));
  for (const { storage } of computed) if (!given.has(storage)) storage.dispose();
  return targets;
}

function computeOnDevice(
  row: OperatorRow,
  args: Arguments,
  shapes: readonly TensorMeta[] | null,
  context: LoweringContext,
  openUp?: OpenUp,
): Tensor[] {
  if (!shapes) throw notImplemented(row);
  const outputs: Tensor[] = [];
  try {
    for (const meta of shapes) outputs.push(allocateOnDevice(meta, context));
    const { complexLowering } = compilerServices<DispatchServices>();
    if (complexLowering && involvesComplex(args, outputs)) complexLowering.lower(row, args, outputs, context);
    else if (row.pointwise) lowerPointwise(row, args, outputs[0], context, openUp);
    else if (row.reduction) lowerReduction(row, args, outputs[0], context);
    else if (row.lower) row.lower(args as never, outputs, context);
    else throw notImplemented(row);
    return outputs;
  } catch (error) {
    // Nobody else knows of them.
    for (const { storage } of outputs) storage.dispose();
    throw error;
  }
}

function allocateOnDevice({ sizes, dtype, strides }: TensorMeta, { device }: LoweringContext): Tensor {
  const count = symProduct(sizes);
  // Nothing to write: a buffer of no bytes is more trouble than it is worth.
  if (symEq(count, 0)) return Tensor.empty(settleAll(sizes), dtype);
  return new Tensor(Storage.onDevice(device, dtype, count), dtype, sizes, strides ?? contiguousStrides(sizes));
}
