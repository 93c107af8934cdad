import type { Symbol } from '@cresset/ir';

/** Namespaces in which programs cannot make operators known. */
const OWN = /^(?:aten|prim|prims|quantized|profiler|onnx|cuda)::/;

/** What is said of an operator that is not known. */
export function foreignNote(name: Symbol): string {
  if (name === 'prim::ConstantMKLDNNTensor') {
    return ' No file has the weights of torch.jit.optimize_for_inference.';
  }
  return OWN.test(name) ? '' : " An operator of one's own is made known by registerOperator.";
}
