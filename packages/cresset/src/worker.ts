import { addLocalOperator } from './engine.ts';
import { CustomOperator, type OperatorImplementation } from './page/custom-operator.ts';

export { Tensor, tensor } from './page/values/tensor.ts';

/**
 * As `registerOperator` of `cresset`, for a worker's module of one's own, which imports this one and is handed to `setWorker` on the
 * page: the function runs in the worker itself. To be called before the module ends; what is wrong with an operator is told when the worker is
 * started.
 */
export function registerOperator(schema: string, implementation: OperatorImplementation): void {
  addLocalOperator(new CustomOperator(schema, implementation));
}
