import type { OperatorRow } from './row.ts';

/** The in-place and `out=` forms of a row, as PyTorch derives them from the functional one. The text is only cut and joined, not parsed. */
export function variantsOf(row: OperatorRow): OperatorRow[] {
  const { schema, nondeterministic, inPlace, out } = row;
  const variants: OperatorRow[] = [];
  if (inPlace !== undefined) {
    variants.push({
      schema: inPlaceSchema(schema, inPlace),
      derived: { from: row, form: 'in-place' },
      nondeterministic,
    });
  }
  if (out !== undefined) {
    variants.push({ schema: outSchema(schema, out), derived: { from: row, form: 'out' }, nondeterministic });
  }
  return variants;
}

/** The `out=` overload name PyTorch usually gives: `out` beside the main overload, `Scalar_out` beside another one. */
export function usualOutName(schema: string): string {
  const overload = overloadOf(schema);
  return overload === '' || overload === 'Tensor' ? 'out' : `${overload}_out`;
}

/** `Tensor` of `aten::add.Tensor(…)`; '' where there is none. */
export function overloadOf(schema: string): string {
  const { name } = cut(schema);
  const dot = name.indexOf('.');
  return dot === -1 ? '' : name.slice(dot + 1);
}

/** Name with overload, arguments and results of a schema's text. */
function cut(schema: string): { name: string; args: string; results: string } {
  const open = schema.indexOf('(');
  const close = schema.lastIndexOf(') -> ');
  return { name: schema.slice(0, open), args: schema.slice(open + 1, close), results: schema.slice(close + 5) };
}

const unqualified = (name: string): string => name.split('.', 1)[0];

function inPlaceSchema(schema: string, overload: string): string {
  const { name, args } = cut(schema);
  const own = unqualified(name);
  const inPlaceName = own.endsWith('__') ? own.replace('::__', '::__i') : `${own}_`;
  return `${inPlaceName}${overload && `.${overload}`}(${args.replace('Tensor', 'Tensor(a!)')}) -> Tensor(a!)`;
}

/** The schema with `out=` arguments, by its overload name and, for several, their names: `dim_max(max, max_values)`. */
export function outSchema(schema: string, spec: string): string {
  const { name, args, results } = cut(schema);
  const [overload, list] = spec.split(/[()]/);
  const outs = (list?.split(', ') ?? ['out']).map((out, at) => `Tensor(${letter(at)}!) ${out}`).join(', ');
  const isKeywordOnly = args.startsWith('*, ') || args.includes(', *, ');
  let result = 0;
  const written = results.replaceAll('Tensor', () => `Tensor(${letter(result++)}!)`);
  return `${unqualified(name)}.${overload}(${args}${isKeywordOnly ? ', ' : ', *, '}${outs}) -> ${written}`;
}

const letter = (at: number): string => String.fromCharCode(97 + at);
