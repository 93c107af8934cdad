import {
  meterMemory,
  numelOf,
  Tensor,
  type HostArray,
  type IValue,
  type List,
  type ScalarType,
  settleAll,
} from '@cresset/tensor';
import { finish, isInPieces } from '../kernels/loops/pieces.ts';
import type { HostContext, OperatorRow, TensorMeta, Unboxed } from '../table/row.ts';
import type { takeMemory } from './spare-memory.ts';

/** Where a tensor stands among the arguments: `item` is its place in a list, -1 where it is an argument itself. */
interface Place {
  readonly argument: number;
  readonly item: number;
}

/** Fields of a run of elements: which tensor they come from, where they go, where the first one lies, the step to the next, how many. */
const FIELDS = 5;

/** Elements that are moved as they were once seen to move, from the storages of tensors to that of a result. */
export class Moves {
  private constructor(
    private readonly meta: TensorMeta & { readonly strides: readonly number[] },
    private readonly places: readonly Place[],
    private readonly runs: Int32Array,
    /** Elements that are the same whatever the arguments hold; null where there are none. */
    private readonly constants: HostArray | null,
  ) {}

  /**
   * How a row moves elements of arguments with these layouts; null where it does not only do that.
   * @param result what it makes of them
   */
  static of(
    row: OperatorRow,
    names: readonly string[],
    args: Readonly<Record<string, Unboxed>>,
    result: Tensor,
    context: HostContext,
  ): Moves | null {
    const places: Place[] = [];
    const tensors: Tensor[] = [];
    names.forEach((name, argument) => {
      const value = args[name];
      const all: readonly unknown[] = Array.isArray(value) ? value : [value];
      all.forEach((tensor, at) => {
        if (!(tensor instanceof Tensor)) return;
        tensors.push(tensor);
        places.push({ argument, item: Array.isArray(value) ? at : -1 });
      });
    });
    if (!tensors.every(({ dtype }) => isExact(dtype, result.dtype))) return null;
    // The row itself moves numbers that say where they come from, and once more larger ones: what stays as it was is a constant.
    const count = tensors.reduce((sum, tensor) => sum + extentOf(tensor), 0);
    // That is no memory of the program's.
    const meter = meterMemory(null);
    let first: Float64Array;
    let second: Float64Array;
    try {
      first = moved(row, names, args, tensors, 1, result, context);
      second = moved(row, names, args, tensors, 1 + count, result, context);
    } finally {
      meterMemory(meter);
    }
    const starts: number[] = [];
    let end = 1;
    for (const tensor of tensors) {
      starts.push(end);
      end += extentOf(tensor);
    }
    const runs: number[] = [];
    let hasConstants = false;
    for (let to = 0; to < first.length; to++) {
      const isConstant = first[to] === second[to];
      if (!isConstant && second[to] !== first[to] + count) return null;
      if (isConstant) {
        hasConstants = true;
        continue;
      }
      const source = starts.findLastIndex((start) => start <= first[to]);
      append(runs, source, to, first[to] - starts[source]);
    }
    const { sizes, strides, dtype } = result;
    const constants = hasConstants ? result.storageArray().slice() : null;
    return new Moves({ sizes, strides, dtype }, places, Int32Array.from(runs), constants as HostArray | null);
  }

  run(values: readonly IValue[], into: IValue | undefined, newMemory: typeof takeMemory): Tensor {
    const { meta, places, runs, constants } = this;
    const { dtype, sizes, strides } = meta;
    const isNew = !(into instanceof Tensor);
    const output = isNew ? new Tensor(newMemory(dtype, numelOf(settleAll(sizes))), dtype, sizes, strides) : into;
    const to = output.storageArrayForWriting();
    if (isNew && constants) to.set(constants as never);
    let place = -1;
    let from: HostArray = to;
    let offset = 0;
    let move: Move = moveAny;
    for (let at = 0; at < runs.length; at += FIELDS) {
      if (runs[at] !== place) {
        place = runs[at];
        const { argument, item } = places[place];
        const value = values[argument];
        const tensor = (item < 0 ? value : (value as List).items[item]) as Tensor;
        from = tensor.storageArray();
        offset = tensor.storageOffset;
        move = moveOf(from, to);
      }
      move(to, runs[at + 1], from, offset + runs[at + 2], runs[at + 3], runs[at + 4]);
    }
    return output;
  }
}

/** Whether an array of the one dtype takes elements of the other as PyTorch converts them. */
function isExact(from: ScalarType, to: ScalarType): boolean {
  if (from === to) return true;
  if (to !== 'float32' && to !== 'float64') return false;
  return from !== 'float16' && from !== 'bfloat16';
}

/** How many elements of its storage a tensor spans. */
function extentOf({ sizes, strides, numel }: Tensor): number {
  return numel === 0 ? 0 : sizes.reduce((last, size, dim) => last + (size - 1) * strides[dim], 1);
}

/** What the row makes of tensors whose elements are `start` and the numbers after it, as they lie in memory. */
function moved(
  row: OperatorRow,
  names: readonly string[],
  args: Readonly<Record<string, Unboxed>>,
  tensors: readonly Tensor[],
  start: number,
  { sizes, strides }: Tensor,
  context: HostContext,
): Float64Array {
  let next = start;
  const stands = new Map<Tensor, Tensor[]>();
  for (const tensor of tensors) {
    const { storage } = Tensor.fromArray(
      Float64Array.from({ length: extentOf(tensor) }, () => next++),
      [extentOf(tensor)],
      'float64',
    );
    const stand = new Tensor(storage, 'float64', tensor.sizes, tensor.strides);
    stands.set(tensor, [...(stands.get(tensor) ?? []), stand]);
  }
  // One tensor may stand in several places, each with numbers of its own.
  const standIn = (value: unknown): unknown => (value instanceof Tensor ? stands.get(value)!.shift() : value);
  const given = Object.fromEntries(
    names.map((name) => [name, Array.isArray(args[name]) ? args[name].map(standIn) : standIn(args[name])]),
  );
  const output = new Tensor(Tensor.empty([numelOf(sizes)], 'float64').storage, 'float64', sizes, strides);
  const begun = row.host!(given as never, [output], context);
  if (isInPieces(begun)) finish(begun);
  return output.storageArray() as Float64Array;
}

/** Adds an element to the last run, where it goes on. */
function append(runs: number[], source: number, to: number, from: number): void {
  const last = runs.length - FIELDS;
  if (last >= 0 && runs[last] === source) {
    const length = runs[last + 4];
    const step = length === 1 ? from - runs[last + 2] : runs[last + 3];
    if (to === runs[last + 1] + length && from === runs[last + 2] + step * length) {
      runs[last + 3] = step;
      runs[last + 4]++;
      return;
    }
  }
  runs.push(source, to, from, 1, 1);
}

type Move = (to: HostArray, at: number, from: HostArray, first: number, step: number, count: number) => void;

function moveOf(from: HostArray, to: HostArray): Move {
  if (from instanceof Float32Array && to instanceof Float32Array) return moveSingle as Move;
  return from instanceof BigInt64Array && !(to instanceof BigInt64Array) ? (moveLong as Move) : moveAny;
}

// An engine makes good code of a loop that has met one kind of array.
function moveSingle(
  to: Float32Array,
  at: number,
  from: Float32Array,
  first: number,
  step: number,
  count: number,
): void {
  // A view costs as much as a few dozen elements.
  if (step === 1 && count >= 64) to.set(from.subarray(first, first + count), at);
  else for (let index = 0; index < count; index++) to[at + index] = from[first + index * step];
}

function moveLong(to: Float32Array, at: number, from: BigInt64Array, first: number, step: number, count: number): void {
  for (let index = 0; index < count; index++) to[at + index] = Number(from[first + index * step]);
}

function moveAny(to: HostArray, at: number, from: HostArray, first: number, step: number, count: number): void {
  for (let index = 0; index < count; index++) to[at + index] = from[first + index * step];
}
