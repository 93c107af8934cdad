import { CressetError, type CompilationUnit } from '@cresset/ir';
import { autocast, freezeModule, optimizeFrozenGraph } from '@cresset/passes';
import type { ScriptObject } from '@cresset/tensor';
import { evaluateAnyConstant } from '../executor/constant-evaluator.ts';

/** What `torch.jit.freeze` takes beside the module. */
export interface FreezeSettings {
  /** Attributes and methods to be kept beside `forward`. */
  readonly preserved?: readonly string[];
  /** Whether what changes numbers by rounding alone is done too: layers take up what stands behind them. */
  readonly optimizeNumerics?: boolean;
}

/**
 * A module whose attributes are constants of its methods (torch.jit.freeze). Tensors that it needs have to be on the host; those that stay as
 * they are are the other module's. Throws `FREEZE` with PyTorch's message.
 */
export function freeze(module: ScriptObject, unit: CompilationUnit, settings: FreezeSettings = {}): ScriptObject {
  const { preserved = [], optimizeNumerics = true } = settings;
  if (module.type.hasAttribute('training') && module.getAttribute('training') === true) {
    throw new CressetError(
      'FREEZE',
      'Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module before freezing.',
    );
  }
  const frozen = freezeModule(module, unit, { preserved, evaluate: evaluateAnyConstant, autocast });
  for (const { graph } of frozen.methods) optimizeFrozenGraph(graph, evaluateAnyConstant, optimizeNumerics);
  return frozen.module;
}
