import { arithmetic } from './arithmetic.ts';
import { type FormulaTable } from './formula.ts';
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
