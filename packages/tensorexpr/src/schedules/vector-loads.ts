import { hint } from '@cresset/tensor';
import type { AxisExpr, Expr, LoadExpr } from '../expressions/expr.ts';
import { extentOf } from '../expressions/index-value.ts';
import { LinearForms } from '../expressions/linear-form.ts';
import { loadsIn } from '../expressions/walk.ts';
import type { NormalContraction } from '../kernels/normalise.ts';
import type { Staging } from './schedule.ts';

/** Dtypes of which a device has float32, in words of their own or two to a word. */
const isFloat: ReadonlySet<string> = new Set(['float32', 'float16', 'bfloat16']);

/** Finds loads that may bring four elements at once, since these lie beside each other and begin where a vector does. */
export class VectorLoads {
  readonly #forms = new LinearForms();
  readonly #stored: ReadonlySet<unknown>;
  readonly #loops: ReadonlySet<AxisExpr>;

  constructor({ batch, m, n, k, stores }: NormalContraction) {
    this.#loops = new Set([...batch, m, n, ...k]);
    this.#stored = new Set(stores.map(({ operand }) => operand.tensor.storage));
  }

  /** How a side is staged, of which `line` is the axis that the sum has not, and `step` the innermost of the sum. */
  staging(side: Expr, line: AxisExpr, step: AxisExpr): Staging {
    const loads = loadsIn([side]);
    // Those that change with both are what is read most.
    const isMost = loads.map(({ offset }) => [line, step].every((own) => this.#forms.of(offset).terms.has(own)));
    for (const along of [step, line]) {
      const vectors = this.vectorsAlong(side, along);
      if (vectors.some((isVector, at) => isVector && isMost[at])) return { alongSteps: along === step, vectors };
    }
    const alongSteps = loads.some(({ offset }, at) => isMost[at] && this.#forms.of(offset).terms.get(step) === 1);
    return { alongSteps, vectors: loads.map(() => false) };
  }

  /** Of the loads of a side, in the order of `loadsIn`: which may bring four elements along an axis. */
  vectorsAlong(side: Expr, along: AxisExpr): boolean[] {
    return loadsIn([side]).map((load) => this.#isVector(load, along));
  }

  #isVector({ operand, offset }: LoadExpr, axis: AxisExpr): boolean {
    if (!isFloat.has(operand.dtype) || extentOf(axis) % 4 !== 0 || this.#stored.has(operand.tensor.storage))
      return false;
    const { base, terms, rest } = this.#forms.of(offset);
    // What a sum within the side reads is read step by step there.
    const isAligned = [...terms].every(
      ([own, stride]) => this.#loops.has(own) && (own === axis ? stride === 1 : hint(stride) % 4 === 0),
    );
    return rest === null && terms.has(axis) && isAligned && hint(base) % 4 === 0;
  }
}
