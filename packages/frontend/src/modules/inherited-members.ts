import type { ClassDef, Stmt } from '../parser/tree.ts';
import { PythonClass } from '../python/interpreter/entities.ts';
import type { Scope } from '../python/interpreter/scope.ts';

/** A class with what it has of the classes that it derives from: PyTorch compiles all of its members into one. */
export function mergedWithBases(classDef: ClassDef, globals: Scope): ClassDef {
  const value = globals.names.get(classDef.name.name);
  if (!(value instanceof PythonClass)) return classDef;
  const bases = value.mro.slice(1).flatMap(({ definition }) => (definition === undefined ? [] : [definition.def]));
  if (bases.length === 0) return classDef;
  const names = new Set(classDef.body.flatMap(namesOf));
  const inherited: Stmt[] = [];
  for (const base of bases) {
    const statements = base.body.filter((statement) => namesOf(statement).some((name) => !names.has(name)));
    inherited.push(...statements);
    for (const name of base.body.flatMap(namesOf)) names.add(name);
  }
  return { ...classDef, body: [...inherited, ...classDef.body] };
}

function namesOf(statement: Stmt): readonly string[] {
  if (statement.kind === 'def') return [statement.name.name];
  if (statement.kind !== 'assign') return [];
  return statement.lhsList.flatMap((target) => (target.kind === 'var' ? [target.name.name] : []));
}
