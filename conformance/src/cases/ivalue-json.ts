import {
  AnyType,
  BoolType,
  ComplexType,
  DeviceObjType,
  DictType,
  FloatType,
  IntType,
  ListType,
  NumberType,
  OptionalType,
  scalarTypeCode,
  StringType,
  TensorType,
  TupleType,
  type ScalarTypeName,
  type Type,
} from '@cresset/ir';
import {
  Complex,
  DeviceValue,
  Dict,
  elementSize,
  forEachOffset,
  hostArray,
  isComplex,
  List,
  numelOf,
  Storage,
  Tensor,
  toByteString,
  Tuple,
  type DictKey,
  type IValue,
  type ScalarType,
} from '@cresset/tensor';
import type { FileReader, JsonIValue, JsonTensor } from './case.ts';

/** Reads a value of a case. Equal sidecar stretches give separate tensors, as separate tensors were saved. */
export async function decodeIValue(json: JsonIValue, readFile: FileReader): Promise<IValue> {
  if (json === null || typeof json === 'boolean') return json;
  if ('tensor' in json) return decodeTensor(json.tensor, readFile);
  if ('int' in json) return BigInt(json.int);
  if ('float' in json) return decodeFloat(json.float);
  if ('complex' in json) return new Complex(decodeFloat(json.complex[0]), decodeFloat(json.complex[1]));
  if ('str' in json) return toByteString(json.str);
  if ('device' in json) return DeviceValue.parse(json.device);
  if ('dtype' in json) return BigInt(scalarTypeCode(json.dtype as ScalarTypeName));
  if ('list' in json) return new List(parseType(json.elem), await decodeAll(json.list, readFile));
  if ('tuple' in json) return new Tuple(await decodeAll(json.tuple, readFile));
  if ('object' in json) {
    const { type, fields } = json.object;
    const names = fields.map(([name]) => name);
    const values = fields.map(([, value]) => value);
    const types = fields.map(() => AnyType.get());
    return new Tuple(await decodeAll(values, readFile), TupleType.createNamed(type, names, types));
  }
  const dict = new Dict(parseType(json.key), parseType(json.value));
  for (const [key, value] of json.dict) {
    dict.entries.set((await decodeIValue(key, readFile)) as DictKey, await decodeIValue(value, readFile));
  }
  return dict;
}

async function decodeAll(values: readonly JsonIValue[], readFile: FileReader): Promise<IValue[]> {
  const decoded: IValue[] = [];
  for (const value of values) decoded.push(await decodeIValue(value, readFile));
  return decoded;
}

export function decodeFloat(value: number | string): number {
  if (typeof value === 'number') return value;
  switch (value) {
    case 'inf':
      return Infinity;
    case '-inf':
      return -Infinity;
    case '-0':
      return -0;
    default:
      return NaN;
  }
}

/** The elements of a tensor in C order, as bytes of its dtype. */
export async function tensorBytes(json: JsonTensor, readFile: FileReader): Promise<Uint8Array> {
  const byteLength = numelOf(json.shape) * elementSize(json.dtype as ScalarType);
  if (json.bin === undefined) {
    const text = atob(json.data ?? '');
    return Uint8Array.from(text, (character) => character.charCodeAt(0));
  }
  const offset = json.offset ?? 0;
  return (await readFile(json.bin)).slice(offset, offset + byteLength);
}

async function decodeTensor(json: JsonTensor, readFile: FileReader): Promise<Tensor> {
  const dtype = json.dtype as ScalarType;
  const bytes = await tensorBytes(json, readFile);
  const elements = hostArray(dtype, bytes.buffer, bytes.byteOffset, numelOf(json.shape));
  if (!json.strides) return Tensor.fromArray(elements, json.shape, dtype);
  const reach = json.shape.reduce((last, size, dim) => last + (size - 1) * (json.strides as number[])[dim], 0);
  const extent = numelOf(json.shape) === 0 ? 0 : reach + 1;
  const storage = Storage.onHost(new ArrayBuffer(extent * elementSize(dtype)));
  const tensor = new Tensor(storage, dtype, json.shape, json.strides);
  const target = tensor.storageArrayForWriting();
  const width = isComplex(dtype) ? 2 : 1;
  let position = 0;
  forEachOffset(json.shape, json.strides, 0, (offset) => {
    for (let part = 0; part < width; part++) target[offset * width + part] = elements[position++];
  });
  return tensor;
}

const simpleTypes: Record<string, () => Type> = {
  Tensor: () => TensorType.get(),
  int: () => IntType.get(),
  float: () => FloatType.get(),
  bool: () => BoolType.get(),
  str: () => StringType.get(),
  complex: () => ComplexType.get(),
  number: () => NumberType.get(),
  Scalar: () => NumberType.get(),
  Device: () => DeviceObjType.get(),
};

/** The element types the corpora name, in either of PyTorch's two spellings; what is not known counts as Any. */
function parseType(text: string): Type {
  const simple = simpleTypes[text];
  if (simple) return simple();
  if (text.endsWith('[]')) return new ListType(parseType(text.slice(0, -2)));
  if (text.endsWith('?')) return OptionalType.create(parseType(text.slice(0, -1)));
  const generic = /^(List|Optional|Dict|Tuple)\[(.*)\]$/.exec(text) ?? /^(Dict)?\((.*)\)$/.exec(text);
  if (!generic) return AnyType.get();
  const parts = splitTopLevel(generic[2]).map(parseType);
  switch (generic[1]) {
    case 'List':
      return new ListType(parts[0]);
    case 'Optional':
      return OptionalType.create(parts[0]);
    case 'Dict':
      return new DictType(parts[0], parts[1]);
    default:
      return new TupleType(parts);
  }
}

function splitTopLevel(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    if ('[('.includes(text[at])) depth++;
    else if ('])'.includes(text[at])) depth--;
    else if (text[at] === ',' && depth === 0) {
      parts.push(text.slice(from, at).trim());
      from = at + 1;
    }
  }
  if (from < text.length) parts.push(text.slice(from).trim());
  return parts;
}
