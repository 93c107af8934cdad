import type { ClassType, CompilationUnit, GraphFunction, Source } from '@cresset/ir';
import { compileError } from './compilation-error.ts';
import { declareFunctions } from './define.ts';
import { ModuleSelf } from './module-value.ts';
import { parseProgram } from './parser.ts';
import type { Resolver } from './resolver.ts';
import { useCompilerForLibrary } from './script.ts';
import type { Def } from './tree.ts';

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
  useCompilerForLibrary();
  const definitions = parseProgram(source, 'python');
  const stray = definitions.find((definition) => definition.kind !== 'def');
  if (stray) throw compileError(stray.range, 'a module is defined by methods: classes belong to a compilation unit');
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
