import {
  boxingOf,
  deviceViews,
  divisionFaults,
  hasPointwiseExpr,
  outputShapes,
  pointwiseExpr,
  promotionOperand,
  readScalar,
  scalarParam,
  TensorElement,
  travelsAsNumber,
  type OperatorRow,
  type Precision,
  type TensorMeta,
} from '@cresset/operators';
import {
  contiguousStrides,
  isComplex,
  isFloatingPoint,
  Storage,
  Tensor,
  type DeviceMemory,
  type IValue,
  type ScalarType,
  symAdd,
  symEq,
  symGt,
  symMul,
  symText,
  type SymInt,
} from '@cresset/tensor';
import { cast, computesDoubles, exprTypeOf, unary, type Expr, type LoopNest, type Store } from '@cresset/tensorexpr';
import type { DeviceLowering } from './device-lowering.ts';

/** A pointwise operator of a group; operands are positions in the group's list of values. */
export interface PointwiseMember {
  readonly row: OperatorRow;
  readonly inputs: readonly number[];
  readonly output: number;
}

/** The concatenation a group ends with: positions of its parts, and of its result. */
export interface Concatenation {
  readonly parts: readonly number[];
  readonly dim: number;
  readonly output: number;
}

/** A tensor that is computed on the way and never stored: its layout tells what the next operator makes of it. */
export function layoutOnly({ sizes, dtype, strides }: TensorMeta): Tensor {
  return new Tensor(noStorage, dtype, sizes, strides ?? contiguousStrides(sizes));
}
/** Neither on the host nor on a device: nobody may look for a value in it. */
const noStorage = Storage.fromSource({
  byteLength: 0,
  read: () => Promise.reject(new TypeError('a layout has no elements')),
  released: () => undefined,
});

/**
 * Runs pointwise operators as one kernel for each shape among the results; parts of a concatenation are written where they
 * belong in its result. `values` holds the inputs at their positions; gives the results at `outputs`. Null where a dtype, or a row
 * for these dtypes, has no expression, or the parts do not simply fit together. Throws the error of the operator whose arguments
 * do not fit.
 */
export function runFused(
  members: readonly PointwiseMember[],
  outputs: readonly number[],
  values: readonly IValue[],
  label: string,
  launches: DeviceLowering,
  concatenation: Concatenation | null = null,
): Tensor[] | null {
  const layouts = inferLayouts(members, values, launches.device.capabilities);
  if (!layouts) return null;
  if (concatenation) {
    const joined = joinedLayout(concatenation, layouts);
    if (!joined) return null;
    layouts[concatenation.output] = joined;
  }
  const results = outputs.map((position) => allocateLike(layouts[position] as Tensor, launches.device));
  const places = outputs.flatMap((position, at): Place[] =>
    position === concatenation?.output
      ? partsOf(results[at], concatenation, layouts)
      : [{ position, target: results[at] }],
  );
  const release = (): void => results.forEach(({ storage }) => storage.dispose());
  let nests: LoopNest[];
  try {
    nests = bySizes(places)
      .filter(([{ target }]) => symGt(target.symNumel, 0))
      .flatMap((group) => makeNests(members, values, layouts, group, label, launches));
  } catch (error) {
    // Nobody else knows of them.
    release();
    throw error;
  }
  if (isDoubleGroup(members, layouts) && !nests.every(computesDoubles)) {
    release();
    return null;
  }
  for (const nest of nests) launches.launchNow(nest);
  return results;
}

/** A value of the group, and where it is stored. */
interface Place {
  readonly position: number;
  readonly target: Tensor;
}

/** The layout of what a concatenation gives; null unless all its parts have one dtype and sizes that differ along `dim` only. */
function joinedLayout({ parts, dim }: Concatenation, layouts: readonly IValue[]): Tensor | null {
  const tensors = parts.map((position) => layouts[position]);
  const [first] = tensors;
  if (!(first instanceof Tensor)) return null;
  const along = dim < 0 ? dim + first.dim : dim;
  const fit = tensors.every(
    (tensor) =>
      tensor instanceof Tensor &&
      tensor.dtype === first.dtype &&
      tensor.dim === first.dim &&
      !isComplex(tensor.dtype) &&
      tensor.symSizes.every((size, at) => at === along || symEq(size, first.symSizes[at])),
  );
  if (!fit || along < 0 || along >= first.dim) return null;
  const total = (tensors as Tensor[]).reduce<SymInt>((sum, tensor) => symAdd(sum, tensor.symSizes[along]), 0);
  return layoutOnly({ sizes: first.symSizes.map((size, at) => (at === along ? total : size)), dtype: first.dtype });
}

function partsOf(result: Tensor, { parts, dim }: Concatenation, layouts: readonly IValue[]): Place[] {
  const along = dim < 0 ? dim + result.dim : dim;
  const { symStrides: strides } = result;
  let start: SymInt = 0;
  return parts.map((position) => {
    const { symSizes: sizes } = layouts[position] as Tensor;
    const offset = symAdd(result.symStorageOffset, symMul(start, strides[along]));
    const target = result.asStrided(sizes, strides, offset);
    start = symAdd(start, sizes[along]);
    return { position, target };
  });
}

/**
 * The values with every intermediate result as a tensor without elements. Null for groups that no kernel computes: those with doubles among other
 * floats, which would not be rounded on the way, or on a device that has no doubles.
 */
export function inferLayouts(
  members: readonly PointwiseMember[],
  values: readonly IValue[],
  { doubles }: Precision,
): IValue[] | null {
  const layouts = [...values];
  const floats = new Set<ScalarType>();
  for (const { row, inputs, output } of members) {
    const args = boxingOf(row).unbox(inputs.map((input) => layouts[input]));
    const tensors = Object.values(args).filter((value) => value instanceof Tensor);
    const dtypes = tensors.map(({ dtype }) => dtype);
    if (dtypes.some(isComplex) || !hasPointwiseExpr(row, dtypes)) return null;
    const [meta] = outputShapes(row, args)!;
    layouts[output] = layoutOnly(meta);
    for (const tensor of [...tensors, layouts[output] as Tensor])
      if (isFloatingPoint(tensor.dtype) && !travelsAsNumber(tensor)) floats.add(tensor.dtype);
  }
  return floats.has('float64') && (!doubles || floats.size > 1) ? null : layouts;
}

/** Whether the values of a group are doubles, as far as they are floats. */
const isDoubleGroup = (members: readonly PointwiseMember[], layouts: readonly IValue[]): boolean =>
  members.some(({ inputs, output }) =>
    [...inputs, output].some((at) => {
      const value = layouts[at];
      return value instanceof Tensor && value.dtype === 'float64' && !travelsAsNumber(value);
    }),
  );

export function allocateLike(like: Tensor, device: DeviceMemory): Tensor {
  const { dtype, symSizes: sizes, symStrides: strides, symNumel: count } = like;
  if (symEq(count, 0)) return Tensor.empty(like.sizes, dtype);
  return new Tensor(Storage.onDevice(device, dtype, count), dtype, sizes, strides);
}

function bySizes(places: readonly Place[]): Place[][] {
  const groups = new Map<string, Place[]>();
  for (const place of places) {
    const key = place.target.symSizes.map(symText).join();
    const group = groups.get(key);
    if (group) group.push(place);
    else groups.set(key, [place]);
  }
  return [...groups.values()];
}

/**
 * One loop over the elements of results of equal sizes; every input is read as if it were broadcast to them. Before it one that notes divisions
 * by zero, where there may be any.
 */
function makeNests(
  members: readonly PointwiseMember[],
  values: readonly IValue[],
  layouts: readonly IValue[],
  places: readonly Place[],
  label: string,
  launches: DeviceLowering,
): LoopNest[] {
  const results = places.map(({ target }) => target);
  const positions = places.map(({ position }) => position);
  const needed = neededMembers(members, positions);
  const computed = new Set(needed.map(({ output }) => output));
  const loaded = new Map<number, Tensor>();
  const load = (position: number): void => {
    const value = values[position];
    if (!computed.has(position) && value instanceof Tensor && !travelsAsNumber(value)) loaded.set(position, value);
  };
  for (const { inputs } of needed) inputs.forEach(load);
  positions.forEach(load);
  const [first, ...others] = results;
  const { axes, target, views } = deviceViews(first, [...others, ...loaded.values()]);
  const targets = [target, ...views.slice(0, others.length)];
  const elements = new Map<number, TensorElement>();
  [...loaded].forEach(([position, tensor], at) => {
    elements.set(position, elementOf(views[others.length + at].at(axes), tensor));
  });
  composeMembers(needed, layouts, elements, launches);
  const stores = positions.map((position, at): Store => {
    const value: Expr = cast(exprTypeOf(results[at].dtype), elements.get(position)!.expr);
    return { operand: targets[at].operand, offset: targets[at].offsetAt(axes), value };
  });
  const faults = divisionFaults(
    stores.map(({ value }) => value),
    launches,
  );
  return [faults, stores]
    .filter(({ length }) => length > 0)
    .map((each) => ({ kind: 'nest', label, axes, innerAxes: [], stores: each }));
}

/** Adds the expression of each member's result to `elements`, which hold those of the tensors that are loaded. */
export function composeMembers(
  members: readonly PointwiseMember[],
  layouts: readonly IValue[],
  elements: Map<number, TensorElement>,
  launches: DeviceLowering,
): void {
  for (const { row, inputs, output } of members) {
    const args: Record<string, unknown> = boxingOf(row).unbox(inputs.map((input) => layouts[input]));
    boxingOf(row).signature.args.forEach(({ name }, at) => {
      const value = layouts[inputs[at]];
      if (!(value instanceof Tensor)) return;
      args[name] =
        elements.get(inputs[at]) ?? elementOf(scalarParam(readScalar(value, value.storageOffset), value.dtype), value);
    });
    const { expr } = pointwiseExpr(row, args, launches.openUp(inputs));
    const layout = layouts[output] as Tensor;
    elements.set(output, elementOf(roundedTo(layout.dtype, expr), layout));
  }
}

/** What an operator stores in a narrow float type is rounded to it, and may overflow, before the next one reads it. */
function roundedTo(dtype: ScalarType, expr: Expr): Expr {
  return dtype === 'float16' ? unary('half', expr) : dtype === 'bfloat16' ? unary('bfloat', expr) : expr;
}

export function elementOf(expr: Expr, tensor: Tensor): TensorElement {
  return new TensorElement(expr, tensor.dtype, promotionOperand(tensor).category);
}

function neededMembers(members: readonly PointwiseMember[], positions: readonly number[]): PointwiseMember[] {
  const wanted = new Set(positions);
  const needed: PointwiseMember[] = [];
  for (let at = members.length - 1; at >= 0; at--) {
    const member = members[at];
    if (!wanted.has(member.output)) continue;
    needed.push(member);
    for (const input of member.inputs) wanted.add(input);
  }
  return needed.reverse();
}
