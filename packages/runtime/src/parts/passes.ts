import { passHandlers } from '../named-passes/pass-handlers.ts';
import { registerRequestHandlers } from '../worker/request-handlers.ts';

/** Passes by their names in PyTorch, for whoever wants to see what one of them does to a graph. */
export function register(): void {
  registerRequestHandlers(passHandlers);
}
