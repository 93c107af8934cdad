import { CressetError } from '@cresset/ir';
import type { PythonForm, PythonStatementForm } from '../../parser/python-tree.ts';
import type { Def, Expr, For, Stmt, While, With } from '../../parser/tree.ts';
import { PythonError } from '../python-arithmetic.ts';
import type { PythonValue } from '../python-value.ts';
import type { Interpreter } from './interpreter.ts';
import type { Scope } from './scope.ts';
import { enterContext, handlerOf, runsOf, type Exit } from './statements.ts';

type Suspension = Extract<PythonForm, { kind: 'suspension' }>;
type Steps = Generator<PythonValue, Exit, PythonValue | undefined>;

const generators = new WeakMap<Def, boolean>();

/** Whether calling a function makes a generator: something in it yields. */
export function isGenerator(def: Def): boolean {
  let known = generators.get(def);
  if (known === undefined) generators.set(def, (known = def.statements.some(doesYield)));
  return known;
}

function doesYield(statement: Stmt): boolean {
  return suspensionOf(statement) !== undefined || blocksOf(statement).some((block) => block.some(doesYield));
}

/** The `yield` of a statement that is one, or that gives its value to something. */
function suspensionOf(statement: Stmt): Suspension | undefined {
  const expr = statement.kind === 'expr' ? statement.expr : statement.kind === 'assign' ? statement.rhs : undefined;
  return isSuspension(expr) ? expr.form : undefined;
}

function isSuspension(expr: Expr | undefined): expr is Extract<Expr, { kind: 'python' }> & { form: Suspension } {
  return expr?.kind === 'python' && expr.form.kind === 'suspension' && expr.form.keyword !== 'await';
}

function blocksOf(statement: Stmt): readonly (readonly Stmt[])[] {
  switch (statement.kind) {
    case 'if':
      return [statement.trueBranch, statement.falseBranch];
    case 'while':
    case 'for':
    case 'with':
      return [statement.body];
    case 'python': {
      const { form } = statement;
      if (form.kind === 'loop-else') return [form.loop.body, form.orElse];
      if (form.kind !== 'try') return [];
      return [form.body, ...form.handlers.map(({ body }) => body), form.orElse, form.finalBody];
    }
    default:
      return [];
  }
}

/** Runs the body of a generator from one `yield` to the next. Throws a PythonError where Python would raise. */
export function* generate(python: Interpreter, statements: readonly Stmt[], scope: Scope): Steps {
  for (const statement of statements) {
    python.step();
    const exit = doesYield(statement)
      ? yield* generateOne(python, statement, scope)
      : python.execute([statement], scope);
    if (exit !== undefined) return exit;
  }
  return undefined;
}

function* generateOne(python: Interpreter, statement: Stmt, scope: Scope): Steps {
  const suspension = suspensionOf(statement);
  if (suspension !== undefined) {
    const value = yield* suspend(python, suspension, scope);
    if (statement.kind === 'assign') for (const target of statement.lhsList) python.assign(target, value, scope);
    return undefined;
  }
  switch (statement.kind) {
    case 'if': {
      const isTrue = python.isTruthy(python.evaluate(statement.cond, scope));
      return yield* generate(python, isTrue ? statement.trueBranch : statement.falseBranch, scope);
    }
    case 'while':
    case 'for':
      return yield* generateLoop(python, statement, [], scope);
    case 'with':
      return yield* generateWith(python, statement, scope);
    default: {
      const { form } = statement as Extract<Stmt, { kind: 'python' }>;
      if (form.kind === 'loop-else') return yield* generateLoop(python, form.loop, form.orElse, scope);
      return yield* generateTry(python, form as Extract<PythonStatementForm, { kind: 'try' }>, scope);
    }
  }
}

function* suspend(
  python: Interpreter,
  { keyword, value }: Suspension,
  scope: Scope,
): Generator<PythonValue, PythonValue, PythonValue | undefined> {
  const given = value === undefined ? null : python.evaluate(value, scope);
  if (keyword === 'yield') return (yield given) ?? null;
  for (const item of python.iterate(given)) yield item;
  return null;
}

function* generateLoop(python: Interpreter, loop: For | While, orElse: readonly Stmt[], scope: Scope): Steps {
  const runs = runsOf(python, loop, scope);
  while (runs()) {
    python.step();
    const exit = yield* generate(python, loop.body, scope);
    if (exit === 'break') return undefined;
    if (exit !== undefined && exit !== 'continue') return exit;
  }
  return yield* generate(python, orElse, scope);
}

function* generateWith(python: Interpreter, statement: With, scope: Scope, at = 0): Steps {
  const item = statement.targets[at];
  if (item === undefined) return yield* generate(python, statement.body, scope);
  const leave = enterContext(python, item, scope);
  let exit: Exit;
  try {
    exit = yield* generateWith(python, statement, scope, at + 1);
  } catch (error) {
    if (leave(error)) return undefined;
    throw error;
  }
  leave();
  return exit;
}

function* generateTry(
  python: Interpreter,
  { body, handlers, orElse, finalBody }: Extract<PythonStatementForm, { kind: 'try' }>,
  scope: Scope,
): Steps {
  let exit: Exit;
  try {
    try {
      exit = (yield* generate(python, body, scope)) ?? (yield* generate(python, orElse, scope));
    } catch (error) {
      if (!(error instanceof PythonError || error instanceof CressetError)) throw error;
      const handler = handlerOf(python, handlers, error, scope);
      if (handler === undefined) throw error;
      exit = yield* generateHandler(python, error, generate(python, handler.body, scope));
    }
  } catch (error) {
    const ended = yield* generate(python, finalBody, scope);
    if (ended !== undefined) return ended;
    throw error;
  }
  return (yield* generate(python, finalBody, scope)) ?? exit;
}

/** Runs the body of a handler. Whoever goes on at its `yield`s handles what it did before. */
function* generateHandler(python: Interpreter, error: unknown, body: Steps): Steps {
  let next = (): IteratorResult<PythonValue, Exit> => body.next();
  try {
    for (;;) {
      const step = python.handling(error, next);
      if (step.done) return step.value;
      try {
        const given = yield step.value;
        next = () => body.next(given);
      } catch (thrown) {
        next = () => body.throw(thrown);
      }
    }
  } finally {
    body.return(undefined);
  }
}
