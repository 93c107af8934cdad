import { AliasDb, Graph, insertGraph, type Node, TensorType, type Value } from '@cresset/ir';
import type { ConstantEvaluator } from '../../cleanup/constant-propagation.ts';
import { ShapeFunctions } from './shape-functions.ts';
import { propagateShapesWithFunction } from './shape-node-analyzer.ts';
import { simplifyShapeGraph } from './simplify-shape-graph.ts';

/** A graph that computes the sizes of other graph's tensors of which only names are known (PyTorch: ShapeComputeGraphMapping). */
export interface ShapeComputeGraph {
  /** From sizes of tensors (`int[]`), and other values as they are, to sizes. */
  readonly graph: Graph;
  /** Values of the analysed graph, with the inputs that stand for them. */
  readonly inputs: ReadonlyMap<Value, Value>;
  /** The name (a negative number) of the size that each output of `graph` is. */
  readonly symbols: ReadonlyMap<Value, number>;
}

const MAX_ROUNDS = 8;

/**
 * Propagates shapes through a graph's own nodes and puts the shape functions of all of them together to one graph that computes what is
 * not known, before any of the nodes has run (PyTorch: PropagateShapesAndBuildLargeShapeComputeGraph). Names that turn out to be
 * one size become one.
 *
 * @returns null where a node has no shape function, or gives a tensor of unknown rank.
 */
export function buildShapeComputeGraph(graph: Graph, evaluate: ConstantEvaluator): ShapeComputeGraph | null {
  return new ShapeComputeGraphBuilder(graph, evaluate).build();
}

class ShapeComputeGraphBuilder {
  readonly #stitched = new Graph();
  /** What stands for values of the analysed graph: sizes for tensors. */
  readonly #standIns = new Map<Value, Value>();
  /** The names of the outputs, in order. */
  readonly #outputSymbols: number[] = [];

  constructor(
    private readonly graph: Graph,
    private readonly evaluate: ConstantEvaluator,
  ) {}

  build(): ShapeComputeGraph | null {
    const partial = this.#propagate();
    for (const node of this.graph.nodes()) {
      if (node.kind === 'prim::Constant') continue;
      if (node.kind === 'prim::ListConstruct') {
        if (node.output().uses.every(({ user }) => user.kind === 'aten::cat')) continue;
        return null;
      }
      const shapes = partial.get(node);
      if (!shapes || !node.outputs.every(({ type }) => type instanceof TensorType && type.shape)) return null;
      this.#join(node, shapes);
    }
    let changed = true;
    for (let round = 0; changed && round < MAX_ROUNDS; round++) {
      changed = simplifyShapeGraph(this.#stitched, this.evaluate);
    }
    return this.#finish();
  }

  #propagate(): Map<Node, Graph> {
    const aliasDb = AliasDb.of(this.graph);
    const functions = new ShapeFunctions(this.evaluate);
    const partial = new Map<Node, Graph>();
    for (const node of this.graph.nodes()) {
      const shapeFunction = functions.graphFor(node);
      if (!shapeFunction) continue;
      partial.set(node, propagateShapesWithFunction(node, shapeFunction, aliasDb, this.evaluate));
    }
    return partial;
  }

  /** Appends a node's shape function; sizes that have new names are outputs. */
  #join(node: Node, shapes: Graph): void {
    const stitched = this.#stitched;
    const used =
      node.kind === 'aten::cat'
        ? [...node.input(0).node.inputs, node.namedInput('dim')]
        : node.inputs.slice(0, shapes.inputs.length);
    const inputs = used.map((value, index) => this.#standIn(value, shapes.inputs[index]));
    const copies = new Map<Value, Value>();
    stitched.withInsertPoint(stitched.block, () => insertGraph(stitched, shapes, inputs, copies));
    node.outputs.forEach((output, index) => {
      const sizes = copies.get(shapes.outputs[index])!;
      this.#standIns.set(output, sizes);
      this.#nameSizes(output.type as TensorType, (dim) => sizes.node.input(dim));
    });
  }

  #standIn(value: Value, like: Value): Value {
    let standIn = this.#standIns.get(value);
    if (!standIn) {
      standIn = this.#stitched.addInput().copyMetadata(like);
      this.#standIns.set(value, standIn);
    }
    const { type } = value;
    if (type instanceof TensorType) {
      const sizes = standIn;
      this.#nameSizes(type, (dim) => {
        const stitched = this.#stitched;
        return stitched.withInsertPoint(stitched.block, () =>
          stitched.insert('aten::__getitem__', [sizes, BigInt(dim)]),
        );
      });
    }
    return standIn;
  }

  #nameSizes({ shape = [] }: TensorType, sizeOf: (dim: number) => Value): void {
    shape.forEach((size, dim) => {
      if (size >= 0 || this.#outputSymbols.includes(size)) return;
      this.#stitched.registerOutput(sizeOf(dim));
      this.#outputSymbols.push(size);
    });
  }

  /** Outputs that became one value are one size; inputs that nobody uses go. */
  #finish(): ShapeComputeGraph {
    const stitched = this.#stitched;
    const symbols = new Map<Value, number>();
    const same = new Map<number, number>();
    const repeated: number[] = [];
    stitched.outputs.forEach((output, index) => {
      const known = symbols.get(output);
      if (known === undefined) symbols.set(output, this.#outputSymbols[index]);
      else {
        same.set(this.#outputSymbols[index], known);
        repeated.push(index);
      }
    });
    for (const index of repeated.reverse()) stitched.eraseOutput(index);
    for (let index = stitched.inputs.length - 1; index >= 0; index--) {
      if (!stitched.inputs[index].hasUses()) stitched.eraseInput(index);
    }
    this.#renameSizes(same);
    const inputs = [...this.#standIns].filter(([, standIn]) => stitched.inputs.includes(standIn));
    return { graph: stitched, inputs: new Map(inputs), symbols };
  }

  #renameSizes(same: ReadonlyMap<number, number>): void {
    if (same.size === 0) return;
    for (const node of this.graph.nodes()) {
      for (const output of node.outputs) {
        const { type } = output;
        if (!(type instanceof TensorType) || !type.shape?.some((size) => same.has(size))) continue;
        output.setType(type.withSymbolicShapes(type.shape.map((size) => same.get(size) ?? size)));
      }
    }
  }
}
