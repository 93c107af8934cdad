import { isEqual, pythonRepr, pythonTypeName } from '@cresset/frontend';
import { CressetError, type Argument, type ArgumentBinder, type FunctionSchema } from '@cresset/ir';
import { Dict, List, Tensor, Tuple, type IValue } from '@cresset/tensor';
import { flatten, leafPaths, treeOf, treeText, type TreeSpec } from '../tree/tree-spec.ts';
import { parseGuard } from './guard-expression.ts';
import type { SymbolicSize } from './symbolic-size.ts';

/** A size of an input, or an input that is an int: a number, or symbols. */
export type ExpectedSize = bigint | SymbolicSize;

/** What a program was exported with in the place of one flat input. */
export type ExpectedInput =
  | { readonly kind: 'tensor'; readonly sizes: readonly ExpectedSize[] }
  | { readonly kind: 'int'; readonly size: SymbolicSize }
  | { readonly kind: 'constant'; readonly value: IValue };

/** Bounds of a symbol, both included. */
export interface SymbolRange {
  readonly min: bigint | null;
  readonly max: bigint | null;
}

export interface CheckedSignature {
  /** Names of the parameters of `forward`, positional ones first. */
  readonly names: readonly string[];
  readonly positional: readonly TreeSpec[];
  readonly keywords: readonly (readonly [name: string, spec: TreeSpec])[];
  /** One for each leaf, in their order. */
  readonly inputs: readonly ExpectedInput[];
  readonly ranges: ReadonlyMap<string, SymbolRange>;
  /** Conditions that the program was specialised on, as Python text. */
  readonly guards: readonly string[];
  /** Whether the file has example inputs: PyTorch then checks in another way, with other messages. */
  readonly hasExamples: boolean;
}

type Check = (inputs: readonly IValue[]) => void;

/**
 * What PyTorch checks of a call of `ExportedProgram.module()`: names, structure, sizes, numbers and guards, with its messages. Throws
 * `INPUT_NAMES`, `INPUT_STRUCTURE`, `INPUT_GUARD` or `INPUT_SHAPE`.
 */
export class InputChecks implements ArgumentBinder {
  readonly #signature: CheckedSignature;
  readonly #specs: readonly TreeSpec[];
  readonly #checks: readonly Check[];

  constructor(signature: CheckedSignature) {
    this.#signature = signature;
    this.#specs = [...signature.positional, ...signature.keywords.map(([, spec]) => spec)];
    this.#checks = signature.hasExamples ? guardChecks(signature, this.#specs) : constraintChecks(signature);
  }

  bind<Given, Value>(
    { arguments: [, ...parameters] }: FunctionSchema,
    args: readonly Given[],
    kwargs: ReadonlyMap<string, Given>,
    convert: (value: Given, argument: Argument, position: number | null) => Value,
  ): Value[] {
    this.#checkNames(args.length, [...kwargs.keys()]);
    const values = parameters.map((parameter, index) => {
      const isPositional = index < args.length;
      const given = isPositional ? args[index] : kwargs.get(parameter.name)!;
      try {
        return convert(given, parameter, isPositional ? index + 1 : null);
      } catch (error) {
        const isLeaf = this.#specs[index].kind === 'leaf' && !isContainer(given);
        throw isLeaf || !(error instanceof CressetError) ? error : this.#structureError(error.message, error);
      }
    });
    this.check(values as readonly IValue[]);
    return values;
  }

  #checkNames(positional: number, keywords: readonly string[]): void {
    const wanted = this.#signature.keywords.map(([name]) => name);
    if (keywords.length !== wanted.length || keywords.some((name) => !wanted.includes(name))) {
      const list = (names: readonly string[]): string => `[${names.map((name) => `'${name}'`).join(', ')}]`;
      throw new CressetError(
        'INPUT_NAMES',
        `Ran into a kwarg keyword mismatch: Got the following keywords ${list(keywords)} but expected ${list(wanted)}`,
      );
    }
    if (positional !== this.#signature.positional.length)
      throw this.#structureError(`${positional} positional arguments`);
  }

  /** Throws where values of the parameters are none that the program was exported for. */
  check(values: readonly IValue[]): void {
    const leaves: IValue[] = [];
    for (const [index, value] of values.entries()) {
      const found = flatten(this.#specs[index], value);
      if (!found) throw this.#structureError(treeText(treeOf(value)));
      leaves.push(...found);
    }
    for (const check of this.#checks) check(leaves);
  }

  #structureError(received: string, cause?: unknown): CressetError {
    const { positional, keywords } = this.#signature;
    const named = keywords.map(([name, spec]) => `${name}=${treeText(spec)}`);
    const wanted = [...positional.map(treeText), ...named].join(', ');
    return new CressetError(
      'INPUT_STRUCTURE',
      `Trying to flatten user inputs with exported input tree spec: \n(${wanted})\nbut actually got inputs with tree spec of: \n${received}.\nPlease check that the inputs have the same number and type of args and kwargs as the ones you used when tracing.`,
      { cause },
    );
  }
}

/** Whether a value is a list, tuple or dict, as it is or as messages have it. */
function isContainer(value: unknown): boolean {
  if (Array.isArray(value) || value instanceof List || value instanceof Tuple || value instanceof Dict) return true;
  return typeof value === 'object' && value !== null && 'kind' in value && /^(tuple|dict)$/.test(String(value.kind));
}

function sizeAt(input: IValue, dim: number): bigint {
  if (!(input instanceof Tensor))
    throw new CressetError('INPUT_GUARD', `'${pythonTypeName(input)}' object has no attribute 'size'`);
  if (dim >= input.sizes.length) throw new CressetError('INPUT_GUARD', 'tuple index out of range');
  return BigInt(input.sizes[dim]);
}

// ---- with example inputs: guards (PyTorch: _get_input_guards_for_graph, _convert_guards_code_to_fn)

function guardChecks(signature: CheckedSignature, specs: readonly TreeSpec[]): Check[] {
  const { names, inputs, ranges, guards } = signature;
  const sources = specs.flatMap((spec, index) => leafPaths(spec, `L['${names[index]}']`));
  const shown = specs.flatMap((spec, index) => leafPaths(spec, names[index]));
  const checks: Check[] = [];
  /** Where each symbol was seen first. */
  const seen = new Map<string, Read>();
  /** Sizes that are worked out of one symbol, which may be known by nothing else. */
  const derived: { readonly code: string; readonly size: SymbolicSize }[] = [];
  const expect = (read: Read, isMet: (size: bigint, inputs: readonly IValue[]) => boolean, condition: string): void => {
    checks.push((values) => {
      if (!isMet(read.size(values), values)) throw guardError(condition);
    });
  };
  const expectSize = (read: Read, size: ExpectedSize): void => {
    if (typeof size === 'bigint') return expect(read, (given) => given === size, `${read.text} == ${size}`);
    const range = ranges.get(size.text);
    if (!range) return;
    derived.push({ code: read.code, size });
    const first = seen.get(size.text);
    if (first) return expect(read, (given, all) => given === first.size(all), `${read.text} == ${first.text}`);
    seen.set(size.text, read);
    const { min, max } = range;
    // Programs hold for sizes of 0 and 1 too, although they are exported for 2 and more.
    if (min !== null && min > 2n) expect(read, (given) => given >= min, `${read.text} >= ${min}`);
    if (max !== null) expect(read, (given) => given <= max, `${read.text} <= ${max}`);
  };
  inputs.forEach((input, at) => {
    switch (input.kind) {
      case 'tensor':
        input.sizes.forEach((size, dim) => {
          const part = `.size()[${dim}]`;
          const read = { text: shown[at] + part, code: sources[at] + part };
          expectSize({ ...read, size: (values) => sizeAt(values[at], dim) }, size);
        });
        break;
      case 'int':
        expectSize({ text: shown[at], code: sources[at], size: (values) => values[at] as bigint }, input.size);
        break;
      case 'constant':
        checks.push(...constantGuard(input.value, at, shown[at]));
        break;
    }
  });
  for (const code of [...derivedGuards(derived, seen), ...guards]) {
    const named = code.replaceAll(/L\['flat_args'\]\[(\d+)\]/g, (all, index: string) => sources[Number(index)] ?? all);
    const guard = parseGuard(named, sources, shown);
    checks.push((values) => {
      if (!guard.holds(values)) throw guardError(guard.text);
    });
  }
  return checks;
}

/**
 * Sizes that are derived of a symbol no input has by itself: the first tells what the symbol is, and the others are compared with what
 * follows from that.
 */
function derivedGuards(
  derived: readonly { readonly code: string; readonly size: SymbolicSize }[],
  seen: ReadonlyMap<string, unknown>,
): string[] {
  const definitions = new Map<
    string,
    { readonly code: string; readonly linear: NonNullable<SymbolicSize['linear']> }
  >();
  return derived.flatMap(({ code, size }) => {
    const [symbol] = size.symbols;
    const { linear } = size;
    if (!linear || seen.has(symbol)) return [];
    const known = definitions.get(symbol);
    if (!known) {
      definitions.set(symbol, { code, linear });
      return [];
    }
    // The symbol is (first - addend) / factor.
    const factor = fraction(linear.factor, known.linear.factor);
    const addend = fraction(
      linear.addend * known.linear.factor - linear.factor * known.linear.addend,
      known.linear.factor,
    );
    const product = factor === '1' ? known.code : `(${factor})*${known.code}`;
    return [`${addend === '0' ? '' : `(${addend}) + `}${product} == ${code}`];
  });
}

/** A fraction in lowest terms, as Python text. */
function fraction(numerator: bigint, denominator: bigint): string {
  const divisor = (a: bigint, b: bigint): bigint => (b === 0n ? (a < 0n ? -a : a) : divisor(b, a % b));
  const common = divisor(numerator, denominator) * (denominator < 0n ? -1n : 1n);
  return denominator / common === 1n ? `${numerator / common}` : `${numerator / common}/${denominator / common}`;
}

interface Read {
  /** As a message has it, and as guards have it. */
  readonly text: string;
  readonly code: string;
  size(inputs: readonly IValue[]): bigint;
}

/** A number or text that was fixed at export. None may be anything. */
function constantGuard(value: IValue, at: number, name: string): Check[] {
  if (value === null) return [];
  const isNumber = typeof value === 'number';
  const isNaN = isNumber && Number.isNaN(value);
  const shown = isNumber && Math.abs(value) === Infinity ? `${value < 0 ? '-' : ''}math.inf` : pythonRepr(value);
  const condition = isNaN ? `math.isnan(${name})` : `${name} == ${shown}`;
  return [
    (values) => {
      if (!(isNaN ? Number.isNaN(values[at]) : isSameConstant(values[at], value))) throw guardError(condition);
    },
  ];
}

/** Python's `==`, for which 1, 1.0 and True are one. */
function isSameConstant(given: IValue, wanted: IValue): boolean {
  const number = (value: IValue): bigint | number | null => {
    if (typeof value === 'boolean') return BigInt(value);
    if (value instanceof Tensor && value.numel === 1) return value.contiguousArray()[0];
    return typeof value === 'bigint' || typeof value === 'number' ? value : null;
  };
  const [a, b] = [number(given), number(wanted)];
  return a !== null && b !== null ? isEqual(a, b) : given === wanted;
}

const guardError = (condition: string): CressetError => new CressetError('INPUT_GUARD', `Guard failed: ${condition}`);

// ---- without: constraints (PyTorch: _check_input_constraints_for_graph)

function constraintChecks({ positional, keywords, inputs, ranges }: CheckedSignature): Check[] {
  const paths = [
    ...positional.flatMap((spec, index) => leafPaths(spec, `*args[${index}]`)),
    ...keywords.flatMap(([name, spec]) => leafPaths(spec, name)),
  ];
  return [
    (values) => {
      const symbols = new Map<string, bigint>();
      inputs.forEach((input, at) => {
        const given = values[at];
        const path = paths[at];
        if (input.kind === 'constant') expectConstant(input.value, given, path);
        else if (input.kind === 'int') expectSize(input.size, given as bigint, path, symbols, ranges);
        else expectTensor(input.sizes, given, path, symbols, ranges);
      });
    },
  ];
}

const shapeError = (message: string): CressetError => new CressetError('INPUT_SHAPE', message);

function expectTensor(
  sizes: readonly ExpectedSize[],
  given: IValue,
  path: string,
  symbols: Map<string, bigint>,
  ranges: ReadonlyMap<string, SymbolRange>,
): void {
  if (!(given instanceof Tensor))
    throw shapeError(`Expected input at ${path} to be a tensor, but got <class '${pythonTypeName(given)}'>`);
  if (given.sizes.length !== sizes.length) {
    const shape = (each: readonly unknown[]): string => `torch.Size([${each.join(', ')}])`;
    const wanted = sizes.map((size) => (typeof size === 'bigint' ? size : size.text));
    throw shapeError(
      `Unexpected number of dimensions in input at ${path}.shape (expected ${shape(wanted)}, got ${shape(given.sizes)})`,
    );
  }
  sizes.forEach((size, dim) => expectSize(size, BigInt(given.sizes[dim]), `${path}.shape[${dim}]`, symbols, ranges));
}

function expectSize(
  size: ExpectedSize,
  given: bigint,
  path: string,
  symbols: Map<string, bigint>,
  ranges: ReadonlyMap<string, SymbolRange>,
): void {
  if (typeof size === 'bigint') {
    if (given === size) return;
    throw shapeError(
      `Expected input at ${path} to be equal to ${size}, but got ${given}. If you meant for this dimension to be dynamic, please re-export and specify dynamic_shapes (e.g. with Dim.DYNAMIC)`,
    );
  }
  // What is worked out of several symbols is asserted within the program.
  if (size.symbols.size !== 1) return;
  const [symbol] = size.symbols;
  if (symbols.has(symbol)) {
    const wanted = size.evaluate(symbols);
    if (wanted !== null && given !== wanted)
      throw shapeError(`Expected input at ${path} to be equal to ${wanted}, but got ${given}`);
  } else {
    const solution = size.symbol === symbol ? given : solve(size, symbol, given);
    if (solution === null) {
      throw shapeError(
        `Expected input ${path} = ${given} to be of the form ${size.text}, where ${symbol} is an integer`,
      );
    }
    symbols.set(symbol, solution);
  }
  const range = ranges.get(size.text);
  if (range?.min != null && range.min > 2n && given < range.min)
    throw shapeError(`Expected input at ${path} to be >= ${range.min}, but got ${given}`);
  if (range?.max != null && given > range.max)
    throw shapeError(`Expected input at ${path} to be <= ${range.max}, but got ${given}`);
}

/** The whole number for which a size comes to what is given; null where there is none. Derived sizes are multiples with something added. */
function solve(size: SymbolicSize, symbol: string, given: bigint): bigint | null {
  const at = (value: bigint): bigint | null => size.evaluate(new Map([[symbol, value]]));
  const [zero, one] = [at(0n), at(1n)];
  if (zero === null || one === null || one === zero) return null;
  const factor = one - zero;
  const solution = (given - zero) / factor;
  return at(solution) === given ? solution : null;
}

function expectConstant(wanted: IValue, given: IValue, path: string): void {
  if (wanted === null || (typeof wanted === typeof given && isSameConstant(given, wanted))) return;
  if (typeof wanted === 'number' && Number.isNaN(wanted)) {
    if (typeof given === 'number' && Number.isNaN(given)) return;
    throw shapeError(`Expected input at ${path} to be nan, but got ${pythonRepr(given)}`);
  }
  const text = (value: IValue): string => (typeof value === 'string' ? value : pythonRepr(value));
  throw shapeError(`Expected input at ${path} to be equal to ${text(wanted)}, but got ${text(given)}`);
}
