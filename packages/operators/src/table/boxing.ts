import {
  BoolType,
  FloatType,
  IntType,
  ListType,
  OptionalType,
  scalarTypeCode,
  scalarTypeFromCode,
  StringType,
  TensorType,
  type Type,
} from '@cresset/ir';
import { List, Tensor, type IValue, type ScalarType } from '@cresset/tensor';
import { remembered } from '@cresset/tensorexpr';
import type { OperatorRow, Results, Unboxed } from './row.ts';
import { parseSignature, type Signature } from './signature.ts';

/** How one operator's IValues become kernel arguments and back, worked out from its schema once. */
export interface Boxing {
  readonly signature: Signature;
  /** Arguments by name; those that `...` stands for, as they are, as `rest`. */
  unbox(args: readonly IValue[]): Record<string, Unboxed>;
  /** One IValue a result of the schema. */
  box(results: Results): IValue[];
}

/**
 * What the operator that runs is given in the place of whole numbers, while sizes are recorded that may be others, where it takes expressions; null where it
 * is given numbers.
 */
export const symbolicArguments: {
  now: { readonly row: OperatorRow; readonly sizes: ReadonlyMap<number, unknown> } | null;
} = { now: null };

export const boxingOf = remembered(makeBoxing);

function makeBoxing(row: OperatorRow): Boxing {
  const signature = parseSignature(row.schema);
  const unboxers = signature.args.map(({ type }) => unboxerOf(type));
  const names = signature.args.map(({ name }) => name);
  const rest = names.indexOf('');
  const empty: Record<string, Unboxed> = Object.fromEntries(names.map((name) => [name, null]));
  const boxers = signature.returns.map(({ type }) => boxerOf(type));
  return {
    signature,
    unbox(args) {
      // A copy has its shape at once; a property at a time, an engine looks for the next shape each time.
      const unboxed = { ...empty };
      for (let at = 0; at < names.length; at++) unboxed[names[at]] = unboxers[at](args[at] ?? null);
      if (rest >= 0) unboxed.rest = args.slice(rest) as unknown as Unboxed;
      const { now } = symbolicArguments;
      if (now?.row === row) now.sizes.forEach((size, at) => (unboxed[names[at]] = size as Unboxed));
      return unboxed;
    },
    box(results) {
      if (boxers.length === 1) return [boxers[0](results as Unboxed)];
      return boxers.map((box, at) => box((results as readonly Unboxed[])[at]));
    },
  };
}

type Unboxer = (value: IValue) => Unboxed;

function unboxerOf(type: string): Unboxer {
  if (type.endsWith('?')) {
    const inner = unboxerOf(type.slice(0, -1));
    return (value) => (value === null ? null : inner(value));
  }
  if (type.endsWith('[]')) {
    const inner = unboxerOf(type.slice(0, -2));
    return (value) => {
      // `int[1]` takes a single int in a list's place.
      if (value instanceof List) return value.items.map((item) => inner(item)) as Unboxed;
      return [inner(value)] as unknown as Unboxed;
    };
  }
  switch (type) {
    case 'int':
    case 'SymInt':
    case 'Layout':
    case 'MemoryFormat':
    case 'float':
      return Number;
    case 'ScalarType':
      return (value) => scalarTypeFromCode(value as bigint) ?? null;
    default:
      return (value) => value as Unboxed;
  }
}

type Boxer = (value: Unboxed) => IValue;

function boxerOf(type: string): Boxer {
  if (type.endsWith('?')) {
    const inner = boxerOf(type.slice(0, -1));
    return (value) => (value === null ? null : inner(value));
  }
  if (type.endsWith('[]')) {
    const inner = boxerOf(type.slice(0, -2));
    return (value) => {
      if (value instanceof List) return value;
      return new List(typeOf(type.slice(0, -2)), (value as readonly Unboxed[]).map(inner));
    };
  }
  switch (type) {
    case 'int':
    case 'SymInt':
      return (value) => (typeof value === 'number' ? BigInt(value) : (value as IValue));
    case 'ScalarType':
      return (value) => BigInt(scalarTypeCode(value as ScalarType));
    case '':
    case 'None':
      return () => null;
    default:
      return (value) => value as IValue;
  }
}

function typeOf(type: string): Type {
  if (type.endsWith('?')) return OptionalType.create(typeOf(type.slice(0, -1)));
  if (type.endsWith('[]')) return new ListType(typeOf(type.slice(0, -2)));
  switch (type) {
    case 'Tensor':
      return TensorType.get();
    case 'int':
    case 'SymInt':
    case 'ScalarType':
      return IntType.get();
    case 'float':
      return FloatType.get();
    case 'bool':
      return BoolType.get();
    case 'str':
      return StringType.get();
    default:
      throw new TypeError(`no list of ${type} is made by kernels`);
  }
}

/** All tensors among kernel arguments, lists included. */
export function tensorsOf(args: Readonly<Record<string, Unboxed>>): Tensor[] {
  const tensors: Tensor[] = [];
  for (const value of Object.values(args)) {
    if (value instanceof Tensor) tensors.push(value);
    else if (Array.isArray(value)) for (const item of value) if (item instanceof Tensor) tensors.push(item);
  }
  return tensors;
}
