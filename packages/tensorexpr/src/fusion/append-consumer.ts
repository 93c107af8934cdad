import type { Storage } from '@cresset/tensor';
import { cast } from '../expressions/builders.ts';
import type { AxisExpr, Expr, LoadExpr } from '../expressions/expr.ts';
import { pointsOf } from '../expressions/index-value.ts';
import { dimensionsOf, indicesOf } from './inline-producer.ts';
import { expressionsOf, mapStore, type Kernel, type LoopNest, type Store } from '../kernels/kernel.ts';
import { areSameForms, LinearForms } from '../expressions/linear-form.ts';
import { Rewriter } from '../expressions/substitute.ts';
import { hasExpr, isReduced, loadsIn, walk } from '../expressions/walk.ts';

/**
 * A kernel that stores what `consumer` makes of each element of `storage` when it has made that element: the two as one. Null where the consumer
 * goes over the elements otherwise than one by one, or the one would write what points of the other have still to read.
 *
 * @param isReadLater whether the elements themselves are needed too
 */
export function appendConsumer(
  producer: Kernel,
  consumer: LoopNest,
  storage: Storage,
  isReadLater: boolean,
): Kernel | null {
  const store = producer.stores.find(({ operand }) => operand.tensor.storage === storage);
  if (!store || consumer.innerAxes.length > 0 || ![...producer.stores, ...consumer.stores].every(isPlain)) return null;
  const roots = consumer.stores.flatMap(expressionsOf);
  if (roots.some(isReduced)) return null;
  const made = new Map(producer.stores.map((each) => [each.operand.tensor.storage, each]));
  if (made.size < producer.stores.length) return null;
  const forms = new LinearForms();
  const reads = loadsIn(roots);
  const place = reads.find(({ operand }) => operand.tensor.storage === storage);
  const dimensions = place && dimensionsOf(consumer, forms.of(place.offset));
  const indices = dimensions && indicesOf(forms.of(store.offset), dimensions);
  if (!indices || pointsIn(producer, store) !== pointsOf(consumer.axes)) return null;
  const replaced = new Map<Expr, Expr>(indices);
  const toIndices = new Rewriter((expr) => replaced.get(expr) ?? null);
  for (const load of reads) {
    const known = made.get(load.operand.tensor.storage);
    if (!known) continue;
    const offset = toIndices.rewrite(load.offset);
    if (known.operand.dtype !== 'float32' || !areSameForms(forms.of(offset), forms.of(known.offset))) return null;
    replaced.set(load, cast(load.type, known.value));
  }
  const rewriter = new Rewriter((expr) => replaced.get(expr) ?? null);
  const appended = consumer.stores.map((each) => mapStore(each, (expr) => rewriter.rewrite(expr)));
  const mayStore = ({ operand, offset }: Store): boolean => {
    const target = operand.tensor.storage;
    // What a step reads, a later one may read again.
    const isAtPlace = (load: Expr): boolean =>
      producer.kind !== 'recurrence' && areSameForms(forms.of(load), forms.of(offset));
    return !made.has(target) && isReadOnlyAt(producer, target, isAtPlace);
  };
  if (!appended.every(mayStore)) return null;
  const own = producer.stores.filter((each) => each !== store || isReadLater);
  const label = producer.label === consumer.label ? producer.label : `${producer.label}+${consumer.label}`;
  return { ...producer, label, stores: [...own, ...appended] };
}

const isPlain = ({ guard, combine }: Store): boolean => !guard && !combine;

/** So many elements a store makes. */
function pointsIn(kernel: Kernel, { offset }: Store): number {
  if (kernel.kind === 'contraction') return pointsOf([...kernel.batch, kernel.m, kernel.n]);
  const isMentioned = (axis: AxisExpr): boolean => hasExpr([offset], (expr) => expr === axis);
  const axes = kernel.innerAxes.some(isMentioned) ? [...kernel.axes, ...kernel.innerAxes] : kernel.axes;
  return pointsOf(kernel.kind === 'recurrence' && isMentioned(kernel.time) ? [kernel.time, ...axes] : axes);
}

/** Whether a kernel reads a storage nowhere but in the values of its stores, outside of reductions, at that place. */
function isReadOnlyAt(kernel: Kernel, storage: Storage, isAtPlace: (offset: Expr) => boolean): boolean {
  const isRead = (expr: Expr): expr is LoadExpr => expr.kind === 'load' && expr.operand.tensor.storage === storage;
  const elsewhere: Expr[] = kernel.kind === 'contraction' ? [kernel.left, kernel.right] : [];
  for (const store of kernel.stores) {
    for (const root of expressionsOf(store)) {
      walk([root], (expr) => {
        if (expr.kind === 'reduce') elsewhere.push(expr);
        else if (isRead(expr) && !(root === store.value && isAtPlace(expr.offset))) elsewhere.push(expr);
        return expr.kind !== 'reduce';
      });
    }
  }
  return !hasExpr(elsewhere, isRead);
}
