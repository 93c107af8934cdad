import { symMatches } from '@cresset/tensor';
import {
  binary,
  constant,
  FreeAxes,
  hasExpr,
  isSameExpr,
  loadsIn,
  powerOfSoftmax,
  reductionsIn,
  substitute,
  symExtentOf,
  walk,
  type AxisExpr,
  type Expr,
  type LoadExpr,
  type LoopNest,
  type ReduceExpr,
  type Store,
} from '@cresset/tensorexpr';
import { hasLoad, isOne, strideOf } from './index-steps.ts';

/**
 * A nest that goes over a row twice for the same values, which take long to work out: once to sum them up, and once to store what it makes of
 * them, as a softmax does with its powers. The sum stores them where the results will be, and those are made of what lies there.
 */
export interface StoredTerms {
  /** The nest as it is written then. */
  readonly nest: LoopNest;
  readonly reduction: ReduceExpr;
  /** What a step of the reduction stores. */
  readonly store: Store;
  /** Of powers of a softmax that are needed for nothing but their shares of the sum: the maximum that is taken away before. Powers and sum may be any multiple. */
  readonly most: ReduceExpr | null;
}

/** Functions that take longer than a store and a load. */
const COSTLY: ReadonlySet<string> = new Set(['exp', 'expm1', 'log', 'log1p', 'tanh', 'erf', 'sin', 'cos', 'pow']);

/** What of a nest is worth storing on the way; null where nothing is. Goes by the numbers of this launch. */
export function storedTerms(nest: LoopNest): StoredTerms | null {
  const [store] = nest.stores;
  const [axis] = nest.innerAxes;
  if (nest.stores.length !== 1 || nest.innerAxes.length !== 1 || store.guard || store.combine) return null;
  const freeAxes = new FreeAxes();
  const stride = strideOf(store.offset, axis, freeAxes);
  if (!isStoredAsComputed(store) || hasLoad(store.offset) || !stride || !isOne(stride)) return null;
  for (const reduction of reductionsIn([store.value])) {
    const [along] = reduction.axes;
    const { body } = reduction;
    if (body.type !== 'float' || reduction.axes.length !== 1 || freeAxes.of(reduction).has(axis)) continue;
    if (!symMatches(symExtentOf(along), symExtentOf(axis)) || !isCostly(body, along, freeAxes)) continue;
    // A sum that is the same for several points is made once for all of them, and could store for one only.
    if ([...freeAxes.of(store.offset)].some((each) => each !== axis && !freeAxes.of(reduction).has(each))) continue;
    const term = termIn(store.value, body, along, axis);
    if (!term) continue;
    const stored: Expr = { kind: 'load', type: 'float', operand: store.operand, offset: store.offset };
    const quotients = quotientsOf(term, reduction, store.value);
    const most = powerOfSoftmax(body, along)?.most ?? null;
    const areShares = most !== null && isMadeOf(store.value, quotients);
    const terms = new Map<Expr, Expr>([[term, stored]]);
    if (areShares) for (const quotient of quotients) terms.set(quotient, share(stored, reduction));
    const value = substitute(store.value, terms);
    if (!areReadBefore(store, value, stored, reduction, axis)) continue;
    const offset = substitute(store.offset, new Map<Expr, Expr>([[axis, along]]));
    return {
      nest: { ...nest, stores: [{ ...store, value }] },
      reduction,
      store: { ...store, offset, value: body },
      most: areShares ? most : null,
    };
  }
  return null;
}

/** Whether elements are what a nest computes in: it does so in double precision where it reads or writes such. */
function isStoredAsComputed({ operand: { dtype }, value }: Store): boolean {
  const isDouble = (load: LoadExpr): boolean => load.operand.dtype === 'float64';
  return dtype === 'float64' || (dtype === 'float32' && !loadsIn([value]).some(isDouble));
}

function isCostly(body: Expr, along: AxisExpr, freeAxes: FreeAxes): boolean {
  return hasExpr([body], (expr) => {
    if (!freeAxes.of(expr).has(along)) return false;
    return expr.kind === 'reduce' || ((expr.kind === 'unary' || expr.kind === 'binary') && COSTLY.has(expr.fn));
  });
}

/** What in a value is, for a step of its axis, what the body of a reduction is for a step of its own. */
function termIn(value: Expr, body: Expr, along: AxisExpr, axis: AxisExpr): Expr | null {
  let found: Expr | null = null;
  walk([value], (expr) => {
    if (found || expr.kind === 'reduce') return false;
    if (isSameExpr(body, expr, new Map([[along, axis]]))) found = expr;
    return !found;
  });
  return found;
}

/** Where in a value a term is divided by a reduction. */
function quotientsOf(term: Expr, reduction: ReduceExpr, value: Expr): readonly Expr[] {
  const found: Expr[] = [];
  walk([value], (expr) => {
    if (expr.kind === 'binary' && expr.fn === 'div' && expr.x === term && expr.y === reduction) found.push(expr);
    return expr.kind !== 'reduce';
  });
  return found;
}

/** Whether a value has no reduction, and so neither a power of a softmax nor the sum of powers, but in quotients. */
function isMadeOf(value: Expr, quotients: readonly Expr[]): boolean {
  const rest = substitute(value, new Map(quotients.map((quotient) => [quotient, constant('float', 1)])));
  return quotients.length > 0 && reductionsIn([rest]).length === 0;
}

/** A power's share of the sum, which is 1 at least: the sum is divided by once for a row. */
const share = (power: Expr, sum: ReduceExpr): Expr => binary('mul', power, binary('div', constant('float', 1), sum));

/** Whether everything of the memory that is stored to is read by the reduction, at the place of its step or before it begins. */
function areReadBefore(store: Store, value: Expr, stored: Expr, reduction: ReduceExpr, axis: AxisExpr): boolean {
  const { storage } = store.operand.tensor;
  const own = loadsIn([value]).filter((load) => load !== stored && load.operand.tensor.storage === storage);
  const outside = new Set<Expr>();
  walk([value], (expr) => expr !== reduction && void outside.add(expr));
  const axes = reductionsIn([reduction]).flatMap((each) => each.axes);
  return own.every(
    (load) => !outside.has(load) && axes.some((each) => isSameExpr(load.offset, store.offset, new Map([[each, axis]]))),
  );
}
