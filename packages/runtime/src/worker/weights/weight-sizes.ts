import { deviceByteLength, type ScriptObject, type Storage, type Tensor } from '@cresset/tensor';
import { largestBuffer, type ComputeDevice } from '@cresset/tensorexpr';
import { reachableTensors } from '../wire/wire-value.ts';

/** Those whose elements are going to be rounded to float16 where they lie on a GPU. */
export type NarrowStorages = ReadonlySet<Storage>;

export const noneNarrow: NarrowStorages = new Set();

/** What a tensor's storage takes on a device, or as it lies in the file where there is none. */
export function bytesOnDevice(
  storage: Storage,
  { dtype }: Tensor,
  device: ComputeDevice | null,
  narrow = noneNarrow,
): number {
  if (!device) return storage.byteLength;
  const layout = dtype === 'float32' && narrow.has(storage) ? 'half' : storage.layoutOf(dtype);
  try {
    return deviceByteLength(device, layout, storage.byteLength);
  } catch {
    // A dtype that stays on the host.
    return 0;
  }
}

/** Names of attributes, with those of their modules before them, by value. */
export function attributeNames(modules: ReadonlyMap<string, ScriptObject>): Map<unknown, string> {
  const names = new Map<unknown, string>();
  for (const [path, { type, slots }] of modules) {
    type.attributes.forEach(({ name }, slot) => names.set(slots[slot], path === '' ? name : `${path}.${name}`));
  }
  return names;
}

/**
 * Says which weight does not fit a buffer of the device, or that all take too much of a memory, with both sizes; null where they do.
 *
 * @param narrow without effect where the device is the host itself
 */
export function oversizedWeight(
  modules: ReadonlyMap<string, ScriptObject>,
  device: ComputeDevice,
  narrow?: NarrowStorages,
): string | null {
  const { memoryBytes, host } = device.capabilities;
  const largest = largestBuffer(device.capabilities);
  const storages = new Set<Storage>();
  for (const tensor of reachableTensors(modules.get('')!)) {
    storages.add(tensor.storage);
    const bytes = bytesOnDevice(tensor.storage, tensor, device, host ? noneNarrow : narrow);
    if (bytes <= largest) continue;
    const name = attributeNames(modules).get(tensor);
    return `${name ? `'${name}'` : 'a tensor of the model'} takes ${bytes} bytes on the device, but ${host ? 'WebAssembly' : 'this GPU'} allows ${largest} bytes in one buffer`;
  }
  // A quarter of a memory is for what is computed.
  const bytes = [...storages].reduce((sum, { byteLength }) => sum + byteLength, 0);
  return memoryBytes !== undefined && bytes > 0.75 * memoryBytes
    ? `the weights take ${bytes} bytes, and a WebAssembly memory has ${memoryBytes}`
    : null;
}
