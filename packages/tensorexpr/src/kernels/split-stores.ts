import { FreeAxes } from '../expressions/expr-children.ts';
import { expressionsOf, type LoopNest, type Store } from './kernel.ts';

/** Stores made once for each point of the nest's axes, and those made for each value of the inner axes too. */
export function splitStores(nest: LoopNest): { once: Store[]; inner: Store[] } {
  const freeAxes = new FreeAxes();
  const mentionsInner = (store: Store): boolean =>
    nest.innerAxes.some((axis) => expressionsOf(store).some((expr) => freeAxes.of(expr).has(axis)));
  return {
    once: nest.stores.filter((store) => !mentionsInner(store)),
    inner: nest.stores.filter(mentionsInner),
  };
}
