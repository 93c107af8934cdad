import { extendServices } from '@cresset/ir';
import { formulaTexts } from '@cresset/passes';
import { ProfilingGraphExecutor } from '../executor/profiling-graph-executor.ts';
import { SimpleGraphExecutor } from '../executor/simple-graph-executor.ts';
import type { RuntimeServices } from '../services.ts';

/** The executors that look at arguments. */
export function register(): void {
  extendServices<RuntimeServices>({
    executors: {
      simple: (executor, spec, self) => new SimpleGraphExecutor(executor, spec, self),
      profiling: (executor, spec, self) => ProfilingGraphExecutor.of(executor, spec, self),
    },
    groupFormulas: formulaTexts,
  });
}
