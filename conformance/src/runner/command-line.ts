import { parseArgs } from 'node:util';
import { availableParallelism } from 'node:os';
import { gpuSchedules, type GpuSchedules } from '../../../test-setup/gpu-schedules.ts';
import type { Check } from '../cases/case.ts';
import { DEVICE_SETTINGS, EXECUTOR_SETTINGS, type ExecutorSetting, type RunnerSettings } from './runner-settings.ts';

export interface Options extends RunnerSettings {
  /** A folder or a single `.jsonl` file. */
  readonly corpus: string;
  /** Run in Chromium instead of Node. */
  readonly browser: boolean;
  /** Run in Deno instead of Node: another make of WebGPU. */
  readonly deno: boolean;
  /** Only suites and case ids that contain this text. */
  readonly suite: string | null;
  /** Only so many cases, spread evenly over the corpus. */
  readonly sample: number | null;
  /** A table of operators by use (name in the first column): says which of the 200 most used were left to the host. */
  readonly usage: string | null;
  /** Writes every distinct shader of the run into this folder. */
  readonly dumpShaders: string | null;
  readonly json: string | null;
  /** Exit status 1 below this many passed cases. */
  readonly require: number | null;
  readonly workers: number;
  /** Seconds a case may take before its process is ended. */
  readonly timeout: number;
  /** Print every failed case with its reason. */
  readonly verbose: boolean;
}

export const usage = `pnpm -s conformance --corpus DIR|FILE [options]
  --device NAME         where programs run: cpu (as in a page, in WebAssembly), typescript, webassembly, webassembly-relaxed (SIMD),
                        webassembly-threads, webgpu (cpu)
  --no-small-host       everything that has a kernel for the device runs there, however little it is
  --default-limits      a device with the limits and features that every WebGPU adapter has
  --schedules NAME      kernels as another GPU would get them: software, hardware, few threads
  --dump-shaders DIR    write every distinct shader there
  --usage FILE          say which of the 200 operators at the top of FILE were left to the host, and why
  --browser             run in Chromium, not in Node
  --deno                run in Deno, whose WebGPU is wgpu
  --executor LIST       who makes plans, of default, simple, profiling, bailouts, off: a case has to pass under each (default)
  --repeat N            make the calls N times, then with other shapes, and compare with the JIT off
  --tiled COUNT         tile the tensors of the arguments to COUNT elements and more, and compare with the JIT off and no device
  --sizes N             with --tiled: calls of N sizes, one copy longer each, then of the first again (1)
  --suite TEXT          only cases whose suite or id contains TEXT
  --sample N            only N cases, spread evenly
  --check LIST          of output, graph, code, grads, gradcheck, gradients (output); the last compares the gradients of floats among the
                        arguments with the JIT off, wherever --repeat makes calls
  --json FILE           write every result there
  --require P           exit status 1 below P passed cases
  --workers N           processes (one a core)
  --timeout SECONDS     for one case (30)
  --verbose             print every failed case`;

const checks: readonly Check[] = ['output', 'graph', 'code', 'grads', 'gradcheck', 'gradients'];

/** Reads the command line; throws with a sentence where it makes no sense. */
export function readCommandLine(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      corpus: { type: 'string' },
      device: { type: 'string', default: 'cpu' },
      browser: { type: 'boolean', default: false },
      deno: { type: 'boolean', default: false },
      suite: { type: 'string' },
      sample: { type: 'string' },
      usage: { type: 'string' },
      'no-small-host': { type: 'boolean', default: false },
      'default-limits': { type: 'boolean', default: false },
      schedules: { type: 'string' },
      'dump-shaders': { type: 'string' },
      check: { type: 'string', default: 'output' },
      executor: { type: 'string', default: 'default' },
      repeat: { type: 'string', default: '1' },
      tiled: { type: 'string' },
      sizes: { type: 'string', default: '1' },
      json: { type: 'string' },
      require: { type: 'string' },
      workers: { type: 'string' },
      timeout: { type: 'string', default: '30' },
      verbose: { type: 'boolean', default: false },
    },
  });
  if (values.corpus === undefined) throw new Error('--corpus is missing');
  const device = DEVICE_SETTINGS.find((name) => name === values.device);
  if (device === undefined) throw new Error(`no such device: ${values.device}`);
  const wanted = values.check.split(',') as Check[];
  const unknown = wanted.find((check) => !checks.includes(check));
  if (unknown !== undefined) throw new Error(`no such check: ${unknown}`);
  const executors = values.executor.split(',') as ExecutorSetting[];
  const unknownExecutor = executors.find((executor) => !EXECUTOR_SETTINGS.includes(executor));
  if (unknownExecutor !== undefined) throw new Error(`no such executor: ${unknownExecutor}`);
  const schedules = (Object.keys(gpuSchedules) as GpuSchedules[]).find((name) => name === values.schedules) ?? null;
  if (schedules === null && values.schedules !== undefined) throw new Error(`no such schedules: ${values.schedules}`);
  return {
    corpus: values.corpus,
    executors,
    repeat: Number(values.repeat),
    tiled: values.tiled === undefined ? null : { elements: Number(values.tiled), sizes: Number(values.sizes) },
    device,
    browser: values.browser,
    deno: values.deno,
    suite: values.suite ?? null,
    sample: values.sample === undefined ? null : Number(values.sample),
    usage: values.usage ?? null,
    smallHost: !values['no-small-host'],
    defaultLimits: values['default-limits'],
    schedules,
    dumpShaders: values['dump-shaders'] ?? null,
    checks: wanted,
    json: values.json ?? null,
    require: values.require === undefined ? null : Number(values.require),
    workers: values.workers === undefined ? Math.max(1, availableParallelism()) : Number(values.workers),
    timeout: Number(values.timeout),
    verbose: values.verbose,
  };
}
