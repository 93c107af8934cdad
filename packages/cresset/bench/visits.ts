import { Session, type Profiler } from 'node:inspector';
import { extendServices } from '@cresset/ir';
import { registerAllParts, type RuntimeServices } from '@cresset/runtime';
import type { ComputeDevice } from '@cresset/tensorexpr';
import { WasmDevice } from '@cresset/wasm-fuser/parts/device';
import { NullGpu } from '../../../test-setup/null-gpu.ts';
import { received, subjectsIn, type Subject } from './subjects.ts';

/** The second writes down what the first did, and those behind replay it. */
const visits = 3;

/** Counts calls of the library's functions exactly, whatever else the machine does. */
class CallCounter {
  readonly #session = new Session();

  constructor() {
    this.#session.connect();
    this.#session.post('Profiler.enable');
  }

  start(): void {
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  }

  /** Those since it was asked last. */
  take(): number {
    let coverage: Profiler.ScriptCoverage[] = [];
    // Sent to this thread, it is answered before it returns.
    this.#session.post('Profiler.takePreciseCoverage', (_, { result }) => (coverage = result));
    const own = coverage.filter(({ url }) => url.startsWith('file:'));
    // What begins with its file is the module itself.
    const functions = own.flatMap((script) => script.functions).filter(({ ranges }) => ranges[0].startOffset > 0);
    return functions.reduce((sum, { ranges }) => sum + ranges[0].count, 0);
  }

  stop(): void {
    this.#session.post('Profiler.stopPreciseCoverage');
  }
}

async function measure(subject: Subject, device: ComputeDevice, counter: CallCounter | null) {
  const { module, call } = await subject.open(device);
  counter?.take();
  module.prepare('forward');
  const planning = counter?.take() ?? 0;
  const calls: number[] = [];
  const launches: number[] = [];
  for (let visit = 0; visit < visits; visit++) {
    // As in a page, where what records comes with the second call.
    if (visit > 0) registerAllParts();
    else extendServices<RuntimeServices>({ planner: () => null });
    const inputs = subject.inputs.map(received);
    counter?.take();
    await call(inputs);
    calls.push(counter?.take() ?? 0);
    launches.push(module.lastRun!.dispatches);
  }
  module.dispose();
  return { planning, calls, launches };
}

/**
 * Prints how many functions of the library are called in the first visits of each file, on a GPU that does nothing and on the host; kernels were compiled before.
 *
 * @param models the folder that model files are in
 */
export async function main(models: string, names: readonly string[]): Promise<void> {
  registerAllParts();
  const counter = new CallCounter();
  const rows = [];
  const files = subjectsIn(models).filter(({ name }) => name.endsWith('.pt'));
  for (const subject of files) {
    if (names.length > 0 && !names.some((part) => subject.name.includes(part))) continue;
    for (const [place, device] of Object.entries({ GPU: new NullGpu().open(), host: new WasmDevice() })) {
      await measure(subject, device, null);
      counter.start();
      const { planning, calls, launches } = await measure(subject, device, counter);
      counter.stop();
      rows.push({
        program: subject.name,
        place,
        planning,
        launches: launches.join(' '),
        'calls of each visit': calls.join(' '),
        'for a launch': calls.map((count, at) => Math.round(count / launches[at])).join(' '),
      });
    }
  }
  console.table(rows);
}
