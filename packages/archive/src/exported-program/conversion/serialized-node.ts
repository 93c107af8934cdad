import { CressetError } from '@cresset/ir';
import { isJsonList, type Json, type JsonObject } from '../json-object.ts';

/** An argument or a result as the file has it: what kind it is (`as_tensor`, `as_ints`), and its value. */
export interface SerializedValue {
  readonly tag: string;
  readonly value: Json;
}

export interface SerializedArgument extends SerializedValue {
  /** That of the schema; empty in calls of higher-order operators. */
  readonly name: string;
  readonly isKeyword: boolean;
}

/** A call of a graph. */
export interface SerializedNode {
  /** `torch.ops.aten.add.Tensor`, `_operator.mul`, `torch.sym_max`. */
  readonly target: string;
  readonly inputs: readonly SerializedArgument[];
  readonly outputs: readonly SerializedValue[];
  readonly metadata: JsonObject | null;
}

const KEYWORD = 2n;

export function readNode(json: JsonObject): SerializedNode {
  return {
    target: json.text('target'),
    inputs: json.objects('inputs').map((input) => {
      const name = input.get('name');
      return {
        ...readValue(input.object('arg')),
        name: typeof name === 'string' ? name : '',
        isKeyword: input.get('kind') === KEYWORD,
      };
    }),
    outputs: json.objects('outputs').map(readValue),
    metadata: json.get('metadata') === undefined ? null : json.object('metadata'),
  };
}

export function readValue(json: JsonObject): SerializedValue {
  const [tag, value] = json.variant();
  return { tag, value };
}

/** Throws `EXPORT_MALFORMED`: a value has not the form that its tag promises. */
export function malformed(what: string): never {
  throw new CressetError('EXPORT_MALFORMED', `the program is damaged: ${what}`);
}

export function itemsOf({ tag, value }: SerializedValue): readonly Json[] {
  return isJsonList(value) ? value : malformed(`'${tag}' is no list`);
}

/** The name of a value, where it is one of the graph; null for a number in its place. */
export function nameOf({ tag, value }: SerializedValue): string | null {
  const object = value as JsonObject;
  if (tag === 'as_tensor' || tag === 'as_custom_obj') return object.text('name');
  if (!/^as_sym_(int|float|bool)$/.test(tag)) return null;
  const name = object.get('as_name');
  return typeof name === 'string' ? name : null;
}

/** Namespace, name and overload of `torch.ops.aten.add.Tensor`; null for a target of another kind. */
export function operatorOf(target: string): { readonly name: string; readonly overload: string } | null {
  const match = /^torch\.ops\.([^.]+)\.([^.]+)(?:\.(\w+))?$/.exec(target);
  if (!match || match[1] === 'higher_order') return null;
  const [, namespace, name, overload = 'default'] = match;
  return { name: `${namespace}::${name}`, overload: overload === 'default' ? '' : overload };
}
