import { symMatches, type Storage, type SymInt } from '@cresset/tensor';
import { childrenOf } from '../expressions/expr-children.ts';
import type { Expr, LoadExpr } from '../expressions/expr.ts';
import { symPointsOf } from '../expressions/index-value.ts';
import { expressionsOf, type Contraction, type Kernel, type LoopNest, type Store } from '../kernels/kernel.ts';
import { loadsIn } from '../expressions/walk.ts';
import { areSameForms, LinearForms } from '../expressions/linear-form.ts';

/**
 * A kernel that stores what it stored to `output` over the elements of `input` instead, which it reads. Null where an element may be written
 * before everybody has read it: each has to be read for the value that takes its place and for nothing else, and be written once.
 *
 * @param count elements of either
 */
export function storeInPlace(kernel: Kernel, output: Storage, input: Storage, count: SymInt): Kernel | null {
  if (kernel.kind === 'recurrence') return null;
  const [store, ...others] = kernel.stores.filter(({ operand }) => operand.tensor.storage === output);
  if (!store || others.length > 0 || store.guard || store.combine || !symMatches(pointsIn(kernel), count)) return null;
  const loads = new Set<LoadExpr>();
  // Reductions go over elements that other points write.
  if (!readsOnlyAtPlace(store.value, input, loads) || loads.size === 0) return null;
  const elsewhere = kernel.stores.flatMap((each) =>
    expressionsOf(each).filter((expr) => each !== store || expr !== store.value),
  );
  if (kernel.kind === 'contraction') elsewhere.push(kernel.left, kernel.right);
  if (elsewhere.some((expr) => isReadIn(expr, input))) return null;
  const forms = new LinearForms();
  const place = forms.of(store.offset);
  const [load] = loads;
  if (load.operand.dtype !== store.operand.dtype) return null;
  for (const { offset } of loads) if (offset !== store.offset && !areSameForms(forms.of(offset), place)) return null;
  const inPlace: Store = { ...store, operand: load.operand };
  return { ...kernel, stores: kernel.stores.map((each) => (each === store ? inPlace : each)) };
}

/** The points of a kernel's loops, so many times a store that mentions all of them is made. */
function pointsIn(kernel: LoopNest | Contraction): SymInt {
  return kernel.kind === 'nest'
    ? symPointsOf([...kernel.axes, ...kernel.innerAxes])
    : symPointsOf([...kernel.batch, kernel.m, kernel.n]);
}

/** Whether a value reads a storage outside reductions only; adds the loads that do. */
function readsOnlyAtPlace(value: Expr, storage: Storage, loads: Set<LoadExpr>): boolean {
  const seen = new Set<Expr>();
  const visit = (expr: Expr): boolean => {
    if (seen.has(expr)) return true;
    seen.add(expr);
    if (expr.kind === 'reduce') return !isReadIn(expr, storage);
    if (expr.kind === 'load' && expr.operand.tensor.storage === storage) loads.add(expr);
    return childrenOf(expr).every(visit);
  };
  return visit(value);
}

const isReadIn = (root: Expr, storage: Storage): boolean =>
  loadsIn([root]).some(({ operand }) => operand.tensor.storage === storage);
