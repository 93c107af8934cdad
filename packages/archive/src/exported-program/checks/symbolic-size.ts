import { Parser, type Expr } from '@cresset/frontend';
import { CressetError, Source } from '@cresset/ir';

/** A size that is worked out of symbols (PyTorch: the expression of a SymInt). */
export interface SymbolicSize {
  /** As sympy prints it, which is the key of its range too. */
  readonly text: string;
  /** Its two numbers, where it is `factor * symbol + addend`. */
  readonly linear: { readonly factor: bigint; readonly addend: bigint } | null;
  readonly symbols: ReadonlySet<string>;
  /** The one symbol that it is, if it is nothing else. */
  readonly symbol: string | null;
  /** Null where it has functions that are not known here. */
  evaluate(values: ReadonlyMap<string, bigint>): bigint | null;
}

/** Reads what `sympy.srepr` writes: `Add(Symbol('s77', positive=True, integer=True), Integer(1))`. Throws an ErrorReport where it is none. */
export function parseSymbolicSize(text: string): SymbolicSize {
  const expr = new Parser(new Source(text), 'python').parseExp();
  const symbols = new Set<string>();
  collectSymbols(expr, symbols);
  const linear = linearForm(expr, symbols);
  return {
    text: linear ? linearText([...symbols][0], linear) : sympyText(expr),
    linear,
    symbols,
    symbol: headOf(expr) === 'Symbol' ? [...symbols][0] : null,
    evaluate: (values) => evaluate(expr, values),
  };
}

/** A derived size is worked out of one symbol with sums and products alone. */
function linearForm(expr: Expr, symbols: ReadonlySet<string>): SymbolicSize['linear'] {
  const [symbol] = symbols;
  if (symbols.size !== 1 || !isPolynomial(expr)) return null;
  const [zero, one, two] = [0n, 1n, 2n].map((value) => evaluate(expr, new Map([[symbol, value]]))!);
  return two - one === one - zero && one !== zero ? { factor: one - zero, addend: zero } : null;
}

function isPolynomial(expr: Expr): boolean {
  const head = headOf(expr);
  return (
    head === 'Symbol' || head === 'Integer' || (/^(Add|Mul)$/.test(head ?? '') && partsOf(expr).every(isPolynomial))
  );
}

function linearText(symbol: string, { factor, addend }: { readonly factor: bigint; readonly addend: bigint }): string {
  const size = factor < 0n ? -factor : factor;
  const product = size === 1n ? symbol : `${size}*${symbol}`;
  if (addend === 0n) return factor < 0n ? `-${product}` : product;
  if (factor > 0n) return `${product} ${addend < 0n ? '-' : '+'} ${addend < 0n ? -addend : addend}`;
  return addend > 0n ? `${addend} - ${product}` : `-${product} - ${-addend}`;
}

function headOf(expr: Expr): string | null {
  return expr.kind === 'apply' && expr.callee.kind === 'var' ? expr.callee.name.name : null;
}

const partsOf = (expr: Expr): readonly Expr[] => (expr.kind === 'apply' ? expr.inputs : []);

function symbolName(expr: Expr): string {
  const [name] = partsOf(expr);
  if (name?.kind !== 'string') throw new CressetError('EXPORT_MALFORMED', 'the program has a symbol without a name');
  return name.text;
}

function collectSymbols(expr: Expr, found: Set<string>): void {
  if (headOf(expr) === 'Symbol') found.add(symbolName(expr));
  else for (const part of partsOf(expr)) collectSymbols(part, found);
}

function intOf(expr: Expr): bigint | null {
  if (expr.kind === 'const' && typeof expr.value === 'bigint') return expr.value;
  if (expr.kind !== 'unary' || expr.op !== '-') return null;
  const value = intOf(expr.operand);
  return value === null ? null : -value;
}

const floorDiv = (a: bigint, b: bigint): bigint => (a - (((a % b) + b) % b)) / b;

function evaluate(expr: Expr, values: ReadonlyMap<string, bigint>): bigint | null {
  const head = headOf(expr);
  if (head === 'Symbol') return values.get(symbolName(expr)) ?? null;
  if (head === 'Integer') return intOf(partsOf(expr)[0]);
  const parts = partsOf(expr).map((part) => evaluate(part, values));
  if (parts.some((part) => part === null) || parts.length === 0) return null;
  const [first, second] = parts as bigint[];
  switch (head) {
    case 'Add':
      return (parts as bigint[]).reduce((sum, part) => sum + part);
    case 'Mul':
      return (parts as bigint[]).reduce((product, part) => product * part);
    case 'Pow':
    case 'PowByNatural':
      return second >= 0n ? first ** second : null;
    case 'FloorDiv':
    case 'CleanDiv':
      return second === 0n ? null : floorDiv(first, second);
    case 'CeilDiv':
      return second === 0n ? null : -floorDiv(-first, second);
    case 'Mod':
    case 'PythonMod':
      return second === 0n ? null : first - second * floorDiv(first, second);
    case 'Max':
      return (parts as bigint[]).reduce((best, part) => (part > best ? part : best));
    case 'Min':
      return (parts as bigint[]).reduce((best, part) => (part < best ? part : best));
    default:
      return null;
  }
}

/** Whole numbers come last in a sum, and first in a product. */
function sympyText(expr: Expr): string {
  const head = headOf(expr);
  const parts = partsOf(expr);
  const isInt = (part: Expr): boolean => headOf(part) === 'Integer';
  const numbersTo = (place: 'front' | 'end'): readonly Expr[] => {
    const numbers = parts.filter(isInt);
    const others = parts.filter((part) => !isInt(part));
    return place === 'front' ? [...numbers, ...others] : [...others, ...numbers];
  };
  switch (head) {
    case 'Symbol':
      return symbolName(expr);
    case 'Integer':
      return `${intOf(parts[0])}`;
    case 'Add':
      return numbersTo('end').map(sympyText).join(' + ').replaceAll('+ -', '- ');
    case 'Mul':
      return numbersTo('front')
        .map((part) => (headOf(part) === 'Add' ? `(${sympyText(part)})` : sympyText(part)))
        .join('*')
        .replace(/^-1\*/, '-');
    case 'FloorDiv':
      return `(${parts.map((part) => (headOf(part) === 'Add' ? `(${sympyText(part)})` : sympyText(part))).join('//')})`;
    default:
      return `${head}(${parts.map(sympyText).join(', ')})`;
  }
}
