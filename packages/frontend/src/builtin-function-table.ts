import { invariant, operatorsFor, type GraphFunction, type Symbol } from '@cresset/ir';

/** The functions of a TorchScript text; those whose types are all written down are compiled when their graphs are asked for. */
export type SourceCompiler = (source: string) => readonly GraphFunction[];

/** A function of the operator's name, as TorchScript with all types written down. */
type BuiltinText = readonly [name: Symbol, text: string];

/**
 * Overloads of operators that PyTorch defines in TorchScript itself (PyTorch: BuiltinFunctionRegistry), in the order in which they are tried.
 */
function builtinTexts(): readonly BuiltinText[] {
  const texts: BuiltinText[] = [];
  for (const scalar of ['float', 'int', 'complex']) texts.push(...scalarOperators(scalar));
  const tuples = ['single', 'pair', 'triple', 'quadruple'];
  for (const scalar of ['float', 'int', 'complex']) {
    for (const [index, name] of tuples.entries()) {
      const list = `x: BroadcastingList${index + 1}[${scalar}]`;
      texts.push([`aten::_${name}`, `def _${name}(${list}) -> List[${scalar}]:\n  return x\n`]);
    }
  }
  for (const type of ['number', 'Tensor']) {
    const parameters = `self: Tensor, other: ${type}`;
    texts.push([
      'aten::floordiv',
      `def floordiv(${parameters}) -> Tensor:\n  return torch.floor_divide(self, other)\n`,
    ]);
  }
  // The compiler stands without the library's operators, and those of strings may not be there.
  if (operatorsFor('aten::find').length > 0) texts.push(['aten::__contains__', STRING_CONTAINS]);
  texts.push(['aten::list_with_default', LIST_WITH_DEFAULT]);
  for (const type of ['bool', 'Tensor']) {
    texts.push(['aten::_assert', `def _assert(condition: ${type}, message: str):\n  assert condition, message\n`]);
  }
  for (const [name, type, body] of TENSOR_PROPERTIES) {
    texts.push([`prim::${name}`, `def ${name}(a: Tensor) -> ${type}:\n  return a.${body}()\n`]);
  }
  return texts;
}

/** Operators with the number on the left; most turn around the one with the number on the right. */
function scalarOperators(scalar: string): readonly BuiltinText[] {
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
  return bodies.map(([name, body]) => [
    `aten::${name}`,
    `def ${name}(a: ${scalar}, b: Tensor) -> Tensor:\n  return ${body}\n`,
  ]);
}

const STRING_CONTAINS = `
def __contains__(self: str, key: str) -> bool:
  return self.find(key, start=0, end=len(self)) != -1
`;

const LIST_WITH_DEFAULT = `
def list_with_default(out_size: List[int], defaults: List[int]) -> List[int]:
  assert len(defaults) > len(out_size)
  return out_size
`;

const TENSOR_PROPERTIES: readonly (readonly [name: string, type: string, method: string])[] = [
  ['ndim', 'int', 'dim'],
  ['T', 'Tensor', 'numpy_T'],
  ['H', 'Tensor', 'matrix_H'],
  ['shape', 'List[int]', 'size'],
];

/** Each is read when a call first has its name, and compiled when a call first means it. */
class BuiltinFunctionTable {
  #texts: Map<Symbol, string[]> | undefined;
  readonly #functions = new Map<Symbol, readonly GraphFunction[]>();
  #compile: SourceCompiler | undefined;

  /** Hands in the compiler, which this file cannot import: it asks for builtins itself. */
  useCompiler(compile: SourceCompiler): void {
    this.#compile = compile;
  }

  /** Functions whose names are those of operators; throws `IR_INVARIANT` before there is a compiler. */
  compile(source: string): readonly GraphFunction[] {
    invariant(this.#compile !== undefined, 'builtin functions are compiled before there is a compiler');
    return this.#compile(source);
  }

  functionsFor(name: Symbol): readonly GraphFunction[] {
    if (this.#compile === undefined) return [];
    let functions = this.#functions.get(name);
    if (functions === undefined) {
      // Each text makes functions of its own, so that overloads of one name can differ in types.
      functions = (this.#textsByName().get(name) ?? []).flatMap(this.#compile);
      this.#functions.set(name, functions);
    }
    return functions;
  }

  #textsByName(): ReadonlyMap<Symbol, readonly string[]> {
    if (this.#texts === undefined) {
      this.#texts = new Map();
      for (const [name, text] of builtinTexts()) {
        const known = this.#texts.get(name);
        if (known === undefined) this.#texts.set(name, [text]);
        else known.push(text);
      }
    }
    return this.#texts;
  }
}

export const builtinFunctionTable = new BuiltinFunctionTable();
