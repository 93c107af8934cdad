import { extendServices } from '@cresset/ir';
import { CountedMemory } from '../memory/counted-memory.ts';
import { memoryHandlers } from '../memory/memory-handlers.ts';
import type { RuntimeServices } from '../services.ts';
import { registerRequestHandlers } from '../worker/request-handlers.ts';

/** Limits to the memory of a program, and questions about it. */
export function register(): void {
  extendServices<RuntimeServices>({ memoryBudget: (limit) => new CountedMemory(limit) });
  registerRequestHandlers(memoryHandlers);
}
