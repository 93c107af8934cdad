import { ClassType, Complex, CressetError, EnumType, type ListType, type Type } from '@cresset/ir';
import { DeviceValue, Dict, EnumValue, List, ScriptObject, Tensor, Tuple, type IValue } from '@cresset/tensor';

/** Nesting of lists, dicts and tuples in an attribute; programs do not come near it. */
const MAX_DEPTH = 1000;

interface Pending {
  readonly value: IValue;
  readonly type: Type;
  readonly depth: number;
}

/**
 * Checks the attributes of objects that were read from a file against their declared types, and gives lists and dicts that were
 * pickled without one their element types (torch::jit::restoreAccurateTypeTags). After this, programs may rely on static types.
 *
 * Throws `ARCHIVE_TYPE_MISMATCH`, naming class and attribute.
 */
export class TypeRestoration {
  readonly #visited = new Set<IValue>();

  object(object: ScriptObject): void {
    object.type.attributes.forEach(({ name, type }, slot) => {
      this.value(object.slots[slot], type, `attribute '${name}' of class '${object.type.qualifiedName}'`);
    });
  }

  /** @param what names the value in an error message. */
  value(root: IValue, rootType: Type, what: string): void {
    const pending: Pending[] = [{ value: root, type: rootType, depth: 0 }];
    while (pending.length > 0) {
      const { value, type, depth } = pending.pop()!;
      const shape = matchingType(value, type);
      if (!shape || depth > MAX_DEPTH) {
        throw new CressetError(
          'ARCHIVE_TYPE_MISMATCH',
          `the file is damaged: ${what} is declared as ${rootType.annotationStr()}, but holds ${depth > MAX_DEPTH ? 'containers within containers without end' : `${describe(value)} where ${type.annotationStr()} should be`}`,
        );
      }
      this.#enter(value, shape, depth + 1, pending);
    }
  }

  #enter(value: IValue, type: Type, depth: number, pending: Pending[]): void {
    const isContainer = value instanceof List || value instanceof Dict || value instanceof Tuple;
    if (!isContainer || this.#visited.has(value)) return;
    this.#visited.add(value);
    if (value instanceof List && type.kind === 'ListType') {
      value.elementType = (type as ListType).elementType;
      for (const item of value.items) pending.push({ value: item, type: value.elementType, depth });
    } else if (value instanceof Dict && type.kind === 'DictType') {
      [value.keyType, value.valueType] = type.containedTypes();
      for (const [key, item] of value.entries) {
        pending.push({ value: key, type: value.keyType, depth }, { value: item, type: value.valueType, depth });
      }
    } else if (value instanceof Tuple && type.kind === 'TupleType') {
      value.items.forEach((item, index) => pending.push({ value: item, type: type.containedTypes()[index], depth }));
    } else {
      // Declared as Any: its parts have still to be values of a program.
      for (const item of value instanceof Dict ? value.entries.values() : value.items)
        pending.push({ value: item, type, depth });
    }
  }
}

/** The part of `type` that `value` has: itself, or the member of an Optional or Union; null where it has none. */
function matchingType(value: IValue, type: Type): Type | null {
  if (type.kind === 'OptionalType' || type.kind === 'UnionType') {
    const matches = type.containedTypes().flatMap((member) => matchingType(value, member) ?? []);
    // Two tuples of one length differ in what they hold.
    const match = matches.length > 1 ? (matches.find((each) => holdsTypes(value, each)) ?? matches[0]) : matches[0];
    if (match) return match;
    return type.kind === 'OptionalType' && value === null ? type : null;
  }
  return hasType(value, type) ? type : null;
}

function holdsTypes(value: IValue, type: Type): boolean {
  if (!(value instanceof Tuple)) return true;
  return value.items.every((item, index) => matchingType(item, type.containedTypes()[index]) !== null);
}

function hasType(value: IValue, type: Type): boolean {
  switch (type.kind) {
    case 'TensorType':
      // An undefined tensor is written as None.
      return value instanceof Tensor || value === null;
    case 'IntType':
      return typeof value === 'bigint';
    case 'FloatType':
      return typeof value === 'number';
    case 'ComplexType':
      return value instanceof Complex;
    case 'NumberType':
      return typeof value === 'bigint' || typeof value === 'number' || value instanceof Complex;
    case 'BoolType':
      return typeof value === 'boolean';
    case 'StringType':
      return typeof value === 'string';
    case 'NoneType':
      return value === null;
    case 'DeviceObjType':
      return value instanceof DeviceValue;
    case 'ListType':
    case 'AnyListType':
      return value instanceof List;
    case 'DictType':
      return value instanceof Dict;
    case 'TupleType':
      return value instanceof Tuple && value.items.length === type.containedTypes().length;
    case 'AnyTupleType':
      return value instanceof Tuple;
    case 'ClassType':
      return (
        value instanceof ScriptObject && type instanceof ClassType && value.type.qualifiedName === type.qualifiedName
      );
    case 'InterfaceType':
    case 'AnyClassType':
      return value instanceof ScriptObject;
    case 'EnumType':
      return value instanceof EnumValue && type instanceof EnumType && value.type.equals(type);
    default:
      return isProgramValue(value);
  }
}

/** Whether a value is one that a program can hold, and not something that only pickles have. */
function isProgramValue(value: IValue): boolean {
  return (
    value === null ||
    typeof value !== 'object' ||
    value instanceof Tensor ||
    value instanceof List ||
    value instanceof Dict ||
    value instanceof Tuple ||
    value instanceof ScriptObject ||
    value instanceof EnumValue ||
    value instanceof DeviceValue ||
    value instanceof Complex
  );
}

function describe(value: IValue): string {
  if (value === null) return 'None';
  if (typeof value === 'object') return `a ${value.constructor.name}`;
  const names: Record<string, string> = { bigint: 'an int', number: 'a float', string: 'a str', boolean: 'a bool' };
  return names[typeof value] ?? 'something else';
}
