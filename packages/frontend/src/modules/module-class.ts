import {
  ClassType,
  constantValue,
  Source,
  TensorType,
  type ClassAttributeKind,
  type CompilationUnit,
  type GraphFunction,
  type SourceRange,
  type Type,
  type Value,
} from '@cresset/ir';
import { FunctionValue } from '../values/callable-value.ts';
import { compileError } from '../compilation-error.ts';
import { declareFunctions } from '../define.ts';
import { newContainerClass } from './module-container.ts';
import { ModuleSelf, ModuleValue } from './module-value.ts';
import { NamedValue } from '../values/named-value.ts';
import { parseProgram } from '../parser/parser.ts';
import { GlobalValue } from '../python/python-constants.ts';
import type { Resolver, Self } from '../resolver.ts';
import { SimpleValue } from '../values/simple-value.ts';
import { SugaredValue, type SugaredCall } from '../values/sugared-value.ts';
import { spreadModules } from './static-modules.ts';
import { makeVar, type Def, type Expr, type Stmt } from '../parser/tree.ts';
import { dottedName, type ConstantScope } from '../script-type-parser.ts';

/** How `__init__` of a module class names what makes parts of modules; no source can. */
const PREFIX = '$nn.';
type ContainerKind = 'ModuleList' | 'ModuleDict' | 'Sequential';

function isContainer(name: string): name is ContainerKind {
  return name === 'ModuleList' || name === 'ModuleDict' || name === 'Sequential';
}

const initializers = new WeakMap<ClassType, GraphFunction>();

/** What makes a new object of a class of modules what it is: its `__init__`, which is no method of what it makes. */
export function moduleInitializer(type: ClassType): GraphFunction | undefined {
  return initializers.get(type);
}

/** The name of a class in an expression: calling it makes a module. */
export class ModuleClassValue extends SugaredValue {
  readonly #type: ClassType;

  constructor(type: ClassType) {
    super();
    this.#type = type;
  }

  override kind(): string {
    return this.#type.str();
  }

  override call({ range, fn, args, kwargs }: SugaredCall): SugaredValue {
    const init = moduleInitializer(this.#type);
    if (init === undefined) throw compileError(range, `modules of class ${this.#type.name} are made by no source`);
    const graph = fn.graphBeingDefined;
    const self = graph.insertNode(graph.createObject(this.#type).setSourceRange(range)).output();
    new FunctionValue(init).call({ range, fn, args: [NamedValue.of(self, range), ...args], kwargs });
    return new ModuleValue(self, this.#type);
  }
}

/** What the body of a class of modules says. */
export interface ModuleClassBody {
  readonly methods: readonly Def[];
  /** Types of attributes, by name: what `__init__` assigns to them is of those. */
  readonly annotations: ReadonlyMap<string, Expr>;
  readonly range: SourceRange;
}

/**
 * Compiles the methods of a class of modules into its type. Its `__init__`, which Python runs in PyTorch, is compiled too: it gives the
 * class its parameters, buffers, attributes and submodules. Of the others only `forward` and what it needs is compiled at once.
 */
export function defineModuleMethods(
  unit: CompilationUnit,
  type: ClassType,
  { methods, annotations, range }: ModuleClassBody,
  resolver: Resolver,
  library: (name: string) => ClassType | undefined,
): void {
  const isInit = (def: Def): boolean => def.name.name === '__init__';
  const init = initializerOf(methods.find(isInit), annotations, range, resolver.constants);
  const [compiled] = declareFunctions(unit, [init], {
    prefix: type.qualifiedName,
    resolver: new InitializerResolver(resolver, unit, library),
    self: new ModuleInitSelf(type),
  });
  compiled!.ensureDefined();
  type.removeMethod('__init__');
  initializers.set(type, compiled!);
  const declared = declareFunctions(
    unit,
    methods.filter((def) => !isInit(def)),
    { prefix: type.qualifiedName, resolver, self: new ModuleSelf(type) },
  );
  declared.find((fn) => fn.name === 'forward')?.ensureDefined();
}

// ---- __init__

/** `__init__` with what every module has, without the call of its parent's, and with the parts of containers one by one. */
function initializerOf(
  init: Def | undefined,
  annotations: ModuleClassBody['annotations'],
  range: SourceRange,
  constants: ConstantScope | undefined,
): Def {
  const self = init?.decl.params[0]?.ident.name ?? 'self';
  const text = `def __init__(${self}):\n    ${self}.training = True\n    ${self}._is_full_backward_hook = None\n`;
  const [base] = parseProgram(new Source(text, '<module>'), 'python') as readonly Def[];
  if (init === undefined) return { ...base!, range };
  const own = init.statements
    .filter((statement) => !isParentsInit(statement))
    .map((statement) => annotate(statement, self, annotations));
  return { ...init, statements: [...base!.statements, ...(renameConstructors(own, constants) as readonly Stmt[])] };
}

/** Gives `self.name = …` the type that the class says. */
function annotate(statement: Stmt, self: string, annotations: ModuleClassBody['annotations']): Stmt {
  if (statement.kind !== 'assign' || statement.type !== undefined || statement.lhsList.length !== 1) return statement;
  const [owner, name, ...rest] = (dottedName(statement.lhsList[0]!) ?? '').split('.');
  const type = owner === self && name !== undefined && rest.length === 0 ? annotations.get(name) : undefined;
  return type === undefined ? statement : { ...statement, type };
}

/** `super().__init__()`, `super(Net, self).__init__()`, `nn.Module.__init__(self)` */
function isParentsInit(statement: Stmt): boolean {
  if (statement.kind !== 'expr' || statement.expr.kind !== 'apply') return false;
  const { callee } = statement.expr;
  if (callee.kind !== 'select' || callee.selector.name !== '__init__') return false;
  const parent = callee.value.kind === 'apply' ? callee.value.callee : callee.value;
  return /^super$|(^|\.)Module$/.test(dottedName(parent) ?? '');
}

/** Lets `nn.Parameter`, containers and layers mean what makes them, wherever they are called. */
function renameConstructors(part: unknown, constants: ConstantScope | undefined): unknown {
  if (Array.isArray(part)) return part.map((each) => renameConstructors(each, constants));
  if (typeof part !== 'object' || part === null || !('range' in part)) return part;
  const copy = Object.fromEntries(
    Object.entries(part).map(([name, value]) => [
      name,
      name === 'range' ? value : renameConstructors(value, constants),
    ]),
  ) as unknown as Expr;
  if (copy.kind !== 'apply') return copy;
  const name = /^(?:torch\.)?(?:nn\.)(\w+)$/.exec(dottedName(copy.callee) ?? '')?.[1];
  if (name === undefined) return copy;
  const callee = makeVar(copy.callee.range, `${PREFIX}${name}`);
  return isContainer(name) ? { ...spreadModules(copy, constants), callee } : { ...copy, callee };
}

class InitializerResolver implements Resolver {
  readonly #other: Resolver;
  readonly #unit: CompilationUnit;
  readonly #library: (name: string) => ClassType | undefined;

  constructor(other: Resolver, unit: CompilationUnit, library: (name: string) => ClassType | undefined) {
    this.#other = other;
    this.#unit = unit;
    this.#library = library;
  }

  resolveValue(name: string, fn: GraphFunction, range: SourceRange): SugaredValue | undefined {
    if (!name.startsWith(PREFIX)) {
      const found = this.#other.resolveValue(name, fn, range);
      return found instanceof GlobalValue ? found.asConstant(range, fn) : found;
    }
    const member = name.slice(PREFIX.length);
    if (member === 'Parameter') return new ParameterConstructor();
    if (isContainer(member)) return new ContainerConstructor(member, this.#unit);
    const layer = this.#library(member);
    if (layer === undefined) throw compileError(range, `nn.${member} is not among the modules that source can make`);
    return new ModuleClassValue(layer);
  }

  resolveType(name: string, range: SourceRange): Type | undefined {
    return this.#other.resolveType(name, range);
  }

  get constants(): ConstantScope | undefined {
    return this.#other.constants;
  }
}

/** Values that `nn.Parameter` made. */
const parameters = new WeakSet<Value>();

/** `nn.Parameter` */
class ParameterConstructor extends SugaredValue {
  override kind(): string {
    return 'class';
  }

  override call({ range, fn, args, kwargs }: SugaredCall): SugaredValue {
    const [data] = args;
    if (!data || args.length + kwargs.length > 2)
      throw compileError(range, 'Parameter() takes a tensor and requires_grad');
    const graph = fn.graphBeingDefined;
    const value = data.value(graph);
    if (!value.type.isSubtypeOf(TensorType.get())) {
      throw compileError(range, `Parameter() takes a tensor, and was given ${value.type.reprStr()}`);
    }
    parameters.add(value);
    return new SimpleValue(value);
  }
}

/** `nn.ModuleList` and its like: a class of its own for what it holds. */
class ContainerConstructor extends SugaredValue {
  readonly #kind: ContainerKind;
  readonly #unit: CompilationUnit;

  constructor(kind: ContainerKind, unit: CompilationUnit) {
    super();
    this.#kind = kind;
    this.#unit = unit;
  }

  override kind(): string {
    return 'class';
  }

  override call({ range, fn, args, kwargs }: SugaredCall): SugaredValue {
    const graph = fn.graphBeingDefined;
    const named = [
      ...args.map((arg, index) => [String(index), arg] as const),
      ...kwargs.map((arg) => [arg.name, arg] as const),
    ];
    const modules = named.map(([name, arg]) => [name, arg.value(graph)] as const);
    const type = this.#classOf(modules, range);
    const container = graph.insertNode(graph.createObject(type).setSourceRange(range)).output();
    const set = (name: string, value: Value): void => {
      graph.insertNode(graph.createSetAttr(container, name, value).setSourceRange(range));
    };
    set('training', graph.insertConstant(true, range));
    set('_is_full_backward_hook', graph.insertConstant(null, range));
    for (const [name, module] of modules) set(name, module);
    return new ModuleValue(container, type);
  }

  #classOf(modules: readonly (readonly [string, Value])[], range: SourceRange): ClassType {
    const types = modules.map(([name, { type }]) => {
      if (type instanceof ClassType && type.isModule()) return [name, type] as const;
      throw compileError(range, `${type.reprStr()} is not a Module subclass`);
    });
    return newContainerClass(this.#unit, this.#kind, types);
  }
}

/** The self of `__init__`: what is assigned to becomes an attribute, parameter or submodule of the class. */
class ModuleInitSelf implements Self {
  readonly classType: ClassType;

  constructor(classType: ClassType) {
    this.classType = classType;
  }

  makeSugared(value: Value): SugaredValue {
    return new ModuleInitValue(value.setType(this.classType), this.classType);
  }
}

class ModuleInitValue extends ModuleValue {
  readonly #classType: ClassType;

  constructor(value: Value, type: ClassType) {
    super(value, type);
    this.#classType = type;
  }

  override attr(range: SourceRange, fn: GraphFunction, field: string): SugaredValue {
    switch (field) {
      case 'register_buffer':
        return new Registration((name, value) => this.#set(range, fn, name, value, 'buffer'));
      case 'register_parameter':
        return new Registration((name, value) => this.#set(range, fn, name, value, 'parameter'));
      case 'add_module':
      case 'register_module':
        return new Registration((name, value) => this.#set(range, fn, name, value, 'attribute'));
      default:
        return super.attr(range, fn, field);
    }
  }

  override setAttr(range: SourceRange, fn: GraphFunction, field: string, value: Value): void {
    this.#set(range, fn, field, value, parameters.has(value) ? 'parameter' : 'attribute');
  }

  #set(range: SourceRange, fn: GraphFunction, name: string, value: Value, kind: ClassAttributeKind): void {
    const { graphBeingDefined: graph } = fn;
    const { type } = value;
    const isTensor =
      type.isSubtypeOf(TensorType.get()) ||
      (type.kind === 'OptionalType' && type.containedTypes()[0] instanceof TensorType);
    // What stands in a branch is refused as in other classes.
    const isPlain = graph.insertPoint.owningBlock === graph.block;
    if (isTensor && isPlain && !this.#classType.hasAttribute(name)) {
      this.#classType.addAttribute(name, type, kind);
    }
    super.setAttr(range, fn, name, value);
  }
}

/** `self.register_buffer`: to be called with a name and a value. */
class Registration extends SugaredValue {
  readonly #register: (name: string, value: Value) => void;

  constructor(register: (name: string, value: Value) => void) {
    super();
    this.#register = register;
  }

  override kind(): string {
    return 'method';
  }

  override call({ range, fn, args }: SugaredCall): SugaredValue {
    const graph = fn.graphBeingDefined;
    const [name, value] = args;
    const text = name && constantValue(name.value(graph));
    if (typeof text !== 'string' || !value) throw compileError(range, 'expected a name, as a literal, and a value');
    this.#register(text, value.value(graph));
    return new SimpleValue(graph.insertConstant(null, range));
  }
}
