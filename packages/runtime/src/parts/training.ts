import { registerFaultFlag } from '../training/fault-flag.ts';
import { trainingHandlers } from '../training/training-handlers.ts';
import { registerRequestHandlers } from '../worker/request-handlers.ts';

/** Gradients of what models compute, and their training. */
export function register(): void {
  registerFaultFlag();
  registerRequestHandlers(trainingHandlers);
}
