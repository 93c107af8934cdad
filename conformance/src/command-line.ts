import { parseArgs } from 'node:util';
import { availableParallelism } from 'node:os';
import type { Check } from './case.ts';

export interface Options {
  /** A folder or a single `.jsonl` file. */
  readonly corpus: string;
  readonly device: 'cpu' | 'webgpu';
  /** Run in Chromium instead of Node. */
  readonly browser: boolean;
  /** Only suites and case ids that contain this text. */
  readonly suite: string | null;
  readonly checks: readonly Check[];
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
  --device cpu|webgpu   where programs run (cpu)
  --browser             run in Chromium, not in Node
  --suite TEXT          only cases whose suite or id contains TEXT
  --check LIST          of output, graph, code, grads (output)
  --json FILE           write every result there
  --require P           exit status 1 below P passed cases
  --workers N           processes (one a core)
  --timeout SECONDS     for one case (30)
  --verbose             print every failed case`;

const checks: readonly Check[] = ['output', 'graph', 'code', 'grads'];

/** Reads the command line; throws with a sentence where it makes no sense. */
export function readCommandLine(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      corpus: { type: 'string' },
      device: { type: 'string', default: 'cpu' },
      browser: { type: 'boolean', default: false },
      suite: { type: 'string' },
      check: { type: 'string', default: 'output' },
      json: { type: 'string' },
      require: { type: 'string' },
      workers: { type: 'string' },
      timeout: { type: 'string', default: '30' },
      verbose: { type: 'boolean', default: false },
    },
  });
  if (values.corpus === undefined) throw new Error('--corpus is missing');
  if (values.device !== 'cpu' && values.device !== 'webgpu') throw new Error(`no such device: ${values.device}`);
  const wanted = values.check.split(',') as Check[];
  const unknown = wanted.find((check) => !checks.includes(check));
  if (unknown !== undefined) throw new Error(`no such check: ${unknown}`);
  return {
    corpus: values.corpus,
    device: values.device,
    browser: values.browser,
    suite: values.suite ?? null,
    checks: wanted,
    json: values.json ?? null,
    require: values.require === undefined ? null : Number(values.require),
    workers: values.workers === undefined ? Math.max(1, availableParallelism()) : Number(values.workers),
    timeout: Number(values.timeout),
    verbose: values.verbose,
  };
}
