/**
 * What kernels and derived forms need of a schema's text: names and kinds of arguments and results. The compiler's own
 * view of it is ir's FunctionSchema; this one stays textual so that the form of one operator can be made from another's.
 */
export interface Signature {
  /** `aten::add`. */
  readonly name: string;
  /** `Tensor`, or '' where there is one overload only. */
  readonly overload: string;
  readonly args: readonly SignatureArgument[];
  readonly returns: readonly SignatureResult[];
}

export interface SignatureArgument {
  /** The whole text: `Tensor(a!)? self=None`. */
  readonly text: string;
  /** The type without alias annotation: `Tensor?`, `int[]`, `Scalar`. */
  readonly type: string;
  readonly name: string;
  readonly keywordOnly: boolean;
}

export interface SignatureResult {
  readonly type: string;
  readonly name: string;
}

export function parseSignature(schema: string): Signature {
  const open = schema.indexOf('(');
  const close = matchingParenthesis(schema, open);
  const [name, overload = ''] = schema.slice(0, open).split('.');
  let keywordOnly = false;
  const args: SignatureArgument[] = [];
  for (const text of splitAtCommas(schema.slice(open + 1, close))) {
    if (text === '*') keywordOnly = true;
    else args.push({ text, keywordOnly, ...typeAndName(text) });
  }
  const result = schema.slice(schema.indexOf('->', close) + 2).trim();
  const isTuple = result.startsWith('(') && matchingParenthesis(result, 0) === result.length - 1;
  const results = isTuple ? splitAtCommas(result.slice(1, -1)) : [result];
  return { name, overload, args, returns: results.map((text) => typeAndName(text)) };
}

function matchingParenthesis(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if (text[at] === '(') depth++;
    else if (text[at] === ')' && --depth === 0) return at;
  }
  throw new SyntaxError(`unbalanced parentheses in schema ${text}`);
}

/** Splits at commas outside brackets and quotes. */
function splitAtCommas(text: string): string[] {
  const pieces: string[] = [];
  let depth = 0;
  let quoted = false;
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') quoted = !quoted;
    else if (quoted) continue;
    else if (character === '(' || character === '[') depth++;
    else if (character === ')' || character === ']') depth--;
    else if (character === ',' && depth === 0) {
      pieces.push(text.slice(start, at).trim());
      start = at + 1;
    }
  }
  const last = text.slice(start).trim();
  if (last !== '') pieces.push(last);
  return pieces;
}

function typeAndName(text: string): { type: string; name: string } {
  const declaration = text.replace(/=.*$/, '').trim();
  // `Dict(str, Tensor)` has parentheses and a space of its own; alias sets are all lower case with ! * | and ->.
  const match = /^(.*?[)\]?\w])(?: (\w+))?$/.exec(declaration);
  const type = (match?.[1] ?? declaration)
    .replaceAll(/\([a-z*|]*!?(?: ?-> ?[a-z*|]+)?\)/g, '')
    .replaceAll(/\[\d+\]/g, '[]');
  return { type, name: match?.[2] ?? '' };
}
