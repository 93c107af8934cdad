import type { ModuleInput, TransferProgress } from '@cresset/archive';
import type { ScalarType } from '@cresset/tensor';
import type { Explanation } from '../explanation.ts';
import type { RunProfile } from '../run-profile.ts';

/**
 * What page and worker say to each other: one message a line of talk, told apart by `type`. Requests carry an id that their
 * answer repeats. Elements of tensors travel in ArrayBuffers on the transfer list, never as copies.
 */

/** A value on its way between page and worker. Numbers, texts and containers are what JavaScript has; the schema of what is
 * called decides what they become (`3` is an int for an `int` parameter and a float for a `float`). */
export type WireValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | WireTensor
  | WireDict
  | WireTuple
  | WireComplex
  | WireDevice
  | WireEnum
  | WireObject
  | readonly WireValue[];

/** A tensor: its elements lie contiguously in C order, little-endian, complex numbers as pairs, float16 as its bits. */
export interface WireTensor {
  readonly kind: 'tensor';
  readonly dtype: ScalarType;
  readonly shape: readonly number[];
  readonly data: ArrayBuffer;
}

export interface WireDict {
  readonly kind: 'dict';
  readonly entries: readonly (readonly [WireValue, WireValue])[];
}

/** A tuple; with the names of its fields where it is a named one. */
export interface WireTuple {
  readonly kind: 'tuple';
  readonly items: readonly WireValue[];
  readonly fields: readonly string[] | null;
}

export interface WireComplex {
  readonly kind: 'complex';
  readonly re: number;
  readonly im: number;
}

export interface WireDevice {
  readonly kind: 'device';
  readonly name: string;
}

export interface WireEnum {
  readonly kind: 'enum';
  readonly className: string;
  readonly name: string;
}

/** An object of a TorchScript class, as a copy of its attributes. */
export interface WireObject {
  readonly kind: 'object';
  readonly className: string;
  readonly attributes: readonly (readonly [string, WireValue])[];
}

/** An error on its way: the stack is that of the side where it was thrown. */
export interface WireError {
  readonly code: string;
  readonly name: string;
  readonly message: string;
  readonly stack: string | null;
  /** Of an error in a running program: its message alone, and the class that was raised. */
  readonly script: { readonly reason: string; readonly pythonClassName: string; readonly isRaised: boolean } | null;
}

export type DeviceChoice = 'auto' | 'webgpu' | 'cpu';

/** Where a model runs and why there. */
export interface DeviceReport {
  readonly device: 'webgpu' | 'cpu';
  /** The adapter's name, or the host. */
  readonly description: string;
  /** Why this one was chosen. */
  readonly reason: string;
}

/** A parameter or buffer, without its elements. */
export interface TensorSummary {
  readonly name: string;
  readonly dtype: ScalarType;
  readonly shape: readonly number[];
  readonly kind: 'parameter' | 'buffer';
}

export interface ModuleSummary {
  /** `''` for the module itself, `layer1.0` for one below it. */
  readonly name: string;
  readonly className: string;
  readonly methods: readonly string[];
}

/** What is known of a model once it is loaded. */
export interface ModelSummary {
  readonly device: DeviceReport;
  readonly formatVersion: number;
  readonly modules: readonly ModuleSummary[];
  readonly tensors: readonly TensorSummary[];
  readonly extraFiles: readonly (readonly [string, Uint8Array])[];
  /** Milliseconds from the request to here, and their parts. */
  readonly timings: { readonly total: number; readonly read: number; readonly device: number };
}

export interface LoadRequest {
  readonly type: 'load';
  readonly id: number;
  readonly model: number;
  readonly input: Exclude<ModuleInput, URL>;
  readonly device: DeviceChoice;
}

export interface CallRequest {
  readonly type: 'call';
  readonly id: number;
  readonly model: number;
  /** Path of the submodule whose method it is, `''` for the module itself. */
  readonly module: string;
  readonly method: string;
  readonly args: readonly WireValue[];
  readonly kwargs: readonly (readonly [string, WireValue])[];
}

/** A question about a model: `about` says what the answer is. */
export type QueryRequest = {
  readonly type: 'query';
  readonly id: number;
  readonly model: number;
  readonly module: string;
} & (
  | { readonly about: 'graph' | 'optimized-graph' | 'explain' | 'schema'; readonly method: string }
  | { readonly about: 'code' | 'tensor'; readonly name: string }
);

export interface DisposeRequest {
  readonly type: 'dispose';
  readonly id: number;
  readonly model: number;
}

export interface MemoryRequest {
  readonly type: 'memory';
  readonly id: number;
}

/** Ends the request with this id, wherever it is; no answer of its own. */
export interface AbortRequest {
  readonly type: 'abort';
  readonly id: number;
}

export type Request = LoadRequest | CallRequest | QueryRequest | DisposeRequest | MemoryRequest | AbortRequest;

export interface MemoryReport {
  readonly models: number;
  /** Bytes in use on the device, of all models. */
  readonly deviceBytes: number;
}

/** What a call gives. */
export interface CallResult {
  readonly value: WireValue;
  readonly profile: RunProfile;
}

export type Answer =
  | { readonly type: 'loaded'; readonly id: number; readonly summary: ModelSummary }
  | { readonly type: 'called'; readonly id: number; readonly result: CallResult }
  | { readonly type: 'text'; readonly id: number; readonly text: string }
  | { readonly type: 'explained'; readonly id: number; readonly explanation: Explanation }
  | { readonly type: 'tensor'; readonly id: number; readonly tensor: WireTensor }
  | { readonly type: 'memory'; readonly id: number; readonly report: MemoryReport }
  | { readonly type: 'done'; readonly id: number }
  | { readonly type: 'failed'; readonly id: number; readonly error: WireError; readonly profile: RunProfile | null };

/** What the host says without being asked, or on the way to an answer. */
export type Notice =
  | { readonly type: 'ready' }
  | { readonly type: 'progress'; readonly id: number; readonly progress: TransferProgress }
  | { readonly type: 'print'; readonly text: string }
  | { readonly type: 'warning'; readonly text: string };

export type FromHost = Answer | Notice;

/** One end of a channel of messages: a Worker, a worker's global scope, or one end of `inProcessPorts`. */
export interface Port<Incoming, Outgoing> {
  send(message: Outgoing, transfer: Transferable[]): void;
  /** Called with each message; set once. */
  receive(handler: (message: Incoming) => void): void;
}

/** The ArrayBuffers in a value, each once: what a message puts on its transfer list. */
export function transferList(value: unknown): ArrayBuffer[] {
  const found = new Set<ArrayBuffer>();
  const pending: unknown[] = [value];
  while (pending.length > 0) {
    const each = pending.pop();
    if (each === null || typeof each !== 'object') continue;
    if (each instanceof ArrayBuffer) found.add(each);
    else if (Array.isArray(each)) for (const item of each) pending.push(item);
    else if (!ArrayBuffer.isView(each)) for (const item of Object.values(each)) pending.push(item);
  }
  return [...found];
}
