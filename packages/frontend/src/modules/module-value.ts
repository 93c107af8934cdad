import {
  ClassType,
  InterfaceType,
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

/** Their names, whatever mangling has put between. */
const CONTAINER = /^__torch__\.(?:.*\.)?torch\.nn\.modules\.container\.(?:___torch_mangle_\d+\.)?(\w+)$/;

/** The containers of torch.nn, whose items are known when a program is compiled. */
export type ContainerKind = 'ModuleList' | 'Sequential' | 'ModuleDict' | 'ParameterList' | 'ParameterDict';

/** What a module that Python made has besides the attributes and methods of its class: what is compiled when it is asked for. */
export interface MembersOfModule {
  readonly container: ContainerKind | undefined;
  /** Names of what a container of parameters holds. */
  readonly parameters: readonly string[];
  /** A member that its class does not know so far; undefined where it has none. */
  find(field: string, self: Value, fn: GraphFunction, range: SourceRange): SugaredValue | undefined;
  /** Why an attribute is none of the program; empty where nothing is known. */
  hint(field: string): string;
}

const membersOf = new WeakMap<ClassType, MembersOfModule>();

export function setModuleMembers(type: ClassType, members: MembersOfModule): void {
  membersOf.set(type, members);
}

function containerKind(type: ClassType): ContainerKind | undefined {
  const members = membersOf.get(type);
  if (members !== undefined) return members.container;
  const name = CONTAINER.exec(type.qualifiedName)?.[1];
  return name === 'ModuleList' || name === 'Sequential' || name === 'ModuleDict' ? name : undefined;
}

/** Methods that list what is in a module. */
type ListingMethod =
  | 'keys'
  | 'values'
  | 'items'
  | 'children'
  | 'named_children'
  | 'modules'
  | 'named_modules'
  | 'named_buffers';

const LISTINGS: ReadonlySet<string> = new Set<ListingMethod>([
  'children',
  'named_children',
  'modules',
  'named_modules',
  'named_buffers',
]);
const DICT_LISTINGS: ReadonlySet<string> = new Set<ListingMethod>(['keys', 'values', 'items']);

function isDict(kind: ContainerKind | undefined): boolean {
  return kind === 'ModuleDict' || kind === 'ParameterDict';
}

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
    if (attribute instanceof InterfaceType)
      return new InterfaceValue(this.#members.attr(range, fn, field).asValue(range, fn));
    if (this.#type.hasAttribute(field) || this.hasAttr(range, fn, field) || this.#type.findProperty(field)) {
      return this.#members.attr(range, fn, field);
    }
    if (LISTINGS.has(field) || (DICT_LISTINGS.has(field) && containerKind(this.#type) === 'ModuleDict')) {
      return new ModuleListing(() => this.#listing(range, fn, field as ListingMethod));
    }
    const members = membersOf.get(this.#type);
    const member = members?.find(field, this.#value, fn, range);
    if (member !== undefined) return member;
    throw compileError(range, `Module '${this.#type.name}' has no attribute '${field}' ${members?.hint(field) ?? ''}`);
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
      case 'ParameterList':
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
    if (kind !== 'ModuleList' && kind !== 'Sequential') {
      throw compileError(range, 'Only ModuleList or Sequential modules can be used as tuple');
    }
    return this.#listing(range, fn, 'values');
  }

  override len(range: SourceRange, fn: GraphFunction): Value {
    if (containerKind(this.#type) === undefined) {
      return this.#members.attr(range, fn, '__len__').call({ range, fn, args: [], kwargs: [] }).asValue(range, fn);
    }
    return fn.graphBeingDefined.insertConstant(BigInt(this.#itemNames().length), range);
  }

  override getitem(range: SourceRange, fn: GraphFunction, index: Value, typeHint?: Type): SugaredValue {
    const kind = containerKind(this.#type);
    if (kind === undefined || typeHint !== undefined) return this.#members.getitem(range, fn, index, typeHint);
    if (!isDict(kind)) return this.#listing(range, fn, 'values').getitem(range, fn, index);
    const key = constantValue(index);
    if (typeof key !== 'string') {
      throw compileError(
        range,
        'Unable to extract string literal index. ModuleDict indexing is only supported with string literals. ' +
          'For example, \'i = "a"; self.layers[i](x)\' will fail because i is not a literal. ' +
          "Enumeration of ModuleDict is supported, e.g. 'for k, v in self.items(): out = v(inp)'",
      );
    }
    if (!this.#itemNames().includes(key)) throw compileError(range, `Key Error, ${key}`);
    return this.#item(range, fn, key);
  }

  /** Names and types of the modules right below. */
  #submodules(): readonly (readonly [name: string, type: ClassType])[] {
    return this.#type.attributes.flatMap(({ name, type }) => (isModuleType(type) ? [[name, type] as const] : []));
  }

  /** Names of what a container holds. */
  #itemNames(): readonly string[] {
    const kind = containerKind(this.#type);
    return kind === 'ParameterList' || kind === 'ParameterDict'
      ? membersOf.get(this.#type)!.parameters
      : this.#submodules().map(([name]) => name);
  }

  #item(range: SourceRange, fn: GraphFunction, name: string): SugaredValue {
    const type = this.#type.findAttribute(name);
    return isModuleType(type) ? this.#submodule(range, fn, name, type) : this.#members.attr(range, fn, name);
  }

  #submodule(range: SourceRange, fn: GraphFunction, name: string, type: ClassType): ModuleValue {
    const graph = fn.graphBeingDefined;
    const node = graph.createGetAttr(this.#value, name).setSourceRange(range);
    return new ModuleValue(graph.insertNode(node).output(), type);
  }

  /** This module and those below it, with their paths; what stands in two places is met twice. */
  #withAllBelow(range: SourceRange, fn: GraphFunction, path: string): readonly (readonly [string, ModuleValue])[] {
    const below = this.#submodules().flatMap(([name, type]) =>
      this.#submodule(range, fn, name, type).#withAllBelow(range, fn, path === '' ? name : `${path}.${name}`),
    );
    return [[path, this], ...below];
  }

  #listing(range: SourceRange, fn: GraphFunction, method: ListingMethod): SugaredTupleValue {
    const nameOf = (name: string): SugaredValue => new SimpleValue(fn.graphBeingDefined.insertConstant(name, range));
    if (method === 'modules' || method === 'named_modules') {
      const all = this.#withAllBelow(range, fn, '');
      return new SugaredTupleValue(
        all.map(([path, module]) => (method === 'modules' ? module : new SugaredTupleValue([nameOf(path), module]))),
      );
    }
    const buffers = this.#type.attributes.filter(({ kind }) => kind === 'buffer').map(({ name }) => name);
    const names =
      method === 'named_buffers'
        ? buffers
        : LISTINGS.has(method)
          ? this.#submodules().map(([name]) => name)
          : this.#itemNames();
    const items = names.map((name): SugaredValue => {
      if (method === 'keys') return nameOf(name);
      const module = this.#item(range, fn, name);
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

/** A submodule of which an interface is known: it is called as modules are. */
class InterfaceValue extends SimpleValue {
  override call(call: SugaredCall): SugaredValue {
    return this.attr(call.range, call.fn, 'forward').call(call);
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
