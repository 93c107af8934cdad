import type { CompilationUnit, GraphFunction, NamedType, SourceRange, Type } from '@cresset/ir';
import { ClassValue, FunctionValue, NamedTupleConstructor, SugaredEnumClass } from './values/callable-value.ts';
import { OpsValue } from './native-resolver.ts';
import { ModuleClassValue, resolvePythonName } from './python/python-modules.ts';
import type { Resolver } from './resolver.ts';
import type { SugaredValue } from './values/sugared-value.ts';

/** What source means by a name of Python's, or by that of a function or class that units hold. */
export class UnitResolver implements Resolver {
  readonly #units: readonly CompilationUnit[];
  readonly #namespace: string;

  /** @param units those before win */
  constructor(units: readonly CompilationUnit[], namespace = '__torch__') {
    this.#units = units;
    this.#namespace = namespace;
  }

  resolveType(name: string): Type | undefined {
    for (const unit of this.#units) {
      const found = unit.getType(`${this.#namespace}.${name}`) ?? unit.getType(name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  resolveValue(name: string, _fn: GraphFunction, _range: SourceRange): SugaredValue | undefined {
    for (const unit of this.#units) {
      const type = unit.getType(`${this.#namespace}.${name}`);
      if (type !== undefined) return typeAsValue(type);
      const fn = unit.findFunction(`${this.#namespace}.${name}`);
      if (fn !== undefined) return new FunctionValue(fn);
    }
    // Printed code has this name for the operators of all namespaces.
    return name === 'ops' ? new OpsValue() : resolvePythonName(name);
  }
}

/** What the name of a class stands for in an expression. */
export function typeAsValue(type: NamedType): SugaredValue | undefined {
  switch (type.kind) {
    case 'ClassType':
      return type.isModule() ? new ModuleClassValue(type.name) : new ClassValue(type);
    case 'TupleType':
      return new NamedTupleConstructor(type);
    case 'EnumType':
      return new SugaredEnumClass(type);
    default:
      return undefined;
  }
}
