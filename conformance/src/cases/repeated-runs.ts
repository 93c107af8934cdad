import { applyJitOptions, Complex } from '@cresset/ir';
import type { RuntimeContextOptions } from '@cresset/runtime';
import {
  Dict,
  isComplex,
  isFloatingPoint,
  List,
  ScriptObject,
  Tensor,
  Tuple,
  type HostArray,
  type IValue,
  type ScalarType,
} from '@cresset/tensor';
import type { Call, FileReader, ProgramCase } from './case.ts';
import { decodeIValue } from './ivalue-json.ts';
import { elementReader } from '../checks/compare.ts';
import { floatsIn, tensorsIn } from '../checks/tensors-within.ts';
import { openProgram, type Program } from './program.ts';
import { jitOptionsOf, type ExecutorSetting } from '../runner/runner-settings.ts';

/** What arguments become before a call. */
export type Change = (args: readonly IValue[]) => readonly IValue[];

type ContextSettings = Pick<RuntimeContextOptions, 'device' | 'limits'>;

export interface Repetition {
  readonly context: ContextSettings;
  /** Where the program runs that the others are compared with. */
  readonly plainContext: ContextSettings;
  readonly readFile: FileReader;
  /** The calls are made once for each, with what it makes of their arguments. */
  readonly rounds: readonly Change[];
  readonly executors: readonly ExecutorSetting[];
  /** How many times the last digit of its largest number a tensor's numbers may be apart, beside what the case allows. */
  readonly lastDigits: number;
  /** Whether calls are recorded, and the gradients of floats among their arguments compared beside what they give. */
  readonly isDifferentiated?: boolean;
}

/** What a call came to. */
type Outcome = { readonly values: readonly IValue[] } | { readonly error: string };

const asGiven: Change = (args) => args;
const withOneRowLess: Change = (args) => args.map((value) => withFewerRows(value, 1));

/** So many rounds with the arguments of a case, then with other shapes, then with those of the case again. */
export const roundsWithOtherShapes = (times: number): readonly Change[] => [
  ...Array.from({ length: times }, () => asGiven),
  withOneRowLess,
  withOneRowLess,
  asGiven,
];

/**
 * Makes the calls of a case several times on one program for each executor, and the same on a program that is run as it was compiled.
 * Gives the first difference for each executor that has one.
 */
export async function differencesWhenRepeated(
  json: ProgramCase,
  { context, plainContext, readFile, rounds, executors, lastDigits, isDifferentiated = false }: Repetition,
): Promise<ReadonlyMap<ExecutorSetting, string>> {
  const differences = new Map<ExecutorSetting, string>();
  const programs = new Map<ExecutorSetting, Program>();
  const underSwitches = <Result>(executor: ExecutorSetting, work: () => Promise<Result>): Promise<Result> => {
    applyJitOptions(jitOptionsOf(executor));
    return work();
  };
  try {
    for (const executor of ['off', ...executors] as const) {
      const settings = executor === 'off' ? plainContext : context;
      programs.set(executor, await underSwitches(executor, () => openProgram(json, settings, readFile)));
    }
    for (const [round, change] of rounds.entries()) {
      for (const [at, call] of (json.calls ?? []).entries()) {
        const outcome = (executor: ExecutorSetting): Promise<Outcome> =>
          underSwitches(executor, () =>
            outcomeOf(programs.get(executor)!, json, call, readFile, change, isDifferentiated),
          );
        const want = await outcome('off');
        // Without the JIT, work that nothing needs can fail; PyTorch's answer is of a program that leaves it out. There is nothing to compare.
        if ('error' in want && change !== withOneRowLess && call.raises === undefined) return differences;
        for (const executor of executors) {
          if (differences.has(executor)) continue;
          const found = outcomeDifference(await outcome(executor), want, { ...json, lastDigits });
          if (found !== null) differences.set(executor, `round ${round + 1}, call ${at + 1}: ${found}`);
        }
      }
    }
    return differences;
  } finally {
    for (const program of programs.values()) program.dispose();
  }
}

/** The arguments of a call, those given by name last. */
export const argumentsOf = ({ inputs, kwargs = {} }: Call, readFile: FileReader): Promise<IValue[]> =>
  Promise.all([...inputs, ...Object.values(kwargs)].map((value) => decodeIValue(value, readFile)));

/** Makes one call, with what `change` makes of its arguments. */
export async function outcomeOf(
  program: Program,
  json: ProgramCase,
  call: Call,
  readFile: FileReader,
  change: Change,
  isDifferentiated = false,
): Promise<Outcome> {
  const args = change(await argumentsOf(call, readFile));
  const inputs = args.slice(0, call.inputs.length);
  const named = args.slice(call.inputs.length);
  const kwargs = new Map(Object.keys(call.kwargs ?? {}).map((name, at) => [name, named[at]]));
  const entry = call.entry ?? json.entry ?? 'forward';
  try {
    const values = isDifferentiated
      ? await differentiated(program, entry, inputs, kwargs)
      : [await program.call(entry, inputs, kwargs), ...args];
    for (const tensor of values.flatMap(tensorsIn)) await tensor.storage.toHost();
    return { values };
  } catch (error) {
    return { error: (error as Error).message.trim().split('\n').at(-1)! };
  }
}

/** What a call gives, with the gradients of all floats among its arguments. */
async function differentiated(
  program: Program,
  entry: string,
  inputs: readonly IValue[],
  kwargs: ReadonlyMap<string, IValue>,
): Promise<IValue[]> {
  const leaves = new Set([...inputs, ...kwargs.values()].flatMap(floatsIn).filter(({ dtype }) => hasArray(dtype)));
  const { output, gradients } = await program.weightedGradients(entry, inputs, kwargs, [...leaves], weightsOf);
  return [output, ...gradients];
}

const hasArray = (dtype: ScalarType): boolean => /^(float32|float64|complex64|complex128)$/.test(dtype);

/** A number of its own for each element; 1 for those of 16 bits. */
function weightsOf(output: number, { dtype, numel }: Tensor): HostArray {
  if (!hasArray(dtype)) return new Uint16Array(numel).fill(dtype === 'float16' ? 0x3c00 : 0x3f80);
  const count = isComplex(dtype) ? 2 * numel : numel;
  const weights = Float64Array.from({ length: count }, (_, at) => 0.5 + Math.sin(1 + 97 * output + at) / 4);
  return dtype === 'float32' || dtype === 'complex64' ? Float32Array.from(weights) : weights;
}

/** The same with so many rows less, in a tensor that has more than those. */
function withFewerRows(value: IValue, count: number): IValue {
  if (!(value instanceof Tensor) || value.dim === 0 || value.sizes[0] <= count) return value;
  return value.asStrided([value.sizes[0] - count, ...value.sizes.slice(1)], value.strides);
}

type Precision = Pick<ProgramCase, 'rtol' | 'atol' | 'shape_only'> & Pick<Repetition, 'lastDigits'>;

function outcomeDifference(got: Outcome, want: Outcome, json: Precision): string | null {
  if ('error' in want || 'error' in got) {
    const [gave, wanted] = [got, want].map((each) => ('error' in each ? `raised ${asOfSum(each.error)}` : 'returned'));
    return gave === wanted ? null : `${gave}, but with the JIT off ${wanted}`;
  }
  for (const [at, value] of want.values.entries()) {
    const found = valueDifference(got.values[at], value, json);
    if (found !== null)
      return `${at === 0 ? 'another output' : 'another input afterwards'} than with the JIT off${found}`;
  }
  return null;
}

/** Executors take `addmm` apart, as PyTorch's do: what is added is then too large for a sum, not for the product's result. */
function asOfSum(error: string): string {
  return error.replace(
    /The expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\) at (non-singleton dimension \d+)\..*$/,
    'The size of tensor a ($2) must match the size of tensor b ($1) at $3',
  );
}

/**
 * Where two values differ, as words to add to a sentence, or null. Passes compute in another order than the program as written, so floats may
 * differ in their last digits.
 */
function valueDifference(got: IValue, want: IValue, json: Precision): string | null {
  const all = (left: readonly IValue[], right: readonly IValue[]): string | null => {
    if (left.length !== right.length) return `: ${left.length} elements instead of ${right.length}`;
    const found = right.map((value, at) => valueDifference(left[at], value, json));
    return found.find((each) => each !== null) ?? null;
  };
  if (want instanceof Tensor && got instanceof Tensor) return tensorDifference(got, want, json);
  if (want instanceof List && got instanceof List) return all(got.items, want.items);
  if (want instanceof Tuple && got instanceof Tuple) return all(got.items, want.items);
  if (want instanceof Dict && got instanceof Dict) return all([...got.entries].flat(), [...want.entries].flat());
  return isSame(got, want, json) ? null : '';
}

function isSame(got: IValue, want: IValue, json: Precision): boolean {
  if (want instanceof ScriptObject)
    return got instanceof ScriptObject && got.type.qualifiedName === want.type.qualifiedName;
  if (want instanceof Complex)
    return got instanceof Complex && isNear(got.re, want.re, json) && isNear(got.im, want.im, json);
  if (typeof want === 'number') return typeof got === 'number' && isNear(got, want, json);
  if (typeof want === 'object' && want !== null) return String(got) === String(want);
  return got === want || (json.shape_only === true && typeof got === typeof want);
}

function tensorDifference(got: Tensor, want: Tensor, json: Precision): string | null {
  const [type, wanted] = [got, want].map(({ dtype, sizes }) => `${dtype}[${sizes.join()}]`);
  if (type !== wanted) return `: ${type} instead of ${wanted}`;
  if (json.shape_only) return null;
  const [left, right] = [got.contiguousArray(), want.contiguousArray()];
  const numberAt = elementReader(want.dtype);
  const isRounded = isFloatingPoint(want.dtype) || isComplex(want.dtype);
  const margin = isRounded ? lastDigitsOf(want, json.lastDigits) : 0;
  for (let at = 0; at < right.length; at++) {
    if (left[at] === right[at]) continue;
    const [a, b] = [numberAt(left, at), numberAt(right, at)];
    if (!isRounded || !(isNear(a, b, json) || Math.abs(a - b) <= margin))
      return `: ${a} instead of ${b} at ${at} of ${type}`;
  }
  return null;
}

/**
 * What so many last digits of a tensor's largest number stand for: what is left of a sum of such numbers is as imprecise as they are. Halves
 * have few digits, and are summed up in more.
 */
function lastDigitsOf(tensor: Tensor, count: number): number {
  const elements = tensor.contiguousArray();
  const numberAt = elementReader(tensor.dtype);
  let largest = 0;
  for (let at = 0; at < elements.length; at++) {
    const size = Math.abs(numberAt(elements, at));
    if (size > largest && size < Infinity) largest = size;
  }
  if (tensor.dtype === 'float16') return Math.min(count, 8) * largest * 2 ** -10;
  if (tensor.dtype === 'bfloat16') return Math.min(count, 8) * largest * 2 ** -7;
  return count * largest * 2 ** -23;
}

function isNear(got: number, want: number, { rtol = 0, atol = 0 }: Precision): boolean {
  if (Object.is(got, want) || got === want) return true;
  return Math.abs(got - want) <= Math.max(atol, 1e-5) + Math.max(rtol, 1e-5) * Math.abs(want);
}
