import type { Node } from '@cresset/ir';

/**
 * The file format version from which on operators mean what they mean now, by name and overload; files that hold them say at
 * least that version (PyTorch: get_operator_version_map).
 */
const OPERATOR_VERSIONS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'aten::div': { Scalar: 4, Scalar_mode: 4, Tensor: 4, Tensor_mode: 4, out: 4, out_mode: 4 },
  'aten::div_': { Scalar: 4, Scalar_mode: 4, Tensor: 4, Tensor_mode: 4 },
  'aten::full': { '': 5, out: 5 },
  'aten::gelu': { '': 10, out: 10 },
  'aten::linspace': { '': 8, out: 8 },
  'aten::logspace': { '': 9, out: 9 },
};

/** The lowest version of the file format that a node can stand in. */
export function versionOf(node: Node): number {
  const versions = OPERATOR_VERSIONS[node.kind];
  const operator = versions && node.maybeOperator();
  return operator ? (versions[operator.overloadName] ?? 1) : 1;
}
