import { baseName, formatComplex, formatPrintedFloat, formatSignificant } from '@cresset/ir';
import {
  bitsToNumber,
  Complex,
  DeviceValue,
  Dict,
  EnumValue,
  forEachOffset,
  FunctionValue,
  Future,
  isComplex,
  List,
  ScriptObject,
  Tensor,
  Tuple,
  type IValue,
} from '@cresset/tensor';
import { OperatorError } from '../../kernels/errors.ts';

/** How TorchScript prints values: `print`, `str()`, `format` and f-strings (`operator<<` of c10::IValue). */

/** The text of a value, as a byte string. */
export function formatValue(value: IValue): string {
  if (value === null) return 'None';
  switch (typeof value) {
    case 'boolean':
      return value ? 'True' : 'False';
    case 'bigint':
      return value.toString();
    case 'number':
      return formatPrintedFloat(value);
    case 'string':
      return value;
  }
  if (value instanceof Complex) return formatComplex(value);
  if (value instanceof Tensor) return formatTensor(value);
  if (value instanceof List) return `[${value.items.map(formatValue).join(', ')}]`;
  if (value instanceof Tuple) return formatTuple(value);
  if (value instanceof Dict) {
    const entries = [...value.entries].map(([key, item]) => `${formatValue(key)}: ${formatValue(item)}`);
    return `{${entries.join(', ')}}`;
  }
  if (value instanceof DeviceValue) return value.toString();
  if (value instanceof EnumValue) return `Enum<${baseName(value.type.qualifiedName)}.${value.name}>`;
  if (value instanceof ScriptObject) return `<${value.type.annotationStr()} object>`;
  if (value instanceof FunctionValue) return value.name;
  if (value instanceof Future) return 'Future';
  return value.toString();
}

function formatTuple(tuple: Tuple): string {
  const items = tuple.items.map(formatValue);
  return items.length === 1 ? `(${items[0]},)` : `(${items.join(', ')})`;
}

const printedTypeNames: Partial<Record<string, string>> = {
  uint8: 'Byte', int8: 'Char', int16: 'Short', int32: 'Int', int64: 'Long', float16: 'Half', float32: 'Float',
  float64: 'Double', complex64: 'ComplexFloat', complex128: 'ComplexDouble', bool: 'Bool', bfloat16: 'BFloat16',
}; // prettier-ignore

/** A tensor as C++ prints it (aten/src/ATen/core/Formatting.cpp): columns of one width, then `[ CPUFloatType{2,2} ]`. */
function formatTensor(tensor: Tensor): string {
  const footer = `[ CPU${printedTypeNames[tensor.dtype] ?? tensor.dtype}Type{${tensor.sizes.join(',')}} ]`;
  if (tensor.dim === 0) return `${formatElement(elementsOf(tensor)[0])}\n${footer}`;
  if (tensor.numel === 0) return footer;
  const elements = elementsOf(tensor);
  const { print, prefix } = columnFormat(elements);
  if (tensor.dim === 1) return `${prefix}${elements.map((element) => `${print(element)}\n`).join('')}${footer}`;
  const rows = tensor.sizes[tensor.dim - 2];
  const columns = tensor.sizes[tensor.dim - 1];
  const lead = tensor.sizes.slice(0, -2);
  const slices: string[] = [];
  for (let at = 0; at < elements.length; at += rows * columns) {
    const lines = [];
    for (let row = 0; row < rows; row++) {
      lines.push(
        elements
          .slice(at + row * columns, at + (row + 1) * columns)
          .map(print)
          .join(' '),
      );
    }
    slices.push(
      (lead.length ? `(${sliceIndex(at / (rows * columns), lead)},.,.) = \n` : '') + prefix + lines.join('\n'),
    );
  }
  return `${slices.join('\n\n')}\n${footer}`;
}

function sliceIndex(position: number, sizes: readonly number[]): string {
  const index: number[] = [];
  for (let dim = sizes.length - 1; dim >= 0; dim--) {
    index.unshift((position % sizes[dim]) + 1);
    position = Math.floor(position / sizes[dim]);
  }
  return index.join(',');
}

function elementsOf(tensor: Tensor): number[] {
  if (isComplex(tensor.dtype)) {
    throw new OperatorError('complex tensors cannot be printed by a program');
  }
  const source = tensor.storageArray();
  const elements: number[] = [];
  const convert = bitsToNumber(tensor.dtype) ?? ((bits: number) => bits);
  forEachOffset(tensor.sizes, tensor.strides, tensor.storageOffset, (offset) => {
    elements.push(convert(Number(source[offset])));
  });
  return elements;
}

function formatElement(value: number): string {
  return Number.isInteger(value) ? value.toString() : formatSignificant(value, 6);
}

/** One width for all elements; a common factor is put before them where their sizes differ much. */
function columnFormat(elements: readonly number[]): { print: (value: number) => string; prefix: string } {
  const finite = elements.filter(Number.isFinite).map(Math.abs);
  const largest = finite.length ? Math.max(...finite) : 1;
  const smallest = finite.length ? Math.min(...finite) : 1;
  const digits = (value: number): number => (value === 0 ? 1 : Math.floor(Math.log10(value)) + 1);
  if (elements.every((element) => Number.isInteger(element) || !Number.isFinite(element))) {
    const width = Math.max(digits(largest) + 1, elements.some((element) => !Number.isFinite(element)) ? 4 : 0);
    return { print: (value) => nonFinite(value, value.toString()).padStart(width), prefix: '' };
  }
  if (digits(largest) - digits(smallest) > 4) {
    const width = Math.abs(digits(largest)) > 99 ? 12 : 11;
    const print = (value: number): string => nonFinite(value, exponential(value)).padStart(width);
    return { print, prefix: '' };
  }
  if (digits(largest) > 5 || digits(smallest) < 0) {
    const exponent = digits(largest) - 1;
    const factor = 10 ** exponent;
    const print = (value: number): string => nonFinite(value, (value / factor).toFixed(4)).padStart(7);
    return { print, prefix: `${exponential(factor, 0).replace('e', '.0000e').replace('.0000', '')} *\n` };
  }
  const width = digits(largest) <= 0 ? 7 : digits(largest) + 6;
  return { print: (value) => nonFinite(value, value.toFixed(4)).padStart(width), prefix: '' };
}

function exponential(value: number, digits = 4): string {
  const [mantissa, exponent] = value.toExponential(digits).split('e');
  const size = Math.abs(Number(exponent)).toString().padStart(2, '0');
  return `${mantissa}e${Number(exponent) < 0 ? '-' : '+'}${size}`;
}

const wholeDigits = (value: number): string => (Number.isFinite(value) ? BigInt(value).toString() : '');

function nonFinite(value: number, text: string): string {
  if (Number.isNaN(value)) return 'nan';
  return Number.isFinite(value) ? text : value < 0 ? '-inf' : 'inf';
}

/** `'{} is {}'.format(a, b)`: each `{}` in turn; other braces stay as they are, and values that are left over are not missed. */
export function formatBraces(template: string, values: readonly IValue[]): string {
  const pieces = template.split('{}');
  const used = pieces.length - 1;
  if (used > values.length) {
    throw new OperatorError(`Too few arguments for format string: ${template}`);
  }
  return pieces.map((piece, at) => piece + (at < used ? formatValue(values[at]) : '')).join('');
}

/** `'%s is %d' % (a, b)`. */
export function formatPercent(template: string, values: readonly IValue[]): string {
  let used = 0;
  const next = (): IValue => {
    if (used >= values.length) throw new OperatorError('Too few arguments for format string');
    return values[used++];
  };
  const text = template.replace(/%(.?)/gs, (whole, specifier: string) => {
    switch (specifier) {
      case '%':
        return '%';
      case 's':
        return formatValue(next());
      case 'd':
      case 'i': {
        const value = next();
        requireNumber(specifier, value);
        return typeof value === 'bigint' ? value.toString() : Math.trunc(Number(value)).toString();
      }
      case 'e':
      case 'E': {
        const value = next();
        requireNumber(specifier, value);
        const text = nonFinite(Number(value), exponential(Number(value), 6));
        return specifier === 'E' ? text.toUpperCase() : text;
      }
      case 'f':
      case 'F': {
        const value = next();
        requireNumber(specifier, value);
        // Great numbers are written with all their digits, as C does.
        const digits =
          Math.abs(Number(value)) < 1e21 ? Number(value).toFixed(6) : `${wholeDigits(Number(value))}.000000`;
        return nonFinite(Number(value), digits);
      }
      case 'c': {
        const value = next();
        if (typeof value === 'bigint') return String.fromCharCode(Number(BigInt.asUintN(8, value)));
        if (typeof value === 'string' && value.length === 1) return value;
        throw new OperatorError(`%c requires an int or char for formatting, but got ${tagName(value)}`);
      }
      case '':
        throw new OperatorError('Incomplete format specifier');
      default:
        throw new OperatorError(`The specifier %${specifier} is not supported in TorchScript format strings`);
    }
  });
  if (used < values.length) throw new OperatorError('Too many arguments for format string');
  return text;
}

/** What PyTorch calls the kind of a value (IValue::tagKind). */
function tagName(value: IValue): string {
  if (value === null) return 'None';
  switch (typeof value) {
    case 'string':
      return 'String';
    case 'boolean':
      return 'Bool';
    case 'bigint':
      return 'Int';
    case 'number':
      return 'Double';
  }
  if (value instanceof List) return 'GenericList';
  return value instanceof Dict ? 'GenericDict' : value.constructor.name;
}

function requireNumber(specifier: string, value: IValue): void {
  if (typeof value === 'bigint' || typeof value === 'number') return;
  throw new OperatorError(`%${specifier} requires a number for formatting, but got ${tagName(value)}`);
}
