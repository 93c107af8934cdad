import { useExecutors } from '../executor/graph-executor.ts';
import { ProfilingGraphExecutor } from '../executor/profiling-graph-executor.ts';
import { SimpleGraphExecutor } from '../executor/simple-graph-executor.ts';

/** The executors that look at arguments. */
export function register(): void {
  useExecutors({
    simple: (executor, spec, self) => new SimpleGraphExecutor(executor, spec, self),
    profiling: (executor, spec, self) => ProfilingGraphExecutor.of(executor, spec, self),
  });
}
