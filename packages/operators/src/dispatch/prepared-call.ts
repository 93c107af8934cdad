import {
  contiguousStrides,
  DeviceValue,
  isComplex,
  List,
  numelOf,
  Storage,
  Tensor,
  type IValue,
  settleAll,
  symSame,
} from '@cresset/tensor';
import { finish, isInPieces, TURN_SIZE } from '../kernels/loops/pieces.ts';
import { computingTypes, pointwiseLoop } from '../kernels/loops/pointwise.ts';
import { reductionLoop } from '../kernels/loops/reduction.ts';
import { boxingOf } from '../table/boxing.ts';
import type { HostContext, OperatorRow, TensorMeta, Unboxed } from '../table/row.ts';
import {
  allocateOnHost,
  areEqual,
  canWriteOver,
  checkedShapes,
  checkTarget,
  isOnExpanded,
  type OperatorCall,
} from './invoke.ts';
import type { PreparedCall } from './call-preparation.ts';
import { Moves } from './prepared-moves.ts';
import { giveMemory, takeMemory } from './spare-memory.ts';

type Arguments = Record<string, Unboxed>;

/** Elements up to which a kernel of its own is called at once: it may go over them many times. */
const SMALL_KERNEL = 1 << 12;

/** Whether an argument is like the one a call was made ready for. */
type Guard = (value: IValue) => boolean;

/**
 * Makes a call ready for arguments like its own; null where it has to be looked at each time. Throws the operator's error.
 * @param spent which arguments are tensors whose memory this result, or another one, may take; null where results have memory of their
 * own that nobody had before
 */
export function prepareCall(call: OperatorCall, spent: readonly number[] | null = []): PreparedCall | null {
  const { row, args } = call;
  const { from, form } = row.derived ?? { from: row, form: null };
  const rule = from.pointwise;
  const isKernel = form !== null && !rule;
  if (row.remote || from.readsElements || form === 'out' || (isKernel && !from.writesInPlace)) return null;
  const boxing = boxingOf(row);
  const { args: formals, returns } = boxing.signature;
  if (returns.length !== 1 || returns[0].type.replace(/\(.*\)/, '') !== 'Tensor' || formals.length !== args.length)
    return null;
  const other = rule && typeof rule.dtype === 'string' ? formals.findIndex(({ name }) => name === 'other') : -1;
  const patched = typeof args[other] === 'number' ? other : -1;
  const guards = args.map((value, at) => (at === patched ? isFloat : guardFor(value)));
  if (!guards.every((guard) => guard !== null)) return null;
  const { unboxed } = call;
  // A view of these arguments is one of any like them, and so is what has to be computed.
  if (row.view?.(unboxed as never)) return null;
  const shapes = checkedShapes(call);
  if (shapes?.length !== 1) return null;
  const [meta] = shapes;
  const sizes = settleAll(meta.sizes);
  const size = Math.max(numelOf(sizes), ...args.map((value) => (value instanceof Tensor ? value.numel : 0)));
  // What may take long is done in pieces, and the time to look at it is nothing beside that.
  if (numelOf(sizes) === 0 || size > TURN_SIZE || isComplex(meta.dtype)) return null;
  if (isKernel) return size > SMALL_KERNEL ? null : overwriting(call, guards, meta);
  const newMemory = spent ? takeMemory : Storage.zeros;
  const taken = spent?.find((at) => isLaidOut(args[at], meta));
  const compute = rule ? pointwise(row, unboxed, meta, taken, newMemory) : reduction(row, unboxed, meta, newMemory);
  if (compute) return new Prepared(guards, compute, spent ?? [], row.derived !== undefined, patched);
  const { host } = row;
  if (rule || row.reduction || !host || size > SMALL_KERNEL) return null;
  const names = formals.map(({ name }) => name);
  let isFirst = true;
  let moves: Moves | null = null;
  return new Prepared(
    guards,
    (values, context, into) => {
      if (moves) return moves.run(values, into, newMemory);
      const given = boxing.unbox(values);
      const output = allocateOnHost(meta);
      const begun = host(given as never, [output], context);
      const results = isInPieces(begun) ? finish(begun) : begun;
      if (results !== undefined) return boxing.box(results)[0];
      // Whoever calls twice may call often.
      if (row.moves && !isFirst) moves = Moves.of(row, names, given, output, context);
      isFirst = false;
      return output;
    },
    [],
    false,
  );
}

/** Computes a result from arguments that are as they should be. */
type Compute = PreparedCall['run'];

class Prepared implements PreparedCall {
  constructor(
    readonly guards: readonly Guard[],
    readonly compute: Compute,
    readonly spent: readonly number[],
    readonly overwrites: boolean,
    readonly patched = -1,
  ) {}

  run(args: readonly IValue[], context: HostContext, into?: IValue): IValue | undefined {
    const { guards, spent } = this;
    for (let at = 0; at < guards.length; at++) if (!guards[at](args[at])) return undefined;
    const result = this.compute(args, context, into);
    if (result === undefined) return undefined;
    for (let at = 0; at < spent.length; at++) if (args[spent[at]] !== result) giveMemory(args[spent[at]] as Tensor);
    return result;
  }
}

const isFloat: Guard = (value) => typeof value === 'number';

function guardFor(value: IValue): Guard | null {
  if (value instanceof Tensor) return isComplex(value.dtype) ? null : layoutGuard(value);
  if (value instanceof List) {
    const items = value.items.map(guardFor);
    if (!items.every((guard) => guard !== null)) return null;
    return (other) =>
      other instanceof List &&
      other.items.length === items.length &&
      items.every((guard, at) => guard(other.items[at]));
  }
  // Equal devices are one object.
  const isSimple = typeof value !== 'object' || value === null || value instanceof DeviceValue;
  return isSimple ? (other) => Object.is(other, value) : null;
}

function layoutGuard(tensor: Tensor): Guard | null {
  // Those of sequences have no sizes.
  if (tensor.constructor !== Tensor) return null;
  const { dtype, sizes, strides } = tensor;
  const isSame: Guard = (other) =>
    typeof other === 'object' &&
    other?.constructor === Tensor &&
    (other as Tensor).dtype === dtype &&
    (other as Tensor).quantizer === null &&
    areEqual((other as Tensor).sizes, sizes) &&
    areEqual((other as Tensor).strides, strides) &&
    (other as Tensor).storage.isOnHost;
  return isSame(tensor) ? isSame : null;
}

/** Whether a result of this layout may be stored where the argument is. */
const isLaidOut = (value: IValue, { sizes, dtype, strides = contiguousStrides(sizes) }: TensorMeta): boolean =>
  value instanceof Tensor &&
  value.dtype === dtype &&
  symSame(value.symSizes, sizes) &&
  symSame(value.symStrides, strides);

/** A tensor of that layout without memory: what is made ready keeps no elements alive. */
const layoutOf = <Value>(value: Value): Value | Tensor =>
  value instanceof Tensor ? new Tensor(nowhere, value.dtype, value.sizes, value.strides) : value;

const nowhere = Storage.zeros('uint8', 0);

function pointwise(
  row: OperatorRow,
  args: Arguments,
  meta: TensorMeta,
  taken: number | undefined,
  newMemory: typeof takeMemory,
): Compute | null {
  const { from } = row.derived ?? { from: row };
  const { computing } = computingTypes(from, args);
  if (isComplex(computing) || from.pointwise!.number) return null;
  const inPlace = row.derived ? (args.self as Tensor) : null;
  if (inPlace) {
    checkTarget(inPlace, meta, row, args);
    if (isOnExpanded(row, inPlace) || !symSame(inPlace.symSizes, meta.sizes)) return null;
  }
  const { dtype } = meta;
  const sizes = settleAll(meta.sizes);
  const strides = settleAll(meta.strides ?? contiguousStrides(sizes));
  const output = inPlace ?? { sizes, dtype, strides };
  const number =
    typeof args.other === 'number' && typeof from.pointwise!.dtype === 'string' ? new Float64Array(1) : null;
  const layouts = Object.fromEntries(Object.entries(args).map(([name, value]) => [name, layoutOf(value)]));
  if (number) layouts.other = Tensor.fromArray(number, [], 'float64');
  const { loop, names } = pointwiseLoop(from, layouts, output, computing, number ? 'other' : null);
  const { args: formals } = boxingOf(row).signature;
  const positions = names.map((name) => formals.findIndex((formal) => formal.name === name));
  const count = numelOf(sizes);
  const place = inPlace ? 0 : taken;
  return (values, _context, into) => {
    const target = (
      place === undefined ? (into ?? new Tensor(newMemory(dtype, count), dtype, sizes, strides)) : values[place]
    ) as Tensor;
    const tensors = new Array<Tensor>(positions.length);
    for (let at = 0; at < positions.length; at++) {
      const value = values[positions[at]];
      if (typeof value === 'number') {
        number![0] = value;
        tensors[at] = layouts.other as Tensor;
      } else {
        tensors[at] = value as Tensor;
        // Whether their elements meet has to be looked at.
        if (inPlace && value !== target && tensors[at].storage === target.storage) return undefined;
      }
    }
    loop.run(target, tensors);
    return target;
  };
}

/** A kernel that writes its result into `self` right away. */
function overwriting({ row, unboxed }: OperatorCall, guards: readonly Guard[], meta: TensorMeta): PreparedCall | null {
  const { host } = row.derived!.from;
  if (!host || !canWriteOver(unboxed.self as Tensor, row, unboxed, [meta])) return null;
  const boxing = boxingOf(row);
  return new Prepared(
    guards,
    (values, context) => {
      const self = values[0] as Tensor;
      // Whether their elements meet has to be looked at.
      for (let at = 1; at < values.length; at++) {
        const value = values[at];
        if (value instanceof Tensor ? value.storage === self.storage : value instanceof List) return undefined;
      }
      const begun = host(boxing.unbox(values) as never, [self], context);
      if (isInPieces(begun)) finish(begun);
      return self;
    },
    [],
    true,
  );
}

function reduction(row: OperatorRow, args: Arguments, meta: TensorMeta, newMemory: typeof takeMemory): Compute | null {
  if (!row.reduction) return null;
  const layouts = Object.fromEntries(Object.entries(args).map(([name, value]) => [name, layoutOf(value)]));
  const loop = reductionLoop(row, layouts, allocateOnHost(meta));
  if (!loop) return null;
  return (values, _context, into) => {
    const output = (into ?? allocateOnHost(meta, newMemory)) as Tensor;
    loop.run(values[0] as Tensor, output);
    return output;
  };
}
