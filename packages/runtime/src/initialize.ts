import { setConstantEvaluator } from '@cresset/frontend';
import { setDefaultCleanupPasses } from '@cresset/ir';
import { registerCommonOperators } from '@cresset/operators';
import { register as einsum } from '@cresset/operators/parts/einsum';
import { register as layers } from '@cresset/operators/parts/layers';
import { register as losses } from '@cresset/operators/parts/losses';
import { register as nested } from '@cresset/operators/parts/nested';
import { register as random } from '@cresset/operators/parts/random';
import { register as recurrent } from '@cresset/operators/parts/recurrent';
import { register as resampling } from '@cresset/operators/parts/resampling';
import { register as scatter } from '@cresset/operators/parts/scatter';
import { register as sorting } from '@cresset/operators/parts/sorting';
import { runCleanupPasses } from '@cresset/passes';
import { evaluateConstant } from './constant-evaluator.ts';

let isInitialized = false;

/** Puts in place what compiling needs: the operators that models are mostly made of, and the passes that follow every compilation. Who
 * wants the rarer operators registers their parts too. Once is enough. */
export function initializeRuntime(): void {
  if (isInitialized) return;
  isInitialized = true;
  registerCommonOperators();
  for (const register of [einsum, layers, losses, nested, random, recurrent, resampling, scatter, sorting]) register();
  setDefaultCleanupPasses((graph) => runCleanupPasses(graph, { evaluate: evaluateConstant }));
  setConstantEvaluator(evaluateConstant);
}
