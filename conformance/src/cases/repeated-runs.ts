import { applyJitOptions, Complex } from '@cresset/ir';
import type { RuntimeContextOptions } from '@cresset/runtime';
import { Dict, List, ScriptObject, Tensor, Tuple, type IValue } from '@cresset/tensor';
import type { Call, FileReader, ProgramCase } from './case.ts';
import { decodeIValue } from './ivalue-json.ts';
import { openProgram, type Program } from './program.ts';
import { jitOptionsOf, type ExecutorSetting } from '../runner/runner-settings.ts';

interface Repetition {
  readonly context: Pick<RuntimeContextOptions, 'device' | 'limits'>;
  readonly readFile: FileReader;
  /** How often calls are made with the inputs of the case. */
  readonly times: number;
  readonly executors: readonly ExecutorSetting[];
}

/** What a call came to. */
type Outcome = { readonly values: readonly IValue[] } | { readonly error: string };

/**
 * Makes the calls of a case several times on one program for each executor, then with other shapes, then with those of the case again, and
 * the same on a program that is run as it was compiled. Gives the first difference for each executor that has one.
 */
export async function differencesWhenRepeated(
  json: ProgramCase,
  { context, readFile, times, executors }: Repetition,
): Promise<ReadonlyMap<ExecutorSetting, string>> {
  const differences = new Map<ExecutorSetting, string>();
  const programs = new Map<ExecutorSetting, Program>();
  const underSwitches = <Result>(executor: ExecutorSetting, work: () => Promise<Result>): Promise<Result> => {
    applyJitOptions(jitOptionsOf(executor));
    return work();
  };
  try {
    for (const executor of ['off', ...executors] as const) {
      programs.set(executor, await underSwitches(executor, () => openProgram(json, context, readFile)));
    }
    const rounds = [...Array.from({ length: times }, () => 0), 1, 1, 0];
    for (const [round, cut] of rounds.entries()) {
      for (const [at, call] of (json.calls ?? []).entries()) {
        const outcome = (executor: ExecutorSetting): Promise<Outcome> =>
          underSwitches(executor, () => outcomeOf(programs.get(executor)!, json, call, readFile, cut));
        const want = await outcome('off');
        // Without the JIT, work that nothing needs can fail; PyTorch's answer is of a program that leaves it out. There is nothing to compare.
        if ('error' in want && cut === 0 && call.raises === undefined) return differences;
        for (const executor of executors) {
          if (differences.has(executor)) continue;
          const found = outcomeDifference(await outcome(executor), want, json);
          if (found !== null) differences.set(executor, `round ${round + 1}, call ${at + 1}: ${found}`);
        }
      }
    }
    return differences;
  } finally {
    for (const program of programs.values()) program.dispose();
  }
}

async function outcomeOf(
  program: Program,
  json: ProgramCase,
  call: Call,
  readFile: FileReader,
  cut: number,
): Promise<Outcome> {
  const decode = async (value: Parameters<typeof decodeIValue>[0]): Promise<IValue> =>
    withFewerRows(await decodeIValue(value, readFile), cut);
  const inputs = await Promise.all(call.inputs.map(decode));
  const kwargs = new Map<string, IValue>();
  for (const [name, value] of Object.entries(call.kwargs ?? {})) kwargs.set(name, await decode(value));
  try {
    const output = await program.call(call.entry ?? json.entry ?? 'forward', inputs, kwargs);
    const values = [output, ...inputs, ...kwargs.values()];
    for (const value of values) if (value instanceof Tensor) await value.storage.toHost();
    return { values };
  } catch (error) {
    return { error: (error as Error).message.trim().split('\n').at(-1)! };
  }
}

/** The same with so many rows less, in a tensor that has more than those. */
function withFewerRows(value: IValue, count: number): IValue {
  if (!(value instanceof Tensor) || count === 0 || value.dim === 0 || value.sizes[0] <= count) return value;
  return value.asStrided([value.sizes[0] - count, ...value.sizes.slice(1)], value.strides);
}

function outcomeDifference(got: Outcome, want: Outcome, json: ProgramCase): string | null {
  if ('error' in want || 'error' in got) {
    const [gave, wanted] = [got, want].map((each) => ('error' in each ? `raised ${asOfSum(each.error)}` : 'returned'));
    return gave === wanted ? null : `${gave}, but with the JIT off ${wanted}`;
  }
  const at = want.values.findIndex((value, index) => !isSame(got.values[index], value, json));
  if (at < 0) return null;
  return at === 0 ? 'another output than with the JIT off' : 'another input afterwards than with the JIT off';
}

/** Executors take `addmm` apart, as PyTorch's do: what is added is then too large for a sum, not for the product's result. */
function asOfSum(error: string): string {
  return error.replace(
    /The expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\) at (non-singleton dimension \d+)\..*$/,
    'The size of tensor a ($2) must match the size of tensor b ($1) at $3',
  );
}

/** Passes compute in another order than the program as written, so floats may differ in their last digits. */
function isSame(got: IValue, want: IValue, json: ProgramCase): boolean {
  const all = (left: readonly IValue[], right: readonly IValue[]): boolean =>
    left.length === right.length && right.every((value, at) => isSame(left[at], value, json));
  if (want instanceof Tensor) return got instanceof Tensor && isSameTensor(got, want, json);
  if (want instanceof List) return got instanceof List && all(got.items, want.items);
  if (want instanceof Tuple) return got instanceof Tuple && all(got.items, want.items);
  if (want instanceof Dict) return got instanceof Dict && all([...got.entries].flat(), [...want.entries].flat());
  if (want instanceof ScriptObject)
    return got instanceof ScriptObject && got.type.qualifiedName === want.type.qualifiedName;
  if (want instanceof Complex)
    return got instanceof Complex && isNear(got.re, want.re, json) && isNear(got.im, want.im, json);
  if (typeof want === 'number') return typeof got === 'number' && isNear(got, want, json);
  if (typeof want === 'object' && want !== null) return String(got) === String(want);
  return got === want || (json.shape_only === true && typeof got === typeof want);
}

function isSameTensor(got: Tensor, want: Tensor, json: ProgramCase): boolean {
  if (got.dtype !== want.dtype || got.sizes.join() !== want.sizes.join()) return false;
  if (json.shape_only) return true;
  const [left, right] = [got.contiguousArray(), want.contiguousArray()];
  // Halves are compared as bits: two numbers apart at most.
  const isHalf = want.dtype === 'float16' || want.dtype === 'bfloat16';
  for (let at = 0; at < right.length; at++) {
    if (left[at] === right[at]) continue;
    const [a, b] = [Number(left[at]), Number(right[at])];
    if (typeof right[at] === 'bigint' || !(isHalf ? Math.abs(a - b) <= 2 : isNear(a, b, json))) return false;
  }
  return true;
}

function isNear(got: number, want: number, { rtol = 0, atol = 0 }: ProgramCase): boolean {
  if (Object.is(got, want) || got === want) return true;
  return Math.abs(got - want) <= Math.max(atol, 1e-5) + Math.max(rtol, 1e-5) * Math.abs(want);
}
