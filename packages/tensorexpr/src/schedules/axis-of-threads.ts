import { FreeAxes } from '../expressions/expr-children.ts';
import { extentOf } from '../expressions/index-value.ts';
import { LinearForms } from '../expressions/linear-form.ts';
import { loadsIn } from '../expressions/walk.ts';
import { expressionsOf, type LoopNest } from '../kernels/kernel.ts';

/** Steps of an axis from which on it pays that a thread goes along it. */
const worthwhile = 16;

/** The same of the last axis, along which the threads of a workgroup go side by side: too short a one leaves some of them idle. */
const worthwhileSideBySide = 512;

/**
 * The axis of a nest, by its place, along which threads best go; null where all are short. What does not change along it is loaded and worked out once
 * a thread, and the loop has no position to take apart. So it is the axis along which most loads stay the same, then the one along which
 * most go on to the next element, then the longest.
 */
export function axisOfThreads({ axes, stores }: LoopNest): number | null {
  const [freeAxes, forms] = [new FreeAxes(), new LinearForms()];
  const offsets = loadsIn(stores.flatMap(expressionsOf)).map(({ offset }) => offset);
  const candidates = axes.map((axis, at) => ({
    at,
    extent: extentOf(axis),
    same: offsets.filter((offset) => !freeAxes.of(offset).has(axis)).length,
    next: offsets.filter((offset) => forms.of(offset).terms.get(axis) === 1).length,
  }));
  const last = axes.length - 1;
  const [best] = candidates
    .filter(({ at, extent }) => extent >= (at === last ? worthwhileSideBySide : worthwhile))
    .sort((a, b) => b.same - a.same || b.next - a.next || b.extent - a.extent);
  return best?.at ?? null;
}
