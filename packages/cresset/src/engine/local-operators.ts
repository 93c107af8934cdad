import { toWireError } from '@cresset/runtime';
import type { CustomOperator } from '../page/custom-operator.ts';
import { loadPart } from './parts.ts';

const waiting: CustomOperator[] = [];

/** Keeps a custom operator whose function is in this thread, until the engine starts. */
export function addLocalOperator(operator: CustomOperator): void {
  waiting.push(operator);
}

/** Makes them known; to be called before the first program is compiled. Rejects with what is wrong with one of them. */
export async function registerLocalOperators(): Promise<void> {
  if (waiting.length === 0) return;
  const { registerCustomOperator } = await loadPart('authoring');
  for (const operator of waiting.splice(0)) {
    registerCustomOperator(operator.registration, (call) =>
      operator.run(call).catch((error: unknown) => ({ error: toWireError(error) })),
    );
  }
}
