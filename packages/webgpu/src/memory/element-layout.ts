import { CressetError } from '@cresset/ir';
import { elementSize, halfToNumber, numberToHalf, type DeviceLayout } from '@cresset/tensor';

/**
 * Bytes of an element in device memory: as on the host, where it lies alike, but for float64, which is kept as float32, and float32 that is kept as
 * float16.
 */
export function deviceElementSize(layout: DeviceLayout): number {
  switch (layout) {
    case 'half':
      return 2;
    case 'float64':
      return 4;
    case 'bool':
    case 'uint8':
    case 'int8':
    case 'int16':
    case 'float16':
    case 'bfloat16':
    case 'int32':
    case 'float32':
    case 'int64':
      return elementSize(layout);
    default:
      throw new CressetError('DEVICE_DTYPE', `tensors of dtype ${layout} cannot be used on a WebGPU device`);
  }
}

/** Host memory that is converted at a time, bytes. */
const PIECE_BYTES = 4 << 20;

/** Elements in host layout as the words a device keeps, piece by piece; windows onto the same memory where the layouts agree. The last word is whole. */
export function* piecesInDeviceLayout(layout: DeviceLayout, bytes: Uint8Array): Generator<Uint8Array> {
  deviceElementSize(layout);
  if (layout === 'half' || layout === 'float64') {
    for (let at = 0; at < bytes.byteLength; at += PIECE_BYTES)
      yield converted(layout, bytes.subarray(at, at + PIECE_BYTES));
    return;
  }
  const whole = bytes.byteLength & ~3;
  if (whole > 0) yield bytes.subarray(0, whole);
  if (whole < bytes.byteLength) {
    const last = new Uint8Array(4);
    last.set(bytes.subarray(whole));
    yield last;
  }
}

function converted(layout: 'half' | 'float64', bytes: Uint8Array): Uint8Array {
  const size = layout === 'half' ? 4 : 8;
  // A typed array needs an aligned start; bytes cut out of a file may not have one.
  const { buffer, byteOffset, byteLength } = bytes.byteOffset % size === 0 ? bytes : bytes.slice();
  if (layout === 'float64') return bytesOf(new Float32Array(new Float64Array(buffer, byteOffset, byteLength / size)));
  const values = new Float32Array(buffer, byteOffset, byteLength / size);
  const bits = new Uint16Array(2 * Math.ceil(values.length / 2));
  for (let index = 0; index < values.length; index++) bits[index] = numberToHalf(values[index]);
  return bytesOf(bits);
}

/** The first `count` elements of a device's copy, in host layout, in memory of its own. */
export function toHostLayout(layout: DeviceLayout, device: ArrayBuffer, count: number): ArrayBuffer {
  switch (layout) {
    case 'half':
      return Float32Array.from(new Uint16Array(device, 0, count), halfToNumber).buffer;
    case 'float64':
      return new Float64Array(new Float32Array(device, 0, count)).buffer;
    default:
      return device.slice(0, count * deviceElementSize(layout));
  }
}

function bytesOf(array: Float32Array | Uint16Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
