import { createHash } from 'node:crypto';
import { Complex } from '@cresset/ir';
import { DeviceValue, Dict, EnumValue, List, ScriptObject, Tensor, Tuple, type IValue } from '@cresset/tensor';

/**
 * A text that is the same for two values only where they are equal bit for bit: dtypes, sizes and all elements, types and order in
 * containers. Where `shapeOnly` is set, numbers in it may differ.
 */
export function fingerprint(value: IValue, shapeOnly = false): string {
  const of = (each: IValue): string => fingerprint(each, shapeOnly);
  if (value instanceof Tensor) {
    const { buffer, byteOffset, byteLength } = value.contiguousArray();
    const digest = createHash('sha256')
      .update(new Uint8Array(buffer, byteOffset, byteLength))
      .digest('base64');
    return `${value.dtype}[${value.sizes.join()}]${shapeOnly ? '' : digest}`;
  }
  if (value instanceof List) return `list(${value.items.map(of).join()})`;
  if (value instanceof Tuple) return `tuple(${value.items.map(of).join()})`;
  if (value instanceof Dict) return `dict(${[...value.entries].map((entry) => entry.map(of).join(':')).join()})`;
  if (value instanceof ScriptObject) return `${value.type.qualifiedName}(${value.slots.map(of).join()})`;
  if (value instanceof EnumValue) return `${value.type.qualifiedName}.${value.name}`;
  if (value instanceof DeviceValue) return `device(${value})`;
  if (value instanceof Complex) return `complex(${of(value.re)},${of(value.im)})`;
  // -0 and 0 have one text.
  if (typeof value === 'number') return shapeOnly ? 'float' : Object.is(value, -0) ? '-0.0' : `${value}.0`;
  return typeof value === 'object' && value !== null ? value.constructor.name : JSON.stringify(String(value));
}
