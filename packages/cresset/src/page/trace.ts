import { CressetError } from '@cresset/ir';
import type { TracedTorch } from '../tracing/traced-tensor.ts';
import type { LoadOptions } from './library.ts';

export interface TraceOptions extends Pick<LoadOptions, 'device' | 'worker' | 'memoryLimit'> {
  /** Names of the parameters; by default those that the function has in its source. */
  readonly argumentNames?: readonly string[];
  /**
   * Traces a second time with equal inputs and compares: the graphs, and what the traced program gives with what the function gave. A
   * function that is not the same each time is an error, other results a warning. On by default.
   */
  readonly checkTrace?: boolean;
  /** How far results may be apart, relative and absolute; 1e-5 by default. */
  readonly checkTolerance?: number;
  /** `false` allows dicts among the results, and lists without a warning. */
  readonly strict?: boolean;
  /** Shows a warning; on the console by default. */
  readonly warn?: (message: string) => void;
}

let activeTorch: TracedTorch | null = null;

/** Makes {@link torch} what a trace gives, while `body` runs. */
export function withTorch<T>(module: TracedTorch, body: () => T): T {
  if (activeTorch) throw new CressetError('TRACE', "Tracing can't be nested");
  activeTorch = module;
  try {
    return body();
  } finally {
    activeTorch = null;
  }
}

/**
 * The module `torch` in a program that is being traced: `torch.cat([x, y], 1)`, `torch.linalg.inv(x)`. Its functions are the registered
 * operators, under PyTorch's names. Outside of a trace there is nothing in it.
 */
export const torch: TracedTorch = new Proxy({} as TracedTorch, {
  get(_target, name) {
    if (!activeTorch) {
      throw new CressetError('TRACE', `torch.${String(name)} can be used in a function that is being traced only`);
    }
    return Reflect.get(activeTorch, name) as unknown;
  },
});
