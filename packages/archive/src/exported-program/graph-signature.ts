import { CressetError } from '@cresset/ir';
import { JsonObject } from './json-object.ts';
import { malformed, readValue, type SerializedValue } from './conversion/serialized-node.ts';

/** Where a parameter, buffer or constant belongs that a graph is given as an input. */
export interface LiftedInput {
  readonly kind: 'parameter' | 'buffer' | 'attribute';
  /** Its name in the graph. */
  readonly name: string;
  /** Its name with dots in the module. */
  readonly path: string;
}

/** An input of the graph that the caller gives. */
export interface UserInput {
  readonly kind: 'user';
  readonly name: string;
  /** What was fixed at export, where it was: a number, a truth value, a text, None. */
  readonly constant: SerializedValue | null;
  readonly argument: SerializedValue;
}

export type GraphInput = LiftedInput | UserInput | { readonly kind: 'token'; readonly name: string };

export type GraphOutput =
  | { readonly kind: 'user'; readonly argument: SerializedValue }
  | { readonly kind: 'token' }
  | {
      /** What is written back after the graph, to a parameter or buffer, or to an input of the caller. */
      readonly kind: 'mutation';
      readonly name: string;
      readonly target: string;
      readonly isInput: boolean;
    };

/** What the inputs and outputs of a graph are (PyTorch: ExportGraphSignature). */
export interface GraphSignature {
  readonly inputs: readonly GraphInput[];
  readonly outputs: readonly GraphOutput[];
}

const CONSTANT_TAGS: ReadonlySet<string> = new Set(['as_int', 'as_float', 'as_bool', 'as_string', 'as_none']);

/** Throws `EXPORT_MALFORMED`, or `EXPORT_UNSUPPORTED` for what only PyTorch has: objects of C++, gradients as outputs. */
export function readSignature(json: JsonObject): GraphSignature {
  return {
    inputs: json.objects('input_specs').map(readInput),
    outputs: json.objects('output_specs').map(readOutput),
  };
}

function readInput(json: JsonObject, index: number): GraphInput {
  const [tag, spec] = json.variant();
  if (!(spec instanceof JsonObject)) malformed('an input is none');
  const name = (): string => spec.object('arg').text('name');
  switch (tag) {
    case 'parameter':
      return { kind: 'parameter', name: name(), path: spec.text('parameter_name') };
    case 'buffer':
      return { kind: 'buffer', name: name(), path: spec.text('buffer_name') };
    case 'tensor_constant':
      return { kind: 'attribute', name: name(), path: spec.text('tensor_constant_name') };
    case 'token':
      return { kind: 'token', name: name() };
    case 'constant_input': {
      const constant = readValue(spec.object('value'));
      return { kind: 'user', name: spec.text('name'), constant, argument: constant };
    }
    case 'user_input': {
      const argument = readValue(spec.object('arg'));
      const isConstant = CONSTANT_TAGS.has(argument.tag);
      const named =
        argument.value instanceof JsonObject
          ? (argument.value.get('name') ?? argument.value.get('as_name'))
          : undefined;
      if (argument.tag === 'as_custom_obj') throw customObject(String(named));
      return { kind: 'user', name: String(named ?? `arg${index}`), constant: isConstant ? argument : null, argument };
    }
    case 'custom_obj':
      throw customObject(spec.text('custom_obj_name'));
    default:
      return malformed(`an input is of the kind '${tag}', which is not known`);
  }
}

function readOutput(json: JsonObject): GraphOutput {
  const [tag, spec] = json.variant();
  if (!(spec instanceof JsonObject)) malformed('an output is none');
  const mutation = (target: string, isInput: boolean): GraphOutput => ({
    kind: 'mutation',
    name: spec.object('arg').text('name'),
    target,
    isInput,
  });
  switch (tag) {
    case 'user_output':
      return { kind: 'user', argument: readValue(spec.object('arg')) };
    case 'loss_output':
      return { kind: 'user', argument: { tag: 'as_tensor', value: spec.object('arg') } };
    case 'buffer_mutation':
      return mutation(spec.text('buffer_name'), false);
    case 'parameter_mutation':
      return mutation(spec.text('parameter_name'), false);
    case 'user_input_mutation':
      return mutation(spec.text('user_input_name'), true);
    case 'token':
      return { kind: 'token' };
    default:
      throw new CressetError(
        'EXPORT_UNSUPPORTED',
        `the program gives out '${tag}': it was exported with its own training step. Export the model alone; trainer() trains it`,
      );
  }
}

function customObject(name: string): CressetError {
  return new CressetError(
    'EXPORT_UNSUPPORTED',
    `the program has '${name}', an object of a C++ class, which is not here: export the model without it`,
  );
}
