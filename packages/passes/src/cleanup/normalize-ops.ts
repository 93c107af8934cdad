import { type Block, type Graph, type Node } from '@cresset/ir';

/** Alternative names of operators and the one the other passes know (PyTorch: getOperatorAliasMap). */
export const operatorAliases: ReadonlyMap<string, string> = new Map([
  ['absolute', 'abs'],
  ['absolute_', 'abs_'],
  ['adjoint', 'mH'],
  ['arccos', 'acos'],
  ['arccos_', 'acos_'],
  ['arccosh', 'acosh'],
  ['arccosh_', 'acosh_'],
  ['arcsin', 'asin'],
  ['arcsin_', 'asin_'],
  ['arcsinh', 'asinh'],
  ['arcsinh_', 'asinh_'],
  ['arctan', 'atan'],
  ['arctan2', 'atan2'],
  ['arctan2_', 'atan2_'],
  ['arctan_', 'atan_'],
  ['arctanh', 'atanh'],
  ['arctanh_', 'atanh_'],
  ['clip', 'clamp'],
  ['clip_', 'clamp_'],
  ['concat', 'cat'],
  ['concatenate', 'cat'],
  ['det', 'linalg_det'],
  ['divide', 'div'],
  ['divide_', 'div_'],
  ['fix', 'trunc'],
  ['fix_', 'trunc_'],
  ['ger', 'outer'],
  ['greater', 'gt'],
  ['greater_', 'gt_'],
  ['greater_equal', 'ge'],
  ['greater_equal_', 'ge_'],
  ['inverse', 'linalg_inv'],
  ['less', 'lt'],
  ['less_', 'lt_'],
  ['less_equal', 'le'],
  ['less_equal_', 'le_'],
  ['linalg_matmul', 'matmul'],
  ['matrix_exp', 'linalg_matrix_exp'],
  ['matrix_power', 'linalg_matrix_power'],
  ['moveaxis', 'movedim'],
  ['multiply', 'mul'],
  ['multiply_', 'mul_'],
  ['negative', 'neg'],
  ['negative_', 'neg_'],
  ['not_equal', 'ne'],
  ['not_equal_', 'ne_'],
  ['orgqr', 'linalg_householder_product'],
  ['row_stack', 'vstack'],
  ['special_digamma', 'digamma'],
  ['special_erf', 'erf'],
  ['special_erfc', 'erfc'],
  ['special_erfinv', 'erfinv'],
  ['special_exp2', 'exp2'],
  ['special_expit', 'sigmoid'],
  ['special_expm1', 'expm1'],
  ['special_gammainc', 'igamma'],
  ['special_gammaincc', 'igammac'],
  ['special_gammaln', 'lgamma'],
  ['special_i0', 'i0'],
  ['special_log1p', 'log1p'],
  ['special_log_softmax', 'log_softmax'],
  ['special_logit', 'logit'],
  ['special_logsumexp', 'logsumexp'],
  ['special_multigammaln', 'mvlgamma'],
  ['special_polygamma', 'polygamma'],
  ['special_psi', 'digamma'],
  ['special_round', 'round'],
  ['special_sinc', 'sinc'],
  ['special_softmax', 'softmax'],
  ['special_xlogy', 'xlogy'],
  ['subtract', 'sub'],
  ['subtract_', 'sub_'],
  ['swapaxes', 'transpose'],
  ['swapaxes_', 'transpose_'],
  ['swapdims', 'transpose'],
  ['swapdims_', 'transpose_'],
  ['true_divide', 'div'],
  ['true_divide_', 'div_'],
]);

/** Gives operators with several names, and tests that are written in several ways, one form (PyTorch: NormalizeOps). */
export function normalizeOps(graph: Graph): boolean {
  for (const kind of graph.kinds) if (mayBeNormalized(kind)) return normalizeBlock(graph.block);
  return false;
}

const mayBeNormalized = (kind: string): boolean =>
  kind === 'aten::rsub' ||
  kind === 'aten::__is__' ||
  kind === 'aten::__isnot__' ||
  operatorAliases.has(kind.slice('aten::'.length));

function normalizeBlock(block: Block): boolean {
  let changed = false;
  for (const node of block.nodes()) {
    for (const inner of node.blocks) changed = normalizeBlock(inner) || changed;
    changed = normalizeAlias(node) || normalizeReverseSubtraction(node) || normalizeIsBool(node) || changed;
  }
  return changed;
}

function renameNode(node: Node, kind: string): void {
  node.replaceWithNewSymbol(kind);
  node.destroy();
}

function normalizeAlias(node: Node): boolean {
  if (!node.kind.startsWith('aten::')) return false;
  const name = operatorAliases.get(node.kind.slice('aten::'.length));
  if (name === undefined) return false;
  renameNode(node, `aten::${name}`);
  return true;
}

/** `rsub(x, y, alpha)` is `sub(y, x, alpha)` where both are tensors. */
function normalizeReverseSubtraction(node: Node): boolean {
  if (node.kind !== 'aten::rsub' || node.maybeSchema()?.overloadName !== 'Tensor') return false;
  const [self, other, alpha] = node.inputs;
  const subtraction = node.owningGraph.create('aten::sub', [other, self, alpha]).insertBefore(node).copyMetadata(node);
  node.output().replaceAllUsesWith(subtraction.output().copyMetadata(node.output()));
  node.destroy();
  return true;
}

function normalizeIsBool(node: Node): boolean {
  if (node.kind !== 'aten::__is__' && node.kind !== 'aten::__isnot__') return false;
  if (!node.inputs.every((input) => input.type.kind === 'BoolType')) return false;
  renameNode(node, node.kind === 'aten::__is__' ? 'aten::eq' : 'aten::ne');
  return true;
}
