import {
  hint,
  symAdd,
  symFloorDiv,
  symGe,
  symGt,
  symLt,
  symMatches,
  symMod,
  symMul,
  symNe,
  symProduct,
  symSub,
  symText,
  type ScalarType,
  type Storage,
  type SymInt,
} from '@cresset/tensor';
import { binary, cast, param } from '../expressions/builders.ts';
import { AxisSplitting } from '../kernels/axis-splitting.ts';
import type { AxisExpr, Expr, LoadExpr } from '../expressions/expr.ts';
import { symExtentOf } from '../expressions/index-value.ts';
import {
  expressionsIn,
  expressionsOf,
  mapStore,
  type Contraction,
  type Kernel,
  type LoopNest,
  type Store,
} from '../kernels/kernel.ts';
import { linearExpr, LinearForms, type LinearForm } from '../expressions/linear-form.ts';
import { keepsPrecision } from '../kernels/precision.ts';
import { hasExpr, reductionsIn } from '../expressions/walk.ts';
import { Rewriter, substitute } from '../expressions/substitute.ts';

/** A dimension of a tensor in C order: the loop that goes along it, and its stride. */
export interface Dimension {
  readonly axis: AxisExpr;
  readonly extent: SymInt;
  readonly stride: SymInt;
}

/**
 * A kernel that works out what it read from `storage`, which `producer` fills, instead of reading it: the two as one. Null where the producer
 * fills it with more than one value, in another order than C's, or where elements are read at places that no one can tell beforehand.
 *
 * What else the producer stores (a note of a bad index) is stored by the one kernel too, if that comes by each of the elements and reads nothing of it.
 */
export function inlineProducer(reader: Kernel, { label: name, ...plain }: LoopNest, storage: Storage): Kernel | null {
  const producer = withoutDivisions(plain);
  const consumer = reader.kind === 'contraction' ? withBatchInDimensions(reader) : reader;
  const written = producer.stores.filter(({ operand: { dtype }, guard }) => isComputed(dtype) && !guard);
  const [store] = written;
  if (written.length !== 1 || store.operand.tensor.storage !== storage || store.combine) return null;
  if (consumer.stores.some(({ combine }) => combine)) return null;
  const forms = new LinearForms();
  const dimensions = dimensionsOf(producer, forms.of(store.offset));
  if (!dimensions) return null;
  const isRead = (expr: Expr): expr is LoadExpr => expr.kind === 'load' && expr.operand.tensor.storage === storage;
  // An element of a place that is read itself cannot be.
  if (hasExpr(producer.stores.flatMap(expressionsOf), isRead)) return null;

  const places = new Map<LoadExpr, Map<Expr, Expr>>();
  const values = new Map<string, Expr>();
  const axisNumbers = new Map<AxisExpr, number>();
  let isKnown = true;
  const rewriter: Rewriter = new Rewriter((expr) => {
    if (!isRead(expr)) return null;
    const indices = indicesOf(forms.of(expr.offset), dimensions);
    if (!indices) {
      isKnown = false;
      return expr;
    }
    places.set(expr, indices);
    // One element is worked out once, however often it is read.
    const key = placeKey(forms.of(expr.offset), axisNumbers);
    let value = values.get(key);
    if (!value) values.set(key, (value = substitute(store.value, indices)));
    return cast(expr.type, value);
  });
  const rewrite = (expr: Expr): Expr => rewriter.rewrite(expr);
  if (consumer.stores.some(({ offset, guard }) => [offset, guard].some((each) => each && hasExpr([each], isRead))))
    return null;
  const stores = consumer.stores.map((each) => mapStore(each, rewrite));
  const label = joinLabels(name, consumer.label);
  const merged: Kernel =
    consumer.kind === 'contraction'
      ? { ...consumer, label, left: rewrite(consumer.left), right: rewrite(consumer.right), stores }
      : { ...consumer, label, stores };
  if (!isKnown || places.size === 0) return null;
  if (!keepsPrecision(store.operand.dtype, merged, reader, { label: name, ...plain })) return null;
  const others = producer.stores.filter((each) => each !== store);
  if (others.length === 0) return merged;
  const complete = [...places].find(([{ offset }]) => reachesAll(forms.of(offset), dimensions, consumer))?.[1];
  if (merged.kind !== 'nest' || !complete) return null;
  const moved = others.map((each): Store => mapStore(each, (expr) => substitute(expr, complete)));
  const whole = { ...merged, stores: [...merged.stores, ...moved] };
  // A point that reads what others store could come before them, or after.
  const stored = new Set(others.map(({ operand }) => operand.tensor.storage));
  const isStored = (expr: Expr): boolean => expr.kind === 'load' && stored.has(expr.operand.tensor.storage);
  return hasExpr(expressionsIn(whole), isStored) ? null : whole;
}

/** Whether elements are what kernels compute, so that not to store them rounds nothing less. */
export const isComputed = (dtype: ScalarType): boolean => dtype === 'float32' || dtype === 'float64';

/** A nest whose flattened loops are one for each dimension. */
function withoutDivisions({ axes, innerAxes, stores }: Omit<LoopNest, 'label'>): Omit<LoopNest, 'label' | 'kind'> {
  const roots = stores.flatMap(expressionsOf);
  const reduced = reductionsIn(roots).flatMap((reduction) => reduction.axes);
  const splitting = new AxisSplitting([...axes, ...innerAxes, ...reduced], roots);
  return {
    axes: splitting.loops(axes),
    innerAxes: splitting.loops(innerAxes),
    stores: stores.map((store) => mapStore(store, (expr) => splitting.rewrite(expr))),
  };
}

/** A contraction whose flattened batch is a loop for each dimension: what was inlined before may have taken it apart. */
function withBatchInDimensions(kernel: Contraction): Contraction {
  const { batch, left, right, stores } = kernel;
  const splitting = new AxisSplitting(batch, [left, right, ...stores.flatMap(expressionsOf)]);
  return {
    ...kernel,
    batch: splitting.loops(batch),
    left: splitting.rewrite(left),
    right: splitting.rewrite(right),
    stores: stores.map((store) => mapStore(store, (expr) => splitting.rewrite(expr))),
  };
}

function placeKey({ base, terms }: LinearForm, numbers: Map<AxisExpr, number>): string {
  const texts = [...terms].map(([axis, coefficient]) => {
    if (!numbers.has(axis)) numbers.set(axis, numbers.size);
    return `${numbers.get(axis)}*${symText(coefficient)}`;
  });
  return `${symText(base)}+${texts.sort().join('+')}`;
}

function joinLabels(first: string, second: string): string {
  const plain = (label: string): string => label.replaceAll(/aten::/g, '');
  return first === second ? first : `${plain(first)}+${plain(second)}`;
}

/** The loops of a nest by the dimensions that its store goes along, the outermost first; null where it leaves gaps or goes another way. */
export function dimensionsOf(nest: Pick<LoopNest, 'axes' | 'innerAxes'>, offset: LinearForm): Dimension[] | null {
  if (offset.rest || !symMatches(offset.base, 0)) return null;
  const dimensions: Dimension[] = [];
  for (const axis of [...nest.axes, ...nest.innerAxes]) {
    const extent = symExtentOf(axis);
    const stride = offset.terms.get(axis) ?? 0;
    if (symGt(extent, 1)) dimensions.push({ axis, extent, stride });
    else dimensions.unshift({ axis, extent: 1, stride: Infinity });
  }
  // Whether the order is right shows below.
  dimensions.sort((a, b) => (hint(a.stride) === hint(b.stride) ? 0 : hint(b.stride) - hint(a.stride)));
  let expected: SymInt = 1;
  for (const { extent, stride } of dimensions.toReversed()) {
    if (extent === 1) continue;
    if (!symMatches(stride, expected)) return null;
    expected = symMul(expected, extent);
  }
  return dimensions;
}

/**
 * The index in each dimension of the element at an offset. Terms of the offset are dealt out to the dimensions whose strides they are
 * multiples of; only where one runs over several dimensions they are divided.
 */
export function indicesOf(offset: LinearForm, dimensions: readonly Dimension[]): Map<Expr, Expr> | null {
  const indices = new Map<Expr, Expr>();
  const order = [...offset.terms.keys()];
  let { base } = offset;
  let terms: ReadonlyMap<AxisExpr, SymInt> = new Map([...offset.terms].filter(([axis]) => symGt(symExtentOf(axis), 1)));
  if (symLt(base, 0) || [...terms.values()].some((coefficient) => symLt(coefficient, 0))) return null;
  let pending: Dimension[] = [];
  // What was loaded, or divided, tells nothing of where it leads.
  if (offset.rest) return null;
  // From the innermost dimension out: a boundary is clean where what belongs inside it stays inside.
  for (const dimension of dimensions.toReversed()) {
    if (dimension.extent === 1) {
      indices.set(dimension.axis, param('i32', 0));
      continue;
    }
    pending.unshift(dimension);
    const { stride } = pending.at(-1)!;
    const outer = symMul(dimension.stride, dimension.extent);
    const inside = new Map([...terms].filter(([, coefficient]) => symNe(symMod(coefficient, outer), 0)));
    const within = symMod(base, outer);
    let reach = within;
    for (const [axis, coefficient] of inside) reach = symAdd(reach, symMul(coefficient, symSub(symExtentOf(axis), 1)));
    if (symGe(reach, outer) || [...inside.values()].some((coefficient) => symNe(symMod(coefficient, stride), 0)))
      continue;
    const form: LinearForm = {
      base: symFloorDiv(within, stride),
      terms: new Map([...inside].map(([axis, coefficient]) => [axis, symFloorDiv(coefficient, stride)])),
      rest: null,
    };
    divide(linearExpr(form, order), pending, stride, indices);
    base = symSub(base, within);
    terms = new Map([...terms].filter(([axis]) => !inside.has(axis)));
    pending = [];
  }
  return pending.length === 0 && terms.size === 0 && symMatches(base, 0) ? indices : null;
}

/** The indices in adjacent dimensions from that in all of them as one. */
function divide(flat: Expr, dimensions: readonly Dimension[], unit: SymInt, indices: Map<Expr, Expr>): void {
  dimensions.forEach(({ axis, extent, stride }, at) => {
    const step = symFloorDiv(stride, unit);
    const quotient = step === 1 ? flat : binary('truncdiv', flat, param('i32', step));
    indices.set(axis, at === 0 ? quotient : binary('fmod', quotient, param('i32', extent)));
  });
}

/** Whether a nest comes by each element: its loops are the digits of where it reads. */
function reachesAll({ base, terms, rest }: LinearForm, dimensions: readonly Dimension[], consumer: Kernel): boolean {
  if (consumer.kind !== 'nest' || !symMatches(base, 0) || rest) return false;
  const loops = [...consumer.axes, ...consumer.innerAxes];
  const digits = [...terms].filter(([loop]) => symGt(symExtentOf(loop), 1)).sort(([, a], [, b]) => hint(a) - hint(b));
  let reached: SymInt = 1;
  for (const [loop, coefficient] of digits) {
    if (!symMatches(coefficient, reached) || !loops.includes(loop)) return false;
    reached = symMul(reached, symExtentOf(loop));
  }
  return symMatches(reached, symProduct(dimensions.map(({ extent }) => extent)));
}
