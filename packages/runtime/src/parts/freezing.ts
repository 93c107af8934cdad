import { freezingHandlers } from '../freezing/freezing-handlers.ts';
import { registerRequestHandlers } from '../worker/request-handlers.ts';

/** Modules with their attributes as constants. */
export function register(): void {
  registerRequestHandlers(freezingHandlers);
}
