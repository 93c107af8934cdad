import { ErrorReport, InterfaceType, NoneType, TensorType, type ClassType, type Type } from '@cresset/ir';
import { Dict, List, Tensor, Tuple, type IValue } from '@cresset/tensor';
import { compileError } from '../compilation-error.ts';
import { makeTypeParser } from '../define.ts';
import { OutsideFunction } from '../given/outside-function.ts';
import { ScriptedFunction } from '../given/scripted-entities.ts';
import type { Expr } from '../parser/tree.ts';
import { entriesOf, itemsIn } from '../python/interpreter/containers.ts';
import {
  NativeFunction,
  PythonFunction,
  QualifiedName,
  type PythonClass,
  PythonObject,
} from '../python/interpreter/entities.ts';
import { MODULE_INTERNALS, registered } from '../python/interpreter/module-objects.ts';
import type { Scope } from '../python/interpreter/scope.ts';
import {
  CastError,
  castToType,
  inferType,
  PythonEntity,
  pythonTypeName,
  TorchCode,
  type PythonValue,
} from '../python/python-value.ts';
import { dottedName } from '../script-type-parser.ts';
import { annotationText, isTextToPython } from './annotation-text.ts';
import type { ContainerKind } from './module-value.ts';
import type { ScriptProgram } from './script-program.ts';
import { valueForScript } from './script-values.ts';

interface TypedAttribute {
  readonly name: string;
  readonly type: Type;
  readonly kind: 'attribute' | 'parameter' | 'buffer';
  readonly value: PythonValue;
}

/** What is known of a module before it is compiled: what it holds, and of which types (PyTorch: ConcreteModuleType). */
export interface ConcreteModuleType {
  readonly pythonClass: PythonClass;
  readonly container: ContainerKind | undefined;
  readonly attributes: readonly TypedAttribute[];
  readonly constants: ReadonlyMap<string, IValue>;
  readonly modules: readonly (readonly [name: string, type: ClassType | InterfaceType, module: PythonObject])[];
  /** Functions that are attributes, with what they are to the compiler. */
  readonly functions: ReadonlyMap<string, PythonValue>;
  /** Why attributes are none of the program. */
  readonly failed: ReadonlyMap<string, string>;
  readonly hooks: readonly PythonValue[];
}

/** Whether two modules can be of one class of the program. */
export function isSameType(one: ConcreteModuleType, other: ConcreteModuleType): boolean {
  return (
    one.pythonClass === other.pythonClass &&
    one.attributes.length === other.attributes.length &&
    one.attributes.every(({ name, type, kind }, at) => {
      const like = other.attributes[at]!;
      return name === like.name && kind === like.kind && type.equals(like.type);
    }) &&
    one.modules.length === other.modules.length &&
    one.modules.every(([name, type], at) => name === other.modules[at]![0] && type === other.modules[at]![1]) &&
    isSameMap(one.constants, other.constants, isSameConstant) &&
    isSameMap(one.functions, other.functions, isSameFunction) &&
    one.hooks.length === other.hooks.length &&
    one.hooks.every((hook, at) => hook === other.hooks[at])
  );
}

function isSameMap<T>(
  one: ReadonlyMap<string, T>,
  other: ReadonlyMap<string, T>,
  isSame: (a: T, b: T) => boolean,
): boolean {
  return one.size === other.size && [...one].every(([key, value]) => other.has(key) && isSame(value, other.get(key)!));
}

function isSameFunction(a: PythonValue, b: PythonValue): boolean {
  if (a instanceof QualifiedName && b instanceof QualifiedName) return a.path === b.path;
  return a === b;
}

function isSameConstant(a: IValue, b: IValue): boolean {
  if (a instanceof Tuple && b instanceof Tuple) {
    return a.items.length === b.items.length && a.items.every((item, at) => isSameConstant(item, b.items[at]!));
  }
  return Object.is(a, b);
}

/** Finds out what a module holds (PyTorch: infer_concrete_type_builder). Throws an ErrorReport for a constant that can be none. */
export class ConcreteTypeInference {
  readonly #program: ScriptProgram;
  readonly #module: PythonObject;
  readonly #annotations: ReadonlyMap<string, Expr>;
  readonly #annotatedIn: PythonClass | undefined;
  readonly #attributes: TypedAttribute[] = [];
  readonly #constants = new Map<string, IValue>();
  readonly #functions = new Map<string, PythonValue>();
  readonly #failed = new Map<string, string>();
  readonly #added = new Set<string>();

  constructor(program: ScriptProgram, module: PythonObject) {
    this.#program = program;
    this.#module = module;
    // Of several classes the nearest that annotates anything counts.
    this.#annotatedIn = module.type.mro.find(({ annotations }) => annotations.size > 0);
    this.#annotations = this.#annotatedIn?.annotations ?? new Map<string, Expr>();
  }

  /** @param typeOf the class of a module that this one holds */
  infer(typeOf: (module: PythonObject) => ClassType): ConcreteModuleType {
    const module = this.#module;
    this.#addTensors('_parameters', 'parameter');
    this.#addTensors('_buffers', 'buffer');
    const modules: [string, ClassType | InterfaceType, PythonObject][] = [];
    for (const [name, each] of this.#registered('_modules')) {
      const annotated = this.#annotated(name);
      if (each === null) {
        this.#add(name, annotated ?? NoneType.get(), 'attribute', null);
        continue;
      }
      if (annotated !== undefined && !(annotated instanceof InterfaceType)) {
        throw compileError(undefined, `Expected inferred type to be interface type for '${name}'`);
      }
      const own = typeOf(each as PythonObject);
      // What is annotated with an interface may be exchanged for another module that has it.
      modules.push([name, annotated ?? own, each as PythonObject]);
      this.#added.add(name);
    }
    this.#addConstants();
    this.#add('training', inferType(true), 'attribute', module.attributes.get('training')!);
    this.#add('_is_full_backward_hook', NoneType.get(), 'attribute', null);
    for (const [name, value] of module.attributes) {
      if (MODULE_INTERNALS.has(name) || name.startsWith('__') || this.#added.has(name) || this.#isIgnored(name))
        continue;
      this.#addData(name, value);
    }
    return {
      pythonClass: module.type,
      container: containerKindOf(this.#program, module),
      attributes: this.#attributes,
      constants: this.#constants,
      modules,
      functions: this.#functions,
      failed: this.#failed,
      hooks: ['_forward_pre_hooks', '_forward_hooks'].flatMap((kind) => [
        ...(module.attributes.get(kind) as Dict).entries.values(),
      ]),
    };
  }

  #registered(kind: '_parameters' | '_buffers' | '_modules'): readonly (readonly [string, PythonValue])[] {
    return entriesOf(registered(this.#module, kind))
      .map(([name, value]) => [name as string, value] as const)
      .filter(([name]) => !this.#isIgnored(name));
  }

  #isIgnored(name: string): boolean {
    const ignored = this.#module.type.find('__jit_ignored_attributes__');
    return ignored instanceof List && ignored.items.includes(name);
  }

  #addTensors(from: '_parameters' | '_buffers', kind: 'parameter' | 'buffer'): void {
    for (const [name, value] of this.#registered(from)) {
      this.#add(name, this.#annotated(name) ?? (value === null ? NoneType.get() : TensorType.get()), kind, value);
    }
  }

  #add(name: string, type: Type, kind: TypedAttribute['kind'], value: PythonValue): void {
    this.#attributes.push({ name, type, kind, value });
    this.#added.add(name);
  }

  /** The type that the class says of an attribute; undefined where it says none. Throws an ErrorReport for what is none (PyTorch: ann_to_type). */
  #annotated(name: string): Type | undefined {
    const annotation = this.#annotations.get(name);
    if (annotation === undefined) return undefined;
    const { scope } = this.#annotatedIn!.definition!;
    const type = isTextToPython(annotation, scope) ? undefined : this.#typeOf(annotation, scope);
    if (type !== undefined) return type;
    const { python } = this.#program;
    if (annotation.kind === 'subscript' && annotation.subscripts.some(({ kind }) => kind === 'dots')) {
      const value = python.text(python.getAttribute(this.#module, name));
      throw compileError(undefined, `Error inferring type for ${name}: ${value}: Can not create tuple with None type`);
    }
    const text = annotationText(python, annotation, scope);
    const contained =
      annotation.kind === 'subscript' && /(^|\.)Optional\[/.test(text) ? annotation.subscripts[0]! : undefined;
    throw compileError(
      undefined,
      contained === undefined
        ? `Unknown type annotation: '${text}' at `
        : `Unsupported annotation ${text} could not be resolved because ${annotationText(python, contained, scope)} could not be resolved. At\n`,
    );
  }

  #typeOf(annotation: Expr, scope: Scope): Type | undefined {
    try {
      const type = makeTypeParser(this.#program.resolverFor(scope)).parseTypeFromExpr(unwrapFinal(annotation));
      return ['AnyListType', 'AnyTupleType'].includes(type.kind) ? undefined : type;
    } catch (error) {
      if (!(error instanceof ErrorReport)) throw error;
      return undefined;
    }
  }

  #addConstants(): void {
    const { python } = this.#program;
    const listed = this.#module.type.find('__constants__');
    const names = new Set(listed === undefined ? [] : [...python.iterate(listed)].map(String));
    for (const [name, annotation] of this.#annotations) {
      if (isFinal(annotation) && !isTextToPython(annotation, this.#annotatedIn!.definition!.scope)) names.add(name);
    }
    for (const name of names) {
      const value = this.#added.has(name) ? undefined : python.getAttributeOrUndefined(this.#module, name);
      if (value === undefined) continue;
      this.#constants.set(name, this.#constant(name, value));
      this.#added.add(name);
    }
  }

  /** PyTorch: _get_valid_constant. */
  #constant(name: string, value: PythonValue): IValue {
    if (value instanceof TorchCode) return value.code;
    if (value instanceof List || value instanceof Tuple) {
      return new Tuple(itemsIn(value).map((item) => this.#constant(name, item)));
    }
    const isPlain = value === null || ['boolean', 'bigint', 'number', 'string'].includes(typeof value);
    if (isPlain || pythonTypeName(value) === 'device') return value as IValue;
    const type = typeNameOf(value);
    throw compileError(
      undefined,
      `\n'${type}' object in attribute '${this.#module.type.name}.${name}' is not a valid constant.\nValid constants are:\n` +
        '1. a nn.ModuleList\n2. a value of type {bool, float, int, str, NoneType, torch.device, torch.layout, torch.dtype, torch.qscheme}\n' +
        '3. a list or tuple of (2)\n',
    );
  }

  #addData(name: string, value: PythonValue): void {
    if (value instanceof PythonFunction) {
      this.#addFunction(name, value);
      return;
    }
    if (value instanceof OutsideFunction || value instanceof ScriptedFunction) {
      this.#functions.set(name, value);
      return;
    }
    if (value instanceof QualifiedName || (value instanceof NativeFunction && value.path !== undefined)) {
      this.#functions.set(name, value);
      return;
    }
    const annotated = this.#annotated(name);
    const type = annotated ?? this.#inferred(name, value);
    if (type === undefined) return;
    this.#add(name, type, 'attribute', value);
  }

  #addFunction(name: string, fn: PythonFunction): void {
    if (fn.def === undefined) {
      this.#failed.set(name, functionFailure(lambdaMessage(fn)));
      return;
    }
    try {
      for (const compiled of this.#program.compiledFunctions(fn)) compiled.ensureDefined();
      this.#functions.set(name, fn);
    } catch (error) {
      if (!(error instanceof ErrorReport)) throw error;
      this.#failed.set(name, functionFailure(error.message));
    }
  }

  #holdsModule(value: PythonValue): boolean {
    return value instanceof List && value.items.length > 0 && this.#program.python.isModule(value.items[0]!);
  }

  #inferred(name: string, value: PythonValue): Type | undefined {
    try {
      return inferType(valueForScript(this.#program, value));
    } catch (error) {
      if (!(error instanceof CastError)) throw error;
      this.#failed.set(
        name,
        `(This attribute exists on the Python module, but we failed to convert Python type: '${typeNameOf(value)}' ` +
          `to a TorchScript type. ${reasonOf(error, value, this.#holdsModule(value))}. Its type was inferred; try adding a type annotation for the attribute.)`,
      );
      return undefined;
    }
  }
}

/** Why a lambda is not compiled. */
export function lambdaMessage(fn: PythonFunction): string {
  const [file, line] = fn.lambda!.range.fileLineCol()!;
  return `Expected a single top-level function: ${file}:${line}`;
}

function functionFailure(reason: string): string {
  return (
    '(This function exists as an attribute on the Python module, but we failed to compile it to a TorchScript function. ' +
    `\nThe error stack is reproduced here:\n${reason})`
  );
}

function reasonOf(error: CastError, value: PythonValue, isModule: boolean): string {
  if (isModule) return 'Could not infer type of list element: Cannot infer concrete type of torch.nn.Module';
  if (value instanceof List || value instanceof Dict)
    return error.message.replace(/^Tracer cannot infer type of [^]*\n:/, '');
  return (
    'Only tensors and (possibly nested) tuples of tensors, lists, or dicts are supported as inputs or outputs of traced functions, ' +
    `but instead got value of type ${pythonTypeName(value)}.`
  );
}

/** `torch.typename` of a value's class. */
function typeNameOf(value: PythonValue): string {
  const name = pythonTypeName(value);
  if (value instanceof Tensor) return 'torch.Tensor';
  if (value instanceof PythonObject && value.type.native.module !== undefined)
    return `${value.type.native.module}.${name}`;
  return value instanceof PythonEntity && !(value instanceof NativeFunction) && /^[A-Z]/.test(name)
    ? `__main__.${name}`
    : name;
}

function isFinal(annotation: Expr): boolean {
  const name = annotation.kind === 'subscript' ? annotation.value : annotation;
  return /(^|\.)Final$/.test(dottedName(name) ?? '');
}

function unwrapFinal(annotation: Expr): Expr {
  return annotation.kind === 'subscript' && isFinal(annotation) ? annotation.subscripts[0]! : annotation;
}

function containerKindOf({ python }: ScriptProgram, { type }: PythonObject): ContainerKind | undefined {
  const kinds = ['ModuleDict', 'ModuleList', 'Sequential', 'ParameterList', 'ParameterDict'] as const;
  return kinds.find((kind) => type.mro.some((each) => each.name === kind && each === python.torch.nnClass(kind)));
}

/** The value of an attribute as one of its type. Throws an ErrorReport where it is none. */
export function attributeValue(program: ScriptProgram, { name, type, value }: TypedAttribute): IValue {
  try {
    return castToType(valueForScript(program, value, type), type);
  } catch (error) {
    if (!(error instanceof CastError)) throw error;
    const reason = error.message.replace(/^Cast error details: /, '');
    throw compileError(undefined, `Could not cast attribute '${name}' to type ${type.reprStr()}: ${reason}`);
  }
}
