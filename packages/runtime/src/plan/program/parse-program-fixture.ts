import {
  contiguousStrides,
  elementSize,
  ShapeEnv,
  Storage,
  symAdd,
  symFloorDiv,
  symMul,
  Tensor,
  type ScalarType,
  type SymInt,
} from '@cresset/tensor';
import {
  accumulator,
  axis,
  binary,
  cast,
  constant,
  exprTypeOf,
  param,
  reduce,
  select,
  unary,
  unaryFunctions,
  type AxisExpr,
  type BinaryFunction,
  type Expr,
  type ExprType,
  type Kernel,
  type LaunchRecorder,
  type ReduceFunction,
  type Store,
  type UnaryFunction,
} from '@cresset/tensorexpr';
import { recorderOf } from '../passes/launches-fixture.ts';
import { launchStep, type LaunchProgram, type ProgramStep, type ProgramStorage } from './launch-program.ts';
import { programText } from './program-text.ts';

/** A program that was read from text, with the names of its storages there. */
export interface ParsedProgram {
  readonly program: LaunchProgram;
  readonly names: ReadonlyMap<Storage, string>;
  /** The text of what a pass made of it. */
  textOf(program: LaunchProgram): string;
}

/**
 * Reads programs of launches as `programText` prints them: storages, what is kept, and launches of nests, products and recurrences. A line
 * `@p = @x, 100 elements from 50` gives a name to a part of a storage.
 *
 * @param sizes what symbols are now, in their order
 */
export function parseProgram(
  text: string,
  sizes: readonly number[] = [],
  recorder: Pick<LaunchRecorder, 'prepare'> = recorderOf(),
): ParsedProgram {
  const env = sizes.length > 0 ? new ShapeEnv() : null;
  const symbols = new Map(sizes.map((size, at): [string, SymInt] => [`s${at}`, env!.symbol(size)]));
  const sizeOf = (words: string): SymInt => {
    const factor = (word: string): SymInt => symbols.get(word) ?? Number(word);
    return words
      .split(' + ')
      .map((term) => term.split('*').map(factor).reduce(symMul))
      .reduce(symAdd);
  };
  const tensors = new Map<string, Tensor>();
  const names = new Map<Storage, string>();
  const storages = new Map<Storage, ProgramStorage>();
  const steps: ProgramStep[] = [];
  // What a kernel stores stands below its axes.
  const joined = text.replace(/\n {4,}/g, ' ; ');
  for (const line of joined.split('\n').map((each) => each.trim())) {
    const declared = /^(@\w+): (\w+), (.*) bytes, (\w+)( parameter)?(?: in (@\w+))?$/.exec(line);
    const part = /^(@\w+) = (@\w+), (\d+) elements from (\d+)$/.exec(line);
    if (declared) {
      const [, name, type, bytes, kind, isParameter, home] = declared;
      const dtype = type as ScalarType;
      const count = symFloorDiv(sizeOf(bytes), elementSize(dtype));
      const storage = Storage.planned(dtype, count);
      names.set(storage, name);
      tensors.set(name, new Tensor(storage, dtype, [count], contiguousStrides([count])));
      storages.set(storage, {
        kind: kind as ProgramStorage['kind'],
        dtype,
        layout: dtype,
        ...(isParameter && { isParameter: true }),
        ...(home && { home: tensors.get(home)!.storage }),
      });
    } else if (part) {
      const [, name, whole, count, first] = part;
      tensors.set(name, tensors.get(whole)!.asStrided([Number(count)], [1], Number(first)));
    } else if (line.startsWith('launch') || line.startsWith('keep')) {
      const [, op, turn, kernelText] = /^(launch|keep)(?: in turn (\d+))? (.*)$/.exec(line)!;
      const kernel = new KernelParser(kernelText, tensors, sizeOf).kernel();
      const launch = recorder.prepare(kernel)!;
      const [{ operand }] = kernel.stores;
      if (op === 'keep') steps.push({ op: 'keep', storage: operand.tensor.storage, launch, kernel });
      else steps.push({ ...launchStep(launch), ...(turn && { turn: Number(turn) }) });
    } else if (line !== '' && line !== 'program:' && !line.startsWith('guard')) throw new SyntaxError(line);
  }
  const program = { steps, storages, env };
  return { program, names, textOf: (made) => programText(made, names) };
}

const levels: readonly (readonly [sign: string, fn: BinaryFunction])[][] = [
  [
    ['==', 'eq'],
    ['<', 'lt'],
    ['>', 'gt'],
  ],
  [
    ['+', 'add'],
    ['-', 'sub'],
  ],
  [
    ['*', 'mul'],
    ['/', 'div'],
  ],
];

class KernelParser {
  readonly #tokens: string[];
  readonly #axes = new Map<string, AxisExpr>();
  /** Whether what is read is the place of an element, or an extent: numbers there are params. */
  #isIndex = 0;

  constructor(
    text: string,
    private readonly tensors: ReadonlyMap<string, Tensor>,
    private readonly sizeOf: (words: string) => SymInt,
  ) {
    this.#tokens = text.match(/\+=|sum=|[<>=!]=|&&|\|\||@\w+|[\w.+]*\w(?:\+\w+)*|\S/g)!;
  }

  #next(expected?: string): string {
    const token = this.#tokens.shift()!;
    if (expected !== undefined && token !== expected) throw new SyntaxError(`${token} in the place of ${expected}`);
    return token;
  }

  #take(token: string): boolean {
    if (this.#tokens[0] !== token) return false;
    this.#tokens.shift();
    return true;
  }

  kernel(): Kernel {
    const label = this.#next();
    this.#next('(');
    const loops: AxisExpr[][] = [[]];
    while (!this.#take(')')) {
      if (this.#take(';')) loops.push([]);
      else if (!this.#take(',')) loops.at(-1)!.push(this.#loop());
    }
    const [axes, innerAxes = [], [time] = []] = loops;
    this.#next(';');
    const isProduct = this.#tokens[0] === 'sum' && this.#tokens[1] === '+=';
    if (isProduct) {
      this.#tokens.splice(0, 2);
      const product = this.#expr();
      if (product.kind !== 'binary' || product.fn !== 'mul') throw new SyntaxError('no product');
      this.#next(';');
      const [m, n] = axes.slice(-2);
      const { x: left, y: right } = product;
      return {
        kind: 'contraction',
        label,
        batch: axes.slice(0, -2),
        m,
        n,
        k: innerAxes[0],
        left,
        right,
        stores: this.#stores(),
      };
    }
    const nest = { label, axes, innerAxes, stores: this.#stores() };
    return time ? { ...nest, kind: 'recurrence', time } : { ...nest, kind: 'nest' };
  }

  #loop(): AxisExpr {
    const name = this.#next();
    this.#next(':');
    const made = axis(name, this.#index());
    this.#axes.set(name, made);
    return made;
  }

  #index(): Expr {
    this.#isIndex++;
    const made = this.#expr();
    this.#isIndex--;
    return made;
  }

  #stores(): Store[] {
    const stores: Store[] = [];
    do {
      const guard = this.#take('if') ? this.#expr() : null;
      if (guard) this.#next(':');
      const tensor = this.tensors.get(this.#next())!;
      this.#next('[');
      const offset = this.#index();
      this.#next(']');
      const combine = this.#take('sum=') ? ('sum' as const) : null;
      if (!combine) this.#next('=');
      const value = this.#expr();
      const operand = { tensor, dtype: tensor.dtype };
      stores.push({ operand, offset, value, ...(guard && { guard }), ...(combine && { combine }) });
    } while (this.#take(';'));
    return stores;
  }

  #expr(): Expr {
    return this.#binary(0);
  }

  #binary(level: number): Expr {
    if (level === levels.length) return this.#leaf();
    let x = this.#binary(level + 1);
    for (;;) {
      const found = levels[level].find(([sign]) => sign === this.#tokens[0]);
      if (!found) return x;
      this.#next();
      const y = this.#binary(level + 1);
      const sizes = [x, y].map((side) => (side.kind === 'param' ? (side.sym ?? side.value) : null));
      const [a, b] = sizes as SymInt[];
      const isSize = this.#isIndex > 0 && a !== null && b !== null && (typeof a === 'object' || typeof b === 'object');
      x = isSize ? param('i32', (found[1] === 'mul' ? symMul : symAdd)(a, b)) : binary(found[1], x, y);
    }
  }

  #leaf(): Expr {
    const token = this.#next();
    if (token === '(') return this.#inBrackets();
    if (token === '-') return this.#number(`-${this.#next()}`);
    if (/^\d/.test(token)) return this.#number(token);
    if (token === 'sum' && this.#tokens[0] !== '[') return accumulator;
    const known = this.#axes.get(token);
    if (known) return known;
    const tensor = this.tensors.get(token);
    if (tensor) {
      this.#next('[');
      const offset = this.#index();
      this.#next(']');
      return { kind: 'load', type: exprTypeOf(tensor.dtype), operand: { tensor, dtype: tensor.dtype }, offset };
    }
    if (/^s\d+$/.test(token)) return param('i32', this.sizeOf(token) as number);
    if (this.#take('[')) {
      const axes = [this.#loop()];
      while (this.#take(',')) axes.push(this.#loop());
      this.#next(']');
      this.#next('(');
      return reduce(token as ReduceFunction, axes, this.#inBrackets());
    }
    this.#next('(');
    const args: Expr[] = [];
    do args.push(this.#expr());
    while (this.#take(','));
    this.#next(')');
    if (args.length === 3) return select(args[0], args[1], args[2]);
    if (args.length === 2) return binary(token as BinaryFunction, args[0], args[1]);
    const isUnary = (unaryFunctions as readonly string[]).includes(token);
    return isUnary ? unary(token as UnaryFunction, args[0]) : cast(token as ExprType, args[0]);
  }

  #inBrackets(): Expr {
    const made = this.#expr();
    this.#next(')');
    return made;
  }

  #number(text: string): Expr {
    const value = Number(text);
    if (this.#isIndex === 0) return constant('float', value);
    return value === 0 || value === 1 ? constant('i32', value) : param('i32', value);
  }
}
