import { Attributes, type AttributeEntry } from './attributes.ts';
import type { Block } from './block.ts';
import { broken, CressetError, invariant } from '../error.ts';
import type { FunctionSchema } from '../schema/function-schema.ts';
import type { Graph } from './graph.ts';
import {
  type Operator,
  findOperatorMatching,
  hasSideEffectsByKind,
  operatorRegistry,
} from '../schema/operator-registry.ts';
import type { InlinedCallStack, Scope } from './scope.ts';
import type { SourceRange } from '../text/source-range.ts';
import type { Symbol } from './symbol.ts';
import { type Use, Value } from './value.ts';

/** What only a node itself puts others in the place of. */
type Own = { inputs: readonly Value[]; outputs: readonly Value[] };

/** Distance in position between neighbours when nodes are appended: leaves room for twenty halvings. */
const APPEND_INTERVAL = 2 ** 20;

export const FIRST_POSITION = -(2 ** 52);
export const LAST_POSITION = 2 ** 52;

/**
 * An operation of a graph: inputs, outputs, attributes, blocks (PyTorch: Node). Made by `graph.create`, it belongs to that
 * graph for life; it takes effect when it is inserted into a block.
 */
export class Node extends Attributes {
  readonly kind: Symbol;
  readonly owningGraph: Graph;
  /** Where it comes from in the source, where that is known. */
  sourceRange: SourceRange | undefined;
  /** The calls it was inlined through. */
  callstack: InlinedCallStack | undefined;
  scope: Scope;
  /** The schema's name as it was in an older version of PyTorch, for upgraders. */
  historicSchemaName: string | undefined;

  // Plain fields, because every pass asks every node: before an engine has compiled it, a getter takes as long as a call.
  readonly inputs: readonly Value[] = [];
  readonly outputs: readonly Value[] = [];
  readonly blocks: readonly Block[] = [];
  #owningBlock: Block | undefined;
  #next: Node | undefined;
  #previous: Node | undefined;
  #inList = false;
  #isDestroyed = false;
  #position = 0;
  /** The operator this node was last matched to. Forgotten when inputs or their types change. */
  #operator: Operator | undefined;
  /** The registry's revision when it had no operator of the kind. */
  #hasNoneAt = -1;

  /** Made by {@link Graph.create} and by blocks only. */
  constructor(graph: Graph, kind: Symbol) {
    super();
    this.owningGraph = graph;
    this.kind = kind;
    this.scope = graph.currentScope;
    (graph.kinds as Set<Symbol>).add(kind);
  }

  // ---- structure

  /** Input number `index`; without an index the only input, and throws `IR_INVARIANT` where there are more or none. */
  input(index?: number): Value {
    if (index === undefined && this.inputs.length !== 1) {
      broken(
        `Tried to access a single input on node '${this.kind}' which has ${this.inputs.length} inputs. You may consider using node.inputs instead.`,
      );
    }
    return this.inputs[index ?? 0] ?? broken(`${this.kind} has no input ${index}`);
  }

  /** Output number `index`; without an index the only output, and throws `IR_INVARIANT` where there are more or none. */
  output(index?: number): Value {
    if (index === undefined && this.outputs.length !== 1) {
      broken(
        `Tried to access a single output on node '${this.kind}' which has ${this.outputs.length} outputs. You may consider using node.outputs instead.`,
      );
    }
    return this.outputs[index ?? 0] ?? broken(`${this.kind} has no output ${index}`);
  }

  /** The block it is or was inserted in; throws `IR_INVARIANT` where it never was. */
  get owningBlock(): Block {
    return this.#owningBlock ?? this.#isInNoBlock();
  }

  /** Whether it has been inserted into a block. */
  get inBlockList(): boolean {
    return this.#inList;
  }

  get isDestroyed(): boolean {
    return this.#isDestroyed;
  }

  /** The node after it in its block (the return node after the last). After removal: the node that then followed. */
  get next(): Node {
    return this.#next ?? this.#isInNoBlock();
  }

  /** The node before it in its block (the param node before the first). */
  get previous(): Node {
    return this.#previous ?? this.#isInNoBlock();
  }

  #isInNoBlock(): never {
    broken(`${this.kind} is in no block`);
  }

  /**
   * Bookkeeping of Block: from one end of it to the other. By hand, because a generator's steps are calls that engines do not inline, and every pass
   * makes them; and in here, because a step that asks a node where it goes on is two calls.
   */
  static readonly Iterator: new (block: Block, first: Node, end: Node, isForward: boolean) => IterableIterator<Node> =
    class implements IterableIterator<Node> {
      constructor(
        private readonly block: Block,
        private visited: Node,
        private readonly end: Node,
        private readonly isForward: boolean,
      ) {}

      [Symbol.iterator](): this {
        return this;
      }

      /** Goes on from the visited node, or from where it was when it was taken out. */
      next(): IteratorResult<Node, undefined> {
        const { block, end, isForward } = this;
        let node: Node | undefined = this.visited;
        if (node === end) return { done: true, value: undefined };
        do node = isForward ? node.#next : node.#previous;
        while (node !== undefined && (!node.#inList || node.#owningBlock !== block));
        this.visited = node ?? this.visited.#isInNoBlock();
        return node === end ? { done: true, value: undefined } : { done: false, value: this.visited };
      }
    };

  /** Whether any output is used. */
  hasUses(): boolean {
    return this.outputs.some((output) => output.hasUses());
  }

  /** Whether it only stands for a value and is never run (PyTorch: notExecutedOp). */
  isNotExecuted(): boolean {
    return this.kind === 'prim::Constant' || this.kind === 'prim::profile' || this.kind === 'prim::profile_ivalue';
  }

  mustBeNone(): boolean {
    return (
      this.kind === 'prim::AutogradZero' ||
      (this.outputs.length === 1 && this.outputs[0].type.kind === 'NoneType') ||
      (this.kind === 'prim::Constant' && this.outputs[0]?.type.kind === 'OptionalType' && !this.hasAttributes())
    );
  }

  // ---- inputs

  #checkInput(value: Value): void {
    const { node } = value;
    if (node.owningGraph !== this.owningGraph) {
      broken(`%${value.debugName} belongs to another graph than ${this.kind}`);
    }
    if (node.#isDestroyed) broken(`%${value.debugName} was destroyed`);
  }

  /** Appends an input; returns it. */
  addInput(value: Value): Value {
    this.#checkInput(value);
    // `forgetOperator` in its place, as in what else is done for each node of each copy of a graph.
    this.#operator = undefined;
    this.owningGraph.revision++;
    (value.uses as Use[]).push({ user: this, offset: this.inputs.length });
    (this.inputs as Value[]).push(value);
    return value;
  }

  /** Inserts an input before input `index`; returns it. */
  insertInput(index: number, value: Value): Value {
    this.#checkInput(value);
    invariant(index >= 0 && index <= this.inputs.length, `${this.kind} has no input ${index}`);
    this.forgetOperator();
    for (let offset = this.inputs.length - 1; offset >= index; offset--) {
      this.inputs[offset].moveUse(this, offset, offset + 1);
    }
    (this.inputs as Value[]).splice(index, 0, value);
    (value.uses as Use[]).push({ user: this, offset: index });
    return value;
  }

  /** Puts another value in the place of input `index`; returns the old one. */
  replaceInput(index: number, value: Value): Value {
    this.#checkInput(value);
    const old = this.input(index);
    old.forgetUse(this, index);
    this.redirectInput(index, value);
    return old;
  }

  /** Bookkeeping of Value: as {@link replaceInput}, where the old value has already forgotten the use. */
  redirectInput(index: number, value: Value): void {
    // Of an input only the type counts, and to find an operator takes longer than all else here.
    if (this.inputs[index].type !== value.type) this.#operator = undefined;
    this.owningGraph.revision++;
    (this.inputs as Value[])[index] = value;
    (value.uses as Use[]).push({ user: this, offset: index });
  }

  /** Puts `to` in the place of every input that is `from`. */
  replaceInputWith(from: Value, to: Value): void {
    for (const [index, input] of this.inputs.entries()) {
      if (input === from) {
        this.replaceInput(index, to);
      }
    }
  }

  removeInput(index: number): void {
    this.forgetOperator();
    this.input(index).forgetUse(this, index);
    for (let offset = index + 1; offset < this.inputs.length; offset++) {
      this.inputs[offset].moveUse(this, offset, offset - 1);
    }
    (this.inputs as Value[]).splice(index, 1);
  }

  removeAllInputs(): void {
    this.#operator = undefined;
    this.owningGraph.revision++;
    const { inputs } = this;
    if (inputs.length === 0) return;
    for (let index = 0; index < inputs.length; index++) inputs[index].forgetUse(this, index);
    (this as Own).inputs = [];
  }

  /** Input `index` becomes what input `order[index]` was. */
  permuteInputs(order: readonly number[]): void {
    invariant(order.length === this.inputs.length, 'permuteInputs: the order has another length than the inputs');
    const inputs = order.map((index) => this.input(index));
    this.removeAllInputs();
    inputs.forEach((input) => this.addInput(input));
  }

  /** The input at the place of a schema's argument; throws `IR_OPERATOR` where there is no such argument. */
  namedInput(name: string): Value {
    const index = this.schema().argumentIndexWithName(name);
    if (index === undefined) {
      throw new CressetError('IR_OPERATOR', `Couldn't find an argument called ${name} in ${this.schema()}`);
    }
    return this.input(index);
  }

  hasNamedInput(name: string): boolean {
    return this.maybeSchema()?.argumentIndexWithName(name) !== undefined;
  }

  // ---- outputs and blocks

  addOutput(): Value {
    const { owningGraph } = this;
    const value = new Value(this, this.outputs.length, owningGraph.takeUnique());
    this.#operator = undefined;
    owningGraph.revision++;
    (this.outputs as Value[]).push(value);
    return value;
  }

  insertOutput(index: number): Value {
    this.forgetOperator();
    const value = new Value(this, index, this.owningGraph.takeUnique());
    (this.outputs as Value[]).splice(index, 0, value);
    this.#renumberOutputs();
    return value;
  }

  /** Takes an output away; throws `IR_INVARIANT` while it is used. */
  eraseOutput(index: number): void {
    const value = this.output(index);
    if (value.hasUses()) broken(`cannot erase %${value.debugName}: it is used by ${value.uses[0].user.kind}`);
    this.forgetOperator();
    value.setDebugName('');
    (this.outputs as Value[]).splice(index, 1);
    this.#renumberOutputs();
  }

  removeAllOutputs(): void {
    for (let index = this.outputs.length - 1; index >= 0; index--) {
      this.eraseOutput(index);
    }
  }

  permuteOutputs(order: readonly number[]): void {
    invariant(order.length === this.outputs.length, 'permuteOutputs: the order has another length than the outputs');
    this.forgetOperator();
    (this as Own).outputs = order.map((index) => this.output(index));
    this.#renumberOutputs();
  }

  #renumberOutputs(): void {
    this.outputs.forEach((output, index) => {
      output.offset = index;
    });
  }

  addBlock(): Block {
    this.forgetOperator();
    const block = this.owningGraph.createBlock(this);
    (this.blocks as Block[]).push(block);
    return block;
  }

  /** Takes a block away with all that is in it; throws `IR_INVARIANT` while a value of it is used outside. */
  eraseBlock(index: number): void {
    const block = this.blocks[index];
    invariant(block !== undefined, `${this.kind} has no block ${index}`);
    this.forgetOperator();
    (this.blocks as Block[]).splice(index, 1);
    block.destroy();
  }

  /** Puts the outputs of `other` in the place of this node's outputs, one by one. */
  replaceAllUsesWith(other: Node): void {
    invariant(
      this.outputs.length === other.outputs.length,
      'replaceAllUsesWith: the nodes have unequal numbers of outputs',
    );
    this.outputs.forEach((output, index) => output.replaceAllUsesWith(other.output(index)));
  }

  /** A node of another kind in this one's place, with its inputs, blocks, outputs' types and uses (PyTorch name). */
  replaceWithNewSymbol(kind: Symbol): Node {
    const replacement = this.owningGraph.create(kind, [], 0);
    replacement.copyMetadata(this).copyAttributes(this);
    for (const input of this.inputs) {
      replacement.addInput(input);
    }
    for (const block of this.blocks) {
      replacement.addBlock().cloneFrom(block, (value) => value);
    }
    for (const output of this.outputs) {
      const made = replacement.addOutput().copyMetadata(output);
      output.replaceAllUsesWith(made);
    }
    replacement.insertBefore(this);
    return replacement;
  }

  /** Takes over source range, scope and call stack. */
  copyMetadata(from: Node): this {
    this.sourceRange = from.sourceRange;
    this.scope = from.scope;
    this.callstack = from.callstack;
    return this;
  }

  setSourceRange(range: SourceRange | undefined): this {
    this.sourceRange = range;
    return this;
  }

  // ---- place

  /** Inserts this node, which must be in no block, before another. */
  insertBefore(node: Node): this {
    if (!node.#inList) broken('insertBefore: the other node is in no block');
    return this.insertAfter(node.#previous!);
  }

  /** Inserts this node, which must be in no block, after another. */
  insertAfter(node: Node): this {
    if (this.#inList) broken(`${this.kind} is in a block already`);
    if (this.#isDestroyed) broken(`${this.kind} was destroyed`);
    if (!node.#inList) broken('insertAfter: the other node is in no block');
    if (node.owningGraph !== this.owningGraph) broken(`${this.kind} belongs to another graph`);
    if (node.kind === 'prim::Return') {
      broken('Attempting to insert a Node after the Return node or before the Param node');
    }
    const block = node.#owningBlock!;
    const following = node.#next!;
    this.owningGraph.revision++;
    this.#owningBlock = block;
    this.#previous = node;
    this.#next = following;
    node.#next = this;
    following.#previous = this;
    this.#inList = true;
    if (block.hasPositions) this.#assignPosition(block, node, following);
    return this;
  }

  /** Bookkeeping of Block: makes the two ends of an empty block. */
  static linkEnds(param: Node, result: Node, block: Block): void {
    param.#position = FIRST_POSITION;
    result.#position = LAST_POSITION;
    for (const node of [param, result]) {
      node.#owningBlock = block;
      node.#inList = true;
    }
    param.#next = result;
    param.#previous = result;
    result.#next = param;
    result.#previous = param;
  }

  /** Moves it, within its graph, before another node. */
  moveBefore(node: Node): void {
    if (node !== this) {
      this.removeFromList();
      this.insertBefore(node);
    }
  }

  /** Moves it, within its graph, after another node. */
  moveAfter(node: Node): void {
    if (node !== this) {
      this.removeFromList();
      this.insertAfter(node);
    }
  }

  /** Takes it out of its block without destroying it: it can be inserted again. */
  removeFromList(): void {
    if (!this.#inList) this.#isInNoBlock();
    if (this.kind === 'prim::Param' || this.kind === 'prim::Return') broken(`${this.kind} cannot leave its block`);
    this.owningGraph.moveInsertPointOff(this);
    this.owningGraph.revision++;
    // The pointers out of this node stay: whoever iterates over the block finds on from here.
    this.#next!.#previous = this.#previous;
    this.#previous!.#next = this.#next;
    this.#inList = false;
  }

  /** Takes it out of the graph for good; throws `IR_INVARIANT` while an output is used. */
  destroy(): void {
    if (this.#isDestroyed) broken(`${this.kind} was destroyed already`);
    for (const output of this.outputs) {
      const [use] = output.uses;
      if (use) broken(`cannot destroy ${this.kind}: %${output.debugName} is used by ${use.user.kind}`);
    }
    for (const output of this.outputs) output.setDebugName('');
    (this as Own).outputs = [];
    while (this.blocks.length > 0) {
      this.eraseBlock(this.blocks.length - 1);
    }
    this.removeAllInputs();
    if (this.#inList && this.kind !== 'prim::Param' && this.kind !== 'prim::Return') {
      this.removeFromList();
    }
    this.#isDestroyed = true;
  }

  #assignPosition(block: Block, before: Node, after: Node): void {
    if (after.kind === 'prim::Return') {
      if (before.kind === 'prim::Param') {
        this.#position = 0;
        return;
      }
      this.#position = before.#position + APPEND_INTERVAL;
      if (this.#position >= LAST_POSITION) {
        block.forgetPositions();
      }
    } else if (before.kind === 'prim::Param') {
      this.#position = after.#position - APPEND_INTERVAL;
      if (this.#position <= FIRST_POSITION) {
        block.forgetPositions();
      }
    } else {
      this.#position = Math.floor((before.#position + after.#position) / 2);
      if (this.#position === before.#position) {
        block.forgetPositions();
      }
    }
  }

  /** Bookkeeping of Block: gives the nodes of a block new positions with room between them. */
  static assignPositions(nodes: Iterable<Node>): void {
    let position = FIRST_POSITION;
    for (const node of nodes) {
      position += APPEND_INTERVAL;
      node.#position = position;
    }
  }

  /** Whether it runs before `other`. A node and one in a block of it are neither before nor after each other. */
  isBefore(other: Node): boolean {
    return this.#comparePosition(other) < 0;
  }

  /** Whether it runs after `other`; see {@link isBefore}. */
  isAfter(other: Node): boolean {
    return this.#comparePosition(other) > 0;
  }

  #comparePosition(other: Node): number {
    if (this.owningBlock === other.owningBlock) {
      return this.#positionBehind(other);
    }
    // Not in one block: climb from both until two ancestors are.
    for (let mine: Node | undefined = this; mine !== undefined; mine = mine.owningBlock.owningNode) {
      for (let theirs: Node | undefined = other; theirs !== undefined; theirs = theirs.owningBlock.owningNode) {
        if (mine.owningBlock === theirs.owningBlock) {
          return mine.#positionBehind(theirs);
        }
      }
    }
    throw new CressetError('IR_INVARIANT', `${this.kind} and ${other.kind} are in different graphs`);
  }

  /** How far it stands behind another node of its block. */
  #positionBehind(other: Node): number {
    this.owningBlock.ensurePositions();
    return this.#position - other.#position;
  }

  /** Whether `dominator` always runs before it. */
  isDominatedBy(dominator: Node): boolean {
    for (let node: Node | undefined = this; node !== undefined; node = node.owningBlock.owningNode) {
      if (node.owningBlock === dominator.owningBlock) {
        return dominator.isBefore(node);
      }
    }
    return false;
  }

  /** How many blocks lie between it and the graph (PyTorch: blocksFromGraphBlock). */
  get depth(): number {
    let depth = 0;
    for (let node = this.owningBlock.owningNode; node !== undefined; node = node.owningBlock.owningNode) {
      depth++;
    }
    return depth;
  }

  // ---- operator

  /** Forgets which operator this node was matched to: something of it has changed. */
  forgetOperator(): void {
    this.#operator = undefined;
    this.owningGraph.revision++;
  }

  override copyAttributes(from: Node): this {
    this.owningGraph.revision++;
    return super.copyAttributes(from);
  }

  override setAttribute(name: string, entry: AttributeEntry): this {
    this.owningGraph.revision++;
    return super.setAttribute(name, entry);
  }

  override removeAttribute(name: string): this {
    this.owningGraph.revision++;
    return super.removeAttribute(name);
  }

  /** Tells which operator it is, where the maker of the node has matched it already. Holds until inputs change. */
  setOperator(operator: Operator): this {
    this.#operator = operator;
    return this;
  }

  /** Is the operator that a node of its kind was matched to, where the types of their inputs are the same: to find it again takes longer than to copy a node. */
  takeOperatorOf(node: Node): this {
    const operator = node.#operator;
    if (operator && this.inputs.every(({ type }, index) => type === node.inputs[index].type)) this.#operator = operator;
    return this;
  }

  /** The operator whose schema fits kind and inputs, or undefined (PyTorch: maybeOperator). */
  maybeOperator(): Operator | undefined {
    // Constants, of which a graph has more than of anything else, are asked as often and are none; so are many other kinds.
    const { kind } = this;
    if (this.#operator === undefined && kind !== 'prim::Constant' && this.#hasNoneAt !== operatorRegistry.revision) {
      this.#operator = findOperatorMatching(this);
      if (this.#operator === undefined && operatorRegistry.operatorsFor(kind).length === 0)
        this.#hasNoneAt = operatorRegistry.revision;
    }
    return this.#operator;
  }

  /** The operator whose schema fits kind and inputs; throws `IR_OPERATOR` where none does. */
  operator(): Operator {
    const operator = this.maybeOperator();
    if (operator === undefined) {
      const inputs = this.inputs.map((input) => `${input.type}`).join(', ');
      throw new CressetError('IR_OPERATOR', `Schema not found for node: ${this.kind}(${inputs})`);
    }
    return operator;
  }

  maybeSchema(): FunctionSchema | undefined {
    return this.maybeOperator()?.schema;
  }

  /** Throws `IR_OPERATOR` where no operator fits. */
  schema(): FunctionSchema {
    return this.operator().schema;
  }

  /** Whether running it does something beside making its outputs and writing to its arguments. */
  hasSideEffects(): boolean {
    return hasSideEffectsByKind(this.kind) || this.maybeOperator()?.aliasAnalysis === 'conservative';
  }

  /** Whether two runs with equal inputs may differ. */
  isNondeterministic(): boolean {
    if (this.maybeOperator()?.isNondeterministic !== true) {
      return false;
    }
    // Dropout that is known to be in evaluation mode draws nothing.
    const train = this.hasNamedInput('train') ? this.namedInput('train').node : undefined;
    return !(train?.kind === 'prim::Constant' && train.hasAttribute('value') && train.i('value') === 0n);
  }
}
