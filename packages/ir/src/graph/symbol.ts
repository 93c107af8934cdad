import { CressetError } from '../error.ts';

/**
 * A qualified name such as `aten::add`, `prim::If` or `attr::value` (PyTorch: Symbol).
 *
 * Plain strings: JavaScript engines compare equal literals by pointer, so an interning table would buy nothing.
 */
export type Symbol = string;

/** The part before `::`, or '' where there is none. */
export function symbolNamespace(symbol: Symbol): string {
  const at = symbol.indexOf('::');
  return at === -1 ? '' : symbol.slice(0, at);
}

/** The part after `::`, or the whole where there is none (PyTorch: toUnqualString). */
export function unqualifiedName(symbol: Symbol): string {
  const at = symbol.indexOf('::');
  return at === -1 ? symbol : symbol.slice(at + 2);
}

/** Returns `text` as a Symbol; throws `IR_PARSE` unless it has the form `namespace::name` (PyTorch: fromQualString). */
export function symbolFromQualString(text: string): Symbol {
  const at = text.indexOf('::');
  if (at <= 0 || at + 2 === text.length) {
    throw new CressetError('IR_PARSE', `malformed symbol '${text}': expected namespace::name`);
  }
  return text;
}

export const isPrim = (symbol: Symbol): boolean => symbol.startsWith('prim::');
export const isAten = (symbol: Symbol): boolean => symbol.startsWith('aten::');

/** The namespace of functions that programs leave to whoever runs them: PyTorch's prim::PythonOp, of which each has a name of its own here. */
const IGNORED = 'python::';

/** The node kind that stands for a function outside of the program. Functions of one name are told apart by `number`. */
export const ignoredFunctionKind = (name: string, number: number): Symbol => `${IGNORED}${name}__${number}`;

/** The name of the function that a node kind stands for; undefined where it is an operator. */
export function ignoredFunctionName(kind: Symbol): string | undefined {
  return kind.startsWith(IGNORED) ? kind.slice(IGNORED.length).replace(/__\d+$/, '') : undefined;
}
