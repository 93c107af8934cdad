import { elementSize, Storage, Tensor } from '@cresset/tensor';
import {
  elsewhere,
  expressionsIn,
  hasExpr,
  loadsIn,
  normalise,
  signatureOf,
  type Kernel,
  type LoadExpr,
} from '@cresset/tensorexpr';
import {
  kernelOf,
  launchStep,
  stepsOf,
  withLaunches,
  type LaunchProgram,
  type LaunchStep,
  type ProgramStorage,
} from '../program/launch-program.ts';

/** The elements that a tensor reaches, the last one included. */
interface Span {
  readonly tensor: Tensor;
  readonly first: number;
  readonly last: number;
}

/**
 * Tells parts of given storages apart that lie in one and have no element in common, as what an optimiser keeps of its parameters does: who writes to one
 * does nothing to the others.
 */
export function splitStorages(program: LaunchProgram): LaunchProgram {
  const launches = stepsOf(program, 'launch');
  const whole = new Set<Storage>();
  const tensors = new Map<Storage, Set<Tensor>>();
  for (const step of launches) {
    const kernel = kernelOf(step);
    if (!kernel) for (const storage of step.storages) whole.add(storage);
    else for (const storage of openIn(kernel)) whole.add(storage);
    for (const tensor of kernel ? tensorsIn(kernel) : []) {
      const { storage } = tensor;
      const known = tensors.get(storage);
      if (known) known.add(tensor);
      else tensors.set(storage, new Set([tensor]));
    }
  }
  const standing = new Map<Tensor, Tensor>();
  const pieces = new Map<Storage, ProgramStorage>();
  for (const [storage, used] of tensors) {
    const known = program.storages.get(storage)!;
    if (used.size < 2 || whole.has(storage) || known.kind !== 'given') continue;
    const parts = partsOf([...used]);
    if (!parts || parts.length < 2) continue;
    for (const part of parts) {
      const [{ tensor }] = part;
      const { dtype } = tensor;
      const piece = Storage.planned(dtype, storage.byteLength / elementSize(dtype));
      pieces.set(piece, { ...known, part: tensor });
      for (const { tensor: each, first } of part)
        standing.set(each, new Tensor(piece, dtype, each.sizes, each.strides, first));
    }
  }
  if (pieces.size === 0) return program;
  const split = launches.map((step) => onOwn(step, standing));
  return withLaunches(program, split, new Map([...program.storages, ...pieces]));
}

function tensorsIn(kernel: Kernel): Set<Tensor> {
  const loaded = loadsIn(expressionsIn(kernel)).map(({ operand }) => operand.tensor);
  return new Set([...loaded, ...kernel.stores.map(({ operand }) => operand.tensor)]);
}

/** Storages of which a kernel uses elements that are others with each replay. */
function openIn(kernel: Kernel): Storage[] {
  const isOpen = ({ offset }: Pick<LoadExpr, 'offset'>): boolean =>
    hasExpr([offset], (expr) => expr.kind === 'param' && expr.open !== undefined);
  const used = [...loadsIn(expressionsIn(kernel)), ...kernel.stores];
  return used.filter(isOpen).map(({ operand }) => operand.tensor.storage);
}

/** Tensors of one storage, those together that reach the same elements; null where it is not known which these are. */
function partsOf(tensors: readonly Tensor[]): Span[][] | null {
  if (tensors.some(({ dtype }) => dtype !== tensors[0].dtype)) return null;
  const spans = tensors
    .map((tensor): Span => {
      const { storageOffset: first, sizes, strides } = tensor;
      return { tensor, first, last: first + sizes.reduce((sum, size, dim) => sum + (size - 1) * strides[dim], 0) };
    })
    .sort((a, b) => a.first - b.first);
  const parts: Span[][] = [];
  let end = -1;
  for (const span of spans) {
    if (span.first > end) parts.push([]);
    parts.at(-1)!.push(span);
    end = Math.max(end, span.last);
  }
  return parts;
}

/** A launch with the storages of parts in the place of those that they lie in. */
function onOwn(step: LaunchStep, standing: ReadonlyMap<Tensor, Tensor>): LaunchStep {
  const kernel = kernelOf(step);
  if (!kernel || ![...tensorsIn(kernel)].some((tensor) => standing.has(tensor))) return step;
  const own = elsewhere(kernel, ({ tensor, dtype }) => {
    const other = standing.get(tensor);
    return other ? { operand: { tensor: other, dtype }, base: null } : null;
  });
  const { bindings, params } = signatureOf(normalise(own));
  return launchStep({ bindings, params, kernel: own });
}
