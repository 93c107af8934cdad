import {
  broadcastStrides,
  computeCallOnDevice,
  divisorsIn,
  travelsAsNumber,
  type OperatorCall,
  type TensorElement,
} from '@cresset/operators';
import { contiguousStrides, Tensor, type IValue, type Storage, symEq, symSame, type SymInt } from '@cresset/tensor';
import {
  binary,
  cast,
  computesDoubles,
  constant,
  expressionsIn,
  exprTypeOf,
  offsetExpr,
  param,
  type Expr,
  type Kernel,
  type LoadExpr,
  type Store,
  loadsIn,
} from '@cresset/tensorexpr';
import type { DeviceLowering } from './device-lowering.ts';
import {
  allocateLike,
  composeMembers,
  elementOf,
  inferLayouts,
  layoutOnly,
  type PointwiseMember,
} from './fused-kernel.ts';

/** What became of a group with an anchor: all its results, or only the anchor's. */
export type AnchorResult = { readonly results: Tensor[] } | { readonly anchor: Tensor };

/**
 * Runs an operator on the device and what pointwise operators make of its result, element by element, in its last kernel: instead of the
 * operator's own value, which is at `output` among the group's, that kernel stores the group's. Where shapes or kernels do not allow it, only the operator is run. Null where the
 * shape of its result is not known beforehand; nothing is done then.
 */
export function runWithEpilogue(
  call: OperatorCall,
  output: number,
  members: readonly PointwiseMember[],
  outputs: readonly number[],
  values: readonly IValue[],
  label: string,
  launches: DeviceLowering,
): AnchorResult | null {
  const metas = call.outputs;
  if (!metas) return null;
  const meta = metas[0];
  const withAnchor = [...values];
  withAnchor[output] = layoutOnly(meta);
  const layouts = inferLayouts(members, withAnchor, launches.device.capabilities);
  // An operator whose shape is known does not wait.
  const [result] = computeCallOnDevice(call, launches) as [Tensor];
  const kernels = launches.kernels.splice(0);
  const store =
    layouts && (meta.dtype === 'float32' || meta.dtype === 'float64') ? onlyStoreTo(result.storage, kernels) : null;
  const fits = layouts !== null && outputs.every((position) => hasLayoutOf(layouts[position] as Tensor, result));
  if (!layouts || !store || !fits || symEq(result.symNumel, 0)) {
    for (const kernel of kernels) launches.launchNow(kernel);
    return { anchor: result };
  }
  const results = outputs.map((position) => allocateLike(layouts[position] as Tensor, launches.device));
  const elements = new Map([[output, elementOf(store.value, result)]]);
  loadOperands(members, values, result.symSizes, store.offset, elements);
  composeMembers(members, layouts, elements, launches);
  const stores = outputs.map((position, at): Store => {
    const { expr } = elements.get(position)!;
    return {
      operand: { tensor: results[at], dtype: results[at].dtype },
      offset: store.offset,
      value: cast(exprTypeOf(results[at].dtype), expr),
    };
  });
  const last = kernels.at(-1)!;
  // What the anchor computes is in no kernel that could look at divisors beforehand.
  const divides = divisorsIn(
    stores.map(({ value }) => value),
    [store.value],
  );
  const whole: Kernel = { ...last, label, stores: [...last.stores.filter((each) => each !== store), ...stores] };
  const isDoubled = computesDoubles(whole) !== computesDoubles(last);
  if (isDoubled || divides.length > 0) {
    for (const { storage } of results) storage.dispose();
    for (const kernel of kernels) launches.launchNow(kernel);
    return { anchor: result };
  }
  for (const kernel of kernels.slice(0, -1)) launches.launchNow(kernel);
  launches.launchNow(whole);
  result.dispose();
  return { results };
}

/** The store of the last kernel, where it is the only one to this storage and nothing reads it. */
function onlyStoreTo(storage: Storage, kernels: readonly Kernel[]): Store | null {
  const last = kernels.at(-1);
  const stores = kernels.flatMap((kernel) => kernel.stores.filter(({ operand }) => operand.tensor.storage === storage));
  const [store] = stores;
  if (stores.length !== 1 || !last?.stores.includes(store)) return null;
  return store.guard || kernels.some((kernel) => reads(kernel, storage)) ? null : store;
}

const reads = (kernel: Kernel, storage: Storage): boolean =>
  loadsIn(expressionsIn(kernel)).some(({ operand }) => operand.tensor.storage === storage);

/** Whether an element of one lies at the same offset as that of the other: both fill their storage in C order. */
function hasLayoutOf(tensor: Tensor, result: Tensor): boolean {
  return (
    symEq(result.symStorageOffset, 0) &&
    result.isContiguous() &&
    tensor.isContiguous() &&
    symSame(tensor.symSizes, result.symSizes)
  );
}

/** Reads the group's other tensors at the place whose offset in the result is `place`. */
function loadOperands(
  members: readonly PointwiseMember[],
  values: readonly IValue[],
  sizes: readonly SymInt[],
  place: Expr,
  elements: Map<number, TensorElement>,
): void {
  const indices = new PlaceIndices(sizes, place);
  for (const { inputs } of members) {
    for (const input of inputs) {
      const value = values[input];
      if (!elements.has(input) && value instanceof Tensor && !travelsAsNumber(value)) {
        elements.set(input, elementOf(indices.load(value), value));
      }
    }
  }
}

/** Where operands of other layouts have the element that lies at `place` of a result in C order. */
class PlaceIndices {
  readonly #strides: readonly SymInt[];
  readonly #indices = new Map<number, Expr>();

  constructor(
    private readonly sizes: readonly SymInt[],
    private readonly place: Expr,
  ) {
    this.#strides = contiguousStrides(sizes);
  }

  load(tensor: Tensor): LoadExpr {
    return {
      kind: 'load',
      type: exprTypeOf(tensor.dtype),
      operand: { tensor, dtype: tensor.dtype },
      offset: this.#offsetIn(tensor),
    };
  }

  #offsetIn(tensor: Tensor): Expr {
    const strides = broadcastStrides(tensor.symSizes, tensor.symStrides, this.sizes);
    const start = offsetExpr(tensor);
    const isAlike = strides.every((stride, dim) => symEq(this.sizes[dim], 1) || symEq(stride, this.#strides[dim]));
    if (isAlike) return binary('add', this.place, start);
    return strides.reduce<Expr>((offset, stride, dim) => {
      if (stride === 0 || symEq(this.sizes[dim], 1)) return offset;
      return binary('add', offset, binary('mul', this.#index(dim), number(stride)));
    }, start);
  }

  /** The index in one dimension, worked out from the place. */
  #index(dim: number): Expr {
    let index = this.#indices.get(dim);
    if (!index) {
      const quotient = binary('truncdiv', this.place, number(this.#strides[dim]));
      const isFirst = this.sizes.slice(0, dim).every((size) => symEq(size, 1));
      index = isFirst ? quotient : binary('fmod', quotient, number(this.sizes[dim]));
      this.#indices.set(dim, index);
    }
    return index;
  }
}

/** A stride or size: 1 is structure, other values come with the call. */
function number(value: SymInt): Expr {
  return value === 1 ? constant('i32', 1) : param('i32', value);
}
