import { dottedName } from './script-type-parser.ts';
import { makeApply, makeVar, type Def, type Expr } from './tree.ts';

/** The dotted name of a decorator, called or not. */
export function decoratorName(expr: Expr): string {
  return dottedName(expr.kind === 'apply' ? expr.callee : expr) ?? '';
}

/** Whether a definition is marked with one of `torch.jit`'s decorators, under whatever name the module goes by. */
export function hasDecorator(def: Def, name: string): boolean {
  return def.decorators.some((decorator) => decoratorName(decorator).split('.').at(-1) === name);
}

/**
 * A definition marked `@torch.jit.unused` as PyTorch compiles it: it takes anything, and raises an error when it is called (PyTorch:
 * get_jit_def). Others stay as they are.
 */
export function replaceUnusedBody(def: Def): Def {
  if (!hasDecorator(def, 'unused')) {
    return def;
  }
  const { range } = def;
  const message: Expr = { kind: 'string', range, text: 'Cannot call @unused methods' };
  const params = def.decl.params.map((param) => ({ ...param, type: makeVar(param.range, 'Any') }));
  return {
    ...def,
    decl: { ...def.decl, params },
    statements: [{ kind: 'raise', range, expr: makeApply(range, makeVar(range, 'RuntimeError'), [message]) }],
  };
}
