import { deviceByteLength } from '@cresset/tensor';
import {
  largestBuffer,
  signatureOf,
  windowBytes,
  windowsOf,
  type Binding,
  type DeviceCapabilities,
  type KernelSignature,
  type NormalForm,
} from '@cresset/tensorexpr';
import { deviceElementSize } from '../memory/element-layout.ts';
import { tooLarge } from '../memory/buffer-pool.ts';

/**
 * The signature of kernels that are one shader, as this GPU binds them: what is larger than a binding, in windows. Throws a CressetError where a kernel
 * reads more than there can be, or stores to more than one window.
 */
export function boundSignature(kernels: readonly NormalForm[], capabilities: DeviceCapabilities): KernelSignature {
  const signature = signatureOf(...kernels);
  const { maxBindingBytes } = capabilities;
  // Nothing is larger on the device than on the host.
  if (signature.bindings.every(({ operand }) => operand.tensor.storage.byteLength <= maxBindingBytes)) return signature;
  const largest = largestBuffer(capabilities);
  const bindings = signature.bindings.map((binding): Binding => {
    const { operand, stored, layout } = binding;
    const byteLength = deviceByteLength({ deviceElementSize }, layout, operand.tensor.storage.byteLength);
    const limit = stored ? maxBindingBytes : largest;
    if (byteLength > limit) throw tooLarge(byteLength, limit);
    const count = windowsOf(byteLength, capabilities);
    return count === 1 ? binding : { ...binding, windows: { count, byteLength: windowBytes(capabilities) } };
  });
  const counts = bindings.map(({ windows }) => windows?.count ?? 1);
  return { ...signature, key: `${signature.key}/${counts.join(',')}`, bindings };
}

/** How many bindings a signature comes to. */
export const bindingCount = ({ bindings }: KernelSignature): number =>
  bindings.reduce((sum, { windows }) => sum + (windows?.count ?? 1), 0);
