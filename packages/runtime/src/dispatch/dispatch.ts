import { CressetError, isCustomClass } from '@cresset/ir';
import {
  beginWithoutData,
  callRefusal,
  computeCallOnDevice,
  computeCallOnHost,
  hostPieces,
  doublePrecision,
  isImplemented,
  isInPieces,
  notImplemented,
  OperatorCall,
  preparedCall,
  runOnHost,
  type OperatorRow,
  symbolicArguments,
} from '@cresset/operators';
import {
  List,
  numelOf,
  quantizerTensors,
  ScriptObject,
  Tensor,
  Tuple,
  type IValue,
  type Storage,
  isSymbolic,
  settleAll,
  type SymInt,
  hasSymbols,
} from '@cresset/tensor';
import type { ComputeDevice } from '@cresset/tensorexpr';
import { DeviceLowering } from './device-lowering.ts';
import type { Execution } from '../run/execution.ts';
import { expectTensors, type OperatorBinding } from '../interpreter/code/operator-binding.ts';
import type { ProgramPlace } from '../interpreter/program-place.ts';
import type { LoweredWork } from '../run/planner.ts';
import type { RunCounters } from '../run/run-counters.ts';
import { tensorsIn } from './tensors-in.ts';

/** The results of an operator, now or once data has come from the device. */
export type Invocation = readonly IValue[] | Promise<readonly IValue[]>;

/**
 * Calls an operator where it is best done: without data where it needs none; on the host where there is no device, or
 * little to do on data that is there, or doubles to do it with; on the device where it has a lowering; else on the host after reading
 * its inputs back, which is counted as a fallback.
 */
export function dispatch(binding: OperatorBinding, args: readonly IValue[], execution: Execution): Invocation {
  const { row, name } = binding;
  if (!row) throw new CressetError('OPERATOR_NOT_IMPLEMENTED', `${name} is not implemented`);
  expectTensors(binding, args);
  const { context, ledger } = execution;
  if (row.remote && !(context.device && row.pointwise)) return runRemotely(row, name, args, execution);
  if (!isImplemented(row)) throw notImplemented(row);
  if (binding.keepsArguments && ledger) for (const value of args) ledger.pin(value);
  // First, since it asks for no data: whoever looks for data goes through every list among the arguments.
  const early = row.readsElements ? null : beginWithoutData(row, args, context);
  if (early) {
    if (isInPieces(early)) return execution.inTurns(early);
    // A device may get a copy of it, which goes when it does.
    return binding.makesTensor ? own(execution, [], early) : early;
  }
  if (row.readsElements) return afterReadback(args, () => runOnHost(row, args, context), execution);
  if (!context.device) return afterReadback(args, () => computeOnHost(binding, row, args, execution), execution);
  const narrow = binding.written.length > 0 ? widenWritten(binding, args) : null;
  const missing = missingStorages(args, context.device, narrow && new Set(narrow));
  const place = execution.place();
  if (!missing) return computeWhereBest(binding, row, args, execution, place);
  return bringToHost(missing, execution).then(() => {
    if (narrow) for (const storage of narrow) if (storage.isOnHost) storage.widen();
    return computeWhereBest(binding, row, args, execution, place);
  });
}

/** Has storages that a call writes to lie as kernels write them; those that have to come to the host before, null where there are none. */
function widenWritten({ written }: OperatorBinding, args: readonly IValue[]): Set<Storage> | null {
  let waiting: Set<Storage> | null = null;
  for (const { storage } of tensorsIn(written.map((at) => args[at]))) {
    if (!storage.isNarrow) continue;
    if (storage.isOnHost) storage.widen();
    else (waiting ??= new Set()).add(storage);
  }
  return waiting;
}

/** The result of a call that was made ready, where these arguments are like those; undefined where they are not, or somebody looks on. */
export function runPrepared(
  binding: OperatorBinding,
  args: readonly IValue[],
  execution: Execution,
): IValue | undefined {
  const result = callPrepared(binding, args, execution);
  if (result !== undefined && execution.ledger) own(execution, tensorsIn(args), [result]);
  return result;
}

/** As {@link runPrepared}; no ledger knows of the result. */
export function callPrepared(
  { prepared, name }: OperatorBinding,
  args: readonly IValue[],
  execution: Execution,
): IValue | undefined {
  if (!prepared || execution.observer) return undefined;
  // What was made ready is given numbers.
  if (hasSymbols() && (symbolicArguments.now || tensorsIn(args).some((tensor) => tensor.isSymbolic))) return undefined;
  const { context, ledger } = execution;
  const recording = context.planner?.recording;
  const result = recording
    ? recording.callOnHost(name, prepared, args, context, execution.memberInputs)
    : prepared.run(args, context);
  if (result !== undefined && ledger) context.counters.hostSmall.add(name);
  return result;
}

/**
 * Calls an operator whose arguments are on the host, and leaves the call ready for the next one like it. Observers may keep values that no
 * register holds any more: under their eyes no result is stored where an argument was.
 */
function computeOnHost(
  binding: OperatorBinding,
  row: OperatorRow,
  args: readonly IValue[],
  execution: Execution,
): Invocation {
  const call = new OperatorCall(row, args);
  const prepared = execution.observer ? null : preparedCall(call, binding.spent);
  const result = prepared?.run(args, execution.context);
  if (result === undefined) return computeInTurns(call, execution);
  binding.prepared = prepared;
  return [result];
}

/** Computes on the host; later where that takes long and the run may be aborted meanwhile. */
const computeInTurns = (call: OperatorCall, execution: Execution): Invocation =>
  execution.inTurns(hostPieces(call, execution.context));

/** Calls an operator that somebody else computes: the run rests meanwhile. */
async function runRemotely(
  row: OperatorRow,
  name: string,
  args: readonly IValue[],
  execution: Execution,
): Promise<readonly IValue[]> {
  if (execution.context.device) execution.context.counters.hostFallback.add(name);
  const work = afterReadback(args, () => row.remote!(args), execution);
  return own(execution, tensorsIn(args), await execution.untilAborted(Promise.resolve(work)));
}

/** Calls an operator whose arguments are all where the device can take them from. */
function computeWhereBest(
  binding: OperatorBinding,
  row: OperatorRow,
  args: readonly IValue[],
  execution: Execution,
  place: ProgramPlace,
): Invocation {
  const { context } = execution;
  const { name } = binding;
  const tensors = tensorsIn(args);
  const { smallWork } = context.limits;
  const mayBeSmall = tensors.every(
    (tensor) => tensor.storage.isOnHost && !tensor.isSymbolic && tensor.numel <= smallWork,
  );
  const repeated = mayBeSmall ? null : execution.planner?.repeat(workOf(row, name), args, execution);
  if (repeated) return own(execution, tensors, repeated);
  const call = new OperatorCall(row, args);
  if (mayBeSmall && isSmall(call, tensors, smallWork)) {
    // A recording tells memory that is new by its number, and a value may be held by one.
    binding.prepared = execution.observer ? null : preparedCall(call, null);
    const result = runPrepared(binding, args, execution);
    if (result !== undefined) return [result];
    binding.prepared = null;
    context.counters.hostSmall.add(name);
    return own(execution, tensors, computeCallOnHost(call, context));
  }
  const onHost = (refusal: string): Invocation => {
    countHostCall(context.counters, name, refusal);
    return afterReadback(
      args,
      () => whenThere(computeInTurns(call, execution), (done) => own(execution, tensors, done)),
      execution,
    );
  };
  const refusal = callRefusal(call, context.device!.capabilities);
  if (refusal !== null) return onHost(refusal);
  const launches = new DeviceLowering(execution, name, place);
  let results: Invocation | null = null;
  try {
    // A member of a group that is called by itself has arguments of its own.
    const recording = execution.member ? null : context.planner?.recording;
    results = computeCallOnDevice(call, launches, recording?.openUp());
    if (!(results instanceof Promise)) return own(execution, tensors, results);
    return results.then((done) => own(execution, tensors, done)).finally(() => launches.end());
  } catch (error) {
    const shortage = deviceShortage(error);
    // What has begun to write its arguments cannot begin anew.
    if (shortage === null || (launches.hasLaunched && binding.written.length > 0)) throw error;
    return onHost(shortage);
  } finally {
    if (!(results instanceof Promise)) launches.end();
  }
}

/** An operator as work of a device. */
const workOf = (row: OperatorRow, name: string): LoweredWork => ({
  structure: row,
  name,
  keepsKernels: false,
  lower: (args, launches) => {
    const call = new OperatorCall(row, args);
    if (callRefusal(call, launches.device.capabilities) !== null) return null;
    const results = computeCallOnDevice(call, launches);
    if (!(results instanceof Promise)) return results;
    results.catch(() => undefined);
    return null;
  },
});

const SHORTAGES: Readonly<Record<string, string>> = {
  DEVICE_BUFFER_TOO_LARGE: 'a tensor larger than a buffer of this GPU',
  DEVICE_BINDING_LIMIT: 'more tensors at once, or parts of large ones, than this GPU binds',
};

/** What the device turned out to be too small for, as a reason to compute elsewhere; null of another error. A launch that fails so does nothing. */
export const deviceShortage = (error: unknown): string | null =>
  (error instanceof CressetError && SHORTAGES[error.code]) || null;

function countHostCall(counters: RunCounters, name: string, refusal: string): void {
  if (refusal === doublePrecision) counters.hostDouble.add(name);
  else {
    counters.hostFallback.add(name);
    counters.fallbackReasons.set(name, refusal);
  }
}

/** What `take` makes of a value, once it is there. */
export function whenThere<T, Result>(value: T | Promise<T>, take: (value: T) => Result): Result | Promise<Result> {
  return value instanceof Promise ? value.then(take) : take(value);
}

/** Runs `body` once the elements of all tensors among `args` are on the host; at once where they are. */
export function afterReadback<T>(
  args: readonly IValue[],
  body: () => T | Promise<T>,
  execution: Execution,
): T | Promise<T> {
  const away = missingStorages(args, null);
  return away ? bringToHost(away, execution).then(body) : body();
}

/**
 * Storages of the tensors among `args` that are not on the host, nor where `device` can take them from without a wait: those of a
 * large file that were not read yet. Those of packed weights and of quantisers count among them. Null where there are none, which is
 * nearly always.
 */
export function missingStorages(
  args: readonly IValue[],
  device: ComputeDevice | null,
  found: Set<Storage> | null = null,
): Set<Storage> | null {
  // Every operator comes here, most of them with numbers: nothing is made unless something is missing.
  let missing = found;
  for (const value of args) {
    if (typeof value !== 'object' || value === null) continue;
    if (value instanceof Tensor) {
      const { storage, dtype, quantizer } = value;
      if (quantizer) missing = missingStorages(quantizerTensors(quantizer), null, missing);
      if (storage.isOnHost || (device && storage.canReachDevice(device, storage.layoutOf(dtype)))) continue;
      (missing ??= new Set()).add(storage);
    } else if ((value instanceof List && mayHoldTensors(value)) || value instanceof Tuple) {
      missing = missingStorages(value.items, device, missing);
    } else if (value instanceof ScriptObject && isCustomClass(value.type.qualifiedName)) {
      // Layers with packed weights run on the host.
      missing = missingStorages(value.slots, null, missing);
    }
  }
  return missing;
}

/** A list of many numbers is an argument of many calls. */
const mayHoldTensors = ({ elementType: { kind } }: List): boolean =>
  kind !== 'IntType' && kind !== 'FloatType' && kind !== 'StringType' && kind !== 'BoolType';

/** Reads storages back from the device, or from the file they are in; an abort of the run does not wait for it. */
export function bringToHost(storages: ReadonlySet<Storage>, execution: Execution): Promise<unknown> {
  // What is read from a file is there the next time.
  for (const { isOnDevice } of storages) if (!isOnDevice) execution.context.planner?.recording?.passing();
  return execution.untilAborted(Promise.all([...storages].map((storage) => storage.toHost())));
}

/** Whether neither the tensors given nor those made have more elements than `smallWork`, or sizes that may be others the next time. */
export function isSmall(call: OperatorCall, tensors: readonly Tensor[], smallWork: number): boolean {
  if (symbolicArguments.now?.row === call.row) return false;
  if (!tensors.every((tensor) => !tensor.isSymbolic && tensor.numel <= smallWork)) return false;
  const isLittle = (sizes: readonly SymInt[]): boolean => !isSymbolic(sizes) && numelOf(settleAll(sizes)) <= smallWork;
  return call.outputs === null || call.outputs.every(({ sizes }) => isLittle(sizes));
}

/** Tells the ledger which storages an operator has made. */
export function own(execution: Execution, inputs: readonly Tensor[], results: readonly IValue[]): readonly IValue[] {
  const { ledger } = execution;
  if (!ledger) return results;
  for (const made of tensorsIn(results)) {
    if (!inputs.some(({ storage }) => storage === made.storage)) ledger.own(made.storage);
  }
  return results;
}
