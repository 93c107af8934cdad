import { gradientName, resultNames } from './formula-names.ts';
import { refusalOf, type DerivativeFormulas, type Signature } from '@cresset/operators/parts/derivatives';

/** One formula as a function in TorchScript. */
export interface FormulaText {
  readonly source: string;
  /** The names of its parameters: what has to be kept of a call, and gradients. */
  readonly parameters: readonly string[];
  /** The inputs that it gives the gradients of. */
  readonly inputs: readonly string[];
  /** PyTorch's error, where it does not have these gradients; there is no source then. */
  readonly refusal: string | null;
}

/** The formulas of an operator as functions, `signature` being the one that they were written for. */
export function formulaTexts(
  { args, returns }: Signature,
  formulas: DerivativeFormulas,
  helpers: Readonly<Record<string, string>>,
): FormulaText[] {
  const types = new Map(args.map(({ name, type }) => [name, scriptType(type)]));
  resultNames(returns).forEach((name, at) => types.set(name, scriptType(returns[at].type)));
  returns.forEach((_, at) => types.set(gradientName(at), 'Tensor'));
  const tensors = [...types]
    .filter(([name, type]) => type === 'Tensor' && !/^grad\d*$/.test(name))
    .map(([name]) => name);
  for (const name of tensors) {
    types.set(sizesName(name), 'List[int]');
    types.set(stridesName(name), 'List[int]');
    types.set(offsetName(name), 'int');
  }
  types.set('grads', 'List[Tensor]');
  types.set('wanted', 'List[bool]');
  types.set('arrived', 'List[bool]');
  return Object.entries(formulas)
    .filter(([inputs]) => !/^[=~*]$/.test(inputs))
    .map(([inputs, written]) => {
      const refusal = refusalOf(written);
      if (refusal !== null) return { source: '', parameters: [], inputs: inputs.split(', '), refusal };
      const text = tensors.reduce(withLayoutAlone, written);
      const names = namesIn(text);
      const parameters = [...types.keys()].filter((name) => names.has(name));
      const declared = parameters.map((name) => `${name}: ${types.get(name)}`).join(', ');
      const source = `def formula(${declared}):\n${bodyOf(text)}${helpersIn(names, helpers)}`;
      return { source, parameters, inputs: inputs.split(', '), refusal: null };
    });
}

/** An operator in terms of others: a function of its arguments. */
export function compositionText({ args }: Signature, text: string, helpers: Readonly<Record<string, string>>): string {
  const declared = args.map(({ name, type }) => `${name}: ${scriptType(type)}`).join(', ');
  return `def composition(${declared}):\n${bodyOf(text)}${helpersIn(namesIn(text), helpers)}`;
}

function bodyOf(text: string): string {
  const lines = text.includes('\n') ? text.trim().split('\n') : [`return ${text}`];
  return lines.map((line) => `    ${line}\n`).join('');
}

export const sizesName = (name: string): string => `${name}_sizes`;
export const stridesName = (name: string): string => `${name}_strides`;
export const offsetName = (name: string): string => `${name}_offset`;

/** Where a text asks nothing of a tensor but how it lies in memory, that is kept in its place: it may then be written to. */
function withLayoutAlone(text: string, name: string): string {
  const sizes = sizesName(name);
  const at = (method: string): RegExp => new RegExp(`(?<![.\\w])${name}\\.${method}`, 'g');
  const asked = text
    .replaceAll(at('size\\(\\)'), sizes)
    .replaceAll(at('dim\\(\\)'), `len(${sizes})`)
    .replaceAll(at('numel\\(\\)'), `reduced_count(${sizes}, None)`)
    .replaceAll(at('size\\(([^()]+)\\)'), `${sizes}[$1]`)
    .replaceAll(at('stride\\(\\)'), stridesName(name))
    .replaceAll(at('storage_offset\\(\\)'), offsetName(name));
  return namesIn(asked).has(name) ? text : asked;
}

/** Identifiers that are no attribute and no keyword of a call. */
function namesIn(text: string): Set<string> {
  return new Set(text.match(/(?<![.\w"])[A-Za-z_]\w*/g) ?? []);
}

/** The functions that a text calls, with those that they call. */
function helpersIn(names: ReadonlySet<string>, helpers: Readonly<Record<string, string>>): string {
  const found = new Set<string>();
  const search = (all: ReadonlySet<string>): void => {
    for (const name of all) {
      if (!Object.hasOwn(helpers, name) || found.has(name)) continue;
      found.add(name);
      search(namesIn(helpers[name]));
    }
  };
  search(names);
  return [...found].map((name) => `\n${helpers[name].trim()}\n`).join('');
}

/** A schema's type in TorchScript: `SymInt[]?` is `Optional[List[int]]`. */
function scriptType(type: string): string {
  if (type.endsWith('?')) return `Optional[${scriptType(type.slice(0, -1))}]`;
  if (type.endsWith('[]')) return `List[${scriptType(type.slice(0, -2))}]`;
  return scriptNames[type] ?? type;
}

const scriptNames: Readonly<Record<string, string>> = {
  Scalar: 'number',
  SymInt: 'int',
  ScalarType: 'int',
  MemoryFormat: 'int',
  Layout: 'int',
};
