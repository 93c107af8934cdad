import { isComplex, Tensor, type IValue, type ScalarType } from '@cresset/tensor';
import { isPyTorchsRefusal } from '@cresset/operators/parts/derivatives';
import type { Call, FileReader, ProgramCase } from '../cases/case.ts';
import { decodeIValue } from '../cases/ivalue-json.ts';
import type { Program } from '../cases/program.ts';
import { isOfHermitian, isSkipped } from './gradient-samples.ts';
import { floatsIn, withReplaced } from './tensors-within.ts';

/** What came of comparing a derivative with the slopes that a program shows: a difference, or why nothing could be compared. */
export type GradientCheck = { readonly difference: string | null } | { readonly unchecked: string };

const STEP = 1e-6;

/**
 * Compares the gradients of a case's first call with differences of its results, in double precision (PyTorch: gradcheck, in its fast
 * mode): each input is moved along one direction, which has part in all of its elements. Where results move differently ahead
 * and back, as at the bend of an absolute value, there is nothing to compare.
 */
export async function checkGradients(
  program: Program,
  json: ProgramCase,
  readFile: FileReader,
): Promise<GradientCheck> {
  const [call] = json.calls ?? [];
  if (!call || call.raises !== undefined || json.shape_only) return { unchecked: 'no results' };
  const entry = call.entry ?? json.entry ?? 'forward';
  const leaves: Tensor[] = [];
  const { id } = json;
  if (isSkipped(id)) return { unchecked: 'refused by PyTorch' };
  const given = await Promise.all(call.inputs.map((input) => decodeIValue(input, readFile)));
  const inputs = given.map((input) => doubled(input, leaves));
  if (isOfHermitian(id)) leaves.forEach(makeHermitian);
  if (leaves.length === 0) return { unchecked: 'no floats among the inputs' };
  const kwargs = await keywords(call, readFile, leaves);
  const evaluate = async (): Promise<readonly Float64Array[] | null> => {
    const result = await program.call(entry, inputs.map(copyOf), new Map([...kwargs].map(([k, v]) => [k, copyOf(v)])));
    return doublesIn(result);
  };
  const before = await evaluate().catch((error: unknown) => {
    if (/double/i.test(String(error))) return null;
    throw error;
  });
  const again = before && (await evaluate());
  if (!before || before.length === 0) return { unchecked: 'no doubles among the results' };
  if (before.some((values, at) => values.some((value, k) => value !== again![at][k]))) return { unchecked: 'random' };
  const weights = before.map((values, at) => values.map((_, k) => 0.5 + noise(97 * at + k)));
  const gradientsBy = (chosen: readonly Tensor[]): ReturnType<Program['weightedGradients']> => {
    for (const leaf of leaves) leaf.requiresGrad = false;
    return program.weightedGradients(entry, inputs, kwargs, chosen, (output) => weights[output].slice());
  };
  let checked: readonly Tensor[] = leaves;
  let found = await unlessRefused(gradientsBy(leaves));
  if (found === 'refused') {
    // By the others PyTorch differentiates.
    checked = await filtered(leaves, async (leaf) => (await unlessRefused(gradientsBy([leaf]))) !== 'refused');
    if (checked.length === 0) return { unchecked: 'refused by PyTorch' };
    found = await gradientsBy(checked);
  }
  if (!found.required.includes(true)) return { unchecked: 'no result has a derivative' };
  found.required.forEach((isRequired, at) => isRequired || weights[at].fill(0));
  const slopeAlong = async (
    leaf: Tensor,
    direction: Float64Array,
    step: number,
  ): Promise<{ readonly up: number; readonly down: number } | null> => {
    const ahead = await moved(leaf, direction, step, evaluate);
    const back = await moved(leaf, direction, -step, evaluate);
    return ahead && back && { up: product(ahead, before, weights) / step, down: product(before, back, weights) / step };
  };
  const wrong: number[] = [];
  for (const [at, leaf] of checked.entries()) {
    const direction = directionOf(leaf, leaves.indexOf(leaf));
    const gradient = found.gradients[at];
    const expected = gradient ? inner(gradient.contiguousArray() as Float64Array, direction) : 0;
    const slope = await slopeAlong(leaf, direction, STEP);
    if (!slope) return { unchecked: 'no doubles among the results' };
    const { up, down } = slope;
    if (!Number.isFinite(up) || !Number.isFinite(down)) return { unchecked: 'not finite' };
    if (Math.abs(up - down) > 1e-3 * (1 + Math.abs(up) + Math.abs(down))) return { unchecked: 'no slope there' };
    if (isClose(expected, (up + down) / 2)) continue;
    // Where a function bends sharply, the way to be gone is shorter.
    const closer = await slopeAlong(leaf, direction, STEP / 100);
    if (!closer || !isClose(expected, (closer.up + closer.down) / 2)) wrong.push(leaves.indexOf(leaf));
  }
  return { difference: wrong.length === 0 ? null : `gradient ${wrong[0]}: wrong along a direction` };
}

const isClose = (expected: number, slope: number): boolean =>
  Math.abs(expected - slope) <= 1e-4 + 1e-4 * Math.abs(slope);

/** What comes of asking for gradients, where PyTorch does not refuse to give them. */
function unlessRefused<Result>(asked: Promise<Result>): Promise<Result | 'refused'> {
  return asked.catch((error: unknown) => {
    if (isPyTorchsRefusal(String(error))) return 'refused';
    throw error;
  });
}

async function filtered<Item>(items: readonly Item[], isKept: (item: Item) => Promise<boolean>): Promise<Item[]> {
  const kept: Item[] = [];
  for (const item of items) if (await isKept(item)) kept.push(item);
  return kept;
}

async function keywords(call: Call, readFile: FileReader, leaves: Tensor[]): Promise<Map<string, IValue>> {
  const found = new Map<string, IValue>();
  for (const [name, value] of Object.entries(call.kwargs ?? {})) {
    found.set(name, doubled(await decodeIValue(value, readFile), leaves));
  }
  return found;
}

/** A value with all floats in double precision; its tensors of such are noted. */
function doubled(value: IValue, leaves: Tensor[]): IValue {
  return withReplaced(value, (tensor) => {
    if (!/^(float32|float64|complex64|complex128)$/.test(tensor.dtype)) return tensor;
    const dtype: ScalarType = isComplex(tensor.dtype) ? 'complex128' : 'float64';
    const leaf = Tensor.fromArray(Float64Array.from(tensor.contiguousArray() as Float32Array), tensor.sizes, dtype);
    if (leaf.numel > 0) leaves.push(leaf);
    return leaf;
  });
}

/** What a program is given to write to as it likes. */
function copyOf(value: IValue): IValue {
  return withReplaced(value, (tensor) =>
    Tensor.fromArray(tensor.contiguousArray().slice() as Float64Array, tensor.sizes, tensor.dtype),
  );
}

/** The elements of all results; null where some of the results are of less precision. */
function doublesIn(value: IValue): readonly Float64Array[] | null {
  const tensors = floatsIn(value);
  if (tensors.some(({ dtype }) => dtype !== 'float64' && dtype !== 'complex128')) return null;
  return tensors.map((tensor) => tensor.contiguousArray().slice() as Float64Array);
}

/** Numbers between -1 and 1 that look like any. */
const noise = (seed: number): number =>
  2 * ((Math.sin(12.9898 * (seed + 1)) * 43758.5453) % 1) - Math.sign(Math.sin(12.9898 * (seed + 1)));

/** Adds the conjugate transpose of a matrix to it. */
function makeHermitian(leaf: Tensor): void {
  const elements = leaf.contiguousArray() as Float64Array;
  leaf.storageArrayForWriting().set(transposed(leaf, elements, (a, b) => a + b) as never);
}

/**
 * Any direction at what is finite; for matrices that are Hermitian or triangular one in which they stay so, since many functions of such look at one half
 * only.
 */
function directionOf(leaf: Tensor, which: number): Float64Array {
  const elements = leaf.contiguousArray() as Float64Array;
  const direction = elements.map((value, at) => (Number.isFinite(value) ? noise(1000 * which + at) : 0));
  if (isHermitian(leaf)) return transposed(leaf, direction, (a, b) => (a + b) / 2);
  return isTriangular(leaf) ? direction.map((part, at) => (elements[at] === 0 ? 0 : part)) : direction;
}

/** Whether all on one side of the diagonals is zero, and nothing on the diagonals and beyond them. */
function isTriangular(leaf: Tensor): boolean {
  if (!isSquare(leaf)) return false;
  const elements = leaf.contiguousArray() as Float64Array;
  const [width, n] = [isComplex(leaf.dtype) ? 2 : 1, leaf.sizes.at(-1)!];
  const sideOf = (at: number): number => Math.sign((Math.floor(at / width) % n) - (Math.floor(at / width / n) % n));
  return [1, -1].some((side) =>
    elements.every((value, at) => at % width === 1 || (value === 0) === (sideOf(at) === side)),
  );
}

const isSquare = ({ dim, sizes }: Tensor): boolean => dim >= 2 && sizes.at(-1) === sizes.at(-2) && sizes.at(-1)! > 1;

function isHermitian(leaf: Tensor): boolean {
  if (!isSquare(leaf)) return false;
  const elements = leaf.contiguousArray() as Float64Array;
  const other = transposed(leaf, elements, (_, b) => b);
  return elements.every((value, at) => Math.abs(value - other[at]) <= 1e-5 * (1 + Math.abs(value)));
}

/** Elements of matrices and of their conjugate transposes, put together. */
function transposed(leaf: Tensor, elements: Float64Array, join: (a: number, b: number) => number): Float64Array {
  const width = isComplex(leaf.dtype) ? 2 : 1;
  const n = leaf.sizes.at(-1)!;
  return elements.map((value, at) => {
    const [element, part] = [Math.floor(at / width), at % width];
    const [matrix, row, column] = [Math.floor(element / (n * n)), Math.floor(element / n) % n, element % n];
    const other = elements[(matrix * n * n + column * n + row) * width + part];
    return join(value, part === 1 ? -other : other);
  });
}

async function moved<T>(leaf: Tensor, direction: Float64Array, by: number, evaluate: () => Promise<T>): Promise<T> {
  const elements = leaf.storageArrayForWriting() as Float64Array;
  const kept = elements.slice();
  direction.forEach((part, at) => (elements[at] += by * part));
  try {
    return await evaluate();
  } finally {
    elements.set(kept);
  }
}

function product(a: readonly Float64Array[], b: readonly Float64Array[], weights: readonly Float64Array[]): number {
  let sum = 0;
  a.forEach((values, at) => {
    for (let k = 0; k < values.length; k++) {
      if (values[k] !== b[at][k]) sum += (values[k] - b[at][k]) * weights[at][k];
    }
  });
  return sum;
}

function inner(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < b.length; at++) if (b[at] !== 0) sum += a[at] * b[at];
  return sum;
}
