import {
  BoolType,
  ClassType,
  CressetError,
  IntType,
  mayHoldNone,
  someContainedType,
  type DictType,
  type FunctionType,
  type ListType,
  type TupleType,
  type Block,
  type Graph,
  type Node,
  type ScriptFunction,
  type Type,
  type Value,
  operatorsFor,
} from '@cresset/ir';
import { Dict, List, Tuple, type IValue } from '@cresset/tensor';
import { constantValue } from './constant-value.ts';
import type { Code, CodeSource } from './code.ts';
import { FusionGroup } from '../../dispatch/fusion-group.ts';
import type { Callback, Instruction, InstructionOperands, JumpTarget, OpCode } from './instruction.ts';
import { directOperator, plainInt } from '../direct-operators.ts';
import { findLastUses, type LastUses } from './last-uses.ts';
import { bindOperator } from './operator-binding.ts';
import { isCountedList, looksOnly } from '../counted-list.ts';
import { spentArguments } from './spent-arguments.ts';

/** Where the code of functions and forked graphs that a graph calls comes from. */
export interface CodeProvider {
  ofFunction(fn: ScriptFunction): CodeSource;
  ofGraph(graph: Graph, name: string): CodeSource;
  /** What is done at a node that only some executors know. */
  callbackOf?(node: Node): Callback | undefined;
}

/** Makes the instructions of a graph. Throws `RUNTIME_CODE` for nodes that no instruction and no operator stands for. */
export function compileCode(name: string, graph: Graph, provider: CodeProvider): Code {
  return new CodeCompiler(name, graph, provider).compile();
}

/** Types of values that hold no memory worth giving up early, and no tensors. */
const plainKinds: ReadonlySet<Type['kind']> = new Set(['IntType', 'FloatType', 'BoolType', 'StringType']);

/** Nodes that only tell something about their one input: at run time the value itself. */
const identityKinds: ReadonlySet<string> = new Set([
  'prim::unchecked_cast',
  'prim::unchecked_unwrap_optional',
  'prim::annotate',
  'prim::profile',
  'prim::profile_ivalue',
]);

class CodeCompiler {
  readonly #instructions: Instruction[] = [];
  readonly #constants: IValue[] = [];
  readonly #registers = new Map<Value, number>();
  readonly #countedLists = new Set<number>();
  readonly #intRegisters: boolean[] = [];
  /** Registers whose values are nothing that has to be given up. */
  readonly #plainRegisters = new Set<number>();
  readonly #lastUses: LastUses;
  #registerCount = 0;

  constructor(
    readonly name: string,
    readonly graph: Graph,
    readonly provider: CodeProvider,
  ) {
    this.#lastUses = findLastUses(graph);
  }

  compile(): Code {
    const { block } = this.graph;
    for (const input of block.inputs) this.#define(input);
    this.#emitNodes(block);
    this.#emit('RETURN', block.returnNode, null, this.#inputsOf(block.returnNode));
    return {
      name: this.name,
      graph: this.graph,
      instructions: this.#instructions,
      constants: this.#constants,
      registerCount: this.#registerCount,
      parameterCount: block.inputs.length,
      plainConstants: this.#constants.map((value) => (typeof value === 'bigint' ? plainInt(value) : value)),
      intRegisters: this.#intRegisters,
      countedLists: this.#countedLists,
    };
  }

  // ---- registers

  #newRegister(type: Type | null = null): number {
    const register = this.#registerCount++;
    this.#intRegisters.push(type?.kind === 'IntType');
    if (type && plainKinds.has(type.kind)) this.#plainRegisters.add(register);
    return register;
  }

  #define(value: Value, register = this.#newRegister(value.type)): number {
    this.#registers.set(value, register);
    if (isCountedList(value)) this.#countedLists.add(register);
    return register;
  }

  #registerOf(value: Value): number {
    const register = this.#registers.get(value);
    if (register === undefined) {
      throw new CressetError('RUNTIME_CODE', `%${value.debugName} is used before it is defined in ${this.name}`);
    }
    return register;
  }

  #inputsOf(node: Node): number[] {
    return node.inputs.map((input) => this.#registerOf(input));
  }

  #clearsOf(values: readonly Value[]): number[] {
    // Constants have no register to give up.
    return values
      .map((value) => this.#registers.get(value) ?? -1)
      .filter((register) => register >= 0 && !this.#plainRegisters.has(register));
  }

  #emit<K extends OpCode>(
    op: K,
    node: Node,
    operand: InstructionOperands[K],
    inputs: readonly number[] = [],
    outputs: readonly number[] = [],
    clears: readonly number[] = [],
  ): void {
    this.#instructions.push({ op, inputs, outputs, operand, clears, node } as Instruction);
  }

  /** One instruction for the whole node. */
  #emitNode<K extends OpCode>(op: K, node: Node, operand: InstructionOperands[K], inputs = this.#inputsOf(node)): void {
    const outputs = node.outputs.map((output) => this.#define(output));
    this.#emit(op, node, operand, inputs, outputs, this.#clearsOf(this.#lastUses.after(node)));
  }

  #emitMove(node: Node, inputs: readonly number[], outputs: readonly number[], lastUses: readonly Value[]): void {
    const clears = this.#clearsOf(lastUses).filter((register) => !outputs.includes(register));
    if (inputs.length === 0 && clears.length === 0) return;
    const isPlain = outputs.every((register) => this.#plainRegisters.has(register));
    const isOrdered = outputs.every((register, at) => !inputs.includes(register, at + 1));
    this.#emit(isPlain && isOrdered ? 'MOVE_PLAIN' : 'MOVE', node, null, inputs, outputs, clears);
  }

  // ---- nodes

  #emitNodes(block: Block): void {
    for (const node of block.nodes()) this.#emitOne(node);
  }

  #emitOne(node: Node): void {
    const callback = this.provider.callbackOf?.(node);
    if (callback) return this.#emitNode('CALLBACK', node, callback);
    switch (node.kind) {
      case 'prim::Constant':
        return this.#defineConstant(node, constantValue(node));
      case 'prim::Uninitialized':
        return this.#defineConstant(node, null);
      case 'prim::If':
        return this.#emitIf(node);
      case 'prim::Loop':
        return this.#emitLoop(node);
      case 'prim::ListConstruct':
        return this.#emitNode('LIST_CONSTRUCT', node, (node.output().type as ListType).elementType);
      case 'prim::ListUnpack':
        return this.#emitNode('LIST_UNPACK', node, null);
      case 'prim::TupleConstruct': {
        const type = node.output().type as TupleType;
        return this.#emitNode('TUPLE_CONSTRUCT', node, type.named ? type : null);
      }
      case 'prim::TupleUnpack':
        return this.#emitNode('TUPLE_UNPACK', node, null);
      case 'prim::TupleIndex':
        return this.#emitNode('TUPLE_INDEX', node, null);
      case 'prim::TupleSlice':
        return this.#emitNode('TUPLE_SLICE', node, { begin: Number(node.i('beg')), end: Number(node.i('end')) });
      case 'prim::DictConstruct': {
        const { keyType, valueType } = node.output().type as DictType;
        return this.#emitNode('DICT_CONSTRUCT', node, { keyType, valueType });
      }
      case 'prim::CreateObject':
        return this.#emitNode('CREATE_OBJECT', node, node.output().type as ClassType);
      case 'prim::GetAttr':
      case 'prim::SetAttr': {
        const name = node.s('name');
        const type = node.input(0).type as ClassType;
        const slot = type.getAttributeSlot(name);
        if (node.kind === 'prim::SetAttr') return this.#emitNode('SET_ATTR', node, { slot, name });
        return this.#emitNode('GET_ATTR', node, { slot, name, mayBeNone: mayHoldNone(type.getAttribute(name)) });
      }
      case 'prim::ConstantChunk':
        return this.#emitChunk(node);
      case 'prim::isinstance':
        return this.#emitNode('ISINSTANCE', node, node.tys('types'));
      case 'prim::tolist':
        return this.#emitNode('TO_LIST', node, node.output().type);
      case 'prim::CallFunction':
        return this.#emitNode(
          'CALL',
          node,
          this.provider.ofFunction(calledFunction(node)),
          this.#inputsOf(node).slice(1),
        );
      case 'prim::CallMethod': {
        const method = calledMethod(node);
        if (!method) return this.#emitNode('INTERFACE_CALL', node, node.s('name'));
        return this.#emitNode('CALL', node, this.provider.ofFunction(method));
      }
      case 'prim::fork':
      case 'prim::awaitable': {
        const op = node.kind === 'prim::fork' ? 'FORK' : 'AWAITABLE';
        return this.#emitNode(op, node, this.provider.ofGraph(node.g('Subgraph'), `fork in ${this.name}`));
      }
      case 'aten::sort':
      case 'aten::sorted':
        return someContainedType(node.input(0).type, ({ kind }) => kind === 'ClassType')
          ? this.#emitNode('SORT', node, null)
          : this.#emitNode('OP', node, bindOperator(node));
      case 'aten::wait':
      case 'prim::awaitable_wait':
        return this.#emitNode('WAIT', node, null);
      case 'prim::Enter':
        return this.#emitNode('ENTER', node, null);
      case 'prim::Exit':
        return this.#emitNode('EXIT', node, null);
      case 'prim::RaiseException':
        return this.#emitNode('RAISE', node, null);
      case 'prim::Print':
        return this.#emitNode('PRINT', node, null);
      case 'prim::FusionGroup':
        return this.#emitNode('FUSION_GROUP', node, new FusionGroup(node.g('Subgraph')));
      default:
        if (identityKinds.has(node.kind)) {
          return this.#emitMove(node, this.#inputsOf(node), [this.#define(node.output())], this.#lastUses.after(node));
        }
        return this.#emitOperator(node);
    }
  }

  #emitOperator(node: Node): void {
    const binding = bindOperator(node, node.maybeOperator(), spentArguments(node, this.#lastUses));
    const direct = node.outputs.length === 1 ? directOperator(binding.name, node.output()) : null;
    if (direct)
      this.#emitNode('DIRECT', node, { ...binding, direct, isPlain: plainKinds.has(node.output().type.kind) });
    else this.#emitNode('OP', node, binding);
  }

  #defineConstant(node: Node, value: IValue): void {
    const output = node.output();
    // Whoever gets a list of a literal may write to it: the next run has a new one.
    const register = output.uses.every(looksOnly) ? this.#constant(value) : this.#emitLiteral(node, value);
    this.#registers.set(output, register);
  }

  /** The register of a value with containers of its own, or a constant where there are none in it. */
  #emitLiteral(node: Node, value: IValue): number {
    if (!(value instanceof List || value instanceof Dict || value instanceof Tuple)) return this.#constant(value);
    const items = value instanceof Dict ? [...value.entries].flat() : value.items;
    const inputs = items.map((item) => this.#emitLiteral(node, item));
    if (value instanceof Tuple && inputs.every((register) => register < 0)) return this.#constant(value);
    const register = this.#newRegister();
    if (value instanceof List) this.#emit('LIST_CONSTRUCT', node, value.elementType, inputs, [register]);
    else if (value instanceof Dict) this.#emit('DICT_CONSTRUCT', node, value, inputs, [register]);
    else this.#emit('TUPLE_CONSTRUCT', node, value.type, inputs, [register]);
    return register;
  }

  #constant(value: IValue): number {
    return ~(this.#constants.push(value) - 1);
  }

  /** A list of chunks, and what takes it apart. */
  #emitChunk(node: Node): void {
    const [chunk] = operatorsFor('aten::chunk');
    const list = this.#newRegister();
    this.#countedLists.add(list);
    const args = [...this.#inputsOf(node), this.#constant(node.i('chunks')), this.#constant(node.i('dim'))];
    const outputs = node.outputs.map((output) => this.#define(output));
    this.#emit('OP', node, { ...bindOperator(node, chunk), outputCount: 1 }, args, [list]);
    this.#emit('LIST_UNPACK', node, null, [list], outputs, [list, ...this.#clearsOf(this.#lastUses.after(node))]);
  }

  #emitIf(node: Node): void {
    const outputs = node.outputs.map((output) => this.#define(output));
    const ofInputs = this.#lastUses.ofInputs(node);
    const toElse: JumpTarget = { target: -1 };
    const toEnd: JumpTarget = { target: -1 };
    const [whenTrue, whenFalse] = node.blocks;
    this.#emit('JUMP_IF_FALSE', node, toElse, this.#inputsOf(node), [], this.#clearsOf(ofInputs));
    this.#emitBranch(whenTrue, outputs);
    this.#emit('JUMP', node, toEnd);
    toElse.target = this.#instructions.length;
    this.#emitBranch(whenFalse, outputs);
    toEnd.target = this.#instructions.length;
    this.#emitDrop(node, this.#lastUses.after(node), ofInputs);
  }

  #emitBranch(block: Block, outputs: readonly number[]): void {
    this.#emitNodes(block);
    this.#emitMove(block.returnNode, this.#inputsOf(block.returnNode), outputs, this.#lastUses.after(block.returnNode));
  }

  /**
   * The loop's variables live in the registers of the body's inputs, and the loop's outputs are what they hold in the end.
   * Whether to go on is asked before each trip, with a counter of its own.
   */
  #emitLoop(node: Node): void {
    const [body] = node.blocks;
    const [trip, ...carried] = body.inputs;
    const [maxTripCount, condition, ...initial] = node.inputs;
    const tripRegister = this.#define(trip);
    const counter = this.#newRegister(IntType.get());
    const goesOn = this.#newRegister(BoolType.get());
    const variables = carried.map((value) => this.#define(value));
    node.outputs.forEach((output, index) => this.#define(output, variables[index]));

    // The trip count is asked for on every trip, so it is kept even where it is used for the last time here.
    const ofInputs = this.#lastUses.ofInputs(node).filter((value) => value !== maxTripCount);
    const start = [condition, ...initial].map((value) => this.#registerOf(value));
    this.#emitMove(node, start, [goesOn, ...variables], ofInputs);
    this.#emit('LOOP_BEGIN', node, null, [], [counter]);
    const head = this.#instructions.length;
    const toEnd: JumpTarget = { target: -1 };
    this.#emit('LOOP', node, toEnd, [this.#registerOf(maxTripCount), goesOn, counter], [tripRegister]);
    this.#emitNodes(body);
    const results = this.#inputsOf(body.returnNode);
    this.#emitMove(body.returnNode, results, [goesOn, ...variables], this.#lastUses.after(body.returnNode));
    this.#emit('JUMP', node, { target: head });
    toEnd.target = this.#instructions.length;
    this.#emitDrop(node, this.#lastUses.after(node), ofInputs);
  }

  #emitDrop(node: Node, values: readonly Value[], except: readonly Value[]): void {
    const clears = this.#clearsOf(values.filter((value) => !except.includes(value)));
    if (clears.length > 0) this.#emit('DROP', node, null, [], [], clears);
  }
}

/** The function a `prim::CallFunction` calls: its first input is a constant that only stands for it. */
export function calledFunction(node: Node): ScriptFunction {
  return (node.input(0).type as FunctionType).function;
}

/** The method a `prim::CallMethod` calls; null where the receiver is an interface and only the run will tell. */
export function calledMethod(node: Node): ScriptFunction | null {
  const receiver = node.input(0).type;
  return receiver instanceof ClassType ? receiver.getMethod(node.s('name')) : null;
}
