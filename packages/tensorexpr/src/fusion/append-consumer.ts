import { symGt, symLt, symMatches, symSub, type Storage, type SymInt } from '@cresset/tensor';
import { axis, binary, cast, param } from '../expressions/builders.ts';
import type { AxisExpr, BinaryExpr, Expr, LoadExpr, SelectExpr } from '../expressions/expr.ts';
import { symExtentOf, symIndexValue, symPointsOf } from '../expressions/index-value.ts';
import { dimensionsOf, indicesOf, isComputed } from './inline-producer.ts';
import { expressionsIn, expressionsOf, mapStore, type Kernel, type LoopNest, type Store } from '../kernels/kernel.ts';
import { keepsPrecision } from '../kernels/precision.ts';
import { splitStores } from '../kernels/split-stores.ts';
import { areSameForms, LinearForms } from '../expressions/linear-form.ts';
import { Rewriter, substitute } from '../expressions/substitute.ts';
import { hasExpr, isReduced, loadsIn, walk } from '../expressions/walk.ts';

/**
 * A kernel that stores what `consumer` makes of each element of `storage` when it has made that element: the two as one. Of a consumer that joins tensors,
 * each part is stored where the producer makes it. Null where the consumer goes over the elements otherwise than one by one, or the one would write
 * what points of the other have still to read.
 *
 * @param isReadLater whether the elements of a storage that the producer fills are needed too
 */
export function appendConsumer(
  producer: Kernel,
  consumer: LoopNest,
  storage: Storage,
  isReadLater: (storage: Storage) => boolean,
): Kernel | null {
  if (!producer.stores.some(({ operand }) => operand.tensor.storage === storage)) return null;
  if (consumer.innerAxes.length > 0 || ![...producer.stores, ...consumer.stores].every(isPlain)) return null;
  if (consumer.stores.flatMap(expressionsOf).some(isReduced)) return null;
  const made = new Map(producer.stores.map((each) => [each.operand.tensor.storage, each]));
  if (made.size < producer.stores.length) return null;
  const forms = new LinearForms();
  const appended = joinedParts(consumer).map((part) => appendedStores(producer, part, made, forms));
  if (!appended.every((stores) => stores !== null)) return null;
  if (consumer.stores.some(({ operand }) => made.has(operand.tensor.storage))) return null;
  const readFrom = (roots: readonly Expr[]): Set<Storage> =>
    new Set(loadsIn(roots).map(({ operand }) => operand.tensor.storage));
  const used = readFrom(consumer.stores.flatMap(expressionsOf));
  const usedAgain = readFrom(expressionsIn(producer));
  const own = producer.stores.filter(({ operand: { tensor } }) => {
    return !used.has(tensor.storage) || usedAgain.has(tensor.storage) || isReadLater(tensor.storage);
  });
  const label = producer.label === consumer.label ? producer.label : `${producer.label}+${consumer.label}`;
  const whole: Kernel = { ...producer, label, stores: [...own, ...appended.flat()] };
  const { dtype } = made.get(storage)!.operand;
  return keepsPrecision(dtype, whole, producer, consumer) ? whole : null;
}

/** The stores of a nest at the points of a kernel that makes what it goes over; null where it does not go over that one by one. */
function appendedStores(
  producer: Kernel,
  nest: Pick<LoopNest, 'axes' | 'innerAxes' | 'stores'>,
  made: ReadonlyMap<Storage, Store>,
  forms: LinearForms,
): Store[] | null {
  const reads = loadsIn(nest.stores.flatMap(expressionsOf));
  const place = reads.find(({ operand }) => made.has(operand.tensor.storage));
  const store = place && made.get(place.operand.tensor.storage)!;
  const dimensions = place && dimensionsOf(nest, forms.of(place.offset));
  const indices = dimensions && indicesOf(forms.of(store!.offset), dimensions);
  if (!indices || !symMatches(pointsIn(producer, store!), symPointsOf(nest.axes))) return null;
  const replaced = new Map<Expr, Expr>(indices);
  const toIndices = new Rewriter((expr) => replaced.get(expr) ?? null);
  for (const load of reads) {
    const known = made.get(load.operand.tensor.storage);
    if (!known) continue;
    const offset = toIndices.rewrite(load.offset);
    if (!isComputed(known.operand.dtype) || !areSameForms(forms.of(offset), forms.of(known.offset))) return null;
    replaced.set(load, cast(load.type, known.value));
  }
  const rewriter = new Rewriter((expr) => replaced.get(expr) ?? null);
  const appended = nest.stores.map((each) => mapStore(each, (expr) => rewriter.rewrite(expr)));
  const once = new Set(producer.kind === 'nest' ? splitStores({ ...producer, stores: appended }).once : []);
  const inner = new Set(producer.kind === 'nest' ? splitStores(producer).inner : []);
  const mayStore = (own: Store): boolean => {
    // What a step reads, a later one may read again, and what is stored once is stored before the loops within a point.
    const isAtPlace = (load: Expr, by: Store): boolean =>
      producer.kind !== 'recurrence' &&
      !(once.has(own) && inner.has(by)) &&
      areSameForms(forms.of(load), forms.of(own.offset));
    return isReadOnlyAt(producer, own.operand.tensor.storage, isAtPlace);
  };
  return appended.every(mayStore) ? appended : null;
}

/** A nest that joins tensors along one of its loops as one for each of them; any other as it is. */
function joinedParts(nest: LoopNest): Pick<LoopNest, 'axes' | 'innerAxes' | 'stores'>[] {
  const [store, ...others] = nest.stores;
  let { value } = store;
  if (others.length > 0 || value.kind !== 'select' || !isBefore(value)) return [nest];
  const along = value.condition.x;
  const parts: { readonly end: SymInt; readonly value: Expr }[] = [];
  for (; value.kind === 'select' && isBefore(value) && value.condition.x === along; value = value.y)
    parts.push({ end: symIndexValue(value.condition.y)!, value: value.x });
  parts.push({ end: symExtentOf(along), value });
  return parts.map((part, at) => {
    const start = at === 0 ? 0 : parts[at - 1].end;
    const own = axis(along.name, param('i32', symSub(part.end, start)));
    const place = new Map<Expr, Expr>([[along, binary('add', own, param('i32', start))]]);
    return {
      axes: nest.axes.map((each) => (each === along ? own : each)),
      innerAxes: [],
      stores: [mapStore({ ...store, value: part.value }, (expr) => substitute(expr, place))],
    };
  });
}

/** A choice by whether a loop has not come to a certain point. */
interface ChoiceByPlace extends SelectExpr {
  readonly condition: BinaryExpr & { readonly x: AxisExpr };
}

function isBefore(expr: SelectExpr): expr is ChoiceByPlace {
  const { condition } = expr;
  if (condition.kind !== 'binary' || condition.fn !== 'lt' || condition.x.kind !== 'axis') return false;
  const end = symIndexValue(condition.y);
  return end !== null && symGt(end, 0) && symLt(end, symExtentOf(condition.x));
}

const isPlain = ({ guard, combine }: Store): boolean => !guard && !combine;

/** So many elements a store makes. */
function pointsIn(kernel: Kernel, { offset }: Store): SymInt {
  if (kernel.kind === 'contraction') return symPointsOf([...kernel.batch, kernel.m, kernel.n]);
  const isMentioned = (axis: AxisExpr): boolean => hasExpr([offset], (expr) => expr === axis);
  const axes = kernel.innerAxes.some(isMentioned) ? [...kernel.axes, ...kernel.innerAxes] : kernel.axes;
  return symPointsOf(kernel.kind === 'recurrence' && isMentioned(kernel.time) ? [kernel.time, ...axes] : axes);
}

/** Whether a kernel reads a storage nowhere but in the values of its stores, outside of reductions, at that place. */
function isReadOnlyAt(kernel: Kernel, storage: Storage, isAtPlace: (offset: Expr, by: Store) => boolean): boolean {
  const isRead = (expr: Expr): expr is LoadExpr => expr.kind === 'load' && expr.operand.tensor.storage === storage;
  const elsewhere: Expr[] = kernel.kind === 'contraction' ? [kernel.left, kernel.right] : [];
  for (const store of kernel.stores) {
    for (const root of expressionsOf(store)) {
      walk([root], (expr) => {
        if (expr.kind === 'reduce') elsewhere.push(expr);
        else if (isRead(expr) && !(root === store.value && isAtPlace(expr.offset, store))) elsewhere.push(expr);
        return expr.kind !== 'reduce';
      });
    }
  }
  return !hasExpr(elsewhere, isRead);
}
