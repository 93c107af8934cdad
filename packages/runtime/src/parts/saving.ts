import { savingHandlers } from '../saving/saving-handlers.ts';
import { registerRequestHandlers } from '../worker/request-handlers.ts';

export function register(): void {
  registerRequestHandlers(savingHandlers);
}
