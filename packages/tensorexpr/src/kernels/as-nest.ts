import { binary, cast, reduce } from '../expressions/builders.ts';
import { mapStore, type Contraction, type LoopNest } from './kernel.ts';
import { Rewriter } from '../expressions/substitute.ts';

/** A contraction as loops with a sum inside. */
export function asNest({ label, batch, m, n, k, left, right, stores }: Contraction): LoopNest {
  const product = binary('mul', cast('float', left), cast('float', right));
  const sum = reduce('sum', [k], product);
  const rewriter = new Rewriter((expr) => (expr.kind === 'accumulator' ? sum : null));
  return {
    kind: 'nest',
    label,
    axes: [...batch, m, n],
    innerAxes: [],
    stores: stores.map((store) => mapStore(store, (expr) => rewriter.rewrite(expr))),
  };
}
