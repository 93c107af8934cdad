import { applyJitOptions, type JitOptions } from '@cresset/ir';
import { registerAllParts } from '@cresset/runtime';
import { Dict, Tensor } from '@cresset/tensor';
import { NullGpu } from '../../../test-setup/null-gpu.ts';
import { received, subjectsIn, type Subject } from './subjects.ts';

/** Who makes groups, and of what. */
const ways: Readonly<Record<string, JitOptions>> = {
  ours: {},
  'ours, by ArgumentSpec': { executor: 'simple' },
  'ours, after profiling': { executor: 'profiling' },
  TensorExpr: { executor: 'profiling', fuseOnCpu: true },
  legacy: { executor: 'simple', fuseOnCpu: true },
};

/** By then a program was watched, its fallbacks were, and its runs are recorded. */
const calls = 12;

/** Launches of a warm call, on a GPU that takes all work and does none. */
async function dispatchesOf(subject: Subject, options: JitOptions): Promise<number | string> {
  applyJitOptions(options);
  const { module, call } = await subject.open(new NullGpu().open());
  try {
    for (let at = 0; at < calls; at++) {
      const inputs = subject.inputs.map(received);
      const result = await call(inputs);
      const results = result instanceof Dict ? result.entries.values() : [result];
      for (const value of [...inputs, ...results]) if (value instanceof Tensor) value.dispose();
    }
    return module.lastRun!.dispatches;
  } finally {
    applyJitOptions({});
  }
}

/**
 * Prints the launches of a warm call of each program by who groups its operators.
 *
 * @param models the folder that model files are in
 */
export async function main(models: string, names: readonly string[]): Promise<void> {
  registerAllParts();
  const rows = [];
  for (const subject of subjectsIn(models)) {
    if (names.length > 0 && !names.some((part) => subject.name.includes(part))) continue;
    const row: Record<string, number | string> = { program: subject.name };
    for (const [name, options] of Object.entries(ways)) row[name] = await dispatchesOf(subject, options);
    rows.push(row);
  }
  console.table(rows);
}
