import {
  AliasDb,
  constantValue,
  type Graph,
  insertConstant,
  IntType,
  isListConstant,
  isTensorConstant,
  ListType,
  newShapeSymbol,
  type Node,
  OptionalType,
  TensorType,
  type Use,
  type Value,
} from '@cresset/ir';
import { List } from '@cresset/tensor';
import type { ConstantEvaluator } from '../../cleanup/constant-propagation.ts';
import { simplifyShapeGraph } from './simplify-shape-graph.ts';

/** A size that is known, that has a name (a negative number), or an int of which not even the sign is known. */
type ShapeArgument = { readonly size: bigint } | { readonly symbol: number } | null;

const MAX_ATTEMPTS = 8;

/**
 * Finds what an operator's shape function gives for one node, by putting what is known of the node's inputs into a copy of the function
 * and simplifying that until nothing changes (PyTorch: SymbolicShapeNodeAnalyzer). Sets the types of the node's outputs.
 *
 * @returns the function, with all that is known in it.
 */
export function propagateShapesWithFunction(
  node: Node,
  shapeFunction: Graph,
  aliasDb: AliasDb,
  evaluate: ConstantEvaluator,
): Graph {
  return new ShapeNodeAnalyzer(node, shapeFunction.copy(), aliasDb, evaluate).run();
}

class ShapeNodeAnalyzer {
  /** What is known of the lists among the function's inputs that are not known wholly. */
  readonly #known: { readonly input: Value; readonly sizes: readonly ShapeArgument[] }[] = [];

  constructor(
    private readonly node: Node,
    private readonly graph: Graph,
    private readonly aliasDb: AliasDb,
    private readonly evaluate: ConstantEvaluator,
  ) {}

  run(): Graph {
    [...this.graph.inputs].forEach((input, index) => this.#takeInput(this.node.input(index), input));
    let changed = true;
    for (let attempt = 0; changed && attempt < MAX_ATTEMPTS; attempt++) {
      mergeEqualSizes(this.#substitute());
      changed = simplifyShapeGraph(this.graph, this.evaluate);
    }
    this.#setOutputs(this.#substitute());
    return this.graph;
  }

  // ---- inputs

  #takeInput(outer: Value, input: Value): void {
    const { type } = outer;
    if (input.type instanceof OptionalType) {
      if (!(type instanceof OptionalType) && type.kind !== 'NoneType') input.setType(input.type.elementType);
    } else if (input.type.kind === 'NumberType') {
      input.setType(type);
    }
    if (type instanceof TensorType) this.#takeTensor(outer, input);
    else if (type instanceof ListType && type.elementType instanceof TensorType) this.#takeTensors(outer, input);
    else if (constantValue(outer) !== undefined) replaceByConstant(input, constantValue(outer));
    else if (type instanceof ListType && type.elementType.kind === 'IntType') this.#takeInts(outer, input);
  }

  #takeTensor(outer: Value, input: Value): void {
    // Also where the function takes anything.
    input.setType(new ListType(IntType.get()));
    const { shape, concreteSizes } = outer.type as TensorType;
    const constant = constantValue(outer);
    const sizes = concreteSizes ?? (isTensorConstant(constant) ? constant.sizes : undefined);
    if (sizes) replaceByConstant(input, listOfInts(sizes));
    else if (shape) this.#known.push({ input, sizes: shape.map(argumentOfSize) });
  }

  /** A list of tensors becomes as many inputs, of which the function then makes the list. */
  #takeTensors(outer: Value, input: Value): void {
    const constant = constantValue(outer);
    if (isListConstant(constant)) {
      const sizes = constant.items.map((item) => listOfInts((item as { sizes: readonly number[] }).sizes));
      replaceByConstant(input, new List(new ListType(IntType.get()), sizes));
      return;
    }
    if (outer.node.kind !== 'prim::ListConstruct' || this.aliasDb.hasWriters(outer)) return;
    const { graph } = this;
    const ints = new ListType(IntType.get());
    const elements = outer.node.inputs.map(() => graph.insertInput(input.offset).setType(ints));
    const list = graph.withInsertPoint(graph.paramNode.next, () => graph.insertNode(graph.createList(ints, elements)));
    input.replaceAllUsesWith(list.output());
    outer.node.inputs.forEach((tensor, index) => this.#takeTensor(tensor, elements[index]));
    graph.eraseInput(input.offset);
  }

  /** `[y.size(0), 3]` and `y.size()` are sizes of a tensor that may be known. */
  #takeInts(outer: Value, input: Value): void {
    if (this.aliasDb.hasWriters(outer)) return;
    const { kind, inputs } = outer.node;
    if (kind === 'prim::ListConstruct') {
      this.#known.push({ input, sizes: inputs.map(argumentOfInt) });
    } else if (kind === 'aten::size' && inputs.length === 1) {
      const { shape } = inputs[0].type as TensorType;
      if (shape) this.#known.push({ input, sizes: shape.map(argumentOfSize) });
    }
  }

  // ---- simplification

  /** Puts in what is known of lengths and elements; gives the symbols of the elements that have one. */
  #substitute(): Map<Value, number> {
    const symbols = new Map<Value, number>();
    for (const { input, sizes } of this.#known) {
      for (const { user } of input.uses) {
        if (user.kind === 'aten::len') {
          replaceByConstant(user.output(), BigInt(sizes.length));
        } else if (user.kind === 'aten::__getitem__') {
          const size = elementAt(sizes, constantValue(user.input(1)));
          if (!size) continue;
          if ('size' in size) {
            replaceByConstant(user.output(), size.size);
            continue;
          }
          symbols.set(user.output(), size.symbol);
          decideComparisons(user.output());
        }
      }
    }
    return symbols;
  }

  // ---- outputs

  #setOutputs(symbols: ReadonlyMap<Value, number>): void {
    const aliasDb = AliasDb.of(this.graph);
    this.graph.outputs.forEach((sizes, index) => {
      const output = this.node.output(index);
      output.setType((output.type as TensorType).withSymbolicShapes(shapeOf(sizes, symbols, aliasDb)));
    });
  }
}

function argumentOfSize(size: number): ShapeArgument {
  return size >= 0 ? { size: BigInt(size) } : { symbol: size };
}

function argumentOfInt(value: Value): ShapeArgument {
  const constant = constantValue(value);
  if (typeof constant === 'bigint') return { size: constant };
  if (value.node.kind !== 'aten::size') return null;
  // A size has a name at least: it is not negative.
  const dim = constantValue(value.node.input(1));
  const { shape } = value.node.input(0).type as TensorType;
  return elementAt(shape?.map(argumentOfSize) ?? [], dim) ?? { symbol: newShapeSymbol() };
}

function elementAt(sizes: readonly ShapeArgument[], index: unknown): ShapeArgument | undefined {
  if (typeof index !== 'bigint') return undefined;
  return index >= -sizes.length && index < sizes.length ? sizes.at(Number(index)) : undefined;
}

function listOfInts(sizes: readonly number[]): List {
  return new List(
    IntType.get(),
    sizes.map((size) => BigInt(size)),
  );
}

/** A constant at the beginning of the value's block. */
function replaceByConstant(value: Value, constant: unknown): void {
  const { owningGraph: graph, node } = value;
  const first = node.owningBlock.paramNode.next;
  value.replaceAllUsesWith(graph.withInsertPoint(first, () => insertConstant(graph, constant)));
}

const comparisons: ReadonlySet<string> = new Set([
  'aten::ge',
  'aten::le',
  'aten::ne',
  'aten::eq',
  'aten::lt',
  'aten::gt',
]);

/** A size is no negative number, and so the comparison with one is decided. */
function decideComparisons(size: Value): void {
  for (const use of size.uses) {
    if (!comparisons.has(use.user.kind)) return;
    const answer = comparisonOfSize(use);
    if (answer !== undefined) replaceByConstant(use.user.output(), answer);
  }
}

function comparisonOfSize({ user, offset }: Use): boolean | undefined {
  const other = constantValue(user.input(1 - offset));
  const isLeft = offset === 0;
  if (typeof other !== 'bigint') return undefined;
  if (other === 0n && user.kind === (isLeft ? 'aten::ge' : 'aten::le')) return true;
  if (other >= 0n) return undefined;
  switch (user.kind) {
    case 'aten::eq':
      return false;
    case 'aten::ne':
      return true;
    case 'aten::ge':
    case 'aten::gt':
      return isLeft;
    default:
      return !isLeft;
  }
}

/** Values of one symbol are one value, where one of them is known before the other. */
function mergeEqualSizes(symbols: ReadonlyMap<Value, number>): void {
  for (const [value, symbol] of symbols) {
    let first = value;
    for (const [other, otherSymbol] of symbols) {
      if (otherSymbol === symbol && first.node.isDominatedBy(other.node)) first = other;
    }
    if (first !== value) value.replaceAllUsesWith(first);
  }
}

/** The sizes a list holds; undefined where not even their number is known. */
function shapeOf(list: Value, symbols: ReadonlyMap<Value, number>, aliasDb: AliasDb): readonly number[] | undefined {
  const constant = constantValue(list);
  if (isListConstant(constant)) return constant.items.map(Number);
  if (list.node.kind !== 'prim::ListConstruct' || aliasDb.hasWriters(list)) return undefined;
  return list.node.inputs.map((size) => {
    const known = constantValue(size);
    return symbols.get(size) ?? (typeof known === 'bigint' ? Number(known) : newShapeSymbol());
  });
}
