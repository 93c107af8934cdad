import {
  AliasDb,
  IntType,
  ListType,
  TensorType,
  unifyTypes,
  type Block,
  type Graph,
  type Node,
  type TupleType,
  type Type,
  type Value,
} from '@cresset/ir';
import { isIntegral, List, Tensor } from '@cresset/tensor';
import type { ConstantEvaluator } from '../cleanup/constant-propagation.ts';
import { completeFormula, expandsOperands, runOnExamples } from './complete-shapes.ts';
import { dimensionFormula } from './dimension-formulas.ts';
import { exampleNumber, exampleTensor } from './examples.ts';

/**
 * Refines the tensor types of a graph by what is known of its inputs (PyTorch: PropagateInputShapes). Values that memory resized in
 * place could be looked at through keep the type of any tensor.
 *
 * @param evaluate runs operators on example tensors of the right sizes.
 */
export function propagateInputShapes(graph: Graph, evaluate: ConstantEvaluator): void {
  new ShapePropagator(graph, evaluate).block(graph.block);
}

/** Forgets all that graphs' values are known to be beyond tensors (PyTorch: EraseShapeInformation). */
export function eraseShapeInformation(graph: Graph): void {
  eraseBlock(graph.block);
}

function eraseBlock(block: Block): void {
  for (const value of block.inputs) value.setType(unshaped(value.type));
  for (const node of block.nodes()) {
    for (const value of node.outputs) value.setType(unshaped(value.type));
    node.blocks.forEach(eraseBlock);
    if (node.hasAttribute('Subgraph')) eraseShapeInformation(node.g('Subgraph'));
  }
}

/** The type with no more known of tensors in it than that they are tensors (PyTorch: unshapedType). */
function unshaped(type: Type): Type {
  if (type instanceof TensorType) return TensorType.get();
  const contained = type.containedTypes();
  return contained.length === 0 ? type : type.withContained(contained.map(unshaped));
}

/** Operators that give numbers, whose types are right already. */
const givesNumbers: ReadonlySet<string> = new Set([
  'aten::Bool',
  'aten::Int',
  'aten::Float',
  'aten::Complex',
  'aten::FloatImplicit',
  'aten::IntImplicit',
  'aten::ScalarImplicit',
]);

/** Operators that change how much memory a tensor has. */
const resizes: ReadonlySet<string> = new Set([
  'aten::resize_',
  'aten::resize_as_',
  'aten::copy_',
  'aten::set_',
  'aten::unsqueeze_',
  'aten::t_',
  'aten::transpose_',
]);

function mayResize(node: Node): boolean {
  if (resizes.has(node.kind)) return true;
  return node.maybeSchema()?.arguments.some(({ name, kwargOnly }) => name === 'out' && kwargOnly) === true;
}

class ShapePropagator {
  readonly #aliasDb: AliasDb;
  readonly #evaluate: ConstantEvaluator;
  readonly #dependsOnMutation = new Map<Node, boolean>();
  /** What operators write to that may change its size. */
  readonly #resized = new Set<Value>();

  constructor(graph: Graph, evaluate: ConstantEvaluator) {
    this.#aliasDb = AliasDb.of(graph);
    this.#evaluate = evaluate;
    for (const node of graph.allNodes()) {
      if (!mayResize(node)) continue;
      for (const input of node.inputs) if (this.#aliasDb.writesToAlias(node, [input])) this.#resized.add(input);
    }
  }

  /** @param expand whether operands are expanded where PyTorch does; not while types still change */
  block(block: Block, expand = true): void {
    for (const node of block.nodes()) this.#node(node, expand);
  }

  #node(node: Node, expand: boolean): void {
    const resized = node.inputs.filter((input) => this.#mayBeResized(input));
    if (resized.length > 0) {
      for (const value of [...resized, ...node.outputs]) value.setType(unshaped(value.type));
      return;
    }
    switch (node.kind) {
      case 'prim::Constant':
        return;
      case 'prim::If':
        this.#if(node, expand);
        return;
      case 'prim::Loop':
        this.#loop(node, expand);
        return;
      case 'prim::NumToTensor':
        node.output().setType(TensorType.fromNumberType(node.input().type));
        return;
      case 'prim::TupleConstruct':
        this.#tuple(node);
        return;
      case 'prim::TupleUnpack':
        (node.input().type as TupleType).elements.forEach((type, index) => node.output(index).setType(type));
        return;
      case 'prim::ConstantChunk':
        for (const output of node.outputs) {
          output.setType(node.input().type instanceof TensorType ? node.input().type : TensorType.get());
        }
        return;
      case 'prim::unchecked_unwrap_optional':
      case 'aten::_unwrap_optional':
        return;
      default:
        this.#operator(node, expand);
    }
  }

  /** Whether a value shares memory with one whose size an operator may change, wherever in the graph that stands. */
  #mayBeResized(value: Value): boolean {
    return this.#resized.size > 0 && this.#aliasDb.mayAlias(value, this.#resized);
  }

  #if(node: Node, expand: boolean): void {
    const [then, otherwise] = node.blocks;
    this.block(then, expand);
    this.block(otherwise, expand);
    node.outputs.forEach((output, index) => {
      output.setType(commonType(then.outputs[index].type, otherwise.outputs[index].type));
    });
  }

  /** Types of what a loop carries are merged with what comes around until they stay the same. */
  #loop(node: Node, expand: boolean): void {
    const [body] = node.blocks;
    const [trip, ...carried] = body.inputs;
    trip.setType(node.input(0).type);
    carried.forEach((value, index) => value.setType(node.input(index + 2).type));
    let changed: boolean;
    do {
      this.block(body, false);
      changed = false;
      carried.forEach((value, index) => {
        const merged = commonType(value.type, body.outputs[index + 1].type);
        if (merged.equals(value.type)) return;
        value.setType(merged);
        changed = true;
      });
    } while (changed);
    if (expand) this.block(body);
    node.outputs.forEach((output, index) => output.setType(carried[index].type));
  }

  #tuple(node: Node): void {
    const type = node.output().type as TupleType;
    node.output().setType(type.withContained(node.inputs.map((input) => input.type)));
  }

  #operator(node: Node, expand: boolean): void {
    const operator = node.maybeOperator();
    if (!operator || givesNumbers.has(operator.name) || node.hasSideEffects()) return;
    const name = operator.overloadName === '' ? operator.name : `${operator.name}.${operator.overloadName}`;
    if (!node.outputs.some(({ type }) => holdsTensors(type))) return;
    if (this.#complete(node, name, expand) || this.#ranks(node, name)) return;
    for (const output of node.outputs) output.setType(unshaped(output.type));
  }

  #complete(node: Node, name: string, expand: boolean): boolean {
    let types = completeTypes(node);
    if (types === null || types.length === 0) return false;
    if (expandsOperands.has(name) && !haveSameSizes(types)) {
      if (!expand) return false;
      types = this.#expandOperands(node, types);
    }
    if (runOnExamples.has(name)) return this.#run(node, types);
    const type = completeFormula(name)?.(types, node);
    if (type === undefined) return false;
    // A formula that fails says that nothing is known: the ranks would be wrong too.
    node.output().setType(type ?? unshaped(node.output().type));
    return true;
  }

  /** Puts an `aten::expand` before each operand that is not as large as the result, and gives the types of both. */
  #expandOperands(node: Node, types: readonly TensorType[]): readonly TensorType[] {
    const wanted = broadcastSizes(types.map((type) => type.concreteSizes!));
    if (!wanted) return types;
    const graph = node.owningGraph;
    return types.map((type, index) => {
      if (type.concreteSizes!.join() === wanted.join()) return type;
      const arguments_ = graph.withInsertPoint(node, () => [
        graph.insertConstant(
          new List(
            IntType.get(),
            wanted.map((size) => BigInt(size)),
          ),
        ),
        graph.insertConstant(false),
      ]);
      const expanded = graph.create('aten::expand', [node.input(index), ...arguments_]).insertBefore(node);
      this.#node(expanded, false);
      node.replaceInput(index, expanded.output());
      return expanded.output().type as TensorType;
    });
  }

  /** Runs the operator on zeros; not where memory that changes is looked at, nor on whole numbers, which could divide by zero. */
  #run(node: Node, types: readonly TensorType[]): boolean {
    if (this.#isChanged(node)) return false;
    if (types.some(({ scalarType }) => isIntegral(scalarType!, false))) return false;
    let next = 0;
    const inputs = node.inputs.map((value) =>
      value.type instanceof TensorType
        ? exampleTensor(types[next].scalarType!, types[next].concreteSizes!, types[next++].concreteStrides!)
        : exampleNumber(value.type),
    );
    if (inputs.includes(undefined)) return false;
    const results = this.#evaluate(node, inputs);
    const result = results?.[0];
    if (!(result instanceof Tensor)) return false;
    const { sizes, strides, dtype } = result;
    node.output().setType(
      TensorType.create({
        scalarType: dtype as TensorType['scalarType'],
        device: types[0].device,
        shape: sizes,
        strides,
        // Of gradients the examples know nothing.
        requiresGrad: (node.output().type as TensorType).requiresGrad,
      }),
    );
    return true;
  }

  #ranks(node: Node, name: string): boolean {
    const types = dimensionFormula(name)?.(node);
    if (!types) return false;
    types.forEach((type, index) => node.output(index).setType(type));
    return true;
  }

  /** Whether a node looks at memory that something in the graph writes to, itself or through its inputs. */
  #isChanged(node: Node): boolean {
    const known = this.#dependsOnMutation.get(node);
    if (known !== undefined) return known;
    this.#dependsOnMutation.set(node, false);
    const changed =
      this.#aliasDb.hasWriters(node) ||
      node.inputs.some((input) => input.node.kind !== 'prim::Param' && this.#isChanged(input.node));
    this.#dependsOnMutation.set(node, changed);
    return changed;
  }
}

function haveSameSizes(types: readonly TensorType[]): boolean {
  const [first, ...others] = types.map((type) => type.concreteSizes!.join());
  return others.every((sizes) => sizes === first);
}

/** The sizes that operands have together; null where they do not fit. */
function broadcastSizes(shapes: readonly (readonly number[])[]): number[] | null {
  const rank = Math.max(...shapes.map((sizes) => sizes.length));
  const sizes = Array.from(
    { length: rank },
    (_, dim) => shapes.map((each) => each[dim - rank + each.length] ?? 1).find((size) => size !== 1) ?? 1,
  );
  const fits = shapes.every((each) => each.every((size, at) => size === 1 || size === sizes[at + rank - each.length]));
  return fits ? sizes : null;
}

const holdsTensors = (type: Type): boolean =>
  type instanceof TensorType || type.containedTypes().some((contained) => holdsTensors(contained));

/** What begins as None and may become a number is an Optional: the types of both ways are one type, whatever they are of. */
const commonType = (left: Type, right: Type): Type => unifyTypes(left, right, true)!;

/** The types of all tensors among a node's inputs, those in a list too; null unless all are complete. */
function completeTypes(node: Node): readonly TensorType[] | null {
  const types: TensorType[] = [];
  for (const { type, node: source } of node.inputs) {
    if (type instanceof TensorType) types.push(type);
    else if (type instanceof ListType && type.elementType instanceof TensorType) {
      if (source.kind !== 'prim::ListConstruct') return null;
      types.push(...source.inputs.map((element) => element.type as TensorType));
    }
  }
  return types.every((type) => type.isComplete()) ? types : null;
}
