import { CressetError, nested } from '@cresset/ir';
import type { Quantizer, ScalarType } from '@cresset/tensor';

/** A tensor of the old layout: a view of a record, which several may share. */
export interface TensorDef {
  readonly dims: readonly bigint[];
  readonly strides: readonly bigint[];
  readonly offset: bigint;
  readonly dtype: ScalarType;
  readonly key: string;
  readonly requiresGrad: boolean;
  readonly quantizer: Quantizer | null;
}

export interface ParameterDef {
  readonly name: string;
  readonly tensorId: number;
  readonly isBuffer: boolean;
}

export interface AttributeDef {
  readonly name: string;
  readonly type: string;
  /** Position among the pickled values; negative for one without a value. */
  readonly id: number;
}

export interface ModuleDef {
  readonly name: string;
  readonly submodules: readonly ModuleDef[];
  readonly parameters: readonly ParameterDef[];
  readonly attributes: readonly AttributeDef[];
  /** Records of the code and of the table of its source ranges. */
  readonly codeKey: string | undefined;
  readonly debugKey: string | undefined;
  /** Position of the state among the pickled values. */
  readonly stateId: number | undefined;
}

/** `model.json`: what modules, parameters and tensors there are (PyTorch: torch::ModelDef of torch.proto). */
export interface ModelDef {
  readonly protoVersion: number;
  readonly mainModule: ModuleDef;
  readonly tensors: readonly TensorDef[];
}

/** Element types by caffe2's names and numbers. */
const DATA_TYPES: readonly (readonly [name: string, number: number, dtype: ScalarType])[] = [
  ['FLOAT', 1, 'float32'],
  ['INT32', 2, 'int32'],
  ['BYTE', 3, 'uint8'],
  ['BOOL', 5, 'bool'],
  ['UINT8', 6, 'uint8'],
  ['INT8', 7, 'int8'],
  ['INT16', 9, 'int16'],
  ['INT64', 10, 'int64'],
  ['FLOAT16', 12, 'float16'],
  ['DOUBLE', 13, 'float64'],
];

const QUANTIZED_TYPES: Partial<Record<ScalarType, ScalarType>> = { uint8: 'quint8', int8: 'qint8', int32: 'qint32' };

/** Reads `model.json`. Throws `LEGACY_MODEL` where it is not what it should be. */
export function parseModelDef(text: string): ModelDef {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw malformed(`it is no JSON (${(cause as Error).message})`);
  }
  const message = new Message(json, 'the model');
  return {
    protoVersion: message.integer('protoVersion') ?? 1,
    mainModule: moduleDef(message.message('mainModule') ?? new Message({}, 'the main module')),
    tensors: message.messages('tensors').map(tensorDef),
  };
}

function moduleDef(message: Message): ModuleDef {
  return {
    name: message.string('name') ?? '',
    submodules: message.messages('submodules').map((each) =>
      nested(
        () => moduleDef(each),
        () => malformed('it has modules within modules without end'),
      ),
    ),
    parameters: message.messages('parameters').map((each) => ({
      name: each.string('name') ?? '',
      tensorId: each.integer('tensorId') ?? 0,
      isBuffer: each.boolean('isBuffer'),
    })),
    attributes: message.messages('attributes').map((each) => ({
      name: each.string('name') ?? '',
      type: each.string('type') ?? '',
      id: each.integer('id') ?? 0,
    })),
    codeKey: message.message('torchscriptArena')?.string('key'),
    debugKey: message.message('torchscriptDebugArena')?.string('key'),
    stateId: message.integer('getStateAttributeId'),
  };
}

function tensorDef(message: Message): TensorDef {
  const dataType = message.value('dataType');
  const found = DATA_TYPES.find(([name, number]) => name === dataType || number === dataType);
  if (!found) throw malformed(`it has a tensor of data type '${String(dataType)}'`);
  const isQuantized = message.boolean('isQuantized');
  const dtype = isQuantized ? QUANTIZED_TYPES[found[2]] : found[2];
  if (!dtype) throw malformed(`it has a quantised tensor of data type '${String(dataType)}'`);
  return {
    dims: message.integers('dims'),
    strides: message.integers('strides'),
    offset: BigInt(message.integer('offset') ?? 0),
    dtype,
    key: message.message('data')?.string('key') ?? '',
    requiresGrad: message.boolean('requiresGrad'),
    quantizer: isQuantized
      ? { scale: Number(message.value('scale') ?? 0), zeroPoint: message.integer('zeroPoint') ?? 0, axis: null }
      : null,
  };
}

/** A message of protocol buffers in their JSON form: names in either spelling, 64-bit numbers as text or numbers, nothing for defaults. */
class Message {
  readonly #fields: Readonly<Record<string, unknown>>;
  readonly #what: string;

  constructor(json: unknown, what: string) {
    if (typeof json !== 'object' || json === null || Array.isArray(json)) throw malformed(`${what} is no object`);
    this.#fields = json as Record<string, unknown>;
    this.#what = what;
  }

  /** A field; null and absent are the same. */
  value(name: string): unknown {
    const inSnakeCase = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const spelling = [name, inSnakeCase].find((each) => Object.hasOwn(this.#fields, each));
    return spelling === undefined ? undefined : (this.#fields[spelling] ?? undefined);
  }

  string(name: string): string | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === 'string') return value;
    throw this.#wrong(name);
  }

  boolean(name: string): boolean {
    const value = this.value(name) ?? false;
    if (typeof value === 'boolean') return value;
    throw this.#wrong(name);
  }

  integer(name: string): number | undefined {
    const value = this.value(name);
    return value === undefined ? undefined : Number(this.#toInteger(name, value));
  }

  integers(name: string): bigint[] {
    return this.#array(name).map((each) => this.#toInteger(name, each));
  }

  message(name: string): Message | undefined {
    const value = this.value(name);
    return value === undefined ? undefined : new Message(value, `'${name}'`);
  }

  messages(name: string): Message[] {
    return this.#array(name).map((each) => new Message(each, `an element of '${name}'`));
  }

  #array(name: string): readonly unknown[] {
    const value = this.value(name) ?? [];
    if (Array.isArray(value)) return value;
    throw this.#wrong(name);
  }

  #toInteger(name: string, value: unknown): bigint {
    if (!/^-?\d{1,19}$/.test(String(value))) throw this.#wrong(name);
    return BigInt(value as string | number);
  }

  #wrong(name: string): CressetError {
    return malformed(`'${name}' of ${this.#what} is something else than it should be`);
  }
}

function malformed(what: string): CressetError {
  return new CressetError('LEGACY_MODEL', `the file's model.json is damaged: ${what}`);
}
