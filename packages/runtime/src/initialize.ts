import { setDefaultCleanupPasses } from '@cresset/ir';
import { registerAllOperators } from '@cresset/operators';
import { runCleanupPasses } from '@cresset/passes';
import { evaluateConstant } from './constant-evaluator.ts';

let isInitialized = false;

/** Puts in place what compiling needs: the operator table, and the passes that follow every compilation. Once is enough. */
export function initializeRuntime(): void {
  if (isInitialized) return;
  isInitialized = true;
  registerAllOperators();
  setDefaultCleanupPasses((graph) => runCleanupPasses(graph, { evaluate: evaluateConstant }));
}
