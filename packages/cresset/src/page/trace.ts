import { CressetError } from '@cresset/ir';
import type { TracedTorch } from '../tracing/traced-tensor.ts';
import type { LoadOptions } from './library.ts';
import type { LoadedFile } from './loaded-file.ts';

export interface TraceOptions extends Pick<LoadOptions, 'device' | 'worker' | 'memoryLimit'> {
  /** Names of the parameters; by default those that the function has in its source. */
  readonly argumentNames?: readonly string[];
  /**
   * Traces again with each of the `checkInputs` and compares: the graphs, and what the traced program gives with what the function gives. Another
   * graph is an error, other results are a warning. On by default.
   */
  readonly checkTrace?: boolean;
  /** What the trace is checked with: a list of inputs, each as the example is given; by default the example itself. */
  readonly checkInputs?: readonly unknown[];
  /** How far results may be apart, as a part of the larger one; 1e-5 by default. */
  readonly checkTolerance?: number;
  /** `false` allows dicts among the results, and lists without a warning. */
  readonly strict?: boolean;
  /** Records what writes to a tensor as what makes another one, `add` for `add_`. */
  readonly forceOutplace?: boolean;
  /** Shows a warning; by default it goes where the log goes (`setJitLogSink`), or as a warning to the console where nobody said. */
  readonly warn?: (message: string) => void;
}

/** A trace in progress. */
export interface ActiveTrace {
  readonly torch: TracedTorch;
  /**
   * Calls a function or method that was compiled before: the call is recorded.
   *
   * @param module path of the module; empty for a function too
   */
  call(file: LoadedFile, module: string, name: string, args: readonly unknown[]): unknown;
}

let active: ActiveTrace | null = null;

/** Makes {@link torch}, and calls of programs, what a trace says, while `body` runs. */
export function withTrace<T>(trace: ActiveTrace, body: () => T): T {
  if (active) throw new CressetError('TRACE', "Tracing can't be nested");
  active = trace;
  try {
    return body();
  } finally {
    active = null;
  }
}

/** Has the trace that is in progress call a program; undefined where there is none. */
export const traceCall = (...call: Parameters<ActiveTrace['call']>): unknown => active?.call(...call);

/**
 * The module `torch` in a program that is being traced: `torch.cat([x, y], 1)`, `torch.linalg.inv(x)`. Its functions are the registered
 * operators, under PyTorch's names. Outside of a trace there is nothing in it.
 */
export const torch: TracedTorch = new Proxy({} as TracedTorch, {
  get(_target, name) {
    if (!active) {
      throw new CressetError('TRACE', `torch.${String(name)} can be used in a function that is being traced only`);
    }
    return Reflect.get(active.torch, name) as unknown;
  },
});
