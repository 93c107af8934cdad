import type { OperatorRow } from './row.ts';
import { parseSignature, type Signature } from './signature.ts';

/** The in-place and `out=` forms of a row, as PyTorch derives them from the functional one. */
export function variantsOf(row: OperatorRow): OperatorRow[] {
  if (row.inPlace === undefined && row.out === undefined) return [];
  const signature = parseSignature(row.schema);
  const traits = { nondeterministic: row.nondeterministic };
  const variants: OperatorRow[] = [];
  if (row.inPlace !== undefined)
    variants.push({
      schema: inPlaceSchema(signature, row.inPlace),
      derived: { from: row, form: 'in-place' },
      ...traits,
    });
  if (row.out !== undefined)
    variants.push({ schema: outSchema(signature, row.out), derived: { from: row, form: 'out' }, ...traits });
  return variants;
}

/** The `out=` overload name PyTorch usually gives: `out` beside the main overload, `Scalar_out` beside another one. */
export function usualOutName(schema: string): string {
  const overload = overloadOf(schema);
  return overload === '' || overload === 'Tensor' ? 'out' : `${overload}_out`;
}

/** `Tensor` of `aten::add.Tensor(…)`; '' where there is none. */
export function overloadOf(schema: string): string {
  return /^[\w:]+\.(\w+)\(/.exec(schema)?.[1] ?? '';
}

function inPlaceSchema({ name, args }: Signature, overload: string): string {
  const written = [withAliasSet(args[0].text, 'a'), ...args.slice(1).map(({ text }) => text)];
  const inPlaceName = name.endsWith('__') ? name.replace('::__', '::__i') : `${name}_`;
  return `${inPlaceName}${overload && `.${overload}`}(${joined(written, args)}) -> Tensor(a!)`;
}

function outSchema({ name, args, returns }: Signature, spec: string): string {
  const [overload, list] = spec.split(/[()]/);
  const names = list?.split(',').map((item) => item.trim()) ?? ['out'];
  const outs = names.map((out, at) => `Tensor(${letter(at)}!) ${out}`);
  const texts = [
    joined(
      args.map(({ text }) => text),
      args,
    ),
  ];
  if (!args.some(({ keywordOnly }) => keywordOnly)) texts.push('*');
  const results = returns.map((result, at) => `Tensor(${letter(at)}!)${result.name && ` ${result.name}`}`);
  const returned = results.length === 1 ? results[0] : `(${results.join(', ')})`;
  return `${name}.${overload}(${[...texts, ...outs].filter(Boolean).join(', ')}) -> ${returned}`;
}

/** Argument texts with the `*` before the first keyword-only one. */
function joined(texts: readonly string[], args: Signature['args']): string {
  const first = args.findIndex(({ keywordOnly }) => keywordOnly);
  const pieces = [...texts];
  if (first !== -1) pieces.splice(first, 0, '*');
  return pieces.join(', ');
}

const withAliasSet = (argument: string, set: string): string => argument.replace(/^Tensor/, `Tensor(${set}!)`);
const letter = (at: number): string => String.fromCharCode(97 + at);
