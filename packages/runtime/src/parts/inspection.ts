import { inspectionHandlers } from '../inspection/inspection-handlers.ts';
import { registerRequestHandlers } from '../worker/request-handlers.ts';

export function register(): void {
  registerRequestHandlers(inspectionHandlers);
}
