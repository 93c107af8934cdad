import { hint, keepGuards, SizeGuards } from '@cresset/tensor';
import { param } from '../expressions/builders.ts';
import type { ParamExpr } from '../expressions/expr.ts';
import type { Kernel } from './kernel.ts';

/** A param with the number that it is now. */
export function paramOfNow(own: ParamExpr): ParamExpr {
  if (!own.sym) return own;
  const value = hint(own.sym);
  return param(own.type, own.type === 'i64' ? BigInt(value) : value);
}

/** What a launch takes along now, of a kernel that was made ready for any sizes. */
export const paramsOfNow = (params: readonly ParamExpr[]): readonly ParamExpr[] =>
  params.some(({ sym }) => sym) ? params.map(paramOfNow) : params;

/** Ways to make a kernel ready that are kept: for few rows, for many. */
const MOST_KEPT = 4;

/** Makes kernels with expressions of sizes ready once for all sizes for which that comes to the same. */
export class SizedKernels<Ready> {
  readonly #known = new WeakMap<Kernel, { readonly guards: SizeGuards; readonly ready: Ready }[]>();

  /** @param make notes guards of what it goes by */
  constructor(private readonly make: (kernel: Kernel) => Ready) {}

  /** What was made of a kernel that holds for the sizes of now. */
  of(kernel: Kernel): Ready {
    let known = this.#known.get(kernel);
    if (!known) this.#known.set(kernel, (known = []));
    let found = known.find(({ guards }) => guards.holds());
    if (!found) {
      const guards = new SizeGuards();
      found = { guards, ready: keepGuards(guards, () => this.make(kernel)) };
      known.unshift(found);
      known.splice(MOST_KEPT);
    }
    return found.ready;
  }
}
