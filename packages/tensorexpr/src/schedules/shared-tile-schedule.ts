import type { DeviceCapabilities } from '../device.ts';
import { FreeAxes } from '../expressions/expr-children.ts';
import type { AxisExpr, Expr, LoadExpr, ReduceExpr } from '../expressions/expr.ts';
import { extentOf, pointsOf } from '../expressions/index-value.ts';
import { LinearForms } from '../expressions/linear-form.ts';
import { isReduced, loadsIn, walk } from '../expressions/walk.ts';
import { dearTile, hasDearRight, type SharedTile } from '../kernels/dear-tile.ts';
import type { NormalContraction } from '../kernels/normalise.ts';
import type { SharedTileSchedule, Staging } from './schedule.ts';

/** The largest first. What they take of workgroup memory is half of what every device has. */
const tiles: readonly SharedTile[] = [
  { threadsM: 16, threadsN: 16, tileM: 8, tileN: 8, depth: 8 },
  { threadsM: 8, threadsN: 8, tileM: 8, tileN: 8, depth: 8 },
  { threadsM: 16, threadsN: 16, tileM: 4, tileN: 4, depth: 16 },
  { threadsM: 8, threadsN: 8, tileM: 4, tileN: 4, depth: 16 },
];

/** So many threads keep a GPU busy: a tile is as large as leaves them. */
const enough = 16384;
/** A product with fewer rows, columns or steps has little to share. */
const least = 16;

/** How threads of a workgroup share what they multiply; null for a product too small for that. */
export function sharedTile(kernel: NormalContraction, capabilities: DeviceCapabilities): SharedTileSchedule | null {
  if (rowReductions(kernel).some(({ type }) => type !== 'float')) return null;
  const tile = isReduced(kernel.right)
    ? hasDearRight(kernel, kernel.k)
      ? dearTile(kernel, capabilities)
      : null
    : plainTile(kernel, capabilities);
  if (!tile) return null;
  const inner = kernel.k.at(-1)!;
  const vectors = new VectorLoads(kernel);
  return {
    kind: 'shared tile',
    ...tile,
    stepsInLine: extentOf(inner) % 4 === 0,
    left: vectors.staging(kernel.left, kernel.m, inner),
    right: vectors.staging(kernel.right, kernel.n, inner),
  };
}

/** The tile of a product whose sides are about as long to work out as to read. */
function plainTile(kernel: NormalContraction, capabilities: DeviceCapabilities): SharedTile | null {
  const [m, n] = [extentOf(kernel.m), extentOf(kernel.n)];
  if (Math.min(m, n, pointsOf(kernel.k)) < least) return null;
  const fitting = tiles.filter((tile) => tile.threadsM * tile.threadsN <= capabilities.maxWorkgroupSize);
  const chosen = fitting.find(({ threadsM, threadsN, tileM, tileN }) => {
    const [height, width] = [threadsM * tileM, threadsN * tileN];
    const count = pointsOf(kernel.batch) * Math.ceil(m / height) * Math.ceil(n / width);
    return height < 2 * m && width < 2 * n && count * threadsM * threadsN >= enough;
  });
  return chosen ?? fitting.at(-1) ?? null;
}

/** What the left side has to be summed up for each row, such as its statistics: a workgroup does that before it multiplies. */
export function rowReductions({ left, k }: NormalContraction): ReduceExpr[] {
  const freeAxes = new FreeAxes();
  const found: ReduceExpr[] = [];
  walk([left], (expr) => {
    if (expr.kind !== 'reduce' || k.some((own) => freeAxes.of(expr).has(own))) return true;
    found.push(expr);
    return false;
  });
  return found;
}

/** Where in workgroup memory the tiles of both sides lie, in vectors of four. */
export function sharedTileVectors({ threadsM, threadsN, tileM, tileN, depth }: SharedTile): {
  left: number;
  right: number;
} {
  return { left: (threadsM * tileM * depth) / 4, right: (threadsN * tileN * depth) / 4 };
}

/** Finds loads that may bring four elements at once, since these lie beside each other and begin where a vector does. */
class VectorLoads {
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
    const vectorsAlong = (along: AxisExpr): boolean[] => loads.map((load) => this.#isVector(load, along));
    for (const along of [step, line]) {
      const vectors = vectorsAlong(along);
      if (vectors.some((isVector, at) => isVector && isMost[at])) return { alongSteps: along === step, vectors };
    }
    const alongSteps = loads.some(({ offset }, at) => isMost[at] && this.#forms.of(offset).terms.get(step) === 1);
    return { alongSteps, vectors: loads.map(() => false) };
  }

  #isVector({ operand, offset }: LoadExpr, axis: AxisExpr): boolean {
    if (operand.dtype !== 'float32' || extentOf(axis) % 4 !== 0 || this.#stored.has(operand.tensor.storage))
      return false;
    const { base, terms, rest } = this.#forms.of(offset);
    // What a sum within the side reads is read step by step there.
    const isAligned = [...terms].every(
      ([own, stride]) => this.#loops.has(own) && (own === axis ? stride === 1 : stride % 4 === 0),
    );
    return rest === null && terms.has(axis) && isAligned && base % 4 === 0;
  }
}
