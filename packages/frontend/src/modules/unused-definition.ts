import { TensorType, type FunctionSchema } from '@cresset/ir';
import { matchSchema } from '../emission/schema-matching.ts';
import { dottedName } from '../script-type-parser.ts';
import { SimpleValue } from '../values/simple-value.ts';
import { SugaredValue, type SugaredCall } from '../values/sugared-value.ts';
import { makeApply, makeVar, type Def, type Expr } from '../parser/tree.ts';

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
  const params = withoutVariadics(def).decl.params.map((param) => ({ ...param, type: makeVar(param.range, 'Any') }));
  return {
    ...def,
    refusal: undefined,
    decl: { ...def.decl, params },
    statements: [{ kind: 'raise', range, expr: makeApply(range, makeVar(range, 'RuntimeError'), [message]) }],
  };
}

/** A definition with the parameters that have places or names of their own. */
export function withoutVariadics(def: Def): Def {
  return { ...def, decl: { ...def.decl, params: def.decl.params.filter(({ variadic }) => variadic === '') } };
}

/** Whether a function is left to Python: `@torch.jit.unused` or `@torch.jit.ignore`. */
export function isIgnored(def: Def): boolean {
  return hasDecorator(def, 'unused') || hasDecorator(def, 'ignore');
}

/** A function that is left to Python: programs may call it, and fail where they do (PyTorch: PythonValue of a dropped function). */
export class IgnoredFunctionValue extends SugaredValue {
  readonly #schema: FunctionSchema;

  constructor(schema: FunctionSchema) {
    super();
    this.#schema = schema;
  }

  override kind(): string {
    return 'python function';
  }

  override call({ range, fn, args, kwargs }: SugaredCall): SugaredValue {
    const graph = fn.graphBeingDefined;
    const matched = matchSchema(this.#schema, { range, graph, args, kwargs });
    const message = 'This Python function is annotated to be ignored and cannot be run';
    const inputs = [graph.insertConstant(message, range), graph.insertConstant(null, range)];
    graph.insertNode(graph.create('prim::RaiseException', inputs, 0).setSourceRange(range));
    const type = matched.returnTypes[0] ?? TensorType.get();
    return new SimpleValue(graph.insertNode(graph.createUninitialized(type)).output());
  }
}
