/** A TorchScript type, as far as a form for its values needs it. */
export type ValueType =
  | { readonly kind: 'named'; readonly name: string }
  | { readonly kind: 'optional' | 'list'; readonly element: ValueType }
  | { readonly kind: 'tuple'; readonly elements: readonly ValueType[] }
  | { readonly kind: 'dict'; readonly key: ValueType; readonly value: ValueType };

export interface Parameter {
  readonly name: string;
  readonly type: ValueType;
  /** The type as the schema writes it. */
  readonly typeText: string;
  /** As the schema writes it; undefined where an argument has to be given. */
  readonly defaultText: string | undefined;
}

const brackets: Record<string, number> = { '(': 1, '[': 1, ')': -1, ']': -1 };

/** Cuts text at commas that stand outside all brackets and quotes. */
function splitTopLevel(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  let quoted = false;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (character === '"') quoted = !quoted;
    if (quoted) continue;
    depth += brackets[character] ?? 0;
    if (character === ',' && depth === 0) {
      parts.push(text.slice(start, index).trim());
      start = index + 1;
    }
  }
  const last = text.slice(start).trim();
  return last === '' ? parts : [...parts, last];
}

/** Position of the bracket that closes the one at `open`. */
function closing(text: string, open: number): number {
  let depth = 0;
  for (let index = open; index < text.length; index++) {
    depth += brackets[text[index]] ?? 0;
    if (depth === 0) return index;
  }
  return text.length;
}

/** Reads a type in either spelling: `Tensor?`, `int[]`, `Dict(str, Tensor)`, `Optional[Tensor]`, `List[int]`, `(Tensor, int)`. */
export function parseType(text: string): ValueType {
  const type = text.trim();
  if (type.endsWith('?')) return { kind: 'optional', element: parseType(type.slice(0, -1)) };
  const list = /^(.+)\[\d*\]$/s.exec(type);
  if (list) return { kind: 'list', element: parseType(list[1]) };
  const generic = /^(Optional|List|Dict|Tuple|NamedTuple|)([[(])(.*)[\])]$/s.exec(type);
  if (!generic) return { kind: 'named', name: type };
  const [, name, , inside] = generic;
  const parts = splitTopLevel(inside).map(parseType);
  if (name === 'Optional') return { kind: 'optional', element: parts[0] };
  if (name === 'List') return { kind: 'list', element: parts[0] };
  if (name === 'Dict') return { kind: 'dict', key: parts[0], value: parts[1] };
  return { kind: 'tuple', elements: parts };
}

function parseParameter(text: string): Parameter {
  const equals = text.indexOf('=');
  const declaration = equals < 0 ? text : text.slice(0, equals);
  const [, typeText, name] = /^(.*\S)\s+(\w+)\s*$/s.exec(declaration) ?? ['', declaration, ''];
  return {
    name,
    type: parseType(typeText),
    typeText,
    defaultText: equals < 0 ? undefined : text.slice(equals + 1),
  };
}

/** What a method's schema, `forward(__torch__.Net self, Tensor x, int n=2) -> Tensor`, has behind its receiver, whatever the author called that. */
export function parseParameters(schema: string): Parameter[] {
  const open = schema.indexOf('(');
  if (open < 0) return [];
  return splitTopLevel(schema.slice(open + 1, closing(schema, open)))
    .slice(1)
    .filter((part) => part !== '*')
    .map(parseParameter);
}
