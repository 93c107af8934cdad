import { invariant, operatorsFor, type GraphFunction, type Symbol } from '@cresset/ir';

/** Compiles the functions of a TorchScript text. */
export type SourceCompiler = (source: string) => readonly GraphFunction[];

/**
 * Overloads of operators that PyTorch defines in TorchScript itself (PyTorch: BuiltinFunctionRegistry). Each piece of text makes
 * functions of its own, so that overloads of one name can differ in types.
 */
function builtinSources(): readonly (readonly [namespace: string, source: string])[] {
  const sources: [string, string][] = [];
  for (const scalar of ['float', 'int', 'complex']) {
    sources.push(['aten', scalarOperators(scalar)]);
  }
  const tuples = ['single', 'pair', 'triple', 'quadruple'];
  for (const scalar of ['float', 'int', 'complex']) {
    for (const [index, name] of tuples.entries()) {
      const list = `x: BroadcastingList${index + 1}[${scalar}]`;
      sources.push(['aten', `def _${name}(${list}) -> List[${scalar}]:\n  return x\n`]);
    }
  }
  for (const type of ['number', 'Tensor']) {
    sources.push([
      'aten',
      `def floordiv(self: Tensor, other: ${type}) -> Tensor:\n  return torch.floor_divide(self, other)\n`,
    ]);
  }
  // The compiler stands without the library's operators, and those of strings may not be there.
  if (operatorsFor('aten::find').length > 0) sources.push(['aten', STRING_CONTAINS]);
  sources.push(['prim', TENSOR_PROPERTIES]);
  return sources;
}

/** Operators with the number on the left; most turn around the one with the number on the right. */
function scalarOperators(scalar: string): string {
  const bodies: readonly (readonly [name: string, body: string])[] = [
    ['mul', 'b * a'],
    ['add', 'b + a'],
    ['ne', 'b != a'],
    ['eq', 'b == a'],
    ['sub', 'torch.neg(b) + a'],
    ['div', 'torch.reciprocal(b) * a'],
    // Complex numbers have no order.
    ...(scalar === 'complex'
      ? []
      : ([
          ['lt', 'b > a'],
          ['le', 'b >= a'],
          ['gt', 'b < a'],
          ['ge', 'b <= a'],
        ] as const)),
  ];
  return bodies.map(([name, body]) => `def ${name}(a: ${scalar}, b: Tensor) -> Tensor:\n  return ${body}\n`).join('');
}

const STRING_CONTAINS = `
def __contains__(self: str, key: str):
  return self.find(key, start=0, end=len(self)) != -1
`;

const TENSOR_PROPERTIES = `
def ndim(a: Tensor) -> int:
  return a.dim()
def T(a: Tensor) -> Tensor:
  return a.numpy_T()
def H(a: Tensor) -> Tensor:
  return a.matrix_H()
def shape(a: Tensor) -> List[int]:
  return a.size()
`;

/** Compiled on first use, since they are compiled by the very compiler that asks for them. */
class BuiltinFunctionTable {
  readonly #functions = new Map<Symbol, GraphFunction[]>();
  #compile: SourceCompiler | undefined;
  #state: 'unloaded' | 'loading' | 'loaded' = 'unloaded';

  /** Hands in the compiler, which this file cannot import: it asks for builtins itself. */
  useCompiler(compile: SourceCompiler): void {
    this.#compile = compile;
  }

  /** Compiles functions whose names are those of operators; throws `IR_INVARIANT` before there is a compiler. */
  compile(source: string): readonly GraphFunction[] {
    invariant(this.#compile !== undefined, 'builtin functions are compiled before there is a compiler');
    return this.#compile(source);
  }

  /** None while the builtins themselves are being compiled. */
  functionsFor(name: Symbol): readonly GraphFunction[] {
    if (this.#state === 'unloaded' && this.#compile !== undefined) {
      this.#state = 'loading';
      this.#load(this.#compile);
      this.#state = 'loaded';
    }
    return this.#state === 'loaded' ? (this.#functions.get(name) ?? []) : [];
  }

  #load(compile: SourceCompiler): void {
    for (const [namespace, source] of builtinSources()) {
      for (const fn of compile(source)) {
        const symbol = `${namespace}::${fn.name}`;
        const known = this.#functions.get(symbol);
        if (known === undefined) {
          this.#functions.set(symbol, [fn]);
        } else {
          known.push(fn);
        }
      }
    }
  }
}

export const builtinFunctionTable = new BuiltinFunctionTable();
