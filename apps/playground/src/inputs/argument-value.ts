import { CressetError, tensor, type DType, type Input, type NestedArray, type Tensor } from 'cresset';
import type { Parameter, ValueType } from './schema.ts';

export const fills = ['random', 'zeros', 'ones', 'JSON'] as const;
export type Fill = (typeof fills)[number];

export const dtypes: readonly DType[] = [
  'float32',
  'float64',
  'float16',
  'bfloat16',
  'int64',
  'int32',
  'int16',
  'int8',
  'uint8',
  'bool',
];

/** What somebody chose for one argument. Tensors use `dtype`, `shape` and `fill`; everything else is JSON in `text`. */
export interface Choice {
  readonly dtype: DType;
  readonly shape: string;
  readonly fill: Fill;
  readonly text: string;
  /** Random integers are below this; null where nothing says so. */
  readonly below: number | null;
  /** Take the parameter's default, or None. */
  readonly isLeftOut: boolean;
}

export function isTensorType(type: ValueType): boolean {
  return type.kind === 'optional' ? isTensorType(type.element) : type.kind === 'named' && type.name === 'Tensor';
}

/** Whether it is a number, and of which kind. */
export function numberTypeOf(type: ValueType): 'int' | 'float' | null {
  if (type.kind === 'optional') return numberTypeOf(type.element);
  if (type.kind !== 'named') return null;
  return type.name === 'int' ? 'int' : type.name === 'float' || type.name === 'number' ? 'float' : null;
}

/** Some value of the type, as JSON to start from. */
function exampleText(type: ValueType): string {
  switch (type.kind) {
    case 'optional':
      return exampleText(type.element);
    case 'list':
      return `[${exampleText(type.element)}]`;
    case 'tuple':
      return `[${type.elements.map(exampleText).join(', ')}]`;
    case 'dict':
      return `{"key": ${exampleText(type.value)}}`;
    case 'named':
      return (
        { Tensor: '[[1, 2], [3, 4]]', int: '1', float: '1', number: '1', bool: 'true', str: '"text"' }[type.name] ??
        'null'
      );
  }
}

/** What a form starts with. */
export function firstChoice({ type, defaultText }: Parameter): Choice {
  return {
    dtype: 'float32',
    shape: '1, 3, 32, 32',
    fill: 'random',
    text: exampleText(type),
    below: null,
    isLeftOut: defaultText !== undefined || type.kind === 'optional',
  };
}

function parseShape(text: string): number[] {
  const inside = text.replaceAll(/[[\]()]/g, '').trim();
  const sizes =
    inside === ''
      ? []
      : inside
          .split(/[\s,×x]+/)
          .filter(Boolean)
          .map(Number);
  if (sizes.every((size) => Number.isSafeInteger(size) && size >= 0)) return sizes;
  throw new CressetError(
    'PLAYGROUND_SHAPE',
    `"${text}" is not a shape; write sizes with commas between them: 1, 3, 32, 32`,
  );
}

/** A number from the standard normal distribution (Box and Muller). */
function normal(): number {
  return Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
}

function randomElement(dtype: DType, below: number): () => number {
  if (dtype === 'bool') return () => Number(Math.random() < 0.5);
  return dtype.startsWith('float') || dtype === 'bfloat16' ? normal : () => Math.floor(below * Math.random());
}

function chosenTensor({ dtype, shape, fill, text, below }: Choice): Tensor {
  if (fill === 'JSON') return tensor(parseJson(text) as NestedArray, { dtype });
  const sizes = parseShape(shape);
  const element = { random: randomElement(dtype, Math.min(below ?? 10, 100)), zeros: () => 0, ones: () => 1 }[fill];
  const count = sizes.reduce((product, size) => product * size, 1);
  return tensor(Float64Array.from({ length: count }, element), { shape: sizes, dtype });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CressetError('PLAYGROUND_JSON', `${(cause as Error).message}\n\nin: ${text}`, { cause });
  }
}

type TensorJson = NestedArray | { readonly dtype: DType; readonly data: NestedArray };

const isWhole = (data: NestedArray): boolean =>
  Array.isArray(data) ? data.every(isWhole) : typeof data === 'number' && Number.isInteger(data);

/** A tensor within other values, where there is no field to choose a dtype by: whole numbers are int64, as in Python. */
function tensorOf(json: TensorJson): Tensor {
  if (typeof json === 'object' && 'data' in json) return tensor(json.data, { dtype: json.dtype });
  return tensor(json, isWhole(json) ? { dtype: 'int64' } : {});
}

/** Makes tensors of the nested arrays that stand where the type wants tensors; the library does the rest by the schema. */
function withTensors(value: unknown, type: ValueType): Input {
  if (value === null) return null;
  switch (type.kind) {
    case 'optional':
      return withTensors(value, type.element);
    case 'list':
      return Array.isArray(value) ? value.map((item) => withTensors(item, type.element)) : (value as Input);
    case 'tuple':
      return Array.isArray(value)
        ? value.map((item, index) => (type.elements[index] ? withTensors(item, type.elements[index]) : (item as Input)))
        : (value as Input);
    case 'dict':
      return typeof value === 'object'
        ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withTensors(item, type.value)]))
        : (value as Input);
    case 'named':
      return type.name === 'Tensor' ? tensorOf(value as TensorJson) : (value as Input);
  }
}

/** The value to call with. Throws a CressetError where a shape or JSON text cannot be read. */
export function chosenValue(parameter: Parameter, choice: Choice): Input {
  if (isTensorType(parameter.type)) return chosenTensor(choice);
  return withTensors(parseJson(choice.text), parameter.type);
}
