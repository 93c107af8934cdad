import type { NamedType, ScriptFunction, SourceRange } from '@cresset/ir';
import { ScriptObject } from '@cresset/tensor';
import { compileError } from '../compilation-error.ts';
import { setItem } from '../python/interpreter/containers.ts';
import { PythonClass, PythonObject } from '../python/interpreter/entities.ts';
import type { Interpreter } from '../python/interpreter/interpreter.ts';
import { initializeModule, makeParameter, registered } from '../python/interpreter/module-objects.ts';
import { PythonEntity } from '../python/python-value.ts';
import { typeAsValue } from '../unit-resolver.ts';
import { FunctionValue } from '../values/callable-value.ts';
import type { Member } from './given-value.ts';
import { OpaquePythonValue } from '../values/opaque-python-value.ts';
import type { SugaredValue } from '../values/sugared-value.ts';

/** A function that was compiled or traced before (torch.jit.ScriptFunction). */
export class ScriptedFunction extends PythonEntity {
  override readonly pythonType = 'ScriptFunction';

  constructor(readonly fn: ScriptFunction) {
    super();
  }
}

/** A class, named tuple or enum that was compiled before. */
export class ScriptedClass extends PythonEntity {
  override readonly pythonType = 'type';

  constructor(readonly type: NamedType) {
    super();
  }
}

/** What was compiled together, as Python's module of it. */
export class ScriptedUnit extends PythonEntity {
  override readonly pythonType = 'module';
  readonly #find: (name: string) => Member | undefined;

  constructor(find: (name: string) => Member | undefined) {
    super();
    this.#find = find;
  }

  /** A function or class of it; undefined where there is none of that name. */
  member(name: string): ScriptedFunction | ScriptedClass | undefined {
    const member = this.#find(name);
    return member && scriptedMember(member);
  }
}

/** A function or class that was compiled before, as Python has it. */
export function scriptedMember(member: Member): ScriptedFunction | ScriptedClass {
  return 'schema' in member ? new ScriptedFunction(member) : new ScriptedClass(member);
}

/** Modules that were compiled before, with what stands for them in Python. */
const scriptObjects = new WeakMap<PythonObject, ScriptObject>();

/** The compiled module that an object of Python's is; undefined for one that Python made. */
export function scriptObjectOf(object: PythonObject): ScriptObject | undefined {
  return scriptObjects.get(object);
}

/** A compiled module as Python has it (torch.jit.ScriptModule): it can be made part of a module, which then shares it. */
export function scriptedModule(python: Interpreter, module: ScriptObject): PythonObject {
  const object = new PythonObject(new PythonClass(module.type.name, [python.moduleClass]));
  initializeModule(object);
  scriptObjects.set(object, module);
  module.type.attributes.forEach(({ name, type, kind }, slot) => {
    const value = module.slots[slot] ?? null;
    if (value instanceof ScriptObject) {
      if (type.kind === 'ClassType' && value.type.isModule()) {
        setItem(registered(object, '_modules'), name, scriptedModule(python, value));
      }
    } else if (kind === 'parameter' && value !== null) {
      setItem(
        registered(object, '_parameters'),
        name,
        makeParameter(value as Parameters<typeof makeParameter>[0], true),
      );
    } else if (kind === 'buffer') {
      setItem(registered(object, '_buffers'), name, value);
    } else {
      object.attributes.set(name, value);
    }
  });
  return object;
}

/** What was compiled or traced before, in a function that is compiled; undefined for any other value. */
export function scriptedValue(value: PythonEntity, range: SourceRange): SugaredValue | undefined {
  if (value instanceof ScriptedFunction) return new FunctionValue(value.fn);
  if (value instanceof ScriptedClass) return typeAsValue(value.type);
  if (value instanceof ScriptedUnit) return new UnitValue(value);
  if (value instanceof PythonObject && scriptObjects.has(value)) {
    throw compileError(range, 'Cannot call a ScriptModule that is not a submodule of the caller');
  }
  return undefined;
}

/** A unit by its name: functions and classes are its members. */
class UnitValue extends OpaquePythonValue {
  readonly #unit: ScriptedUnit;

  constructor(unit: ScriptedUnit) {
    super();
    this.#unit = unit;
  }

  protected override pythonType(): string {
    return 'module';
  }

  override attr(range: SourceRange, _fn: unknown, field: string): SugaredValue {
    const member = this.#unit.member(field);
    const value = member && scriptedValue(member, range);
    if (value === undefined) throw compileError(range, `object has no attribute ${field}`);
    return value;
  }
}
