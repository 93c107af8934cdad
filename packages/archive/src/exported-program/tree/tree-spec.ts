import { pythonRepr } from '@cresset/frontend';
import { CressetError } from '@cresset/ir';
import { Dict, List, toByteString, Tuple, type IValue } from '@cresset/tensor';
import { isJsonList, JsonObject, type Json } from '../json-object.ts';
import { parseJson } from '../json-text.ts';

/** A key of a dictionary that takes part in a structure. */
export type TreeKey = bigint | string | boolean;

/**
 * How flat values are put together to what a program takes or gives (PyTorch: torch.utils._pytree.TreeSpec). A named tuple, a dataclass
 * and an output class of a library are objects with fields.
 */
export type TreeSpec =
  | { readonly kind: 'leaf' }
  | { readonly kind: 'tuple' | 'list'; readonly children: readonly TreeSpec[] }
  | {
      readonly kind: 'dict';
      /** `dict`, or `collections.OrderedDict`, in which the order counts. */
      readonly type: string;
      readonly keys: readonly TreeKey[];
      readonly children: readonly TreeSpec[];
    }
  | {
      readonly kind: 'object';
      /** The name under which Python has registered its class. */
      readonly type: string;
      readonly fields: readonly string[];
      /** Fields that are None, which have no part in the structure. */
      readonly absent: readonly string[];
      readonly children: readonly TreeSpec[];
    };

const LEAF: TreeSpec = { kind: 'leaf' };

/**
 * Reads `[1, {type, context, children_spec}]` (PyTorch: treespec_loads). Throws `EXPORT_MALFORMED`, or `EXPORT_UNSUPPORTED` for a container
 * whose meaning is in somebody's Python alone.
 *
 * @param namedTuples the fields of named tuples, where the file tells them
 */
export function parseTreeSpec(text: string, namedTuples: ReadonlyMap<string, readonly string[]>): TreeSpec {
  const json = parseJson(text, 'a tree spec');
  const root = isJsonList(json) ? json[1] : undefined;
  if (!(root instanceof JsonObject)) throw new CressetError('EXPORT_MALFORMED', 'the program has a damaged tree spec');
  return readSpec(root, namedTuples);
}

function readSpec(json: JsonObject, namedTuples: ReadonlyMap<string, readonly string[]>): TreeSpec {
  const type = json.get('type');
  if (type === undefined) return LEAF;
  const children = json.objects('children_spec').map((child) => readSpec(child, namedTuples));
  const contextText = json.get('context');
  const context = typeof contextText === 'string' ? contextText : 'null';
  switch (type) {
    case 'builtins.tuple':
    case 'torch.Size':
      return { kind: 'tuple', children };
    case 'builtins.list':
    case 'collections.deque':
    case 'torch.fx.immutable_collections.immutable_list':
      return { kind: 'list', children };
    case 'builtins.dict':
    case 'collections.OrderedDict':
    case 'collections.defaultdict':
    case 'torch.fx.immutable_collections.immutable_dict':
      return { kind: 'dict', type, keys: keysOf(type, parseContext(context)), children };
    case 'collections.namedtuple': {
      const fields = namedTuples.get(context) ?? children.map((_, index) => `_${index}`);
      return { kind: 'object', type: context, fields, absent: [], children };
    }
    default:
      return dataclassSpec(String(type), parseContext(context), children);
  }
}

const parseContext = (context: string): Json => parseJson(context, 'a tree spec');

function keysOf(type: string, context: Json): readonly TreeKey[] {
  // That of a defaultdict is its factory and its keys.
  const keys = type === 'collections.defaultdict' && isJsonList(context) ? context[1] : context;
  const isKey = (key: Json): key is TreeKey =>
    typeof key === 'string' || typeof key === 'bigint' || typeof key === 'boolean';
  if (isJsonList(keys) && keys.every(isKey)) return keys;
  throw new CressetError(
    'EXPORT_UNSUPPORTED',
    `the program takes or gives a ${type} with keys that are neither texts nor ints: pass them as lists or tuples, and export it again`,
  );
}

/** The context of a dataclass, as torch.export registers one: the names of the fields, then those that are None. */
function dataclassSpec(type: string, context: Json, children: readonly TreeSpec[]): TreeSpec {
  const [fields, absent = []] = isJsonList(context) && isJsonList(context[0]) ? context : [context];
  const isNames = (names: Json): names is readonly string[] =>
    isJsonList(names) && names.every((name) => typeof name === 'string');
  if (isNames(fields) && isNames(absent) && fields.length === children.length)
    return { kind: 'object', type, fields, absent, children };
  throw new CressetError(
    'EXPORT_UNSUPPORTED',
    `the program takes or gives a '${type}', whose parts only its own Python knows: pass them as dicts, lists or tuples, and export it again`,
  );
}

export function leafCount(spec: TreeSpec): number {
  return spec.kind === 'leaf' ? 1 : spec.children.reduce((sum, child) => sum + leafCount(child), 0);
}

/** The child at each place of a container, with the way to it as Python writes that (PyTorch: keystr). */
export function childPaths(spec: TreeSpec, path: string): readonly (readonly [TreeSpec, string])[] {
  switch (spec.kind) {
    case 'leaf':
      return [];
    case 'dict':
      return spec.children.map((child, index) => [child, `${path}[${keyText(spec.keys[index])}]`]);
    case 'object':
      return spec.children.map((child, index) => [child, `${path}.${spec.fields[index]}`]);
    default:
      return spec.children.map((child, index) => [child, `${path}[${index}]`]);
  }
}

const keyText = (key: TreeKey): string => pythonRepr(typeof key === 'string' ? toByteString(key) : key);

/** The paths of all leaves, in their order. */
export function leafPaths(spec: TreeSpec, path: string): string[] {
  if (spec.kind === 'leaf') return [path];
  return childPaths(spec, path).flatMap(([child, childPath]) => leafPaths(child, childPath));
}

/** The leaves of a value, or null where it is put together otherwise (PyTorch: eq_spec). Keys of a dict may stand in any order. */
export function flatten(spec: TreeSpec, value: IValue): readonly IValue[] | null {
  if (spec.kind === 'leaf')
    return value instanceof List || value instanceof Tuple || value instanceof Dict ? null : [value];
  const parts = partsOf(spec, value);
  if (!parts || parts.length !== spec.children.length) return null;
  const leaves: IValue[] = [];
  for (const [index, part] of parts.entries()) {
    const found = flatten(spec.children[index], part);
    if (!found) return null;
    leaves.push(...found);
  }
  return leaves;
}

function partsOf(spec: Exclude<TreeSpec, { kind: 'leaf' }>, value: IValue): readonly IValue[] | null {
  switch (spec.kind) {
    case 'tuple':
      return value instanceof Tuple && !value.type ? value.items : null;
    case 'list':
      return value instanceof List ? value.items : null;
    case 'dict': {
      if (!(value instanceof Dict)) return null;
      const keys = [...value.entries.keys()];
      const wanted = spec.keys.map((key) => (typeof key === 'string' ? toByteString(key) : key));
      if (keys.length !== wanted.length || !wanted.every((key) => value.entries.has(key))) return null;
      const isOrdered = spec.type === 'collections.OrderedDict';
      if (isOrdered && keys.some((key, index) => key !== wanted[index])) return null;
      return wanted.map((key) => value.entries.get(key)!);
    }
    case 'object': {
      if (!(value instanceof Tuple) || value.items.length !== spec.fields.length + spec.absent.length) return null;
      const isAbsent = value.items.slice(spec.fields.length).every((item) => item === null);
      return isAbsent ? value.items.slice(0, spec.fields.length) : null;
    }
  }
}

/** A structure as PyTorch prints it, `TreeSpec(tuple, None, [*, *])` in one line. */
export function treeText(spec: TreeSpec): string {
  const children = spec.kind === 'leaf' ? '' : `[${spec.children.map(treeText).join(', ')}]`;
  switch (spec.kind) {
    case 'leaf':
      return '*';
    case 'dict':
      return `TreeSpec(${spec.type.replace('builtins.', '').replace('collections.', '')}, [${spec.keys.map(keyText).join(', ')}], ${children})`;
    case 'object':
      return `TreeSpec(${spec.type.slice(spec.type.lastIndexOf('.') + 1)}, [${spec.fields.map((field) => `'${field}'`).join(', ')}], ${children})`;
    default:
      return `TreeSpec(${spec.kind}, None, ${children})`;
  }
}

/** How a value is put together. */
export function treeOf(value: IValue): TreeSpec {
  if (value instanceof List) return { kind: 'list', children: value.items.map(treeOf) };
  if (value instanceof Dict) {
    const keys = [...value.entries.keys()].map((key) => (typeof key === 'bigint' ? key : String(key)));
    return { kind: 'dict', type: 'builtins.dict', keys, children: [...value.entries.values()].map(treeOf) };
  }
  if (value instanceof Tuple) return { kind: 'tuple', children: value.items.map(treeOf) };
  return LEAF;
}
