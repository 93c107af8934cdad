import { extendServices } from '@cresset/ir';
import { registerCommonOperators } from '@cresset/operators';
import { runCleanupPasses } from '@cresset/passes';
import { evaluateConstant } from './executor/constant-evaluator.ts';

let isInitialized = false;

/** Puts in place what compiling needs: the operators that models are mostly made of, and the passes that follow every compilation. Who
 * wants the rarer operators registers their parts too. Once is enough. */
export function initializeRuntime(): void {
  if (isInitialized) return;
  isInitialized = true;
  registerCommonOperators();
  extendServices({
    cleanUp: (graph) => runCleanupPasses(graph, { evaluate: evaluateConstant }),
    evaluate: evaluateConstant,
  });
}
