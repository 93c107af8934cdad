import { Block, type ValueMap } from './block.ts';
import { insertConstant } from './constants.ts';
import { DictType, ListType, TupleType } from '../types/container-types.ts';
import { CressetError, invariant } from '../error.ts';
import { insertOperator, type OperatorArgument } from './insert-operator.ts';
import { ClassType, EnumType, FunctionType, type ScriptFunction } from '../types/named-types.ts';
import { Node } from './node.ts';
import { BoolType, NoneType, StringType } from '../types/primitive-types.ts';
import { printGraph } from '../text/printer.ts';
import { Scope } from './scope.ts';
import type { SourceRange } from '../text/source-range.ts';
import type { Symbol } from './symbol.ts';
import { TensorType } from '../types/tensor-type.ts';
import type { Type } from '../types/type.ts';
import { type Value, ValueNames } from './value.ts';

/** Codes of element types in `prim::tolist`. */
const TO_LIST_ELEMENTS: Readonly<Record<string, bigint>> = {
  IntType: 0n,
  FloatType: 1n,
  BoolType: 2n,
  ComplexType: 3n,
};

/**
 * A function in SSA form (PyTorch: torch::jit::Graph): a block of nodes, and the place where new nodes go.
 *
 * `create…` makes a node that is in no block yet, `insert…` puts it at the insert point.
 */
export class Graph {
  readonly block: Block;
  /** Names of values: bookkeeping of Value. */
  readonly valueNames = new ValueNames();
  /** Scope and source range that new nodes get. */
  currentScope: Scope;
  currentRange: SourceRange | undefined;
  /** Version of PyTorch's operators that the graph's operators are of, for upgraders. */
  opVersion: number | undefined;
  /** Counts changes to nodes, their order and the types of values: what was found out about a graph holds while this is the same. Bookkeeping of Node and Value. */
  revision = 0;
  /** The kinds of all nodes that were ever made for it, whether or not they are still there: a pass that looks for others need not look. Node adds to them. */
  readonly kinds: ReadonlySet<Symbol> = new Set();
  #nextUnique = 0;
  #insertPoint: Node;

  constructor(scope: Scope = Scope.root) {
    this.currentScope = scope;
    this.block = new Block(this, undefined);
    this.#insertPoint = this.block.returnNode;
  }

  get inputs(): readonly Value[] {
    return this.block.inputs;
  }

  get outputs(): readonly Value[] {
    return this.block.outputs;
  }

  get paramNode(): Node {
    return this.block.paramNode;
  }

  get returnNode(): Node {
    return this.block.returnNode;
  }

  /** The nodes of the graph's own block, in order; see {@link Block.nodes}. */
  nodes(): IterableIterator<Node> {
    return this.block.nodes();
  }

  /** All nodes, those of blocks within nodes right after their node; not those of subgraphs. */
  allNodes(): IterableIterator<Node> {
    return new NodesWithin(this.block);
  }

  addInput(name = ''): Value {
    return this.block.addInput(name);
  }

  insertInput(index: number, name = ''): Value {
    return this.block.insertInput(index, name);
  }

  eraseInput(index: number): void {
    this.block.eraseInput(index);
  }

  registerOutput(value: Value): number {
    return this.block.registerOutput(value);
  }

  eraseOutput(index: number): void {
    this.block.eraseOutput(index);
  }

  // ---- insert point

  /** The node before which new nodes go. */
  get insertPoint(): Node {
    return this.#insertPoint;
  }

  /** Makes new nodes go before a node, or at the end of a block. */
  setInsertPoint(place: Node | Block): void {
    const node = place instanceof Block ? place.returnNode : place;
    invariant(node.owningGraph === this && node.inBlockList, 'the insert point is in no block of this graph');
    this.#insertPoint = node;
  }

  /** Runs `body` with another insert point (PyTorch: WithInsertPoint). */
  withInsertPoint<T>(place: Node | Block, body: () => T): T {
    const previous = this.#insertPoint;
    this.setInsertPoint(place);
    try {
      return body();
    } finally {
      this.#insertPoint = previous.inBlockList ? previous : this.block.returnNode;
    }
  }

  /** Bookkeeping of Node and Block: a node is leaving. */
  moveInsertPointOff(node: Node): void {
    if (this.#insertPoint === node) {
      this.#insertPoint = node.kind === 'prim::Return' ? this.block.returnNode : node.next;
    }
  }

  /** Bookkeeping of Node: the number of a new value. */
  takeUnique(): number {
    return this.#nextUnique++;
  }

  /** Bookkeeping of Node. */
  createBlock(owningNode: Node): Block {
    return new Block(this, owningNode);
  }

  /** Puts a node at the insert point; returns it. */
  insertNode(node: Node): Node {
    return node.insertBefore(this.#insertPoint);
  }

  appendNode(node: Node): Node {
    return this.block.appendNode(node);
  }

  prependNode(node: Node): Node {
    return this.block.prependNode(node);
  }

  // ---- creating nodes

  /** A node of this graph, in no block yet. */
  create(kind: Symbol, inputs: readonly Value[] = [], outputCount = 1): Node {
    const node = new Node(this, kind);
    node.sourceRange = this.currentRange;
    for (const input of inputs) {
      node.addInput(input);
    }
    for (let index = 0; index < outputCount; index++) {
      node.addOutput();
    }
    return node;
  }

  #createTyped(kind: Symbol, inputs: readonly Value[], type: Type): Node {
    const node = this.create(kind, inputs);
    node.output().setType(type);
    return node;
  }

  createNone(): Node {
    return this.#createTyped('prim::Constant', [], NoneType.get());
  }

  createAutogradZero(): Node {
    return this.create('prim::AutogradZero');
  }

  createUninitialized(type: Type): Node {
    return this.#createTyped('prim::Uninitialized', [], type);
  }

  /** A node without outputs over an empty graph in its attribute `Subgraph`. */
  createWithSubgraph(kind: Symbol): Node {
    return this.create(kind, [], 0).setG('Subgraph', new Graph(this.currentScope));
  }

  /** A tuple, of the type given for a named one. */
  createTuple(values: readonly Value[], named?: TupleType): Node {
    return this.#createTyped('prim::TupleConstruct', values, named ?? new TupleType(values.map((value) => value.type)));
  }

  createTupleUnpack(tuple: Value): Node {
    const elements = expectType(tuple, TupleType).elements;
    const node = this.create('prim::TupleUnpack', [tuple], elements.length);
    elements.forEach((type, index) => node.output(index).setType(type));
    return node;
  }

  createTupleIndex(tuple: Value, index: Value, outputType: Type): Node {
    return this.#createTyped('prim::TupleIndex', [tuple, index], outputType);
  }

  /** The elements `begin`, `begin + step`, … of a tuple as a new tuple, as PyTorch unrolls a slice. Inserts nodes. */
  insertTupleSlice(tuple: Value, begin: number, step: number, count: number): Value {
    const { elements } = expectType(tuple, TupleType);
    const values = Array.from({ length: count }, (_, position) => {
      const index = begin + position * step;
      const constant = this.insertConstant(BigInt(index));
      return this.insertNode(this.createTupleIndex(tuple, constant, elements[index])).output();
    });
    return this.insertNode(this.createTuple(values)).output();
  }

  createEnumName(member: Value): Node {
    expectType(member, EnumType);
    return this.#createTyped('prim::EnumName', [member], StringType.get());
  }

  createEnumValue(member: Value): Node {
    return this.#createTyped('prim::EnumValue', [member], expectType(member, EnumType).valueType);
  }

  /** Throws `IR_TYPE` where a value is no subtype of `elementType`. */
  createList(elementType: Type, values: readonly Value[]): Node {
    for (const value of values) {
      requireSubtype(value, elementType, 'a list');
    }
    return this.#createTyped('prim::ListConstruct', values, new ListType(elementType));
  }

  createListUnpack(list: Value, size: number): Node {
    const { elementType } = expectType(list, ListType);
    const node = this.create('prim::ListUnpack', [list], size);
    node.outputs.forEach((output) => output.setType(elementType));
    return node;
  }

  /** Throws `IR_TYPE` where a key or value is no subtype of its type. */
  createDict(keyType: Type, valueType: Type, keys: readonly Value[], values: readonly Value[]): Node {
    invariant(keys.length === values.length, 'createDict: unequal numbers of keys and values');
    const inputs: Value[] = [];
    keys.forEach((key, index) => {
      requireSubtype(key, keyType, "a dict's keys");
      requireSubtype(values[index], valueType, "a dict's values");
      inputs.push(key, values[index]);
    });
    return this.#createTyped('prim::DictConstruct', inputs, new DictType(keyType, valueType));
  }

  createNumToTensor(value: Value): Node {
    return this.#createTyped('prim::NumToTensor', [value], TensorType.fromNumberType(value.type));
  }

  createObject(type: ClassType): Node {
    return this.#createTyped('prim::CreateObject', [], type);
  }

  createSetAttr(object: Value, field: string, value: Value): Node {
    return this.create('prim::SetAttr', [object, value], 0).setS('name', field);
  }

  /** Throws `IR_TYPE` where the object's class has no such attribute. */
  createGetAttr(object: Value, field: string): Node {
    const type = expectType(object, ClassType).getAttribute(field);
    const node = this.#createTyped('prim::GetAttr', [object], type).setS('name', field);
    node.output().setDebugName(/^\d+$/.test(field) ? `_${field}` : field);
    return node;
  }

  insertGetAttr(object: Value, field: string): Value {
    return this.insertNode(this.createGetAttr(object, field)).output();
  }

  createStore(name: string, value: Value): Node {
    return this.create('prim::Store', [value], 0).setS('name', name);
  }

  createLoad(name: string, type: Type): Node {
    return this.#createTyped('prim::Load', [], type).setS('name', name);
  }

  createIsInstance(value: Value, types: readonly Type[]): Node {
    return this.#createTyped('prim::isinstance', [value], BoolType.get()).setTys('types', types);
  }

  insertUncheckedCast(value: Value, type: Type): Value {
    return this.insertNode(this.#createTyped('prim::unchecked_cast', [value], type)).output();
  }

  /** `tensor.tolist()` to a list type; throws `IR_TYPE` for an element type it cannot give. */
  insertToList(value: Value, type: Type): Value {
    let element = type;
    let dim = 0n;
    while (element instanceof ListType) {
      element = element.elementType;
      dim++;
    }
    const code = TO_LIST_ELEMENTS[element.kind];
    if (code === undefined) {
      throw new CressetError(
        'IR_TYPE',
        `${element.reprStr()} is not one of the supported element types for tolist: int, float, complex, bool`,
      );
    }
    const inputs = [value, this.insertConstant(dim), this.insertConstant(code)];
    return this.insertNode(this.#createTyped('prim::tolist', inputs, type)).output();
  }

  /** A call of a function, which stands as a constant beside it. */
  insertFunctionCall(callee: ScriptFunction, inputs: readonly Value[], returnType: Type): Value {
    const constant = this.#createTyped('prim::Constant', [], new FunctionType(callee)).setS('name', callee.name);
    const fn = this.insertNode(constant).output();
    return this.insertNode(this.#createTyped('prim::CallFunction', [fn, ...inputs], returnType)).output();
  }

  /** A call of a method; the object is the first input. */
  insertMethodCall(methodName: string, inputs: readonly Value[], returnType: Type): Value {
    const node = this.#createTyped('prim::CallMethod', inputs, returnType).setS('name', methodName);
    return this.insertNode(node).output();
  }

  /**
   * Inserts a `prim::Constant`; see constant-value.ts for what a graph can hold.
   *
   * An int is a bigint: a JavaScript number makes a float. Throws `IR_INVARIANT` for a value that no graph can hold.
   */
  insertConstant(value: unknown, range?: SourceRange, scope?: Scope): Value {
    return insertConstant(this, value, range, scope);
  }

  /**
   * Inserts a call of an operator and returns its output; see {@link insertOperator}. Throws `IR_OPERATOR` where no overload
   * takes the arguments, and `IR_INVARIANT` for an operator of several outputs.
   */
  insert(
    name: Symbol,
    args: readonly OperatorArgument[],
    kwargs?: Readonly<Record<string, OperatorArgument>>,
    range?: SourceRange,
  ): Value {
    const outputs = insertOperator(this, name, args, kwargs, range);
    invariant(outputs.length === 1, `${name} has ${outputs.length} outputs: use insertOperator`);
    return outputs[0];
  }

  /** A copy of a node of any graph, in no block yet; `map` gives the values that stand for its inputs. */
  createClone(node: Node, map: ValueMap, copyBlocks = true): Node {
    const copy = new Node(this, node.kind);
    copy.copyMetadata(node).copyAttributes(node);
    copy.historicSchemaName = node.historicSchemaName;
    for (const output of node.outputs) {
      copy.addOutput().copyMetadata(output);
    }
    for (const input of node.inputs) {
      copy.addInput(map(input));
    }
    if (copyBlocks) {
      for (const block of node.blocks) {
        copy.addBlock().cloneFrom(block, map);
      }
    }
    return copy.takeOperatorOf(node);
  }

  /** A copy with everything in it; throws `IR_INVARIANT` where the graph uses a value it does not define. */
  copy(): Graph {
    const graph = new Graph(this.currentScope);
    graph.opVersion = this.opVersion;
    graph.block.cloneFrom(this.block, (value) => {
      throw new CressetError(
        'IR_INVARIANT',
        `Graph::copy() encountered a use of a value %${value.debugName} not in scope. Run lint!`,
      );
    });
    return graph;
  }

  remapTypes(map: (type: Type) => Type): void {
    this.block.remapTypes(map);
  }

  /** PyTorch's canonical text. */
  toString(options?: { sourceRanges?: boolean }): string {
    return printGraph(this, options);
  }
}

/** The nodes of a block, each followed by those of its blocks. By hand, as the iterator of one block is. */
class NodesWithin implements IterableIterator<Node> {
  /** The blocks that were begun, outermost first: those of one node, which of them it is, and its nodes. */
  readonly #open: { readonly blocks: readonly Block[]; at: number; nodes: Iterator<Node> }[];
  #visited: Node | undefined;

  constructor(block: Block) {
    this.#open = [{ blocks: [block], at: 0, nodes: block.nodes() }];
  }

  [Symbol.iterator](): this {
    return this;
  }

  next(): IteratorResult<Node, undefined> {
    const open = this.#open;
    const blocks = this.#visited?.blocks ?? [];
    if (blocks.length > 0) open.push({ blocks, at: 0, nodes: blocks[0].nodes() });
    for (let last = open.at(-1); last; last = open.at(-1)) {
      const step = last.nodes.next();
      if (step.done !== true) {
        this.#visited = step.value;
        return step;
      }
      last.at++;
      if (last.at < last.blocks.length) last.nodes = last.blocks[last.at].nodes();
      else open.pop();
    }
    this.#visited = undefined;
    return { done: true, value: undefined };
  }
}

function expectType<T extends Type>(value: Value, type: abstract new (...args: never[]) => T): T {
  if (!(value.type instanceof type)) {
    throw new CressetError('IR_TYPE', `%${value.debugName} is a ${value.type.reprStr()}, not a ${type.name}`);
  }
  return value.type;
}

function requireSubtype(value: Value, type: Type, of: string): void {
  const whyNot: string[] = [];
  if (!value.type.isSubtypeOf(type, whyNot)) {
    throw new CressetError(
      'IR_TYPE',
      `Expected a value of type '${type.reprStr()}' for ${of} but found '${value.type.reprStr()}'\n${whyNot.join('\n')}`,
    );
  }
}
