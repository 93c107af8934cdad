import type { Def, Stmt } from '../parser/tree.ts';
import { hasDecorator } from './unused-definition.ts';

/**
 * The forms of a function that `@torch.jit._overload` or `_overload_method` gives it: each has its own signature and the body of the
 * definition. None where it has one form only.
 *
 * @param statements those that it stands among
 */
export function overloadsOf(statements: readonly Stmt[], def: Def): readonly Def[] {
  return statements
    .filter((statement) => statement.kind === 'def' && statement.name.name === def.name.name && isOverload(statement))
    .map((form) => ({ ...def, decl: (form as Def).decl }));
}

function isOverload(def: Def): boolean {
  return hasDecorator(def, '_overload') || hasDecorator(def, '_overload_method');
}
