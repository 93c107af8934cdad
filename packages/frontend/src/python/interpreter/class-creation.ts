import type { ClassDef } from '../../parser/tree.ts';
import { PythonError } from '../python-arithmetic.ts';
import type { PythonValue } from '../python-value.ts';
import { MethodWrapper, PythonClass, PythonFunction } from './entities.ts';
import type { Interpreter } from './interpreter.ts';
import { Scope, Unusable } from './scope.ts';

/** Runs the body of a class, whose names become its members. */
export function createClass(python: Interpreter, def: ClassDef, scope: Scope): PythonValue {
  const bases = def.bases.flatMap((base): PythonClass[] => {
    const value = python.evaluate(base, scope);
    if (value instanceof PythonClass) return [value];
    // `Generic[T]`, `Protocol`: they are for annotations only.
    if (python.isType(value)) return [];
    throw new PythonError('bases must be types');
  });
  const special = python.special.specialClass(def, bases, scope);
  if (special !== undefined) return special;
  const type = new PythonClass(
    def.name.name,
    bases.length === 0 ? [python.object] : bases,
    python.nativeClassOf(scope.module, def.name.name),
    { def, scope: scope.enclosing },
  );
  const body = new Scope(scope.enclosing, 'class', scope.module);
  python.withAnnotations(body, type, () => python.execute(def.body, body));
  for (const [name, value] of body.names) {
    if (value instanceof Unusable) continue;
    type.members.set(name, value);
    adopt(value, type);
  }
  for (const base of type.mro.slice(1)) {
    const hook = base.members.get('__init_subclass__');
    if (hook === undefined) continue;
    python.call(hook instanceof MethodWrapper ? hook.fn : hook, [type]);
    break;
  }
  return type;
}

/** Tells the functions of a class whose they are: `super()` asks. */
function adopt(value: PythonValue, type: PythonClass): void {
  if (value instanceof PythonFunction) value.owner ??= type;
  if (!(value instanceof MethodWrapper)) return;
  adopt(value.fn, type);
  if (value.setter !== undefined) adopt(value.setter, type);
}
