import { Tensor, type Storage } from '@cresset/tensor';
import {
  axis,
  expressionsIn,
  extentOf,
  loadsIn,
  normalise,
  param,
  signatureOf,
  TensorView,
  type AxisExpr,
  type Expr,
  type Kernel,
  type LaunchRecorder,
  type LoopNest,
  type PreparedLaunch,
} from '@cresset/tensorexpr';
import {
  launchStep,
  stepsOf,
  type LaunchProgram,
  type LaunchStep,
  type ProgramStorage,
} from '../program/launch-program.ts';
import { plainGpu } from '../../../../../test-setup/plain-gpu.ts';
import { Regions, type RegionLimits } from './regions.ts';

/** What tests of launches have in common. */

export const made = (...sizes: number[]): Tensor => Tensor.empty(sizes, 'float32');

export const prepared = (kernels: readonly Kernel[]): PreparedLaunch => {
  const { bindings, params } = signatureOf(...kernels.map(normalise));
  return { bindings, params, kernel: kernels.length === 1 ? kernels[0] : null };
};

export const stepOf = (kernel: Kernel): LaunchStep => launchStep(prepared([kernel]));

/** Of a device that binds so many buffers at a time, and joins whatever it is given. */
export const recorderOf = (most: number = Infinity): LaunchRecorder =>
  ({
    prepare: (kernel: Kernel) => {
      const launch = prepared([kernel]);
      return launch.bindings.length <= most ? launch : null;
    },
    together: (launches: readonly PreparedLaunch[]) => prepared(launches.map(({ kernel }) => kernel!)),
  }) as unknown as LaunchRecorder;

/** A program of launches alone. Of some tensors nobody reads anything in the end, and some hold notes of faults; the others are somebody's. */
export function programOf(
  launches: readonly LaunchStep[],
  scratch: readonly Tensor[] = [],
  faults: readonly Tensor[] = [],
): LaunchProgram {
  const kindOf = (storage: Storage): ProgramStorage['kind'] => {
    const isAmong = (tensors: readonly Tensor[]): boolean => tensors.some((tensor) => tensor.storage === storage);
    return isAmong(scratch) ? 'scratch' : isAmong(faults) ? 'faults' : 'given';
  };
  const storages = launches.flatMap((step) =>
    step.launch.bindings.map(({ operand: { dtype }, layout }, at): [Storage, ProgramStorage] => {
      const storage = step.storages[at];
      return [storage, { kind: kindOf(storage), dtype, layout }];
    }),
  );
  return { steps: launches, storages: new Map(storages), env: null };
}

/** Of a program on a GPU with so many buffers, whose launches may share some. */
export function regionsOf(program: LaunchProgram, others: Partial<RegionLimits> = {}): Regions {
  return new Regions(program, {
    capabilities: plainGpu,
    recorder: recorderOf(),
    isShared: true,
    isWide: false,
    parameters: null,
    ...others,
  });
}

export const launchesOf = (program: LaunchProgram): LaunchStep[] => stepsOf(program, 'launch');

/** A tensor's element at a point, backwards along its last dimension where `isBackwards`. */
export function elementOf(tensor: Tensor, axes: readonly Expr[], isBackwards = false): Expr {
  const place = isBackwards ? [...axes.slice(0, -1), backwards(axes.at(-1)!, tensor.sizes.at(-1)!)] : [...axes];
  return new TensorView(tensor).at(place);
}

const backwards = (along: Expr, extent: number): Expr => ({
  kind: 'binary',
  type: 'i32',
  fn: 'sub',
  x: param('i32', extent - 1),
  y: along,
});

/** A nest over the elements of tensors of one size, which stores to each of them. */
export function nestOf(
  label: string,
  to: readonly Tensor[],
  values: (axes: readonly AxisExpr[]) => readonly Expr[],
  guard?: (axes: readonly AxisExpr[]) => Expr,
): LoopNest {
  const views = to.map((tensor) => new TensorView(tensor));
  const axes = to[0].sizes.map((size, at) => axis(`i${at}`, param('i32', size)));
  const all = values(axes);
  const stores = views.map((view, at) => ({
    operand: view.operand,
    offset: view.offsetAt(axes),
    value: all[at],
    ...(guard && { guard: guard(axes) }),
  }));
  return { kind: 'nest', label, axes, innerAxes: [], stores };
}

/** The storages that a launch loads from and does not store to. */
export const readBy = ({ launch, storages }: LaunchStep): Storage[] =>
  storages.filter((_, binding) => !launch.bindings[binding].stored);

/** The storages that a launch stores to. */
export const storedBy = ({ launch, storages }: LaunchStep): Storage[] =>
  storages.filter((_, binding) => launch.bindings[binding].stored);

export const labelsOf = (launches: readonly LaunchStep[]): (string | undefined)[] =>
  launches.map(({ launch }) => launch.kernel?.label);

/** What storages hold: as many numbers as they have elements. */
export type Contents = Map<Storage, number[] | Float32Array>;

/**
 * Does launches of nests one after the other, the points of each in the order that `orderOf` gives numbers: whoever is right in two orders has no points
 * that see each other's stores.
 *
 * @param open the numbers that params are which are open
 */
export function run(
  launches: readonly LaunchStep[],
  contents: Contents,
  orderOf: (points: number) => readonly number[],
  open: readonly (number | bigint)[] = [],
): void {
  const valueOf = (expr: Expr, place: ReadonlyMap<Expr, number>): number => valueIn(expr, place, contents, open);
  for (const { launch } of launches) {
    const kernel = launch.kernel as LoopNest;
    const axes = [...kernel.axes, ...kernel.innerAxes];
    const extents = axes.map(extentOf);
    const points = extents.reduce((product, extent) => product * extent, 1);
    for (const point of orderOf(points)) {
      const place = new Map<Expr, number>();
      let rest = point;
      for (const [at, each] of [...axes.entries()].toReversed()) {
        place.set(each, rest % extents[at]);
        rest = Math.floor(rest / extents[at]);
      }
      const stores = kernel.stores.filter(({ guard }) => !guard || valueOf(guard, place));
      const values = stores.map(({ value, offset, operand }) => ({
        storage: operand.tensor.storage,
        at: valueOf(offset, place),
        value: valueOf(value, place),
      }));
      for (const { storage, at, value } of values) contents.get(storage)![at] = value;
    }
  }
}

/** A value, as far as launches of tests have it: nothing is rounded, so that no order of launches shows in the last digits. */
function valueIn(
  expr: Expr,
  place: ReadonlyMap<Expr, number>,
  contents: Contents,
  open: readonly (number | bigint)[],
): number {
  const of = (each: Expr): number => valueIn(each, place, contents, open);
  switch (expr.kind) {
    case 'const':
      return Number(expr.value);
    case 'param':
      return Number(expr.open ? (open[expr.open.index] ?? expr.open.value) : expr.value);
    case 'axis':
      return place.get(expr)!;
    case 'load':
      return contents.get(expr.operand.tensor.storage)![of(expr.offset)];
    case 'select':
      return of(expr.condition) ? of(expr.x) : of(expr.y);
    case 'cast':
      return of(expr.x);
    case 'unary':
      if (expr.fn === 'neg') return -of(expr.x);
      break;
    case 'binary': {
      const known = functions[expr.fn];
      if (known) return known(of(expr.x), of(expr.y));
      break;
    }
    case 'reduce': {
      const [along] = expr.axes;
      let sum = 0;
      for (let step = 0; step < extentOf(along); step++)
        sum += valueIn(expr.body, new Map([...place, [along, step]]), contents, open);
      return sum;
    }
  }
  throw new TypeError(`no launch of a test has ${expr.kind}`);
}

const functions: Record<string, (a: number, b: number) => number> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  lt: (a, b) => Number(a < b),
  gt: (a, b) => Number(a > b),
  eq: (a, b) => Number(a === b),
  and: (a, b) => Number(a && b),
  truncdiv: (a, b) => Math.trunc(a / b),
  fmod: (a, b) => a % b,
};

/** The storages that a kernel loads from. */
export const loadedBy = (kernel: Kernel): Set<Storage> =>
  new Set(loadsIn(expressionsIn(kernel)).map(({ operand }) => operand.tensor.storage));
