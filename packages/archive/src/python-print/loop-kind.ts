import { constantValue, type Node } from '@cresset/ir';

const MAX_INT64 = 2n ** 63n - 1n;

/** What a loop was in Python; `modified` where it counts and has a condition too (PyTorch: LoopView::loopType). */
export function loopKind(loop: Node): 'for' | 'while' | 'modified' {
  const [maxTripCount, condition] = loop.inputs;
  const [body] = loop.blocks;
  const runsOn = constantValue(condition) === true && constantValue(body.outputs[0]) === true;
  const isCounted = constantValue(maxTripCount) !== MAX_INT64 || body.inputs[0].hasUses();
  if (runsOn) return isCounted ? 'for' : 'while';
  return isCounted ? 'modified' : 'while';
}
