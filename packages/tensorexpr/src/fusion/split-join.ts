import { elementSize, hint, symFloorDiv, symMul, symProduct, symSub, symText, type SymInt } from '@cresset/tensor';
import { axis, binary, param } from '../expressions/builders.ts';
import type { AxisExpr, Expr, LoadExpr } from '../expressions/expr.ts';
import { symExtentOf, symIndexValue } from '../expressions/index-value.ts';
import { LinearForms, type LinearForm } from '../expressions/linear-form.ts';
import type { Operand } from '../expressions/operand.ts';
import { Rewriter } from '../expressions/substitute.ts';
import { mapStore, type Kernel, type LoopNest, type Store } from '../kernels/kernel.ts';
import { exactQuotient } from './part-rows.ts';

/** A kernel that copies a tensor to the front of each row of another one, which goes on behind it. */
export interface SplitJoin {
  readonly first: Operand;
  readonly whole: Operand;
  /** Rows of the two, which lie one behind the other, and elements of each of them. */
  readonly rows: SymInt;
  readonly firstRow: SymInt;
  readonly wholeRow: SymInt;
  /** What stores all that comes behind the first one; null where another kernel does that. */
  readonly rest: LoopNest | null;
}

/**
 * Takes the copy of the first of some tensors out of a kernel that joins them along a dimension: `out[…, k, …] = k < n ? first[…, k, …] : …`, or that does no more than
 * copy the first one. Null of any other kernel, and where elements are not at the same place in the rows of both.
 */
export function splitJoin(kernel: Kernel): SplitJoin | null {
  if (kernel.kind !== 'nest' || kernel.stores.length !== 1 || kernel.innerAxes.length > 0) return null;
  const [store] = kernel.stores;
  const { value } = store;
  if (store.guard || store.combine) return null;
  if (value.kind === 'load') {
    const extents = new Map(kernel.axes.map((each) => [each, symExtentOf(each)]));
    const rows = rowsOf(value, store, extents);
    return rows && { first: value.operand, whole: store.operand, ...rows, rest: null };
  }
  if (value.kind !== 'select') return null;
  const { condition, x: first, y: others } = value;
  if (condition.kind !== 'binary' || condition.fn !== 'lt' || first.kind !== 'load') return null;
  const along = kernel.axes.find((each) => condition.x === each);
  const length = symIndexValue(condition.y);
  if (!along || length === null) return null;
  const extents = new Map(kernel.axes.map((each) => [each, each === along ? length : symExtentOf(each)]));
  const rows = rowsOf(first, store, extents);
  if (!rows) return null;
  const rest = behind(kernel, { ...store, value: others }, along, length);
  return { first: first.operand, whole: store.operand, ...rows, rest };
}

/** The points of a nest from `start` of an axis on. */
function behind(nest: LoopNest, store: Store, along: AxisExpr, start: SymInt): LoopNest {
  const own = axis(along.name, param('i32', symSub(symExtentOf(along), start)));
  const moved = binary('add', own, param('i32', start));
  const isStart = (expr: Expr): boolean => symText(symIndexValue(expr) ?? NaN) === symText(start);
  const rewriter = new Rewriter((expr) => {
    if (expr === along) return moved;
    return expr.kind === 'binary' && expr.fn === 'sub' && expr.x === along && isStart(expr.y) ? own : null;
  });
  return {
    ...nest,
    axes: nest.axes.map((each) => (each === along ? own : each)),
    stores: [mapStore(store, (expr) => rewriter.rewrite(expr))],
  };
}

/** Rows of the first tensor, all of whose storage is copied, and of the whole one. */
function rowsOf(
  first: LoadExpr,
  whole: Store,
  extents: ReadonlyMap<AxisExpr, SymInt>,
): Pick<SplitJoin, 'rows' | 'firstRow' | 'wholeRow'> | null {
  const forms = new LinearForms();
  const [from, to] = [forms.of(first.offset), forms.of(whole.offset)];
  if (from.rest || to.rest || from.base !== 0 || to.base !== 0) return null;
  const count = symProduct([...extents.values()]);
  const { dtype } = whole.operand.tensor;
  if (first.operand.tensor.storage.byteLength !== hint(count) * elementSize(dtype)) return null;
  if (!isDense(from, extents)) return null;
  const { storage } = whole.operand.tensor;
  const wholeCount = symFloorDiv(storage.symBytes ?? storage.byteLength, elementSize(dtype));
  // Within a row both go along the same way, and from row to row by their lengths.
  let [firstRow, wholeRow] = [count, wholeCount];
  for (const [each, extent] of extents) {
    const [own, other] = coefficients(each, from, to);
    if (extent !== 1 && symText(own) !== symText(other) && hint(own) < hint(firstRow))
      [firstRow, wholeRow] = [own, other];
  }
  const rows = exactQuotient(count, firstRow);
  if (typeof firstRow === 'number' || rows === null) return null;
  if (symText(symMul(rows, wholeRow)) !== symText(wholeCount)) return null;
  const isAlike = [...extents].every(([each, extent]) => {
    const [own, other] = coefficients(each, from, to);
    if (extent === 1 || symText(own) === symText(other)) return true;
    const [row, otherRow] = [exactQuotient(own, firstRow), exactQuotient(other, wholeRow)];
    return row !== null && otherRow !== null && symText(row) === symText(otherRow);
  });
  return isAlike ? { rows, firstRow, wholeRow } : null;
}

const coefficients = (along: AxisExpr, from: LinearForm, to: LinearForm): [SymInt, SymInt] => [
  from.terms.get(along) ?? 0,
  to.terms.get(along) ?? 0,
];

/** Whether a form goes over as many elements as there are points, from the first one on. */
function isDense({ terms }: LinearForm, extents: ReadonlyMap<AxisExpr, SymInt>): boolean {
  const long = [...extents].filter(([, extent]) => extent !== 1);
  const steps = long.map(([each, extent]) => ({ step: terms.get(each) ?? 0, extent }));
  steps.sort((a, b) => hint(a.step) - hint(b.step));
  let next: SymInt = 1;
  return steps.every(({ step, extent }) => {
    const isNext = symText(step) === symText(next);
    next = symMul(next, extent);
    return isNext;
  });
}
