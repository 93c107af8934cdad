import { fullHandlers, initializeFullRuntime, registerCustomOperator } from '@cresset/runtime';
import { CustomOperator, type OperatorImplementation } from './full/operator-implementation.ts';
import { scopePort, serve } from './worker-start.ts';

export { Tensor, tensor } from './tensor.ts';

initializeFullRuntime();
serve(scopePort(self as unknown as DedicatedWorkerGlobalScope), fullHandlers);

/**
 * As `registerOperator` of `cresset/full`, for a worker's module of one's own, which imports this one and is handed to `setWorker` on the
 * page: the function runs in the worker itself.
 */
export function registerOperator(schema: string, implementation: OperatorImplementation): void {
  const operator = new CustomOperator(schema, implementation);
  registerCustomOperator(operator.registration, (_name, args) => operator.run(args));
}
