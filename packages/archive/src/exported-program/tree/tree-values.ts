import {
  AnyType,
  BoolType,
  type CompilationUnit,
  CressetError,
  DictType,
  type Graph,
  IntType,
  ListType,
  NoneType,
  StringType,
  TensorType,
  TupleType,
  type Type,
  type Value,
} from '@cresset/ir';
import { toByteString } from '@cresset/tensor';
import type { TreeKey, TreeSpec } from './tree-spec.ts';

/** The types of containers, and the nodes that take them apart and put them together. */
export class TreeValues {
  readonly #graph: Graph;
  readonly #unit: CompilationUnit;

  constructor(graph: Graph, unit: CompilationUnit) {
    this.#graph = graph;
    this.#unit = unit;
  }

  /** The type of a structure. @param leaves the types of its leaves; those of this one are taken from the front */
  typeOf(spec: TreeSpec, leaves: Type[]): Type {
    if (spec.kind === 'leaf') return leaves.shift()!;
    const children = spec.children.map((child) => this.typeOf(child, leaves));
    switch (spec.kind) {
      case 'tuple':
        return new TupleType(children);
      case 'list':
        return new ListType(commonType(children));
      case 'dict':
        return new DictType(keyType(spec.keys), commonType(children));
      case 'object': {
        const types = [...children, ...spec.absent.map(() => NoneType.get())];
        return this.#named(spec.type, [...spec.fields, ...spec.absent], types);
      }
    }
  }

  /** A class of the program for what Python has as a named tuple or a dataclass. */
  #named(pythonName: string, fields: readonly string[], types: readonly Type[]): TupleType {
    const words = pythonName.split('.').map((word) => word.replaceAll(/\W/g, '_').replace(/^(?=\d|$)/, '_'));
    const name = ['__torch__', ...words].join('.');
    const known = this.#unit.getType(name);
    const made = TupleType.createNamed(known ? this.#unit.mangle(name) : name, fields, types);
    if (known instanceof TupleType && `${known}` === `${made}` && known.fieldNames!.join() === fields.join())
      return known;
    this.#unit.registerType(made);
    return made;
  }

  /** The leaves of a value, each of its type. */
  unpack(spec: TreeSpec, value: Value, leaves: readonly Type[]): Value[] {
    const types = [...leaves];
    const visit = (each: TreeSpec, from: Value): Value[] => {
      if (each.kind !== 'leaf')
        return this.#parts(each, from).flatMap((part, index) => visit(each.children[index], part));
      const type = types.shift()!;
      return [from.type.equals(type) ? from : this.#graph.insertUncheckedCast(from, type)];
    };
    return visit(spec, value);
  }

  #parts(spec: Exclude<TreeSpec, { kind: 'leaf' }>, value: Value): readonly Value[] {
    const graph = this.#graph;
    const { children } = spec;
    if (children.length === 0) return [];
    switch (spec.kind) {
      case 'list': {
        const parts = graph.insertNode(graph.createListUnpack(this.#cast(spec, value), children.length)).outputs;
        return parts;
      }
      case 'dict': {
        const dict = this.#cast(spec, value);
        return spec.keys.map((key) => graph.insert('aten::__getitem__', [dict, keyConstant(key)]));
      }
      default: {
        const tuple = this.#cast(spec, value);
        return graph.insertNode(graph.createTupleUnpack(tuple)).outputs.slice(0, children.length);
      }
    }
  }

  /** A container that stands among others of another type is known as `Any` where it comes from. */
  #cast(spec: TreeSpec, value: Value): Value {
    if (value.type.kind !== 'AnyType') return value;
    const anyLeaves = (each: TreeSpec): Type[] =>
      each.kind === 'leaf' ? [AnyType.get()] : each.children.flatMap(anyLeaves);
    return this.#graph.insertUncheckedCast(value, this.typeOf(spec, anyLeaves(spec)));
  }

  /** A value of leaves. */
  pack(spec: TreeSpec, leaves: readonly Value[]): Value {
    const graph = this.#graph;
    const left = [...leaves];
    const visit = (each: TreeSpec): Value => {
      if (each.kind === 'leaf') return left.shift()!;
      const children = each.children.map(visit);
      const types = children.map(({ type }) => type);
      switch (each.kind) {
        case 'tuple':
          return graph.insertNode(graph.createTuple(children)).output();
        case 'list':
          return graph.insertNode(graph.createList(commonType(types), children)).output();
        case 'dict': {
          const keys = each.keys.map((key) => graph.insertConstant(keyConstant(key)));
          return graph.insertNode(graph.createDict(keyType(each.keys), commonType(types), keys, children)).output();
        }
        case 'object': {
          const items = [...children, ...each.absent.map(() => graph.insertConstant(null))];
          const fields = [...each.fields, ...each.absent];
          const named = this.#named(
            each.type,
            fields,
            items.map(({ type }) => type),
          );
          return graph.insertNode(graph.createTuple(items, named)).output();
        }
      }
    };
    return visit(spec);
  }
}

/** What a list of these is a list of. PyTorch takes an empty one to be one of tensors. */
function commonType(types: readonly Type[]): Type {
  const [first = TensorType.get()] = types;
  return types.every((type) => type.equals(first)) ? first : AnyType.get();
}

function keyType(keys: readonly TreeKey[]): Type {
  const [first = ''] = keys;
  if (!keys.every((key) => typeof key === typeof first)) {
    throw new CressetError(
      'EXPORT_UNSUPPORTED',
      'the program takes or gives a dict whose keys are of several types: give it keys of one type, and export it again',
    );
  }
  return typeof first === 'string' ? StringType.get() : typeof first === 'bigint' ? IntType.get() : BoolType.get();
}

const keyConstant = (key: TreeKey): TreeKey => (typeof key === 'string' ? toByteString(key) : key);
