import {
  type Block,
  constantValue,
  DictType,
  type Graph,
  ListType,
  mayChange,
  type Node,
  unifyTypes,
  unshapedType,
} from '@cresset/ir';

/** How the log calls this file. */
const LOG = 'peephole_non_tensor';

/** Simplifies what concerns no tensors: None, conditions, conversions, sums and products of ints (PyTorch: PeepholeOptimizeNonTensor). */
export function peepholeNonTensor(graph: Graph): boolean {
  return runOn(graph.block);
}

function runOn(block: Block): boolean {
  let changed = false;
  for (const node of block.nodes()) {
    for (const inner of node.blocks) changed = runOn(inner) || changed;
    changed = replaceNones(node) || changed;
    changed = simplify(node) || changed;
  }
  return changed;
}

/** What can only be None is the constant. */
function replaceNones(node: Node): boolean {
  if (node.kind === 'prim::Constant') return false;
  const graph = node.owningGraph;
  let changed = false;
  for (const output of node.outputs) {
    if (output.type.kind !== 'NoneType' || !output.hasUses() || !mayChange(LOG, node)) continue;
    output.replaceAllUsesWith(graph.withInsertPoint(node, () => graph.insertConstant(null)));
    changed = true;
  }
  return changed;
}

function simplify(node: Node): boolean {
  switch (node.kind) {
    case 'prim::If': {
      const replaced = replaceConditions(node);
      return refineOptionals(node) || replaced;
    }
    case 'aten::__is__':
    case 'aten::__isnot__':
      return decideComparison(node);
    case 'prim::unchecked_unwrap_optional':
    case 'aten::_unwrap_optional':
      return node.input(0).mustNotBeNone() && replaceByInput(node);
    case 'prim::unchecked_cast':
      return unshapedType(node.input().type).isSubtypeOf(unshapedType(node.output().type)) && replaceByInput(node);
    case 'aten::eq':
    case 'aten::ne':
      return decideSameOperands(node);
    case 'aten::ceil':
      return node.inputs.length === 1 && node.input().type.kind === 'IntType' && replaceByInput(node);
    case 'aten::Int':
      if (node.inputs.length === 1 && node.input().type.kind === 'IntType') return replaceByInput(node);
      return unwrapNumber(node);
    case 'aten::Float':
    case 'aten::FloatImplicit':
    case 'aten::IntImplicit':
    case 'aten::ScalarImplicit':
      return unwrapNumber(node);
    case 'aten::mul':
    case 'aten::floordiv':
      return constantOperand(node) === 1n && replaceByInput(node);
    case 'aten::add':
    case 'aten::sub':
      return mergeSums(node);
    default:
      return false;
  }
}

function replaceByInput(node: Node): boolean {
  if (!mayChange(LOG, node, node.input(0).node)) return false;
  node.output().replaceAllUsesWith(node.input(0));
  return true;
}

/** `True if c else False` is `c`: so `c and True` and `c or False` come out. */
function replaceConditions(node: Node): boolean {
  const [whenTrue, whenFalse] = node.blocks;
  let changed = false;
  node.outputs.forEach((output, index) => {
    if (output.type.kind !== 'BoolType') return;
    if (constantValue(whenTrue.outputs[index]) !== true || constantValue(whenFalse.outputs[index]) !== false) return;
    if (!mayChange(LOG, node)) return;
    output.replaceAllUsesWith(node.input());
    changed = true;
  });
  return changed;
}

/** Of two branches that give no Optional, neither does the If. */
function refineOptionals(node: Node): boolean {
  const [whenTrue, whenFalse] = node.blocks;
  let changed = false;
  node.outputs.forEach((output, index) => {
    const [left, right] = [whenTrue.outputs[index].type, whenFalse.outputs[index].type];
    if (output.type.kind !== 'OptionalType' || left.kind === 'OptionalType' || right.kind === 'OptionalType') return;
    const unified = unifyTypes(left, right);
    if (!unified) return;
    output.setType(unified);
    changed = true;
  });
  return changed;
}

/** A number that was made a tensor and is made a number again. */
function unwrapNumber(node: Node): boolean {
  const made = node.input(0).node;
  if (made.kind !== 'prim::NumToTensor' || !mayChange(LOG, node)) return false;
  node.output().replaceAllUsesWith(made.input());
  return true;
}

const comparable: ReadonlySet<string> = new Set(['BoolType', 'IntType', 'FloatType', 'NoneType']);

/** `x == x`, for types whose comparison cannot fail. */
function decideSameOperands(node: Node): boolean {
  if (node.inputs.length !== 2 || node.input(0) !== node.input(1)) return false;
  const { type } = node.input(0);
  const compared = type instanceof ListType || type instanceof DictType ? type.containedTypes() : [type];
  if (!compared.every(({ kind }) => comparable.has(kind)) || !mayChange(LOG, node)) return false;
  const graph = node.owningGraph;
  node.output().replaceAllUsesWith(graph.withInsertPoint(node, () => graph.insertConstant(node.kind === 'aten::eq')));
  return true;
}

function decideComparison(node: Node): boolean {
  const graph = node.owningGraph;
  let changed = false;
  for (const index of [0, 1]) {
    if (!node.input(index).mustBeNone() || !node.input(1 - index).mustNotBeNone()) continue;
    if (!mayChange(LOG, node)) continue;
    const answer = graph.withInsertPoint(node, () => graph.insertConstant(node.kind === 'aten::__isnot__'));
    node.output().replaceAllUsesWith(answer);
    changed = true;
  }
  return changed;
}

/** The constant of an operation on two ints, which a commutative one then has on its right. */
function constantOperand(node: Node): bigint | undefined {
  if (node.inputs.length !== 2 || node.inputs.some(({ type }) => type.kind !== 'IntType')) return undefined;
  if (node.kind === 'aten::mul' || node.kind === 'aten::add') {
    const left = constantValue(node.input(0));
    if (typeof left === 'bigint') {
      node.permuteInputs([1, 0]);
      return left;
    }
  }
  const right = constantValue(node.input(1));
  return typeof right === 'bigint' ? right : undefined;
}

/** `x + 0` is `x`, and `x + 2 - 3` is `x - 1`. */
function mergeSums(node: Node): boolean {
  const constant = constantOperand(node);
  if (constant === undefined) return false;
  if (constant === 0n) return replaceByInput(node);
  const inner = node.input(0).node;
  if (inner.kind !== 'aten::add' && inner.kind !== 'aten::sub') return false;
  const innerConstant = constantOperand(inner);
  if (innerConstant === undefined || !mayChange(LOG, node)) return false;
  const merged = inner.kind === node.kind ? constant + innerConstant : constant - innerConstant;
  if (merged === 0n) {
    node.output().replaceAllUsesWith(inner.input(0));
    return true;
  }
  const graph = node.owningGraph;
  node.replaceInput(0, inner.input(0));
  node.replaceInput(
    1,
    graph.withInsertPoint(node, () => graph.insertConstant(BigInt.asIntN(64, merged))),
  );
  return true;
}
