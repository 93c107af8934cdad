import { IntType, TensorType } from '@cresset/ir';
import {
  contiguousStrides,
  forEachOffset,
  halfToNumber,
  List,
  numberToHalf,
  Storage,
  Tensor,
  type HostArray,
  type IValue,
  type ScalarType,
  symProduct,
} from '@cresset/tensor';
import { constant, type ComputeDevice } from '@cresset/tensorexpr';
import { runOnHost } from './dispatch/invoke.ts';
import { registerAllOperators } from './register-all.ts';
import { findRow } from './table/register.ts';
import type { HostContext, LoweringContext, RandomGenerator } from './table/row.ts';

/** What tests of operators have in common: running one on the host, tensors from numbers and back. */

/** A generator that always draws the same. */
export const fixedGenerator: RandomGenerator = {
  manualSeed: () => undefined,
  nextUniform: () => 0.5,
  nextUint32: () => 2 ** 31,
  nextNormal: () => 0,
  stream: () => ({ key: 0n, first: 0n, low: () => 2 ** 23, high: () => 2 ** 20 }),
};

/** What lowerings may ask for beside kernels: faults are noted in a tensor that nobody reads. */
export const fixedLowering: Pick<LoweringContext, 'generator' | 'faults' | 'fetch'> = {
  generator: fixedGenerator,
  faults: (isBad, position) => {
    const tensor = Tensor.empty([1], 'int32');
    return [{ operand: { tensor, dtype: 'int32' }, offset: constant('i32', 0), value: position, guard: isBad }];
  },
  fetch: (...tensors) => Promise.all(tensors.map(({ storage }) => storage.toHost())),
};

/** What lowerings are given for a device. */
export const loweringOn = (device: ComputeDevice): LoweringContext => ({
  ...fixedLowering,
  device,
  temporary: (sizes, dtype) =>
    new Tensor(Storage.onDevice(device, dtype, symProduct(sizes)), dtype, sizes, contiguousStrides(sizes)),
  launch: (kernel) => device.launch(kernel),
  launchRoutine: (routine) => device.launchRoutine!(routine),
});

const context: HostContext = {
  gradEnabled: false,
  generator: fixedGenerator,
  print: () => undefined,
  warn: () => undefined,
};

/** All results of an operator, named as `aten::add.Tensor`. */
export function runAll(operator: string, ...args: IValue[]): IValue[] {
  registerAllOperators();
  const [name, overload = ''] = operator.split('.');
  const row = findRow(name, overload);
  if (!row) throw new Error(`no operator ${operator}`);
  return runOnHost(row, args, context);
}

/** The first result of an operator. */
export const run = (operator: string, ...args: IValue[]): IValue => runAll(operator, ...args)[0];

const arrays: Partial<Record<ScalarType, (values: number[]) => HostArray>> = {
  float32: (values) => Float32Array.from(values),
  float64: (values) => Float64Array.from(values),
  float16: (values) => Uint16Array.from(values, numberToHalf),
  uint8: (values) => Uint8Array.from(values),
  bool: (values) => Uint8Array.from(values),
  int32: (values) => Int32Array.from(values),
  int64: (values) => BigInt64Array.from(values.map(BigInt)),
};

export const tensor = (values: number[], sizes: number[] = [values.length], dtype: ScalarType = 'float32'): Tensor =>
  Tensor.fromArray(arrays[dtype]!(values), sizes, dtype);

export const longs = (...values: bigint[]): Tensor =>
  Tensor.fromArray(BigInt64Array.from(values), [values.length], 'int64');

export const ints = (...items: bigint[]): List => new List(IntType.get(), items);
export const tensors = (...items: Tensor[]): List => new List(TensorType.get(), items);

/** The elements of a tensor in C order. */
export function elements(value: IValue): (number | bigint)[] {
  const result = value as Tensor;
  const array = result.storageArray();
  const found: (number | bigint)[] = [];
  forEachOffset(result.sizes, result.strides, result.storageOffset, (offset) => {
    found.push(result.dtype === 'float16' ? halfToNumber(Number(array[offset])) : array[offset]);
  });
  return found;
}

/** Sizes and elements as numbers. */
export const shown = (value: IValue): [readonly number[], number[]] => [
  (value as Tensor).sizes,
  elements(value).map(Number),
];
