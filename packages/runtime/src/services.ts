import type { CompilerServices, ExecutorKind, Node } from '@cresset/ir';
import type { OptimizeOptions } from '@cresset/passes';
import type { ScriptObject } from '@cresset/tensor';
import type { DeviceTensors } from './device-tensors/device-tensors.ts';
import type { ChooserFactory } from './executor/graph-executor.ts';
import type { rollRecording } from './plan/recording/rolled-recording.ts';
import type { MemoryBudget } from './run/memory-budget.ts';
import type { Planner } from './run/planner.ts';
import type { RuntimeContext } from './run/runtime-context.ts';
import type { HostedModel } from './worker/hosted-model.ts';

/** What few programs have a use for: loops whose trips are kernels with one more axis. */
export interface LoopRolling {
  /** Whether the trips of a loop can be rolled as far as its text tells: it is better not unrolled then. */
  isLikely(loop: Node): boolean;
  readonly roll: typeof rollRecording;
}

/** What parts of the library bring for running programs. */
export interface RuntimeServices extends CompilerServices {
  /** The pass that a program with `torch.autocast` needs. */
  readonly autocast?: OptimizeOptions['autocast'];
  /** Keeps results of calls where they were made. */
  readonly deviceTensors?: (models: ReadonlyMap<number, HostedModel>) => DeviceTensors;
  /** The executors that look at arguments. */
  readonly executors?: Readonly<Record<ExecutorKind, ChooserFactory>>;
  /** The texts of the derivatives that groups of operators have, of operators by their names without namespace and overload. */
  readonly groupFormulas?: (operators: ReadonlySet<string>) => readonly string[];
  /** Bounds the memory of a program, bytes. */
  readonly memoryBudget?: (limit: number) => MemoryBudget;
  /** Has the runs of a context recorded; null where its device cannot. */
  readonly planner?: (context: RuntimeContext) => Planner | null;
  /** Does all trips of a loop at once. */
  readonly loopRolling?: LoopRolling;
  /**
   * What makes an object that a file restores ready when it is loaded, as PyTorch packs weights then, once its tensors are on the host;
   * undefined for one that needs nothing.
   */
  readonly preparationOf?: (object: ScriptObject) => (() => void) | undefined;
}
