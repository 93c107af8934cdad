import { ErrorReport, IntType } from '@cresset/ir';
import { compileError } from '../compilation-error.ts';
import type { ConstantScope } from '../script-type-parser.ts';
import type { Apply, Expr } from '../parser/tree.ts';

/**
 * A call of a module container with its modules as arguments: those of the list or dict it is given, or of a comprehension over numbers
 * that stand there. How many there are is part of the program. Throws an ErrorReport where it cannot be told.
 */
export function spreadModules(call: Apply, constants: ConstantScope | undefined): Apply {
  const inputs = call.inputs.flatMap((input) => {
    if (input.kind === 'starred') return itemsOf(input.expr, constants);
    return input.kind === 'list' || input.kind === 'tuple' || input.kind === 'list-comp'
      ? itemsOf(input, constants)
      : [input];
  });
  const [only] = inputs;
  if (inputs.length !== 1 || only?.kind !== 'dict') return { ...call, inputs };
  const attributes = only.keys.map((key, index) => {
    if (key.kind !== 'string') throw compileError(key.range, 'the names in a ModuleDict have to be literals');
    return { range: key.range, name: { range: key.range, name: key.text }, value: only.values[index]! };
  });
  return { ...call, inputs: [], attributes: [...call.attributes, ...attributes] };
}

function itemsOf(expr: Expr, constants: ConstantScope | undefined): readonly Expr[] {
  if (expr.kind === 'list' || expr.kind === 'tuple') return expr.inputs;
  if (expr.kind !== 'list-comp' || expr.target.kind !== 'var') {
    throw compileError(expr.range, 'modules are listed one by one, or made by a comprehension over literals');
  }
  const { elt, target } = expr;
  return valuesOf(expr.iter, constants).map((value) => substitute(elt, target.name.name, value) as Expr);
}

/** What `range(…)` of constants, or a list written out, goes over. */
function valuesOf(iter: Expr, constants: ConstantScope | undefined): readonly Expr[] {
  if (iter.kind === 'list' || iter.kind === 'tuple') return iter.inputs;
  const bounds =
    iter.kind === 'apply' && iter.callee.kind === 'var' && iter.callee.name.name === 'range' ? iter.inputs : [];
  const numbers = bounds.map((bound) => intOf(bound, constants));
  if (numbers.length === 0 || numbers.includes(undefined)) {
    throw compileError(iter.range, 'the number of modules has to be known: a comprehension over literals');
  }
  const [start, end, step] =
    numbers.length === 1 ? [0n, numbers[0]!, 1n] : [numbers[0]!, numbers[1]!, numbers[2] ?? 1n];
  const values: Expr[] = [];
  for (let value = start; step > 0n ? value < end : step < 0n && value > end; value += step) {
    values.push({ kind: 'const', range: iter.range, value });
  }
  return values;
}

/** Undefined where it is no constant, such as a parameter of `__init__`. */
function intOf(bound: Expr, constants: ConstantScope | undefined): bigint | undefined {
  try {
    const value = bound.kind === 'const' ? bound.value : constants?.evaluateAs(bound, IntType.get());
    return typeof value === 'bigint' ? value : undefined;
  } catch (error) {
    if (error instanceof ErrorReport) return undefined;
    throw error;
  }
}

/** An expression with another in the place of a variable. */
function substitute(part: unknown, name: string, value: Expr): unknown {
  if (Array.isArray(part)) return part.map((item) => substitute(item, name, value));
  if (typeof part !== 'object' || part === null || !('range' in part)) return part;
  const expr = part as Expr;
  if (expr.kind === 'var' && expr.name.name === name) return value;
  return Object.fromEntries(
    Object.entries(part).map(([key, each]) => [key, key === 'range' ? each : substitute(each, name, value)]),
  );
}
