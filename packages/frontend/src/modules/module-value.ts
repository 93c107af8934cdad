import {
  ClassType,
  constantValue,
  NoneType,
  TupleType,
  type GraphFunction,
  type ScriptFunction,
  type SourceRange,
  type Type,
  type Value,
} from '@cresset/ir';
import { compileError } from '../compilation-error.ts';
import { tupleElements } from '../emission/implicit-conversion.ts';
import { NamedValue } from '../values/named-value.ts';
import type { Self } from '../resolver.ts';
import { MethodValue, SimpleValue } from '../values/simple-value.ts';
import { SugaredTupleValue } from '../values/sugared-tuple-value.ts';
import { SugaredValue, type SugaredCall } from '../values/sugared-value.ts';

/** The containers of torch.nn, whose items are known when a program is compiled. */
type ContainerKind = 'ModuleList' | 'Sequential' | 'ModuleDict';

/** Their names, whatever mangling has put between. */
const CONTAINER = /^__torch__\.(?:.*\.)?torch\.nn\.modules\.container\.(?:___torch_mangle_\d+\.)?(\w+)$/;

function containerKind(type: ClassType): ContainerKind | undefined {
  const name = CONTAINER.exec(type.qualifiedName)?.[1];
  return name === 'ModuleList' || name === 'Sequential' || name === 'ModuleDict' ? name : undefined;
}

/** Methods that list what is in a module. */
type ListingMethod = 'keys' | 'values' | 'items' | 'children' | 'named_children';

const LISTINGS: ReadonlySet<string> = new Set<ListingMethod>(['children', 'named_children']);
const DICT_LISTINGS: ReadonlySet<string> = new Set<ListingMethod>(['keys', 'values', 'items']);

/**
 * A module in the source of its author: it is called as a function, and its containers are gone through while the program is
 * compiled (PyTorch: ModuleValue). In saved files that has happened already.
 */
export class ModuleValue extends SugaredValue {
  readonly #value: Value;
  readonly #type: ClassType;
  readonly #members: SimpleValue;

  constructor(value: Value, type: ClassType) {
    super();
    this.#value = value;
    this.#type = type;
    this.#members = new SimpleValue(value);
  }

  override kind(): string {
    return 'module';
  }

  override asValue(): Value {
    return this.#value;
  }

  override hasAttr(range: SourceRange, fn: GraphFunction, field: string): boolean {
    return this.#members.hasAttr(range, fn, field);
  }

  override setAttr(range: SourceRange, fn: GraphFunction, field: string, value: Value): void {
    this.#members.setAttr(range, fn, field, value);
  }

  override attr(range: SourceRange, fn: GraphFunction, field: string): SugaredValue {
    const attribute = this.#type.findAttribute(field);
    if (isModuleType(attribute)) return this.#submodule(range, fn, field, attribute);
    if (this.#type.hasAttribute(field) || this.hasAttr(range, fn, field) || this.#type.findProperty(field)) {
      return this.#members.attr(range, fn, field);
    }
    if (LISTINGS.has(field) || (DICT_LISTINGS.has(field) && containerKind(this.#type) === 'ModuleDict')) {
      return new ModuleListing(() => this.#listing(range, fn, field as ListingMethod));
    }
    throw compileError(range, `Module '${this.#type.name}' has no attribute '${field}' `);
  }

  override call({ range, fn, args, kwargs }: SugaredCall): SugaredValue {
    const { forwardPreHooks, forwardHooks } = this.#type;
    const graph = fn.graphBeingDefined;
    let inputs = args;
    for (const hook of forwardPreHooks) {
      const changed = this.#callHook(hook, range, fn, [tupleOf(inputs, range, fn)]);
      if (changed.type.kind === 'NoneType') continue;
      const items = changed.type instanceof TupleType ? tupleElements(graph, changed) : [changed];
      inputs = items.map((item) => NamedValue.of(item, range));
    }
    let result = this.attr(range, fn, 'forward').call({ range, fn, args: inputs, kwargs });
    for (const hook of forwardHooks) {
      const changed = this.#callHook(hook, range, fn, [tupleOf(inputs, range, fn), result.asValue(range, fn)]);
      if (!changed.type.isSubtypeOf(NoneType.get())) result = new SimpleValue(changed);
    }
    return result;
  }

  #callHook(hook: ScriptFunction, range: SourceRange, fn: GraphFunction, args: readonly Value[]): Value {
    const named = args.map((value) => NamedValue.of(value, range));
    return new MethodValue(this.#value, hook.name).call({ range, fn, args: named, kwargs: [] }).asValue(range, fn);
  }

  override iter(range: SourceRange, fn: GraphFunction): SugaredValue {
    switch (containerKind(this.#type)) {
      case 'ModuleDict':
        return this.#listing(range, fn, 'keys');
      case 'ModuleList':
      case 'Sequential':
        return this.#listing(range, fn, 'values');
      default:
        throw compileError(
          range,
          'Only constant Sequential, ModuleList, ModuleDict, or ParameterList can be used as an iterable',
        );
    }
  }

  override asTupleValue(range: SourceRange, fn: GraphFunction): SugaredValue {
    const kind = containerKind(this.#type);
    if (kind === undefined || kind === 'ModuleDict') {
      throw compileError(range, 'Only ModuleList or Sequential can be used as tuple');
    }
    return this.#listing(range, fn, 'values');
  }

  override asTuple(range: SourceRange, fn: GraphFunction): readonly SugaredValue[] {
    return this.asTupleValue(range, fn).asTuple(range, fn);
  }

  override len(range: SourceRange, fn: GraphFunction): Value {
    if (containerKind(this.#type) === undefined) {
      return this.#members.attr(range, fn, '__len__').call({ range, fn, args: [], kwargs: [] }).asValue(range, fn);
    }
    return fn.graphBeingDefined.insertConstant(BigInt(this.#submodules().length), range);
  }

  override getitem(range: SourceRange, fn: GraphFunction, index: Value, typeHint?: Type): SugaredValue {
    const kind = containerKind(this.#type);
    if (kind === undefined || typeHint !== undefined) return this.#members.getitem(range, fn, index, typeHint);
    if (kind !== 'ModuleDict') return this.#listing(range, fn, 'values').getitem(range, fn, index);
    const key = constantValue(index);
    if (typeof key !== 'string') {
      throw compileError(
        range,
        'Unable to extract string literal index. ModuleDict indexing is only supported with string literals. ' +
          'For example, \'i = "a"; self.layers[i](x)\' will fail because i is not a literal. ' +
          "Enumeration of ModuleDict is supported, e.g. 'for k, v in self.items(): out = v(inp)'",
      );
    }
    const type = this.#type.findAttribute(key);
    if (!isModuleType(type)) throw compileError(range, `Key Error, ${key}`);
    return this.#submodule(range, fn, key, type);
  }

  /** Names and types of the modules right below. */
  #submodules(): readonly (readonly [name: string, type: ClassType])[] {
    return this.#type.attributes.flatMap(({ name, type }) => (isModuleType(type) ? [[name, type] as const] : []));
  }

  #submodule(range: SourceRange, fn: GraphFunction, name: string, type: ClassType): ModuleValue {
    const graph = fn.graphBeingDefined;
    const node = graph.createGetAttr(this.#value, name).setSourceRange(range);
    return new ModuleValue(graph.insertNode(node).output(), type);
  }

  #listing(range: SourceRange, fn: GraphFunction, method: ListingMethod): SugaredTupleValue {
    const nameOf = (name: string): SugaredValue => new SimpleValue(fn.graphBeingDefined.insertConstant(name, range));
    const items = this.#submodules().map(([name, type]): SugaredValue => {
      if (method === 'keys') return nameOf(name);
      const module = this.#submodule(range, fn, name, type);
      return method === 'values' || method === 'children' ? module : new SugaredTupleValue([nameOf(name), module]);
    });
    return new SugaredTupleValue(items);
  }
}

/** `self.blocks.items`: to be called. */
class ModuleListing extends SugaredValue {
  readonly #list: () => SugaredTupleValue;

  constructor(list: () => SugaredTupleValue) {
    super();
    this.#list = list;
  }

  override kind(): string {
    return 'ModuleDict function';
  }

  override call({ range, args, kwargs }: SugaredCall): SugaredValue {
    if (args.length > 0 || kwargs.length > 0) throw compileError(range, `${this.kind()} takes no arguments`);
    return this.#list();
  }
}

function isModuleType(type: Type | undefined): type is ClassType {
  return type instanceof ClassType && type.isModule();
}

function tupleOf(inputs: readonly NamedValue[], range: SourceRange, fn: GraphFunction): Value {
  const graph = fn.graphBeingDefined;
  const values = inputs.map((input) => input.value(graph));
  return graph.insertNode(graph.createTuple(values).setSourceRange(range)).output();
}

/** The self of a module whose methods are compiled from its author's source (PyTorch: ModuleSelf). */
export class ModuleSelf implements Self {
  readonly classType: ClassType;

  constructor(classType: ClassType) {
    this.classType = classType;
  }

  makeSugared(value: Value): SugaredValue {
    return new ModuleValue(value.setType(this.classType), this.classType);
  }
}
