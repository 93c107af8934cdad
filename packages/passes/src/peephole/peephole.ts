import { AliasDb, constantValue, ListType, logGraph, mayChange, type Graph, type Node, type Value } from '@cresset/ir';

/**
 * Simplifies what can be seen from a few nodes: comparisons with None that types decide, conversions there and back, lists that are
 * made and looked into (PyTorch: PeepholeOptimize, with its list idioms). What becomes unused is left to dead code elimination.
 */
export function peephole(graph: Graph): boolean {
  const changed = new Peephole(graph).run();
  logGraph('peephole', graph);
  return changed;
}

class Peephole {
  #aliasDb: AliasDb | null = null;

  constructor(private readonly graph: Graph) {}

  run(): boolean {
    let changed = false;
    for (const node of this.graph.allNodes()) {
      const replacement = this.#simplified(node);
      if (replacement && mayChange('peephole', node, replacement[0]?.node)) {
        replacement.forEach((value, index) => node.output(index).replaceAllUsesWith(value));
        changed = true;
      } else if (node.kind === 'prim::If') {
        changed = this.#replaceConditions(node) || changed;
      }
    }
    return changed;
  }

  /** What stands for the node's outputs; null where nothing is known. */
  #simplified(node: Node): readonly Value[] | null {
    if (!node.hasUses()) return null;
    switch (node.kind) {
      case 'aten::__is__':
      case 'aten::__isnot__':
        return this.#comparedWithNone(node);
      case 'aten::_unwrap_optional':
      case 'prim::unchecked_unwrap_optional':
        return node.input(0).mustNotBeNone() && sameType(node.input(0), node.output()) ? [node.input(0)] : null;
      case 'prim::unchecked_cast':
        return sameType(node.input(), node.output()) ? [node.input()] : null;
      case 'aten::t': {
        const inner = node.input().node;
        return inner.kind === 'aten::t' && sameType(inner.input(), node.output()) ? [inner.input()] : null;
      }
      case 'aten::Int':
      case 'aten::Float':
      case 'aten::IntImplicit':
      case 'aten::FloatImplicit':
      case 'aten::ScalarImplicit':
        return numberBehind(node);
      case 'aten::len':
      case 'aten::__getitem__':
      case 'prim::ListUnpack':
        return this.#lookedIntoList(node);
      default:
        return null;
    }
  }

  #comparedWithNone(node: Node): readonly Value[] | null {
    const [left, right] = node.inputs;
    const isThere = node.kind === 'aten::__isnot__';
    if (left.mustBeNone() && right.mustBeNone()) return [this.#constant(node, !isThere)];
    const decided = (left.mustBeNone() && right.mustNotBeNone()) || (right.mustBeNone() && left.mustNotBeNone());
    return decided ? [this.#constant(node, isThere)] : null;
  }

  #lookedIntoList(node: Node): readonly Value[] | null {
    const list = node.input(0);
    if (list.node.kind !== 'prim::ListConstruct' || !(list.type instanceof ListType)) return null;
    this.#aliasDb ??= new AliasDb(this.graph);
    if (this.#aliasDb.hasWriters(list)) return null;
    const elements = list.node.inputs;
    if (node.kind === 'aten::len') return [this.#constant(node, BigInt(elements.length))];
    if (node.kind === 'prim::ListUnpack') return elements.length === node.outputs.length ? elements : null;
    const index = constantValue(node.input(1));
    const element = typeof index === 'bigint' ? elements.at(Number(index)) : undefined;
    const isInRange = typeof index === 'bigint' && index >= -elements.length && index < elements.length;
    return element && isInRange && sameType(element, node.output()) ? [element] : null;
  }

  /** `True if c else False` is `c`. */
  #replaceConditions(node: Node): boolean {
    let changed = false;
    const [whenTrue, whenFalse] = node.blocks;
    node.outputs.forEach((output, index) => {
      if (!output.hasUses() || output.type.kind !== 'BoolType') return;
      if (constantValue(whenTrue.outputs[index]) !== true || constantValue(whenFalse.outputs[index]) !== false) return;
      output.replaceAllUsesWith(node.input());
      changed = true;
    });
    return changed;
  }

  #constant(node: Node, value: boolean | bigint): Value {
    return this.graph.withInsertPoint(node, () => this.graph.insertConstant(value, node.sourceRange));
  }
}

/** The number of which `prim::NumToTensor` made the tensor that is turned into a number again. */
function numberBehind(node: Node): readonly Value[] | null {
  if (node.inputs.length !== 1) return null;
  const made = node.input().node;
  if (made.kind === 'prim::NumToTensor') return sameType(made.input(), node.output()) ? [made.input()] : null;
  const isConversion = node.kind === 'aten::Int' || node.kind === 'aten::Float';
  return isConversion && sameType(node.input(), node.output()) ? [node.input()] : null;
}

function sameType(a: Value, b: Value): boolean {
  return a.type.equals(b.type);
}
