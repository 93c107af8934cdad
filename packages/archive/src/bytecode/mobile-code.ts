import {
  ClassType,
  constantValue,
  CressetError,
  DictType,
  TupleType,
  type Block,
  type Graph,
  type Node,
  type Operator,
  type Type,
  type Value,
} from '@cresset/ir';
import { necessaryArguments } from '../python-print/necessary-arguments.ts';
import { scheduleForStack } from './stack-scheduling.ts';

/** An instruction of the stack machine: what X and N mean is the instruction's own (runtime/instruction.h). */
export interface BytecodeInstruction {
  readonly op: string;
  readonly x: number;
  readonly n: number;
}

/** An operator of the table: its arguments beyond `argumentCount` have their default values; -1 for a variable number. */
export interface BytecodeOperator {
  readonly name: string;
  readonly overloadName: string;
  readonly argumentCount: number;
}

/** A function as the lite interpreter's `bytecode.pkl` has it (PyTorch: MobileCode). */
export interface MobileCode {
  readonly instructions: readonly BytecodeInstruction[];
  readonly operators: readonly BytecodeOperator[];
  /** Values of `prim::Constant` nodes, in their order, then what instructions need of their own. */
  readonly constants: readonly unknown[];
  readonly types: readonly Type[];
  readonly registerSize: number;
}

/**
 * Compiles a graph without calls into instructions for a stack machine (PyTorch: MobileCodeImpl in
 * runtime/interpreter/code_impl.h). The graph is left as it is. Throws `BYTECODE_UNSUPPORTED` for what the lite interpreter lacks:
 * `fork`, calls of functions that were not inlined.
 */
export function compileMobileCode(graph: Graph): MobileCode {
  return new StackCodeEmitter(graph.copy()).emit();
}

/** Operators that are instructions of their own, which take their inputs from the stack and have no operand. */
const plainInstructions: Readonly<Record<string, string>> = {
  'aten::__is__': '__IS__',
  'aten::__isnot__': '__ISNOT__',
  'aten::__not__': '__NOT__',
  'aten::dim': 'DIM',
  'prim::device': 'DEVICE',
  'prim::dtype': 'DTYPE',
  'prim::is_cuda': 'IS_CUDA',
  'prim::NumToTensor': 'NUM_TO_TENSOR',
  'prim::RaiseException': 'RAISE_EXCEPTION',
  'prim::TupleIndex': 'TUPLE_INDEX',
  'prim::tolist': 'TO_LIST',
  'prim::Uninitialized': 'UN_INITIALIZED',
};

/** Emits the instructions of a graph. What the lite interpreter lacks, and how operators are called there, is said by methods that others may replace. */
export class StackCodeEmitter {
  readonly #graph: Graph;
  readonly #inline: ReadonlySet<Node>;
  readonly instructions: { op: string; x: number; n: number }[] = [];
  readonly #operators: BytecodeOperator[] = [];
  readonly #operatorIndexes = new Map<string, number>();
  protected readonly constants: unknown[] = [];
  private readonly types: Type[] = [];
  /** Registers of values, from 1, and places of constants in their table. */
  readonly #registers = new Map<Value, number>();
  readonly #usesSoFar = new Map<Value, number>();
  /** By operator: the most arguments that any call of it in the graph has to give. */
  readonly #argumentCounts = new Map<Operator, { count: number; out: number }>();
  #registerSize = 0;

  constructor(graph: Graph) {
    this.#graph = graph;
    this.#inline = scheduleForStack(graph);
  }

  emit(): MobileCode {
    this.#countArguments(this.#graph.block);
    this.#block(this.#graph.block);
    this.insert('RET');
    return {
      instructions: this.instructions,
      operators: this.#operators,
      constants: this.constants,
      types: this.types,
      registerSize: this.#registerSize,
    };
  }

  /** All calls of an operator give the same number of arguments, as its place in the table says it once. */
  #countArguments(block: Block): void {
    for (const node of block.nodes()) {
      const operator = node.maybeOperator();
      if (operator && !operator.schema.isVararg) {
        const { necessary, out } = necessaryArguments(operator.schema.arguments, node.inputs);
        const known = this.#argumentCounts.get(operator)?.count ?? 0;
        this.#argumentCounts.set(operator, { count: Math.max(known, necessary + out), out });
      }
      node.blocks.forEach((each) => this.#countArguments(each));
    }
  }

  protected insert(op: string, x = 0, n = 0): number {
    return this.instructions.push({ op, x, n }) - 1;
  }

  #block(block: Block): void {
    this.#store(block.paramNode);
    for (const node of block.nodes()) {
      if (node.kind === 'prim::Constant') this.#constant(node);
      else if (!this.#inline.has(node)) {
        this.node(node);
        this.#store(node);
      }
    }
    this.load(block.outputs);
  }

  #constant(node: Node): void {
    const value = constantValue(node.output());
    if (value === undefined) throw unsupported(`the constant %${node.output().debugName}`);
    this.#registers.set(node.output(), this.constants.push(value) - 1);
  }

  #store({ outputs }: Node): void {
    if (outputs.length === 0) return;
    const first = this.#registerSize + 1;
    for (const output of outputs) this.#registers.set(output, ++this.#registerSize);
    if (outputs.length === 1) this.insert('STORE', first);
    else this.insert('STOREN', first, outputs.length);
  }

  protected load(values: readonly Value[]): void {
    for (const value of values) this.#use(value, false);
  }

  #use(value: Value, drop: boolean): void {
    if (this.#inline.has(value.node)) {
      this.node(value.node);
      if (drop) this.insert('DROP');
      return;
    }
    const uses = (this.#usesSoFar.get(value) ?? 0) + 1;
    this.#usesSoFar.set(value, uses);
    const register = this.#registers.get(value)!;
    if (value.node.kind === 'prim::Constant') this.insert('LOADC', register);
    else if (drop) this.insert('DROPR', register);
    else this.insert(uses === value.uses.length ? 'MOVE' : 'LOAD', register);
  }

  protected node(node: Node): void {
    const { kind, inputs } = node;
    const plain = plainInstructions[kind];
    if (plain !== undefined) {
      this.load(inputs);
      this.insert(plain);
      return;
    }
    switch (kind) {
      case 'prim::Drop':
        // Constants are in a table; there is nothing to give up.
        for (const input of inputs) if (input.node.kind !== 'prim::Constant') this.#use(input, true);
        break;
      case 'prim::If':
        this.#if(node);
        break;
      case 'prim::Loop':
        this.#loop(node);
        break;
      case 'prim::GetAttr':
      case 'prim::SetAttr':
        this.load(inputs);
        this.insert(kind === 'prim::GetAttr' ? 'GET_ATTR' : 'SET_ATTR', slotOf(node));
        break;
      case 'prim::ListUnpack':
        this.load(inputs);
        this.insert('LIST_UNPACK', node.outputs.length);
        break;
      case 'prim::TupleSlice':
        this.load(inputs);
        this.insert('TUPLE_SLICE', Number(node.i('beg')), Number(node.i('end')));
        break;
      case 'prim::TupleConstruct':
        this.#tuple(node);
        break;
      case 'prim::ListConstruct':
        this.#container('LIST_CONSTRUCT', node);
        break;
      case 'prim::DictConstruct':
        this.#container('DICT_CONSTRUCT', node);
        break;
      case 'prim::CreateObject':
        this.insert('CREATE_OBJECT', this.type(node.output().type));
        break;
      case 'prim::isinstance': {
        this.load(inputs);
        const types = node.tys('types').map((type) => this.type(type));
        this.insert('ISINSTANCE', types[0], types.length);
        break;
      }
      case 'aten::wait':
        this.load(inputs);
        this.insert('WAIT');
        break;
      case 'aten::warn':
        this.load(inputs);
        this.insert('WARN', node.hasAttribute('warn_id') ? Number(node.i('warn_id')) : -1);
        break;
      case 'aten::format':
        this.load(inputs);
        this.insert('FORMAT', inputs.length);
        break;
      case 'aten::__getitem__':
        if (inputs[0].type instanceof DictType) {
          this.load(inputs);
          this.insert('DICT_INDEX');
        } else this.operator(node);
        break;
      case 'prim::fork':
      case 'prim::CallFunction':
      case 'prim::CallMethod':
        this.call(node);
        break;
      default:
        this.operator(node);
    }
  }

  /** A call that was not put in place. */
  protected call(node: Node): void {
    throw unsupported(node.kind);
  }

  protected operator(node: Node): void {
    const operator = node.operator();
    const { inputs } = node;
    const counts = this.#argumentCounts.get(operator);
    if (counts === undefined) {
      this.load(inputs);
      this.insert('OPN', this.addOperator(operator, -1), inputs.length);
      return;
    }
    this.load(inputs.slice(0, counts.count - counts.out));
    this.load(inputs.slice(inputs.length - counts.out));
    const key = `${operator.name}.${operator.overloadName}`;
    let index = this.#operatorIndexes.get(key);
    if (index === undefined) {
      index = this.addOperator(operator, counts.count);
      this.#operatorIndexes.set(key, index);
    }
    this.insert('OP', index);
  }

  private addOperator({ name, overloadName }: Operator, argumentCount: number): number {
    return this.#operators.push({ name, overloadName, argumentCount }) - 1;
  }

  protected type(type: Type): number {
    return this.types.push(type) - 1;
  }

  #container(op: string, node: Node): void {
    this.load(node.inputs);
    this.insert(op, this.type(node.output().type), node.inputs.length);
  }

  #tuple(node: Node): void {
    const { type } = node.output();
    if (type instanceof TupleType && type.name !== undefined) {
      this.#container('NAMED_TUPLE_CONSTRUCT', node);
      return;
    }
    this.load(node.inputs);
    this.insert('TUPLE_CONSTRUCT', node.inputs.length);
  }

  /** Jumps are relative to the instruction that makes them. */
  #if(node: Node): void {
    const [then, otherwise] = node.blocks;
    this.load(node.inputs);
    const branch = this.insert('JF');
    this.#block(then);
    const end = this.insert('JMP');
    this.instructions[branch].x = this.instructions.length - branch;
    this.#block(otherwise);
    this.instructions[end].x = this.instructions.length - end;
  }

  #loop(node: Node): void {
    this.insert('LOADC', this.constants.push(0n) - 1);
    this.load(node.inputs);
    const start = this.insert('LOOP', 0, node.inputs.length);
    this.#block(node.blocks[0]);
    this.insert('JMP', start - this.instructions.length);
    this.instructions[start].x = this.instructions.length - start;
  }
}

function slotOf(node: Node): number {
  const type = node.input(0).type;
  const name = node.s('name');
  const slot = type instanceof ClassType ? type.findAttributeSlot(name) : undefined;
  if (slot === undefined) throw unsupported(`attribute ${name} of ${type.reprStr()}`);
  return slot;
}

function unsupported(what: string): CressetError {
  return new CressetError('BYTECODE_UNSUPPORTED', `${what} is not supported in mobile module.`);
}
