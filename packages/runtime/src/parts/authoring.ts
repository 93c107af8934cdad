import { authoringHandlers } from '../authoring/authoring-handlers.ts';
import { registerRequestHandlers } from '../worker/request-handlers.ts';

export { registerCustomOperator } from '../authoring/custom-operators.ts';

export function register(): void {
  registerRequestHandlers(authoringHandlers);
}
