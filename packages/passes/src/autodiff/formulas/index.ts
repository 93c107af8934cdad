import { arithmetic } from './arithmetic.ts';
import { type FormulaTable } from './formula.ts';
import { helperFunctions } from './helpers.ts';
import { activations, functions } from './functions.ts';
import { layers } from './layers.ts';
import { products } from './products.ts';
import { reductions } from './reductions.ts';
import { shapes } from './shapes.ts';

/**
 * The derivatives that PyTorch's JIT has (torch/csrc/jit/runtime/symbolic_script.cpp), by the operator's name without its namespace, and the
 * overload's where it has one. Graphs made of them are PyTorch's; autograd has more operators, and some of these in other words.
 */
export const formulas: FormulaTable = {
  ...arithmetic,
  ...functions,
  ...activations,
  ...shapes,
  ...reductions,
  ...products,
  ...layers,
};

/** What is said of a gradient wherever arguments were broadcast, by whatever formula. */
const SUMS = 'torch._size_if_not_equal() torch._grad_sum_to_size()';

/** The texts that the derivatives of operators come to, by names without overloads, with those of the functions that they call. */
export function formulaTexts(operators: ReadonlySet<string>): readonly string[] {
  const own = Object.entries(formulas).filter(([name]) => operators.has(name.replace(/\..*$/, '')));
  const texts = own.flatMap(([, formula]) =>
    typeof formula === 'string' ? formula : Object.values(formula.gradients),
  );
  const helpers = new Map(
    helperFunctions.split(/^(?=def )/m).map((text) => [/^def (\w+)/.exec(text)?.[1] ?? '', text]),
  );
  const found = new Set([SUMS, ...texts]);
  // A set that grows is gone through to its end.
  for (const text of found) {
    for (const [name] of text.matchAll(/\bAD_\w+/g)) found.add(helpers.get(name)!);
  }
  return [...found];
}
