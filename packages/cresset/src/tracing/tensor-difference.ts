import { floatRepr } from '@cresset/frontend';
import type { Tensor } from '@cresset/tensor';

/** How far apart elements may be, relative and absolute, where nobody says (PyTorch: torch.testing.assert_close). */
const TOLERANCES: Readonly<Record<string, readonly [relative: number, absolute: number]>> = {
  float16: [1e-3, 1e-5],
  bfloat16: [1.6e-2, 1e-5],
  float32: [1.3e-6, 1e-5],
  float64: [1e-7, 1e-7],
  complex64: [1.3e-6, 1e-5],
  complex128: [1e-7, 1e-7],
};

const tolerancesOf = ({ dtype }: Tensor): readonly [relative: number, absolute: number] => TOLERANCES[dtype] ?? [0, 0];

/**
 * How two tensors differ, in PyTorch's words; null where they are close. With `relative` they are compared as doubles.
 */
export function tensorDifference(given: Tensor, wanted: Tensor, relative?: number): string | null {
  if (given.sizes.join() !== wanted.sizes.join()) {
    return `The values for attribute 'shape' do not match: torch.Size([${given.sizes.join(', ')}]) != torch.Size([${wanted.sizes.join(', ')}]).`;
  }
  const defaults = [given, wanted].map(tolerancesOf);
  const rtol = relative ?? Math.max(...defaults.map(([each]) => each));
  const atol = Math.max(...defaults.map(([, each]) => each));
  const isWhole = relative === undefined && !/^(b?float|complex)/.test(given.dtype);
  const [left, right] = [elementsOf(given), elementsOf(wanted)];
  const round = relative === undefined && given.dtype === 'float32' ? Math.fround : (value: number) => value;
  const count = left.length;
  let wrong = 0;
  const most = { absolute: -1, relative: -1, absoluteAt: 0, relativeAt: 0 };
  for (let at = 0; at < count; at++) {
    const [x, y] = [left[at]!, right[at]!];
    const distance = round(Math.abs(x - y));
    if (Object.is(x, y) || x === y || distance <= atol + rtol * Math.abs(y)) continue;
    wrong++;
    const part = round(distance / Math.abs(y));
    if (distance > most.absolute || Number.isNaN(distance)) Object.assign(most, { absolute: distance, absoluteAt: at });
    if (part > most.relative || Number.isNaN(part)) Object.assign(most, { relative: part, relativeAt: at });
  }
  if (wrong === 0) return null;
  const allowed = (tolerance: number): string =>
    rtol === 0 && atol === 0 ? '' : ` (up to ${numberText(tolerance, false)} allowed)`;
  const kind = rtol === 0 && atol === 0 ? 'equal' : 'close';
  const absolute = numberText(most.absolute, isWhole);
  const relativeText = numberText(most.relative, false);
  if (given.dim === 0) {
    return (
      `Scalars are not ${kind}!\n\nExpected ${numberText(right[0]!, isWhole)} but got ${numberText(left[0]!, isWhole)}.\n` +
      `Absolute difference: ${absolute}${allowed(atol)}\nRelative difference: ${relativeText}${allowed(rtol)}`
    );
  }
  return (
    `Tensor-likes are not ${kind}!\n\nMismatched elements: ${wrong} / ${count} (${((100 * wrong) / count).toFixed(1)}%)\n` +
    `Greatest absolute difference: ${absolute} at index ${indexText(most.absoluteAt, given.sizes)}${allowed(atol)}\n` +
    `Greatest relative difference: ${relativeText} at index ${indexText(most.relativeAt, given.sizes)}${allowed(rtol)}`
  );
}

/** The elements as numbers; of complex ones the parts. */
function elementsOf(tensor: Tensor): Float64Array {
  const array = tensor.contiguousArray() as ArrayLike<number | bigint>;
  return Float64Array.from({ length: array.length }, (_, at) => Number(array[at]));
}

function indexText(at: number, sizes: readonly number[]): string {
  const index: number[] = [];
  for (const size of sizes.toReversed()) {
    index.unshift(at % size);
    at = Math.floor(at / size);
  }
  return index.length === 1 ? `(${index[0]},)` : `(${index.join(', ')})`;
}

/** As Python shows a number. */
const numberText = (value: number, isWhole: boolean): string => (isWhole ? String(value) : floatRepr(value));
