import { ClassType, Source, type GraphFunction, type InterfaceType } from '@cresset/ir';
import { ScriptObject, type Dict } from '@cresset/tensor';
import { compileError } from '../compilation-error.ts';
import { declareFunctions, declareHooks, declareProperties, type PropertyDef } from '../define.ts';
import { scriptObjectOf } from '../given/scripted-entities.ts';
import { parsePythonFile } from '../parser/python-parser.ts';
import type { Def } from '../parser/tree.ts';
import { MethodWrapper, PythonFunction, type PythonClass, type PythonObject } from '../python/interpreter/entities.ts';
import { entriesOf } from '../python/interpreter/containers.ts';
import { isUninitialized, registered } from '../python/interpreter/module-objects.ts';
import { pythonTypeName, type PythonValue } from '../python/python-value.ts';
import {
  attributeValue,
  ConcreteTypeInference,
  isSameType,
  lambdaMessage,
  type ConcreteModuleType,
} from './concrete-module-type.ts';
import { ModuleMembers } from './module-members.ts';
import { ModuleSelf } from './module-value.ts';
import type { ScriptProgram } from './script-program.ts';
import { hasDecorator, isIgnored, replaceUnusedBody } from './unused-definition.ts';

/** Makes modules of the program of Python's (PyTorch: torch.jit.script of an nn.Module, `create_script_module`). */
export class ModuleScripter {
  readonly #program: ScriptProgram;
  /** Classes that were made, with what modules of theirs hold. */
  readonly #known: { readonly concrete: ConcreteModuleType; readonly type: ClassType }[] = [];
  readonly #concrete = new Map<PythonObject, { readonly concrete: ConcreteModuleType; readonly type: ClassType }>();
  readonly #compiled = new Set<ClassType>();

  constructor(program: ScriptProgram) {
    this.#program = program;
  }

  /** Throws an ErrorReport where a method does not compile. */
  script(module: PythonObject): ScriptObject {
    const before = this.#known.length;
    try {
      this.#typeOf(module);
      return this.#make(module);
    } catch (error) {
      // What was not finished is made anew another time.
      this.#known.splice(before);
      throw error;
    } finally {
      this.#concrete.clear();
    }
  }

  #typeOf(module: PythonObject): ClassType {
    const scripted = scriptObjectOf(module);
    if (scripted !== undefined) return scripted.type;
    const known = this.#concrete.get(module);
    if (known !== undefined) return known.type;
    this.#checkInitialized(module);
    const concrete = new ConcreteTypeInference(this.#program, module).infer((each) => this.#typeOf(each));
    const same = this.#known.find((each) => isSameType(each.concrete, concrete));
    const type = same?.type ?? this.#makeType(concrete);
    if (same === undefined) this.#known.push({ concrete, type });
    this.#concrete.set(module, { concrete, type });
    return type;
  }

  #checkInitialized(module: PythonObject): void {
    const { name, definition } = module.type;
    if (!module.attributes.has('_parameters')) {
      throw compileError(
        definition?.def.range,
        `'${name}' object has no attribute '_parameters'. Did you forget to call super().__init__() in ${name}.__init__?`,
      );
    }
    for (const kind of ['_parameters', '_buffers'] as const) {
      const lazy = entriesOf(registered(module, kind)).find(([, value]) => isUninitialized(value));
      if (lazy === undefined) continue;
      throw compileError(
        undefined,
        `'${definition!.scope.module}.${name}' has uninitialized parameters ${lazy[0] as string}. Did you forget to run a forward pass?`,
      );
    }
  }

  #makeType(concrete: ConcreteModuleType): ClassType {
    const { unit } = this.#program;
    const { pythonClass } = concrete;
    const module = pythonClass.definition?.scope.module ?? '__main__';
    const plain = module === '__main__' ? `__torch__.${pythonClass.name}` : `__torch__.${module}.${pythonClass.name}`;
    const name = unit.getType(plain) === undefined ? plain : unit.mangle(plain);
    const type = new ClassType(name, { isModule: true, compilationUnit: unit });
    unit.registerType(type);
    for (const { name: attribute, type: attributeType, kind } of concrete.attributes) {
      type.addAttribute(attribute, attributeType, kind);
    }
    for (const [constant, value] of concrete.constants) type.addConstant(constant, value);
    for (const [submodule, submoduleType] of concrete.modules) type.addAttribute(submodule, submoduleType);
    ModuleMembers.attach(type, this.#program, concrete);
    return type;
  }

  /** The object, with what it holds, and then its methods: those of what it holds come first. */
  #make(module: PythonObject): ScriptObject {
    const scripted = scriptObjectOf(module);
    if (scripted !== undefined) return scripted;
    const { type } = this.#concrete.get(module)!;
    const { concrete } = this.#concrete.get(module)!;
    const object = new ScriptObject(type);
    for (const attribute of concrete.attributes) {
      object.setAttribute(attribute.name, attributeValue(this.#program, attribute));
    }
    for (const [name, declared, submodule] of concrete.modules) {
      const made = this.#make(submodule);
      checkInterface(name, declared, made.type);
      object.setAttribute(name, made);
    }
    if (!this.#compiled.has(type)) {
      this.#compiled.add(type);
      this.#compileMethods(type, concrete, module);
    }
    return object;
  }

  #compileMethods(
    type: ClassType,
    { pythonClass, container, modules }: ConcreteModuleType,
    module: PythonObject,
  ): void {
    this.#declareProperties(type, pythonClass);
    const members = ModuleMembers.of(type)!;
    const methods = methodsToCompile(this.#program, pythonClass).flatMap((name) => members.declareMethod(type, name));
    for (const method of methods) method.ensureDefined();
    this.#declareHooks(type, module);
    if (container !== undefined && container !== 'ParameterList' && container !== 'ParameterDict') {
      const names = modules.map(([name]) => `'${name}'`);
      const texts = [['__len__', `def __len__(self):\n    return ${modules.length}\n`]];
      if (container === 'ModuleDict') {
        const test = names.length === 0 ? 'False' : `key in [${names.join(', ')}]`;
        texts.push(['__contains__', `def __contains__(self, key: str):\n    return ${test}\n`]);
      }
      for (const [name, text] of texts) if (type.findMethod(name!) === undefined) this.#define(type, text!);
    }
  }

  #define(type: ClassType, text: string): void {
    const defs = parsePythonFile(new Source(text, '<container>')).definitions as readonly Def[];
    const options = { prefix: type.qualifiedName, resolver: this.#program, self: new ModuleSelf(type) };
    for (const fn of declareFunctions(this.#program.unit, defs, options)) fn.ensureDefined();
  }

  #declareProperties(type: ClassType, pythonClass: PythonClass): void {
    const unused = pythonClass.find('__jit_unused_properties__');
    const ignored = new Set(unused === undefined ? [] : [...this.#program.python.iterate(unused)].map(String));
    const declared: GraphFunction[] = [];
    for (const name of namesOf(pythonClass)) {
      const member = pythonClass.find(name);
      if (!(member instanceof MethodWrapper) || member.kind !== 'property' || ignored.has(name)) continue;
      const getter = member.fn;
      if (!(getter instanceof PythonFunction) || getter.def === undefined || isIgnored(getter.def)) continue;
      const setter = member.setter instanceof PythonFunction ? member.setter.def : undefined;
      const property: PropertyDef = {
        name,
        getter: renamed(getter.def, `__${name}_getter`),
        setter: setter && renamed(setter, `__${name}_setter`),
      };
      const resolver = this.#program.resolverFor(getter.scope);
      declareProperties(this.#program.unit, [property], {
        prefix: type.qualifiedName,
        resolver,
        self: new ModuleSelf(type),
      });
      declared.push(type.findMethod(property.getter.name.name) as GraphFunction);
    }
    for (const fn of declared) fn.ensureDefined();
  }

  #declareHooks(type: ClassType, module: PythonObject): void {
    for (const [kind, name] of [
      ['pre-forward', '_forward_pre_hooks'],
      ['forward', '_forward_hooks'],
    ] as const) {
      for (const hook of (module.attributes.get(name) as Dict).entries.values() as Iterable<PythonValue>) {
        if (!(hook instanceof PythonFunction)) {
          throw compileError(undefined, `'${pythonTypeName(hook)}' object has no attribute '__name__'`);
        }
        if (hook.def === undefined) throw compileError(undefined, lambdaMessage(hook));
        const options = {
          prefix: type.qualifiedName,
          resolver: this.#program.resolverFor(hook.scope),
          self: new ModuleSelf(type),
        };
        declareHooks(this.#program.unit, [hook.def], kind, options);
      }
    }
    for (const hook of [...type.forwardPreHooks, ...type.forwardHooks]) (hook as GraphFunction).ensureDefined();
  }
}

/** `forward` and what is exported (PyTorch: infer_methods_to_compile). */
function methodsToCompile({ python }: ScriptProgram, pythonClass: PythonClass): readonly string[] {
  const names: string[] = [];
  const forward = pythonClass.find('forward');
  const isOwn = forward !== python.moduleClass.members.get('forward');
  if (isOwn && forward instanceof PythonFunction && !isIgnored(forward.def!)) names.push('forward');
  for (const name of namesOf(pythonClass)) {
    const member = pythonClass.find(name);
    if (name !== 'forward' && member instanceof PythonFunction && member.def && hasDecorator(member.def, 'export')) {
      names.push(name);
    }
  }
  return names;
}

/** The names of a class's members in the order that Python lists them. */
function namesOf(pythonClass: PythonClass): readonly string[] {
  return [...new Set(pythonClass.mro.flatMap(({ members }) => [...members.keys()]))].sort();
}

function renamed(def: Def, name: string): Def {
  return replaceUnusedBody({ ...def, name: { ...def.name, name } });
}

/** Throws PyTorch's error where an attribute is annotated with an interface that its module does not have. */
function checkInterface(name: string, declared: ClassType | InterfaceType, own: ClassType): void {
  const whyNot: string[] = [];
  if (own.isSubtypeOf(declared, whyNot)) return;
  const [type, expected] = [own.reprStr(), declared.reprStr()];
  throw compileError(
    undefined,
    `Could not cast attribute '${name}' to type ${expected}: Object of type ${type} is not compatible with interface ${expected}\n${whyNot.join('')}`,
  );
}
