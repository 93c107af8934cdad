import { CressetError } from '@cresset/ir';
import {
  bfloatToNumber,
  elementsPerWord,
  halfToNumber,
  hostArray,
  numberToBfloat,
  numberToHalf,
  sharesWords,
  type DeviceLayout,
  type ScalarType,
} from '@cresset/tensor';
import type { DeviceCapabilities } from '@cresset/tensorexpr';

/** How elements of a layout lie on a GPU: those of float16 as they do on the host, where shaders have such numbers (`shader-f16`). */
export const layoutOn = (layout: DeviceLayout, { f16 }: Pick<DeviceCapabilities, 'f16'>): DeviceLayout =>
  f16 && layout === 'float16' ? 'packed16' : layout;

/**
 * How elements lie in device memory: a 32-bit word each, but for int64, which takes two. Narrow integers and bool are
 * widened, float16 (see {@link layoutOn}) and bfloat16 are kept as float32 (rounded whenever they are stored), float64 as float32. Of weights of
 * float32 that are kept as float16 two share a word, and elements that no kernel writes may lie as they do on the host.
 */
export function deviceElementSize(dtype: DeviceLayout): number {
  if (sharesWords(dtype)) return 4 / elementsPerWord(dtype);
  switch (dtype) {
    case 'int64':
      return 8;
    case 'bool':
    case 'uint8':
    case 'int8':
    case 'int16':
    case 'int32':
    case 'float16':
    case 'bfloat16':
    case 'float32':
    case 'float64':
      return 4;
    default:
      throw new CressetError('DEVICE_DTYPE', `tensors of dtype ${dtype} cannot be used on a WebGPU device`);
  }
}

/** Host memory that is converted at a time, bytes: converted elements take up to four times as much. */
const PIECE_BYTES = 4 << 20;

/** Whether elements lie on a device as they lie on the host. */
export const isHostLayout = (dtype: DeviceLayout): boolean =>
  dtype === 'float32' || dtype === 'int32' || dtype === 'int64';

/** Elements in host layout as the words a device keeps, piece by piece; windows onto the same memory where the layouts agree. */
export function* piecesInDeviceLayout(dtype: DeviceLayout, bytes: Uint8Array): Generator<Uint8Array> {
  if (dtype === 'packed8' || dtype === 'packed16') {
    const whole = bytes.byteLength & ~3;
    if (whole > 0) yield bytes.subarray(0, whole);
    if (whole < bytes.byteLength) {
      const last = new Uint8Array(4);
      last.set(bytes.subarray(whole));
      yield last;
    }
    return;
  }
  const piece = isHostLayout(dtype) ? bytes.byteLength : PIECE_BYTES;
  for (let at = 0; at < bytes.byteLength; at += piece) yield toDeviceLayout(dtype, bytes.subarray(at, at + piece));
}

function toDeviceLayout(dtype: Exclude<DeviceLayout, 'packed8' | 'packed16'>, bytes: Uint8Array): Uint8Array {
  switch (dtype) {
    case 'half': {
      const values = elements('float32', bytes);
      const bits = new Uint16Array(2 * Math.ceil(values.length / 2));
      for (let index = 0; index < values.length; index++) bits[index] = numberToHalf(values[index] as number);
      return bytesOf(bits);
    }
    case 'int32':
    case 'int64':
    case 'float32':
      return bytes;
    case 'float16':
    case 'bfloat16': {
      const bits = elements(dtype, bytes) as Uint16Array;
      const toNumber = dtype === 'float16' ? halfToNumber : bfloatToNumber;
      const values = new Float32Array(bits.length);
      for (let index = 0; index < bits.length; index++) values[index] = toNumber(bits[index]);
      return bytesOf(values);
    }
    case 'float64':
      return bytesOf(new Float32Array(elements(dtype, bytes) as Float64Array));
    default:
      deviceElementSize(dtype);
      return bytesOf(new Int32Array(elements(dtype, bytes) as Uint8Array));
  }
}

/** The first `count` elements of a device's copy, in host layout, in memory of its own. */
export function toHostLayout(dtype: DeviceLayout, device: ArrayBuffer, count: number): ArrayBuffer {
  switch (dtype) {
    case 'half':
      return Float32Array.from(new Uint16Array(device, 0, count), halfToNumber).buffer;
    case 'packed8':
      return device.slice(0, count);
    case 'packed16':
      return device.slice(0, 2 * count);
    case 'int32':
    case 'float32':
      return device.slice(0, 4 * count);
    case 'int64':
      return device.slice(0, 8 * count);
    case 'float16':
    case 'bfloat16': {
      const values = new Float32Array(device, 0, count);
      const toBits = dtype === 'float16' ? numberToHalf : numberToBfloat;
      const bits = new Uint16Array(count);
      for (let index = 0; index < count; index++) bits[index] = toBits(values[index]);
      return bits.buffer;
    }
    case 'float64':
      return new Float64Array(new Float32Array(device, 0, count)).buffer;
    case 'int8':
      return new Int8Array(new Int32Array(device, 0, count)).buffer;
    case 'int16':
      return new Int16Array(new Int32Array(device, 0, count)).buffer;
    case 'bool':
    case 'uint8':
      return new Uint8Array(new Int32Array(device, 0, count)).buffer;
    default:
      throw new CressetError('DEVICE_DTYPE', `tensors of dtype ${dtype} cannot be used on a WebGPU device`);
  }
}

function elements(dtype: ScalarType, bytes: Uint8Array) {
  const width = hostArray(dtype, new ArrayBuffer(0), 0, 0).BYTES_PER_ELEMENT;
  // A typed array needs an aligned start; bytes cut out of a file may not have one.
  const aligned = bytes.byteOffset % width === 0 ? bytes : bytes.slice();
  return hostArray(dtype, aligned.buffer, aligned.byteOffset, Math.floor(aligned.byteLength / width));
}

function bytesOf(array: Float32Array | Int32Array | Uint16Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
