import type { ClassType, GraphFunction, SourceRange, Value } from '@cresset/ir';
import { declareFunctions, makeTypeParser } from '../define.ts';
import type { Def } from '../parser/tree.ts';
import { MethodWrapper, PythonFunction } from '../python/interpreter/entities.ts';
import { MethodValue } from '../values/simple-value.ts';
import type { SugaredValue } from '../values/sugared-value.ts';
import type { ConcreteModuleType } from './concrete-module-type.ts';
import { ModuleSelf, setModuleMembers, type ContainerKind, type MembersOfModule } from './module-value.ts';
import type { ScriptProgram } from './script-program.ts';
import { toSugared } from './sugared-python.ts';
import { overloadsOf } from './overloads.ts';
import { IgnoredFunctionValue, isIgnored, replaceUnusedBody, withoutVariadics } from './unused-definition.ts';

const membersOf = new WeakMap<ClassType, ModuleMembers>();

/** The members of modules of one class. */
export class ModuleMembers implements MembersOfModule {
  readonly #program: ScriptProgram;
  readonly #concrete: ConcreteModuleType;
  readonly #overloads = new Map<string, readonly GraphFunction[]>();

  private constructor(program: ScriptProgram, concrete: ConcreteModuleType) {
    this.#program = program;
    this.#concrete = concrete;
  }

  /** Gives a class what its modules hold. */
  static attach(type: ClassType, program: ScriptProgram, concrete: ConcreteModuleType): void {
    const members = new ModuleMembers(program, concrete);
    membersOf.set(type, members);
    setModuleMembers(type, members);
  }

  /** Those of a class; undefined where no Python made it. */
  static of(type: ClassType): ModuleMembers | undefined {
    return membersOf.get(type);
  }

  get container(): ContainerKind | undefined {
    return this.#concrete.container;
  }

  get parameters(): readonly string[] {
    return this.#concrete.attributes.filter(({ kind }) => kind === 'parameter').map(({ name }) => name);
  }

  find(field: string, self: Value, fn: GraphFunction, range: SourceRange): SugaredValue | undefined {
    const { functions, pythonClass } = this.#concrete;
    const value = functions.get(field);
    if (value !== undefined) return toSugared(this.#program, value, fn, range);
    const member = pythonClass.find(field);
    if (member instanceof MethodWrapper && member.kind === 'staticmethod') {
      return toSugared(this.#program, member.fn, fn, range);
    }
    const method = member instanceof MethodWrapper ? member.fn : member;
    if (!(method instanceof PythonFunction) || method.def === undefined) return undefined;
    const { def } = method;
    if (isIgnored(def)) {
      const parser = makeTypeParser(this.#program.resolverFor(method.scope));
      return new IgnoredFunctionValue(parser.parseSchemaFromDef(withoutVariadics(def), true));
    }
    const declared = this.#overloads.get(field) ?? this.declareMethod(self.type as ClassType, field);
    if (declared.length === 1) return new MethodValue(self, field);
    return new MethodValue(self, ...declared.map(({ name }) => name));
  }

  /** Makes a method one of the class: several where it is overloaded. */
  declareMethod(type: ClassType, name: string): readonly GraphFunction[] {
    const known = this.#overloads.get(name);
    if (known !== undefined) return known;
    const member = this.#concrete.pythonClass.find(name);
    const method = (member instanceof MethodWrapper ? member.fn : member) as PythonFunction;
    const def = { ...method.def!, name: { ...method.def!.name, name } };
    const forms = overloadsOf(method.owner?.definition?.def.body ?? [], def);
    const defs: readonly Def[] =
      forms.length === 0
        ? [replaceUnusedBody(def)]
        : forms.map((form, at) => ({ ...form, name: { ...form.name, name: `${name}__${at}` } }));
    const declared = declareFunctions(this.#program.unit, defs, {
      prefix: type.qualifiedName,
      resolver: this.#program.resolverFor(method.scope),
      self: new ModuleSelf(type),
    });
    this.#overloads.set(name, declared);
    return declared;
  }

  hint(field: string): string {
    return this.#concrete.failed.get(field) ?? '';
  }
}
