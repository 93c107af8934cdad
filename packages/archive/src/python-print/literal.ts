import {
  CressetError,
  deviceText,
  formatComplex,
  formatFloat,
  formatQuotedString,
  isComplexConstant,
  isDeviceConstant,
  isDictConstant,
  isEnumConstant,
  isListConstant,
  isObjectConstant,
  isTensorConstant,
  isTupleConstant,
  typeOfConstant,
  type Type,
} from '@cresset/ir';
import type { IValue } from '@cresset/tensor';
import type { ConstantTable } from './constant-table.ts';

/** Types that cannot be told from the members of a list or dict; `annotate` has to say them. */
const NOT_INFERRED: ReadonlySet<string> = new Set([
  'UnionType',
  'OptionalType',
  'NumberType',
  'InterfaceType',
  'AnyType',
]);

/** Whether the type of a list's elements can be told from the elements (PyTorch: elementTypeCanBeInferredFromMembers). */
export function isInferredFromMembers(elementType: Type): boolean {
  return !NOT_INFERRED.has(elementType.kind);
}

/** Prints constants as Python that gives them again (c10::IValue::repr); what no literal can say goes to the constant table. */
export class LiteralPrinter {
  readonly #constants: ConstantTable;
  readonly #typeText: (type: Type) => string;

  constructor(constants: ConstantTable, typeText: (type: Type) => string) {
    this.#constants = constants;
    this.#typeText = typeText;
  }

  /** Throws `NOT_PRINTABLE` for a value that no saved file can hold. */
  print(value: unknown): string {
    if (isTensorConstant(value) || isObjectConstant(value) || hasNonAsciiString(value)) {
      return this.#constants.nameOf(value as IValue);
    }
    switch (typeof value) {
      case 'boolean':
        return value ? 'True' : 'False';
      case 'bigint':
        return value.toString();
      case 'number':
        return formatFloat(value);
      case 'string':
        return formatQuotedString(value);
      default:
        return value === null ? 'None' : this.#printObject(value);
    }
  }

  #printObject(value: unknown): string {
    if (isListConstant(value)) {
      const text = `[${this.#printAll(value.items)}]`;
      const isClear = value.items.length > 0 && isInferredFromMembers(value.elementType);
      return isClear ? text : `annotate(${this.#typeText(typeOfConstant(value)!)}, ${text})`;
    }
    if (isDictConstant(value)) {
      const entries = [...value.entries].map(([key, item]) => `${this.print(key)}: ${this.print(item)}`);
      const text = `{${entries.join(', ')}}`;
      const isClear = entries.length > 0 && isInferredFromMembers(value.valueType);
      return isClear ? text : `annotate(${this.#typeText(typeOfConstant(value)!)},${text})`;
    }
    if (isTupleConstant(value)) {
      const name = value.type?.named ? this.#typeText(value.type) : '';
      return `${name}(${this.#printAll(value.items)}${value.items.length === 1 ? ',' : ''})`;
    }
    // A member of a tuple, or a default argument, may be an array of the schema's own.
    if (Array.isArray(value)) return `[${this.#printAll(value)}]`;
    if (isEnumConstant(value)) return `${this.#typeText(value.type)}.${value.name}`;
    if (isDeviceConstant(value)) return `torch.device(${formatQuotedString(deviceText(value))})`;
    if (isComplexConstant(value)) return formatComplex(value);
    throw new CressetError('NOT_PRINTABLE', `a ${typeOfConstant(value)?.reprStr() ?? 'value'} has no form in Python`);
  }

  #printAll(items: readonly unknown[]): string {
    return items.map((item) => this.print(item)).join(', ');
  }
}

/** Whether a string with bytes beyond ASCII occurs in a value: escapes would not give it again. */
function hasNonAsciiString(value: unknown): boolean {
  if (typeof value === 'string') return [...value].some((byte) => byte > '\x7f');
  if (isListConstant(value) || isTupleConstant(value)) return value.items.some(hasNonAsciiString);
  return isDictConstant(value) && [...value.entries].some((entry) => entry.some(hasNonAsciiString));
}
