import { InterfaceType, printNode, type Graph, type Node } from '@cresset/ir';
import { StackCodeEmitter, type MobileCode } from './mobile-code.ts';

/** How many operands an instruction has that is printed; one for all others (runtime/instruction.h). */
const operandCounts: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    (
      'DROP RET WAIT TUPLE_INDEX RAISE_EXCEPTION DICT_INDEX UNCHECKED_CAST __IS__ UN_INITIALIZED __ISNOT__ DEVICE DTYPE DIM __NOT__ TO_LIST ' +
      'NUM_TO_TENSOR IS_CUDA'
    )
      .split(' ')
      .map((op) => [op, 0]),
  ),
  ...Object.fromEntries(
    'OPN STOREN LOOP TYPECHECK INTERFACE_CALL NAMED_TUPLE_CONSTRUCT LIST_CONSTRUCT DICT_CONSTRUCT ISINSTANCE TUPLE_SLICE FORK ENTER EXIT'
      .split(' ')
      .map((op) => [op, 2]),
  ),
};

/** Behind these stands the node that they come from. */
const withNodes: ReadonlySet<string> = new Set(['OP', 'OPN', 'CALL']);

/**
 * A graph as PyTorch compiles it for its interpreter, in the text of `operator<<(std::ostream&, const Code&)`: the graph, then one line an instruction, with its
 * place, its operands in the order X, N, and the node of what is called. The graph is left as it is. Throws `BYTECODE_UNSUPPORTED` for an
 * attribute that its class has not.
 */
export function listCode(graph: Graph): string {
  const own = graph.copy();
  // Before nodes are put in that give up values.
  const text = own.toString();
  const emitter = new CodeEmitter(own);
  const { instructions } = emitter.emit();
  const lines = instructions.map(({ op, x, n }, at) => {
    const operands = [x, n].slice(0, operandCounts[op] ?? 1);
    const node = withNodes.has(op) ? ` # ${printNode(emitter.sources[at]!).trimEnd()}` : '';
    return `${at} ${[op, ...operands].join(' ')}${node}\n`;
  });
  return `${text}\n${lines.join('')}`;
}

interface Bailout {
  /** The place of the jump to it. */
  readonly jump: number;
  readonly instructions: StackCodeEmitter['instructions'];
  readonly sources: readonly (Node | null)[];
}

/** Emits all that PyTorch's interpreter runs: calls, forks, guards and what watches a run, with every argument of an operator. */
class CodeEmitter extends StackCodeEmitter {
  /** The node that each instruction comes from. */
  readonly sources: (Node | null)[] = [];
  #node: Node | null = null;
  readonly #operatorPlaces = new Map<string, number>();
  #operatorCount = 0;
  #functions = 0;
  #forks = 0;
  #watchers = 0;
  /** What guards jump to when they fail, which stands behind everything else. */
  readonly #bailouts: Bailout[] = [];

  override emit(): MobileCode {
    const code = super.emit();
    for (const { jump, instructions, sources } of this.#bailouts) {
      this.instructions[jump].x = this.instructions.length - jump;
      this.instructions.push(...instructions);
      this.sources.push(...sources);
    }
    return code;
  }

  protected override insert(op: string, x = 0, n = 0): number {
    this.sources.push(this.#node);
    return super.insert(op, x, n);
  }

  protected override node(node: Node): void {
    const outer = this.#node;
    this.#node = node;
    this.#emit(node);
    this.#node = outer;
  }

  #emit(node: Node): void {
    const { kind, inputs } = node;
    switch (kind) {
      case 'prim::profile':
      case 'prim::profile_ivalue':
        this.load(inputs);
        this.insert('PROFILE_OP', this.#watchers++);
        break;
      case 'prim::TypeCheck': {
        this.load(inputs);
        const types = node.tys('types').map((type) => this.type(type));
        this.insert('TYPECHECK', types[0], inputs.length);
        break;
      }
      case 'prim::Enter':
      case 'prim::Exit':
        this.load(inputs);
        this.insert(kind === 'prim::Enter' ? 'ENTER' : 'EXIT');
        break;
      case 'prim::BailOut':
        this.#bailOut(node);
        break;
      default:
        super.node(node);
    }
  }

  /** The graph of what is left to do comes first among the inputs, then the tensor that is looked at. */
  #bailOut(node: Node): void {
    this.load(node.inputs.slice(1, 2));
    this.insert('GUARD', this.type(node.output().type));
    const jump = this.insert('JF');
    this.load(node.inputs.slice(2));
    this.insert('TAIL_CALL', this.#functions++);
    this.#bailouts.push({
      jump,
      instructions: this.instructions.splice(jump + 1),
      sources: this.sources.splice(jump + 1),
    });
  }

  protected override call(node: Node): void {
    const { kind, inputs } = node;
    if (kind === 'prim::fork') {
      this.load(inputs);
      this.insert('FORK', this.#forks++, inputs.length);
    } else if (kind === 'prim::CallFunction') {
      this.load(inputs.slice(1));
      this.insert('CALL', this.#functions++);
    } else if (inputs[0].type instanceof InterfaceType) {
      this.load(inputs);
      this.insert('INTERFACE_CALL', this.constants.push(node.s('name')) - 1, inputs.length);
    } else {
      this.load(inputs);
      this.insert('CALL', this.#functions++);
    }
  }

  /** As many entries of the table as there are operators called with other numbers of arguments. */
  protected override operator(node: Node): void {
    const { inputs } = node;
    const operator = node.operator();
    this.load(inputs);
    if (operator.schema.isVararg) {
      this.insert('OPN', this.#operatorCount++, inputs.length);
      return;
    }
    const key = `${operator.name}.${operator.overloadName} ${inputs.length}`;
    let place = this.#operatorPlaces.get(key);
    if (place === undefined) this.#operatorPlaces.set(key, (place = this.#operatorCount++));
    this.insert('OP', place);
  }
}
