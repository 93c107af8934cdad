import { DeviceValue, Tensor, toBytes, Tuple, typeOfValue, type IValue } from '@cresset/tensor';
import { remembered } from '@cresset/tensorexpr';
import { OperatorError } from '../../kernels/errors.ts';
import type { OperatorRow } from '../../table/row.ts';
import { wrap } from '../scalar/int64.ts';

/** `hash()`: the numbers are those of the standard C++ library that PyTorch's Linux builds have. */

/** MurmurHash64A as libstdc++ has it behind `std::hash`, over little-endian bytes. */
function hashBytes(bytes: Uint8Array): bigint {
  const multiplier = 0xc6a4a7935bd1e995n;
  const mask = (1n << 64n) - 1n;
  const mixShift = (value: bigint): bigint => value ^ (value >> 47n);
  let hash = 0xc70f6907n ^ ((BigInt(bytes.length) * multiplier) & mask);
  const whole = bytes.length & ~7;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < whole; at += 8) {
    const data = (mixShift((view.getBigUint64(at, true) * multiplier) & mask) * multiplier) & mask;
    hash = ((hash ^ data) * multiplier) & mask;
  }
  if (bytes.length > whole) {
    let rest = 0n;
    for (let at = bytes.length - 1; at >= whole; at--) rest = (rest << 8n) | BigInt(bytes[at]);
    hash = ((hash ^ rest) * multiplier) & mask;
  }
  hash = (mixShift(hash) * multiplier) & mask;
  return wrap(mixShift(hash));
}

let tensorsHashed = 0n;

/** Tensors are hashed by what they are, not by what they hold. */
const hashTensor = remembered<Tensor, bigint>(() => ++tensorsHashed);

function hashValue(value: IValue): bigint {
  if (value === null) return 0n;
  if (value instanceof Tensor) return hashTensor(value);
  if (typeof value === 'bigint') return value;
  if (typeof value === 'boolean') return BigInt(value);
  if (typeof value === 'string') return hashBytes(toBytes(value));
  if (typeof value === 'number') {
    return value === 0 ? 0n : hashBytes(new Uint8Array(new Float64Array([value]).buffer));
  }
  if (value instanceof DeviceValue)
    return BigInt((DEVICE_TYPES.indexOf(value.type) << 16) | ((value.index ?? -1) & 255));
  if (value instanceof Tuple) return value.items.reduce<bigint>((seed, item) => combine(seed, hashValue(item)), 0n);
  throw new OperatorError(`unhashable type: '${typeOfValue(value)?.reprStr()}'`);
}

/** In the order of c10::DeviceType. */
const DEVICE_TYPES =
  'cpu cuda mkldnn opengl opencl ideep hip fpga maia xla vulkan metal xpu mps meta hpu ve lazy ipu mtia privateuseone'.split(
    ' ',
  );

/** c10::hash_combine */
function combine(seed: bigint, hash: bigint): bigint {
  const bits = BigInt.asUintN(64, seed);
  return wrap(bits ^ BigInt.asUintN(64, hash + 0x9e3779b9n + (bits << 6n) + (bits >> 2n)));
}

export const hashRow: OperatorRow = { schema: 'aten::hash.generic(t value) -> int', scalar: hashValue };
