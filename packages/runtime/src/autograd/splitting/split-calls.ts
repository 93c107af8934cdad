import { compilerServices, jitOptions, type ScriptFunction } from '@cresset/ir';
import { remembered } from '@cresset/tensorexpr';
import type { CodeProvider } from '../../interpreter/code/code-compiler.ts';
import type { ScriptModule } from '../../script-module.ts';
import type { RuntimeServices } from '../../services.ts';
import type { HostedModel } from '../../worker/hosted-model.ts';
import { needForGroups } from '../recording/gradient-parts.ts';
import { tapeCode } from '../tape-code.ts';
import { SplitCode } from './split-code.ts';

/**
 * So many calls of a program are recorded operator by operator before plans are made for it: what plans take to be made is as long as some calls, and
 * many a program is called no more often.
 */
const TAPED_CALLS = 2;

/** Whose calls they are. */
export type RecordedModel = Pick<HostedModel, 'parts' | 'runner' | 'keeps' | 'ends'>;

/** Decides for the calls of one model that are recorded whether the tape records each of their operators, or groups of them. */
export class SplitCalls {
  readonly #calls = new WeakMap<ScriptFunction, number>();
  #code: SplitCode | null = null;

  constructor(private readonly runner: ScriptModule) {}

  /**
   * Makes a call of functions, of which the first is the one that is called again and again, with the code that it is to run. One that fails, or is aborted,
   * does not count.
   */
  async call<Result>(
    functions: readonly ScriptFunction[],
    model: RecordedModel,
    call: (codes: CodeProvider) => Promise<Result>,
  ): Promise<Result> {
    const [fn] = functions;
    const result = await call(this.#isSplit(fn) ? await this.#codesFor(functions, model) : tapeCode);
    this.#calls.set(fn, this.#callsOf(fn) + 1);
    return result;
  }

  #callsOf(fn: ScriptFunction): number {
    return this.#calls.get(fn) ?? 0;
  }

  #isSplit(fn: ScriptFunction): boolean {
    const { enabled, executor, gradients } = jitOptions();
    if (enabled === false || gradients === 'operators' || gradients === 'graph') return false;
    // Without a device nothing is fused, and plans call the operators that the tape calls.
    const isRepeated = this.#callsOf(fn) >= TAPED_CALLS && this.runner.context.device !== null;
    return gradients === 'groups' || executor !== undefined || isRepeated;
  }

  /** The part of the library that makes plans comes when the first call needs it, and where it cannot be had, the tape does without. */
  async #codesFor(functions: readonly ScriptFunction[], { parts, keeps, ends }: RecordedModel): Promise<CodeProvider> {
    await parts.want('executors', 'gradients of calls that are made again');
    const { executors, groupFormulas } = compilerServices<RuntimeServices>();
    if (!executors || !groupFormulas) return tapeCode;
    await needForGroups(parts, functions, groupFormulas);
    if (!this.#code) {
      const code = (this.#code = new SplitCode(this.runner.context));
      keeps.push(() => code.constants());
      ends.push(() => code.constants().forEach(({ storage }) => storage.dispose()));
    }
    return this.#code;
  }
}

/** Those of the calls of a model. */
export const splitCallsOf = remembered((runner: ScriptModule) => new SplitCalls(runner));
