import { CressetError, type ClassType, type CompilationUnit, type GraphFunction, type Source } from '@cresset/ir';
import { compileError } from '../compilation-error.ts';
import { declareFunctions } from '../define.ts';
import { ModuleSelf } from './module-value.ts';
import { parsePythonFile } from '../parser/python-parser.ts';
import type { Resolver } from '../resolver.ts';
import { provideLibrary } from '../script.ts';
import type { Def } from '../parser/tree.ts';

/**
 * Compiles methods from source into the class of a module (PyTorch: Module::define). They see each other and those that the class has
 * already. Throws an ErrorReport where something does not compile; then the class is as it was.
 */
export function defineMethods(
  unit: CompilationUnit,
  classType: ClassType,
  source: Source,
  resolver: Resolver,
): readonly GraphFunction[] {
  provideLibrary();
  const { definitions } = parsePythonFile(source);
  for (const { kind, name, range } of definitions) {
    if (kind !== 'def') throw compileError(range, `expected def but found '${kind}' here`);
    if (classType.findMethod(name.name) === undefined) continue;
    throw new CressetError('IR_TYPE', `Can't redefine method: ${name.name} on class: ${classType.reprStr()}`);
  }
  const self = new ModuleSelf(classType);
  const known = new Set(classType.methods);
  try {
    const methods = declareFunctions(unit, definitions as readonly Def[], {
      prefix: classType.qualifiedName,
      resolver,
      self,
    });
    methods.forEach((method) => method.ensureDefined());
    return methods;
  } catch (error) {
    for (const method of classType.methods.filter((each) => !known.has(each))) {
      classType.removeMethod(method.name);
      unit.removeFunction(method.qualifiedName);
    }
    throw error;
  }
}
