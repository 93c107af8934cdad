import { type Block, type Graph, IntType, ListType, type Node, TensorType, type Value } from '@cresset/ir';
import { toByteString } from '@cresset/tensor';
import type { GraphConverter } from './graph-converter.ts';
import { malformed, type SerializedNode } from './serialized-node.ts';
import { assertTrue } from './symbolic-operators.ts';

const BOOL_CODE = 11n;

/** As Python takes a truth value: a tensor of one element, or a bool. */
function truthOf(graph: Graph, value: Value): Value {
  return value.type.kind === 'BoolType' ? value : graph.insert('aten::Bool', [value]);
}

/** `cond(pred, true_fn, false_fn, operands)`. */
export function convertCond(converter: GraphConverter, { inputs }: SerializedNode): readonly Value[] {
  const { graph } = converter;
  const [condition, whenTrue, whenFalse, args] = inputs;
  const operands = converter.operands(args);
  const node = graph.create('prim::If', [truthOf(graph, converter.arguments.value(condition, null))], 0);
  graph.insertNode(node);
  for (const branch of [whenTrue, whenFalse]) {
    const block = node.addBlock();
    graph.withInsertPoint(block, () => {
      for (const value of converter.inline(branch, operands)) block.registerOutput(value);
    });
  }
  const [first, second] = node.blocks;
  if (first.outputs.length !== second.outputs.length) malformed('the two sides of a cond have other results');
  first.outputs.forEach((value, index) => {
    node.addOutput().setType(converter.typeOf([value, second.outputs[index]]));
  });
  return node.outputs;
}

/**
 * `while_loop(cond_fn, body_fn, carried, additional)`. The condition is worked out before the loop, and at the end of each trip.
 *
 * @param isStacked gives, for each value, those of all trips in one tensor
 */
export function convertWhileLoop(
  converter: GraphConverter,
  { inputs }: SerializedNode,
  isStacked: boolean,
): readonly Value[] {
  const { graph } = converter;
  const [condition, body, carriedArgs, extraArgs] = inputs;
  const extra = converter.operands(extraArgs);
  const initial = converter.operands(carriedArgs).map((value) => (isTensor(value) ? cloned(graph, value) : value));
  const conditionOf = (values: readonly Value[], isFirst: boolean): Value => {
    const [result] = converter.inline(condition, [...values, ...extra]);
    if (isFirst && isTensor(result)) assertTruthValue(graph, result);
    return truthOf(graph, result);
  };
  const begins = conditionOf(initial, true);
  const stacks = isStacked ? initial.map(() => emptyList(graph)) : [];
  const most = graph.insertConstant(2n ** 63n - 1n);
  const loop = insertLoop(graph, most, begins, initial, (_trip, values) => {
    const results = converter.inline(body, [...values, ...extra]);
    stacks.forEach((stack, index) => append(graph, stack, results[index]));
    return { next: results, goesOn: conditionOf(results, false) };
  });
  if (!isStacked) return loop.outputs;
  // Without a trip there is what was given.
  return stacks.map((stack, index) => {
    const node = graph.insertNode(graph.create('prim::If', [begins]));
    const [stacked, given] = [node.addBlock(), node.addBlock()];
    fill(graph, stacked, () => stackOf(graph, stack));
    fill(graph, given, () => graph.insert('aten::unsqueeze', [initial[index], graph.insertConstant(0n)]));
    return node.output().setType(TensorType.get());
  });
}

function fill(graph: Graph, block: Block, make: () => Value): void {
  graph.withInsertPoint(block, () => block.registerOutput(make()));
}

/** PyTorch refuses what is no truth value when the loop begins. */
function assertTruthValue(graph: Graph, value: Value): void {
  const isScalar = graph.insert('aten::eq', [graph.insert('aten::dim', [value]), graph.insertConstant(0n)]);
  const dtype = graph.insert('prim::dtype', [value]);
  const isBool = graph.insert('aten::eq', [dtype, graph.insertConstant(BOOL_CODE)]);
  const message = toByteString('cond_fn must return a boolean scalar tensor or a boolean but got another tensor');
  const both = graph.insert('aten::__and__', [isScalar, isBool]);
  assertTrue(graph, both, graph.insertConstant(message));
}

/** `map_impl(f, xs, args)`: `f` of each slice along dimension 0. */
export function convertMap(converter: GraphConverter, { inputs }: SerializedNode): readonly Value[] {
  const [body, mapped, args] = inputs;
  return overSlices(converter, converter.operands(mapped), [], (slices) =>
    converter.inline(body, [...slices, ...converter.operands(args)]),
  );
}

/** `scan(combine_fn, init, xs, additional)`: what it carries, then what it gives at each step. */
export function convertScan(converter: GraphConverter, { inputs }: SerializedNode): readonly Value[] {
  const [body, init, xs, extraArgs] = inputs;
  const extra = extraArgs ? converter.operands(extraArgs) : [];
  const slices = converter.operands(xs);
  const carried = converter.operands(init);
  if (slices.length === 0) return carried;
  return overSlices(converter, slices, carried, (parts, values) =>
    converter.inline(body, [...values, ...parts, ...extra]),
  );
}

/**
 * A loop over dimension 0 of tensors. `body` gives the carried values as they are after a trip, then what is stacked. Returns the carried values, then
 * the stacks.
 */
function overSlices(
  converter: GraphConverter,
  tensors: readonly Value[],
  carried: readonly Value[],
  body: (slices: readonly Value[], carried: readonly Value[]) => readonly Value[],
): readonly Value[] {
  const { graph } = converter;
  if (tensors.length === 0) malformed('a loop over slices has no tensor');
  const zero = graph.insertConstant(0n);
  const count = graph.insert('aten::size', [tensors[0], zero]);
  const before = graph.insertPoint.previous;
  const stacks: Value[] = [];
  const loop = insertLoop(graph, count, graph.insertConstant(true), carried, (trip, values) => {
    const slices = tensors.map((tensor) => graph.insert('aten::select', [tensor, zero, trip]));
    const results = body(slices, values);
    for (const result of results.slice(carried.length)) {
      // How many there are is known once the body is there; the lists stand before the loop.
      const stack = graph.withInsertPoint(before.next, () => emptyList(graph));
      stacks.push(stack);
      append(graph, stack, result);
    }
    return { next: results.slice(0, carried.length), goesOn: graph.insertConstant(true) };
  });
  return [...loop.outputs, ...stacks.map((stack) => stackOf(graph, stack))];
}

/** A loop of that many trips at most. `fillBody` puts its nodes at the insert point, and tells the values for the next trip and whether there is one. */
export function insertLoop(
  graph: Graph,
  trips: Value,
  condition: Value,
  carried: readonly Value[],
  fillBody: (trip: Value, carried: readonly Value[]) => { readonly next: readonly Value[]; readonly goesOn: Value },
): Node {
  const loop = graph.insertNode(graph.create('prim::Loop', [trips, condition, ...carried], carried.length));
  const block = loop.addBlock();
  const trip = block.addInput('i').setType(IntType.get());
  const values = carried.map((value, index) => {
    loop.output(index).setType(value.type);
    return block.addInput().setType(value.type);
  });
  graph.withInsertPoint(block, () => {
    const { next, goesOn } = fillBody(trip, values);
    if (next.length !== carried.length) malformed('a loop carries another number of values on than it was given');
    block.registerOutput(goesOn);
    for (const value of next) block.registerOutput(value);
  });
  return loop;
}

const isTensor = ({ type }: Value): boolean => type.kind === 'TensorType';

function cloned(graph: Graph, value: Value): Value {
  return graph.insert('aten::clone', [value, graph.insertConstant(null)]);
}

export function emptyList(graph: Graph): Value {
  return graph.insertNode(graph.create('prim::ListConstruct', [])).output().setType(new ListType(TensorType.get()));
}

export function append(graph: Graph, list: Value, value: Value): void {
  graph.insert('aten::append', [list, value]);
}

export function stackOf(graph: Graph, list: Value, dim = 0n): Value {
  return graph.insert('aten::stack', [list, graph.insertConstant(dim)]);
}
