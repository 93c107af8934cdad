import {
  AliasDb,
  type Block,
  constantValue,
  type Graph,
  mayChange,
  type Node,
  TensorType,
  type Value,
} from '@cresset/ir';

/** How the log calls this file. */
const LOG = 'peephole_alias_sensitive';

/** Ranks that convolutions give. */
const convolutionRanks: ReadonlyMap<string, bigint> = new Map([
  ['aten::conv1d', 3n],
  ['aten::conv2d', 4n],
  ['aten::conv3d', 5n],
]);

const ARITHMETIC: ReadonlySet<string> = new Set(['aten::add', 'aten::sub', 'aten::mul', 'aten::div']);

const FLOATING: ReadonlySet<string> = new Set(['float16', 'bfloat16', 'float32', 'float64']);

/**
 * Simplifies what must not be touched where tensors are written to: `x + 0` and `x * 1`, which give a new tensor, and ranks of
 * convolutions' results (PyTorch: PeepholeOptimizeAliasSensitive).
 */
export function peepholeAliasSensitive(graph: Graph, useShapes = true, unknownAreNumbers = false): boolean {
  for (const kind of graph.kinds)
    if (convolutionRanks.has(kind) || ARITHMETIC.has(kind))
      return new AliasSensitive(graph, useShapes, unknownAreNumbers).runOn(graph.block);
  return false;
}

class AliasSensitive {
  /** Values whose aliases are not what the AliasDb knows any more. */
  readonly #stale: Value[] = [];

  readonly #aliasDb: AliasDb;

  constructor(
    private readonly graph: Graph,
    private readonly useShapes: boolean,
    private readonly unknownAreNumbers: boolean,
  ) {
    this.#aliasDb = AliasDb.lazily(graph);
  }

  runOn(block: Block): boolean {
    let changed = false;
    for (const node of block.nodes()) {
      for (const inner of node.blocks) changed = this.runOn(inner) || changed;
      const rank = convolutionRanks.get(node.kind);
      if (rank !== undefined) changed = this.#replaceRanks(node, rank) || changed;
      else if (ARITHMETIC.has(node.kind) && this.#changesNothing(node)) changed = this.#replaceByInput(node) || changed;
    }
    return changed;
  }

  #replaceRanks(node: Node, rank: bigint): boolean {
    let changed = false;
    const queries = node.output().uses.filter(({ user }) => user.kind === 'aten::dim');
    const isWritten = queries.length > 0 && this.#aliasDb.hasWriters(node.output());
    for (const { user } of queries) {
      if (isWritten && !this.#aliasDb.moveAfterTopologicallyValid(node, user)) continue;
      if (!mayChange(LOG, user)) continue;
      const graph = node.owningGraph;
      user.output().replaceAllUsesWith(graph.withInsertPoint(user, () => graph.insertConstant(rank)));
      changed = true;
    }
    return changed;
  }

  /** `x + 0`, `x - 0`, `x * 1`, `x / 1`, where the number cannot change the dtype either: an int makes one of truth values. */
  #changesNothing(node: Node): boolean {
    const [self, other, alpha] = node.inputs;
    if (node.maybeSchema()?.overloadName !== 'Scalar') return false;
    switch (node.kind) {
      case 'aten::add':
      case 'aten::sub':
        return this.#keepsDtype(self, [other, alpha]) && Number(constantValue(alpha)) === 1 && isNumber(other, 0);
      case 'aten::mul':
        return this.#keepsDtype(self, [other]) && isNumber(other, 1);
      default:
        return node.inputs.length === 2 && this.#isFloatingPoint(self) && isNumber(other, 1);
    }
  }

  /** Whether numbers leave the dtype as it is. One that is not known may be that of truth values. */
  #keepsDtype(self: Value, numbers: readonly Value[]): boolean {
    if (this.#isFloatingPoint(self)) return true;
    const { type } = self;
    const isNumeric = type instanceof TensorType && type.scalarType !== undefined && type.scalarType !== 'bool';
    return (isNumeric || this.unknownAreNumbers) && numbers.every((number) => number.type.kind === 'IntType');
  }

  #isFloatingPoint({ type }: Value): boolean {
    return this.useShapes && type instanceof TensorType && FLOATING.has(type.scalarType ?? '');
  }

  #replaceByInput(node: Node): boolean {
    const input = node.input(0);
    const output = node.output();
    if (!this.#aliasDb.safeToChangeAliasingRelationship([input], [output])) return false;
    if (this.#aliasDb.mayAlias([input, output], this.#stale) || !mayChange(LOG, node, input.node)) return false;
    output.replaceAllUsesWith(input);
    this.#stale.push(input, output);
    return true;
  }
}

function isNumber(value: Value, expected: number): boolean {
  const constant = constantValue(value);
  return (typeof constant === 'bigint' || typeof constant === 'number') && Number(constant) === expected;
}
