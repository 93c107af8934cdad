import type { SentInput, TransferProgress } from '@cresset/archive';
import type { JitOptions } from '@cresset/ir';
import type { ScalarType } from '@cresset/tensor';
import type { Explanation } from '../explanation.ts';
import type { CallProfile, PassStep } from '../inspection/profiling/profile-report.ts';
import type { RunProfile } from '../run/run-profile.ts';
import type { PartUse } from './part-loader.ts';

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
  | WireReference
  | readonly WireValue[];

/** A tensor: its elements lie contiguously in C order, little-endian, complex numbers as pairs, float16 as its bits. One
 * that occurs twice in a message is one tensor. */
export interface WireTensor {
  readonly kind: 'tensor';
  /** Of an argument: what the answer calls it by, where the program wrote to it. */
  readonly key?: number;
  readonly dtype: ScalarType;
  readonly shape: readonly number[];
  readonly data: ArrayBuffer;
  /** Of a quantised tensor. */
  readonly quantizer?: WireQuantizer;
}

/** How integers stand for numbers: one pair, or one for each index of `axis`. */
export interface WireQuantizer {
  readonly scales: readonly number[];
  readonly zeroPoints: readonly number[];
  readonly axis: number | null;
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

/** An object that stays in the worker: the path of a module, or the name that `construct` gave. */
export interface WireReference {
  readonly kind: 'reference';
  readonly model: number;
  readonly path: string;
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
  /** Parts of the library that were fetched for it, or for a program before it, and what needs each. */
  readonly parts: readonly PartUse[];
  /** Of a program compiled from source: its functions and classes. */
  readonly functions?: readonly string[];
  readonly classes?: readonly string[];
  readonly timings: LoadTimings;
}

/** Milliseconds that loading took, and where they went. Weights of a large file come later, when a method needs them. */
export interface LoadTimings {
  readonly total: number;
  /** Until the file was there, or as much of a large one as is needed to open it. */
  readonly download: number;
  /** Unzipping, unpickling and reading the code; classes are compiled when something first needs them. */
  readonly read: number;
  /** Waiting for the GPU after that, and running what the file wants to be run when it is loaded. */
  readonly device: number;
}

export interface LoadRequest {
  readonly type: 'load';
  readonly id: number;
  readonly model: number;
  readonly input: SentInput;
  readonly device: DeviceChoice;
  /** Whether what comes from an address is kept for later visits. */
  readonly cache?: boolean;
  /** `false` reads all weights of a large file before it is answered. */
  readonly lazy?: boolean;
}

/** Reads the weights of a large file that nothing needed so far; answered with `done`. */
export interface PreloadRequest {
  readonly type: 'preload';
  readonly id: number;
  readonly model: number;
}

/** Reads a file of `torch.save`. */
export interface CheckpointRequest {
  readonly type: 'load-checkpoint';
  readonly id: number;
  readonly input: SentInput;
  readonly cache?: boolean;
}

/** Tensors by name, for the parameters and buffers of a module. */
export interface StateDictRequest {
  readonly type: 'load-state-dict';
  readonly id: number;
  readonly model: number;
  readonly module: string;
  readonly tensors: readonly (readonly [name: string, tensor: WireTensor])[];
  readonly strict: boolean;
}

/** What did not fit when a state dict was loaded. */
export interface StateDictReport {
  /** Parameters and buffers of the module for which there was no tensor. */
  readonly missingKeys: readonly string[];
  /** Tensors for which the module has no place. */
  readonly unexpectedKeys: readonly string[];
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
  /** Whether to tell what is read of the weights that the run needs. */
  readonly tellsProgress?: boolean;
}

/** A question about a model: `about` says what the answer is. */
export type QueryRequest = {
  readonly type: 'query';
  readonly id: number;
  readonly model: number;
  readonly module: string;
} & (
  | {
      readonly about: 'graph' | 'optimized-graph' | 'explain' | 'schema';
      readonly method: string;
      readonly stage?: string;
    }
  | { readonly about: 'tensor'; readonly name: string }
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

/** The switches of the compiler, all of them; no answer. */
export interface JitOptionsRequest {
  readonly type: 'jit-options';
  readonly options: JitOptions;
}

/** Ends the request with this id, wherever it is; no answer of its own. */
export interface AbortRequest {
  readonly type: 'abort';
  readonly id: number;
}

/** What the engine itself answers. */
export type CoreRequest =
  | LoadRequest
  | PreloadRequest
  | CheckpointRequest
  | StateDictRequest
  | CallRequest
  | QueryRequest
  | DisposeRequest
  | MemoryRequest
  | AbortRequest
  | JitOptionsRequest;

/** The first message to a worker, which begins to answer then. */
export interface StartRequest {
  /** No name that the messages of an application's own worker are likely to have. */
  readonly type: 'cresset:start';
  /** Of the library on the page; an engine of another one would not understand it. */
  readonly version: string;
  /** Addresses of the files of the library's parts, where the page knows them. */
  readonly parts: Readonly<Record<string, string>>;
}

export type Request = CoreRequest | PartRequest | StartRequest;

export interface MemoryReport {
  readonly models: number;
  /** Bytes in use on the device, of all models. */
  readonly deviceBytes: number;
  /** Bytes that the device keeps for reuse beside them. */
  readonly pooledBytes: number;
  /** The most bytes that the device has held at one time. */
  readonly peakBytes: number;
}

/** What a call gives. */
export interface CallResult {
  readonly value: WireValue;
  /** Arguments that the program wrote to, by their keys, as they are now. */
  readonly written: readonly (readonly [key: number, tensor: WireTensor])[];
  readonly profile: RunProfile;
}

// ---- parts of the library

/** Opens an empty program for source to be compiled into; answered with `loaded`, as all that change a program. */
export interface CreateRequest {
  readonly type: 'create';
  readonly id: number;
  readonly model: number;
  readonly device: DeviceChoice;
  /** Name of the class of a module to be authored; null for functions and classes. */
  readonly className: string | null;
  /** The program whose functions and classes its source may use. */
  readonly uses: number | null;
}

/** Compiles functions and classes into a program, or methods into a module of it. */
export interface DefineRequest {
  readonly type: 'define';
  readonly id: number;
  readonly model: number;
  readonly source: string;
  readonly filename: string | null;
}

/** A module to be put into another: one of a program, or a container made for them. */
export type WireModule =
  | { readonly kind: 'module'; readonly model: number; readonly path: string }
  | {
      readonly kind: 'ModuleList' | 'ModuleDict' | 'Sequential';
      readonly modules: readonly (readonly [name: string, module: WireModule])[];
    };

/** What is registered in a module under a name. */
export type Registration =
  | { readonly kind: 'parameter'; readonly value: WireTensor; readonly requiresGrad: boolean }
  | { readonly kind: 'buffer'; readonly value: WireTensor }
  | { readonly kind: 'attribute'; readonly type: string; readonly value: WireValue }
  | { readonly kind: 'constant'; readonly type: string | null; readonly value: WireValue }
  | { readonly kind: 'module'; readonly module: WireModule };

/** Gives an attribute of a module that is there another value. */
export interface SetAttributeRequest {
  readonly type: 'set-attribute';
  readonly id: number;
  readonly model: number;
  readonly module: string;
  readonly name: string;
  readonly value: WireValue;
  /** In all modules below too, where they have it. */
  readonly isForAll: boolean;
}

export interface RegisterRequest {
  readonly type: 'register';
  readonly id: number;
  readonly model: number;
  readonly name: string;
  readonly registration: Registration;
}

/** The value of an attribute of a module or object as it is now; answered with `attribute`. */
export interface GetAttributeRequest {
  readonly type: 'get-attribute';
  readonly id: number;
  readonly model: number;
  readonly module: string;
  readonly name: string;
}

/** Makes an object of a class, that stays in the worker; answered with `constructed`. */
export interface ConstructRequest {
  readonly type: 'construct';
  readonly id: number;
  readonly model: number;
  readonly className: string;
  readonly args: readonly WireValue[];
  readonly kwargs: readonly (readonly [string, WireValue])[];
}

/** Gives up an object that `construct` made; answered with `done`. */
export interface ReleaseRequest {
  readonly type: 'release';
  readonly id: number;
  readonly model: number;
  readonly path: string;
}

/** Python text of a method, a function or, where `method` is null, a whole module; answered with `text`. */
export interface PrintRequest {
  readonly type: 'print-python';
  readonly id: number;
  readonly model: number;
  readonly module: string;
  readonly method: string | null;
}

/** Answered with `saved`. */
export interface SaveRequest {
  readonly type: 'save';
  readonly id: number;
  readonly model: number;
  readonly module: string;
  readonly extraFiles: readonly (readonly [name: string, contents: string | Uint8Array])[];
}

/** Asks what a method tells of its inputs; answered with `expected-inputs`. */
export interface ExpectedInputsRequest {
  readonly type: 'expected-inputs';
  readonly id: number;
  readonly model: number;
  readonly module: string;
  readonly method: string;
}

/** What a program tells of one of its inputs. */
export interface InputExpectation {
  readonly name: string;
  /** Of a tensor: the dtype that its use asks for. */
  readonly dtype: 'float32' | 'int64' | 'bool' | null;
  /** Of a tensor: its sizes, null for those that the program does not tell; null where not even their number is told. */
  readonly shape: readonly (number | null)[] | null;
  /** Of a tensor of indices: what all of them are below. */
  readonly below: number | null;
  /** Of a number: one that the program compares it with. */
  readonly value: number | null;
}

export interface InputExpectations {
  /** Of each parameter, in their order. */
  readonly inputs: readonly InputExpectation[];
  /** Whole numbers in the program, any of which may be a size that it counts on. */
  readonly sizes: readonly number[];
  /** Whether a call changes nothing that stays. */
  readonly isPure: boolean;
}

/** Runs a method on the host and, operator by operator with the same inputs, on the device; answered with `verified`. */
export interface VerifyRequest extends Omit<CallRequest, 'type'> {
  readonly type: 'verify';
  readonly tolerance: { readonly relative: number; readonly absolute: number } | null;
}

/** Measures calls of a method; answered with `profiled`. */
export interface ProfileRequest extends Omit<CallRequest, 'type' | 'tellsProgress'> {
  readonly type: 'profile';
}

/** Asks how a method's graph comes to be what is run; answered with `passes`. */
export interface PassesRequest {
  readonly type: 'passes';
  readonly id: number;
  readonly model: number;
  readonly module: string;
  readonly method: string;
}

export interface OperatorRegistration {
  readonly schema: string;
  /** A function of the page computes it. */
  readonly hasHost: boolean;
  /** What it comes to in terms of others: functions as text, or one expression of elements. */
  readonly lowering: { readonly script: string } | { readonly expression: unknown } | null;
  /** TorchScript text of a function of the arguments, that gives the sizes of the result or results. */
  readonly shape: string | null;
}

/** Makes an operator known to programs that are compiled from now on; answered with `done`. */
export interface RegisterOperatorRequest extends OperatorRegistration {
  readonly type: 'register-operator';
  readonly id: number;
}

/** What a function of the page gave; answered with `done`. */
export interface OperatorResultRequest {
  readonly type: 'operator-result';
  readonly id: number;
  /** Of the `run-operator` that it belongs to. */
  readonly run: number;
  readonly outcome: OperatorOutcome;
}

/** What the function of a custom operator came to; `written` are arguments by their position. */
export type OperatorOutcome =
  | { readonly values: readonly WireValue[]; readonly written: CallResult['written'] }
  | { readonly error: WireError };

/** Asks what a model would take, without loading it. */
export interface EstimateRequest {
  readonly type: 'estimate';
  readonly id: number;
  readonly input: SentInput;
  readonly device: DeviceChoice;
}

/** What a model would take, bytes. What a run makes comes on top: it depends on the inputs. */
export interface MemoryEstimate {
  readonly fileBytes: number;
  /** Of all tensors as they lie in the file. */
  readonly weightBytes: number;
  /** Of all tensors as they would lie on the device, which keeps narrow types wider. */
  readonly deviceBytes: number;
  readonly largestTensor: {
    /** Its path in the module; empty for one that is in no attribute of it. */
    readonly name: string;
    readonly dtype: ScalarType;
    readonly shape: readonly number[];
    /** On the device. */
    readonly bytes: number;
  } | null;
  /** No tensor on this device can be larger; null on the host. */
  readonly maxTensorBytes: number | null;
}

/** What is answered by parts of the library that are fetched for it. */
export type PartRequest =
  | EstimateRequest
  | CreateRequest
  | DefineRequest
  | RegisterRequest
  | SetAttributeRequest
  | GetAttributeRequest
  | ConstructRequest
  | ReleaseRequest
  | PrintRequest
  | SaveRequest
  | VerifyRequest
  | ProfileRequest
  | PassesRequest
  | ExpectedInputsRequest
  | RegisterOperatorRequest
  | OperatorResultRequest;

/** A value of two devices that is not the same. */
export interface VerificationDifference {
  /** The operator, `aten::softmax.int`. */
  readonly operator: string;
  /** The node in the graph's text. */
  readonly node: string;
  /** Where it stands in Python, as errors print it; empty where the file does not tell. */
  readonly python: string;
  /** Which of its outputs. */
  readonly output: number;
  readonly maxDifference: number;
  /** Where the difference is largest: index, and the values there. */
  readonly at: { readonly index: readonly number[]; readonly host: number; readonly device: number } | null;
  /** Where sizes or dtypes differ already. */
  readonly mismatch: string | null;
  /** The operators of the kernel it is part of, where it runs fused. */
  readonly fusedWith: readonly string[];
}

/** What `verify` found. */
export interface VerificationReport {
  readonly passed: boolean;
  /** Operators whose results were compared, and those that have no kernel for these arguments. */
  readonly compared: number;
  readonly notOnDevice: number;
  /** In the order of running. */
  readonly differences: readonly VerificationDifference[];
}

/** The host asks the page to run a function of a custom operator. */
export interface RunOperatorNotice extends OperatorRun {
  readonly type: 'run-operator';
  readonly run: number;
}

/** A call of a custom operator's function. */
export interface OperatorRun {
  /** With its overload: `my_ns::my_op.out`. */
  readonly operator: string;
  readonly args: readonly WireValue[];
  /** Which arguments the schema says are written. */
  readonly writes: readonly number[];
  /** How many values the schema returns. */
  readonly results: number;
}

export type Answer =
  | { readonly type: 'constructed'; readonly id: number; readonly path: string; readonly summary: ModelSummary }
  | { readonly type: 'attribute'; readonly id: number; readonly value: WireValue }
  | { readonly type: 'saved'; readonly id: number; readonly bytes: ArrayBuffer }
  | { readonly type: 'verified'; readonly id: number; readonly report: VerificationReport }
  | { readonly type: 'profiled'; readonly id: number; readonly profile: CallProfile }
  | { readonly type: 'passes'; readonly id: number; readonly steps: readonly PassStep[] }
  | { readonly type: 'expected-inputs'; readonly id: number; readonly expectations: InputExpectations }
  | { readonly type: 'loaded'; readonly id: number; readonly summary: ModelSummary }
  | {
      readonly type: 'checkpoint';
      readonly id: number;
      readonly tensors: readonly (readonly [name: string, tensor: WireTensor])[];
    }
  | { readonly type: 'estimated'; readonly id: number; readonly estimate: MemoryEstimate }
  | { readonly type: 'state-dict-loaded'; readonly id: number; readonly report: StateDictReport }
  | { readonly type: 'called'; readonly id: number; readonly result: CallResult }
  | { readonly type: 'text'; readonly id: number; readonly text: string }
  | { readonly type: 'explained'; readonly id: number; readonly explanation: Explanation }
  | { readonly type: 'tensor'; readonly id: number; readonly tensor: WireTensor }
  | { readonly type: 'memory'; readonly id: number; readonly report: MemoryReport }
  | { readonly type: 'done'; readonly id: number }
  | { readonly type: 'failed'; readonly id: number; readonly error: WireError; readonly result: CallResult | null };

/** What the host says without being asked, or on the way to an answer. */
export type Notice =
  | { readonly type: 'ready' }
  /** Of a `load`, also after its answer: weights of a large file come when they are needed. */
  | { readonly type: 'progress'; readonly id: number; readonly progress: TransferProgress }
  | { readonly type: 'print'; readonly text: string }
  | { readonly type: 'warning'; readonly text: string }
  /** Lines of the compiler's log. */
  | { readonly type: 'log'; readonly text: string }
  | RunOperatorNotice;

export type FromHost = Answer | Notice;

/** One end of a channel of messages: a Worker, a worker's global scope, or one end of `inProcessPorts`. */
export interface Port<Incoming, Outgoing> {
  send(message: Outgoing, transfer: Transferable[]): void;
  /** Called with each message; set once. */
  receive(handler: (message: Incoming) => void): void;
  /** Told when an answer is waited for, and when none is any more. */
  hold?(isNeeded: boolean): void;
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
