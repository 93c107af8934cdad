import { Tuple } from '@cresset/tensor';
import type { FormatField } from '../../parser/python-tree.ts';
import { PythonError } from '../python-arithmetic.ts';
import { floatRepr, type PythonValue } from '../python-value.ts';
import { itemsIn } from './containers.ts';
import type { Keywords } from './entities.ts';
import type { Interpreter } from './interpreter.ts';
import type { Scope } from './scope.ts';

const SPEC = /^(?:(.)?([<>=^]))?([-+ ]?)(#?)(0?)(\d*)([,_]?)(?:\.(\d+))?([bcdeEfFgGnosxX%]?)$/s;

/** The text of an f-string. */
export function formatFields(python: Interpreter, parts: readonly (string | FormatField)[], scope: Scope): string {
  return parts
    .map((part) => {
      if (typeof part === 'string') return part;
      const value = python.evaluate(part.value, scope);
      return formatValue(python, converted(python, value, part.conversion), formatFields(python, part.spec, scope));
    })
    .join('');
}

function converted(python: Interpreter, value: PythonValue, conversion: string): PythonValue {
  return conversion === 'r' ? python.repr(value) : conversion === '' ? value : python.text(value);
}

/** `format(value, spec)` */
export function formatValue(python: Interpreter, value: PythonValue, spec: string): string {
  if (spec === '') return python.text(value);
  const match = SPEC.exec(spec);
  if (!match) throw new PythonError(`Invalid format specifier '${spec}'`, 'ValueError');
  const [, fill, align, sign, alternate, zero, width, grouping, precision, type] = match as unknown as string[];
  const isNumber = typeof value === 'bigint' || typeof value === 'number' || typeof value === 'boolean';
  const digits = precision === undefined ? undefined : Number(precision);
  let text: string;
  if (isNumber) text = numberText(value, type!, digits, grouping!, alternate === '#');
  else text = digits === undefined ? python.text(value) : python.text(value).slice(0, digits);
  if (isNumber && sign !== '-' && sign !== '' && !text.startsWith('-')) text = sign! + text;
  const size = Number(width || 0);
  const padding = fill ?? (zero === '0' && align === undefined ? '0' : ' ');
  const side = align ?? (zero === '0' && isNumber ? '=' : isNumber ? '>' : '<');
  if (text.length >= size) return text;
  const missing = size - text.length;
  if (side === '<') return text + padding.repeat(missing);
  if (side === '>') return padding.repeat(missing) + text;
  if (side === '^') {
    const left = Math.floor(missing / 2);
    return padding.repeat(left) + text + padding.repeat(missing - left);
  }
  const signed = /^[-+ ]/.exec(text)?.[0] ?? '';
  return signed + padding.repeat(missing) + text.slice(signed.length);
}

function numberText(
  value: bigint | number | boolean,
  type: string,
  precision: number | undefined,
  grouping: string,
  isAlternate: boolean,
): string {
  const number = Number(value);
  switch (type) {
    case 'b':
    case 'o':
    case 'x':
    case 'X': {
      const radix = type === 'b' ? 2 : type === 'o' ? 8 : 16;
      const text = BigInt(value as bigint).toString(radix);
      const prefixed = isAlternate ? `0${type}${text}` : text;
      return type === 'X' ? prefixed.toUpperCase() : prefixed;
    }
    case 'f':
    case 'F':
      return grouped(number.toFixed(precision ?? 6), grouping);
    case '%':
      return `${(number * 100).toFixed(precision ?? 6)}%`;
    case 'e':
    case 'E': {
      const text = exponential(number, precision ?? 6);
      return type === 'E' ? text.toUpperCase() : text;
    }
    case 'g':
    case 'G':
      return general(number, precision ?? 6);
    case 'c':
      return String.fromCharCode(number);
    default:
      if (typeof value !== 'number') return grouped(String(BigInt(value)), grouping);
      return precision === undefined ? grouped(floatRepr(value), grouping) : general(value, precision);
  }
}

function grouped(text: string, separator: string): string {
  if (separator === '') return text;
  const [whole, ...rest] = text.split('.');
  return [whole!.replace(/\B(?=(\d{3})+$)/g, separator), ...rest].join('.');
}

function exponential(value: number, precision: number): string {
  const [digits, power] = value.toExponential(precision).split('e') as [string, string];
  return `${digits}e${power[0]}${power.slice(1).padStart(2, '0')}`;
}

function general(value: number, precision: number): string {
  if (!Number.isFinite(value)) return floatRepr(value);
  const digits = Math.max(precision, 1);
  const power = value === 0 ? 0 : Number(value.toExponential(digits - 1).split('e')[1]);
  const withoutZeros = (text: string): string => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);
  if (power >= -4 && power < digits) return withoutZeros(value.toFixed(digits - 1 - power));
  const [mantissa, exponent] = exponential(value, digits - 1).split('e') as [string, string];
  return `${withoutZeros(mantissa)}e${exponent}`;
}

/** `text.format(*args, **kwargs)` */
export function formatText(python: Interpreter, text: string, args: readonly PythonValue[], kwargs: Keywords): string {
  let next = 0;
  return text.replace(
    /\{\{|\}\}|\{([^{}!:]*)(?:!([rs]))?(?::([^{}]*))?\}/g,
    (whole, field?: string, conversion = '', spec = '') => {
      if (whole === '{{' || whole === '}}') return whole[0]!;
      const [head, ...path] = field!.split(/\.|\[|\]/).filter((each, at) => at === 0 || each !== '');
      const argument = head === '' ? args[next++] : /^\d+$/.test(head!) ? args[Number(head)] : kwargs.get(head!);
      if (argument === undefined)
        throw new PythonError('Replacement index out of range for positional args tuple', 'IndexError');
      const value = path.reduce<PythonValue>(
        (found, name) => (/^\d+$/.test(name) ? python.getItem(found, BigInt(name)) : python.getAttribute(found, name)),
        argument,
      );
      return formatValue(python, converted(python, value, conversion), spec);
    },
  );
}

function padded(text: string, width: number, atEnd: boolean): string {
  return atEnd ? text.padEnd(width) : text.padStart(width);
}

/** `text % values` */
export function formatPercent(python: Interpreter, text: string, given: PythonValue): string {
  const values = given instanceof Tuple ? [...itemsIn(given)] : [given];
  return text.replace(
    /%(?:\((\w+)\))?([-+ 0#]*)(\d*)(?:\.(\d+))?([%sdrfgeixXo])/g,
    (_all, name, flags, width, precision, type) => {
      if (type === '%') return '%';
      const value = name === undefined ? values.shift() : python.getItem(given, name as string);
      if (value === undefined) throw new PythonError('not enough arguments for format string');
      if (type === 'r') return python.repr(value);
      if (type === 's') return padded(python.text(value), Number(width), (flags as string).includes('-'));
      const integer = type === 'd' || type === 'i';
      const whole = integer ? BigInt(Math.trunc(Number(value as bigint))) : value;
      const sign = (flags as string).includes('+') ? '+' : '';
      const zero = (flags as string).includes('0') ? '0' : '';
      return formatValue(
        python,
        whole,
        `${sign}${zero}${width}${precision === undefined ? '' : `.${precision}`}${integer ? 'd' : type}`,
      );
    },
  );
}
