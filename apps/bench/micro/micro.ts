import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cpuUsage } from 'node:process';
import { script } from '@cresset/frontend';
import { ClassType, IntType, StringType, TensorType } from '@cresset/ir';
import { registerAllParts, RuntimeContext, ScriptModule } from '@cresset/runtime';
import { List, numelOf, ScriptObject, Tensor, type IValue } from '@cresset/tensor';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { PythonProcess } from '../pytorch/python-process.mjs';

type ArgumentSpec =
  | number
  | { readonly tensor: readonly number[] }
  | { readonly tensors: readonly number[] }
  | { readonly ints: number }
  | { readonly words: string }
  | { readonly text: string };

interface MicroProgram {
  readonly name: string;
  readonly group: string;
  readonly args: readonly ArgumentSpec[];
}

/** What a program took here and in PyTorch, each the least of all turns, in milliseconds of CPU time. */
export interface MicroTime {
  readonly name: string;
  readonly group: string;
  readonly cresset: number;
  /** Null where there is no PyTorch to compare with. */
  readonly pytorch: number | null;
}

export interface MicroOptions {
  /** The folder of `programs.py` and `programs.json`. */
  readonly folder: string;
  /** A Python that has PyTorch; without, there is nothing to compare with. */
  readonly python?: string | null;
  /** Runs only programs with one of these in their name. */
  readonly names?: readonly string[];
  /** Timed turns of each side. */
  readonly turns?: number;
}

/** Turns before those that count: both sides optimise what they have seen. */
const WARM_UP_TURNS = 4;

/**
 * TorchScript programs in this library's interpreter on the host and in PyTorch's with one thread, in turns. Throws where an answer is not PyTorch's.
 */
export async function runMicro({ folder, python = null, names = [''], turns = 5 }: MicroOptions): Promise<MicroTime[]> {
  registerAllParts();
  const programs = JSON.parse(readFileSync(join(folder, 'programs.json'), 'utf8')) as MicroProgram[];
  const unit = script(readFileSync(join(folder, 'programs.py'), 'utf8'));
  // As in a page without a GPU.
  const context = new RuntimeContext({ device: new WasmDevice() });
  const module = new ScriptModule(new ScriptObject(new ClassType('__torch__.M')), unit, context);
  const peer = python === null ? null : new PythonProcess(python, join(folder, 'pytorch.py'));
  const times: MicroTime[] = [];
  try {
    for (const { name, group, args } of programs.filter((each) => names.some((part) => each.name.includes(part)))) {
      const fn = unit.getFunction(`__torch__.${name}`);
      const least = { cresset: Infinity, pytorch: Infinity };
      for (let turn = -WARM_UP_TURNS; turn < turns; turn++) {
        const values = args.map(toValue);
        const start = cpuUsage();
        const result = await module.callFunction(fn, values, { resultToHost: true });
        const { user, system } = cpuUsage(start);
        const theirs = peer ? (JSON.parse(await peer.ask(name)) as [number, unknown]) : null;
        if (theirs) expectEqual(name, result, theirs[1]);
        if (turn < 0) continue;
        least.cresset = Math.min(least.cresset, (user + system) / 1000);
        if (theirs) least.pytorch = Math.min(least.pytorch, theirs[0]);
      }
      times.push({ name, group, cresset: least.cresset, pytorch: peer ? least.pytorch : null });
    }
  } finally {
    peer?.close();
  }
  return times;
}

/** The same numbers as in pytorch.py. */
function elements(sizes: readonly number[]): Tensor {
  const data = Float32Array.from({ length: numelOf(sizes) }, (_, at) => ((at * 37) % 101) / 101 - 0.5);
  return Tensor.fromArray(data, sizes, 'float32');
}

function toValue(spec: ArgumentSpec): IValue {
  if (typeof spec === 'number') return BigInt(spec);
  if ('tensor' in spec) return elements(spec.tensor);
  if ('tensors' in spec) {
    const [count, ...sizes] = spec.tensors;
    return new List(
      TensorType.get(),
      Array.from({ length: count }, () => elements(sizes)),
    );
  }
  if ('ints' in spec) {
    return new List(
      IntType.get(),
      Array.from({ length: spec.ints }, (_, at) => BigInt(at)),
    );
  }
  return 'words' in spec ? new List(StringType.get(), spec.words.split(' ')) : spec.text;
}

function expectEqual(name: string, result: IValue, expected: unknown): void {
  const differs = (): Error => new Error(`${name} gave ${JSON.stringify(String(result))}, PyTorch ${String(expected)}`);
  if (result instanceof Tensor) {
    const numbers = expected as number[];
    const isNear = Array.from(result.contiguousArray(), Number).every(
      (value, at) =>
        Object.is(value, numbers[at]) || Math.abs(value - numbers[at]) <= 1e-5 + 1e-4 * Math.abs(numbers[at]),
    );
    if (!isNear || result.numel !== numbers.length) throw differs();
  } else if (typeof result === 'number' ? result !== expected : String(result) !== expected) throw differs();
}

/** The table that `pnpm bench` prints. */
export function microTable(times: readonly MicroTime[]): string {
  const ratios = times.flatMap(({ cresset, pytorch }) => (pytorch === null ? [] : [cresset / pytorch]));
  const rows = times.map(({ name, group, cresset, pytorch }) => {
    const compared = pytorch === null ? ['', ''] : [pytorch.toFixed(2), (cresset / pytorch).toFixed(2)];
    return `| ${[group, name, cresset.toFixed(2), ...compared].join(' | ')} |`;
  });
  const mean = Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
  return [
    '| programs | program | Cresset, ms | PyTorch, ms | ratio |',
    '| --- | --- | ---: | ---: | ---: |',
    ...rows,
    ...(ratios.length > 0 ? [`\nGeometric mean of the ratios: ${mean.toFixed(2)}`] : []),
  ].join('\n');
}
