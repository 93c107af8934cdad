/** The corpora's formats: one JSON object a line. */

export type JsonIValue =
  | null
  | boolean
  | { readonly tensor: JsonTensor }
  | { readonly int: string }
  | { readonly float: number | string }
  | { readonly complex: readonly [number | string, number | string] }
  | { readonly str: string }
  | { readonly list: readonly JsonIValue[]; readonly elem: string }
  | { readonly tuple: readonly JsonIValue[]; readonly name?: string; readonly fields?: readonly string[] }
  | { readonly object: { readonly type: string; readonly fields: readonly (readonly [string, JsonIValue])[] } }
  | { readonly dict: readonly (readonly [JsonIValue, JsonIValue])[]; readonly key: string; readonly value: string }
  | { readonly device: string }
  | { readonly dtype: string };

export interface JsonTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Base64 of the elements, little-endian, in C order of `shape`. */
  readonly data?: string;
  /** A file beside the corpus that holds the elements from byte `offset` on, in place of `data`. */
  readonly bin?: string;
  readonly offset?: number;
  readonly strides?: readonly number[];
}

export interface Call {
  readonly entry?: string;
  readonly inputs: readonly JsonIValue[];
  readonly kwargs?: Readonly<Record<string, JsonIValue>>;
  readonly output?: JsonIValue;
  readonly raises?: string;
  readonly inputs_after?: readonly JsonIValue[];
  readonly kwargs_after?: Readonly<Record<string, JsonIValue>>;
  /** What the call made of parameters, buffers and constants; those that are not listed it did not change. */
  readonly state_after?: Readonly<Record<string, JsonIValue>>;
}

/** A case of the main format. */
export interface ProgramCase {
  readonly id: string;
  readonly suite: string;
  readonly file?: string;
  readonly source?: string;
  readonly entry?: string;
  readonly calls?: readonly Call[];
  readonly compile_error?: string;
  /** The program of torch.export, of an archive that has several. */
  readonly program?: string;
  /** What a message has to hold with which the program is not loaded, or not called. */
  readonly load_error?: string;
  readonly extra_files?: Readonly<Record<string, string>>;
  readonly rtol?: number;
  readonly atol?: number;
  readonly shape_only?: boolean;
  readonly graph?: string;
  readonly code?: string;
  /** A vector-Jacobian product of the first call. */
  readonly grads?: GradientCase;
}

/** What gradients of a call are asked and have to be. */
export interface GradientCase {
  /** For each input whether it requires a gradient. */
  readonly requires_grad: readonly boolean[];
  /** One an output tensor that requires a gradient. */
  readonly grad_outputs: readonly JsonIValue[];
  /** One an input, null where it requires no gradient or the output does not depend on it. */
  readonly expected: readonly JsonIValue[];
}

export type Check = 'output' | 'graph' | 'code' | 'grads' | 'gradcheck' | 'gradients';

/** Where one case stands: a line of a corpus file. */
export interface CaseReference {
  readonly file: string;
  readonly line: number;
  readonly id: string;
  readonly suite: string;
}

export interface CaseResult {
  readonly id: string;
  readonly suite: string;
  readonly passed: boolean;
  /** Why a check that was asked for has nothing to say of it. */
  readonly unchecked?: string;
  /** Why it failed, in a form that equal failures share: what the ten commonest reasons are counted by. */
  readonly reason?: string;
  /** Where there are several executors: why it fails under each, null where it passes. */
  readonly verdicts?: Readonly<Record<string, string | null>>;
  /** Operators that ran on the host though a device was asked for, with their counts. */
  readonly hostFallbacks?: Readonly<Record<string, number>>;
  /** Why the device did not take them. */
  readonly fallbackReasons?: Readonly<Record<string, string>>;
}

/** Reads files beside a corpus, by path relative to the corpus file. */
export type FileReader = (path: string) => Promise<Uint8Array>;
