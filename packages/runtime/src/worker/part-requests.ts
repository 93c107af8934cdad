import type { SentInput } from '@cresset/archive';
import type { ScalarType } from '@cresset/tensor';
import type { TrainRequest } from '../training/training-requests.ts';
import type { CallRequest, CallResult, DeviceChoice, WeightPrecision } from './core-requests.ts';
import type { WireError, WireTensor, WireValue } from './wire/wire-format.ts';

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
  /** As of a file that is loaded. */
  readonly memoryLimit?: number | undefined;
}

/** Compiles functions and classes into a program, or methods into a module of it. */
export interface DefineRequest {
  readonly type: 'define';
  readonly id: number;
  readonly model: number;
  readonly source: string;
  readonly filename: string | null;
  /** Names that the source has besides its own. */
  readonly globals: readonly (readonly [name: string, value: WireGlobal])[];
}

/** What the source of a program is given by name. */
export type WireGlobal =
  | { readonly kind: 'value'; readonly value: WireValue }
  /** Python that says it. */
  | { readonly kind: 'expression'; readonly text: string }
  | { readonly kind: 'enum'; readonly members: readonly (readonly [name: string, value: WireValue])[] }
  /** A function of the page, with its parameters and result in Python, and what the page knows it by. */
  | { readonly kind: 'outside'; readonly signature: string; readonly operator: string }
  /** A function or class of a program from source. */
  | { readonly kind: 'member'; readonly model: number; readonly name: string }
  | { readonly kind: 'unit'; readonly model: number }
  | { readonly kind: 'module'; readonly model: number; readonly path: string };

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

/** Asks for a method's graph at a stage of its executor, or after passes; answered with `text`. */
export interface GraphRequest {
  readonly type: 'graph';
  readonly id: number;
  readonly model: number;
  readonly module: string;
  readonly method: string;
  readonly options: {
    /** Begins with the graph as it runs, not as it was compiled. */
    readonly optimized?: boolean;
    /** Begins with the graph of that stage. */
    readonly stage?: string;
    /** Names of passes, in their order. */
    readonly passes?: readonly string[];
    /** Wants the instructions that it comes to as well. */
    readonly asCode?: boolean;
  };
}

/** Makes a frozen copy of a module, a model of its own; answered with `loaded`. */
export interface FreezeRequest {
  readonly type: 'freeze';
  readonly id: number;
  readonly model: number;
  readonly module: string;
  /** The number that the new model gets. */
  readonly frozen: number;
  /** Attributes and methods to be kept beside `forward`. */
  readonly preserved: readonly string[];
  readonly optimizeNumerics: boolean;
}

/** Answered with `saved`. */
export interface SaveRequest {
  readonly type: 'save';
  readonly id: number;
  readonly model: number;
  readonly module: string;
  /** A function of a program from source, which is written as a module; null for a module. */
  readonly function: string | null;
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

/**
 * Runs a method on the host and, operator by operator with the same inputs, on the device; and as a whole, again and again, as it is
 * optimised, and as it was written. Answered with `verified`.
 */
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
  /** TorchScript text of a function of gradients, arguments and results, by their names, that gives the gradients of its tensors. */
  readonly backward: string | null;
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
  readonly weights?: WeightPrecision;
}

/** What a model would take, bytes. What a run makes comes on top: it depends on the inputs. */
export interface MemoryEstimate {
  readonly fileBytes: number;
  /** Of all tensors as they lie in the file. */
  readonly weightBytes: number;
  /** Of all tensors as they would lie on the device. */
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

/** Asks what all models take; answered with `memory`. */
export interface MemoryRequest {
  readonly type: 'memory';
  readonly id: number;
}

/** Has what no work uses given back; answered with `done`. */
export interface TrimRequest {
  readonly type: 'trim';
  readonly id: number;
}

export interface MemoryReport {
  readonly models: number;
  /** Tensors of the page that stayed where they were made. */
  readonly tensors: number;
  /** Bytes in use on the device, of all models. */
  readonly deviceBytes: number;
  /** Bytes that the device keeps for reuse beside them. */
  readonly pooledBytes: number;
  /** The most bytes that the device has held at one time. */
  readonly peakBytes: number;
}

/** Asks for the elements of a tensor that stayed where it was made; answered with `tensor`. */
export interface DeviceTensorRequest {
  readonly type: 'device-tensor';
  readonly id: number;
  readonly tensor: number;
}

/** Gives up tensors that stayed where they were made; answered with `done`. */
export interface ReleaseTensorsRequest {
  readonly type: 'release-tensors';
  readonly id: number;
  readonly tensors: readonly number[];
}

/** Asks what one model takes; answered with `model-memory`. */
export interface ModelMemoryRequest {
  readonly type: 'model-memory';
  readonly id: number;
  readonly model: number;
}

/** What a model holds between calls. */
export interface ModelMemoryReport {
  /** Bytes of its tensors, on the host and on the device; those of weights that nothing needed so far among them. */
  readonly heldBytes: number;
  /** What they may take with those of a run (`memoryLimit`); null for no limit. */
  readonly limitBytes: number | null;
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
  | DeviceTensorRequest
  | ReleaseTensorsRequest
  | PrintRequest
  | SaveRequest
  | FreezeRequest
  | GraphRequest
  | VerifyRequest
  | ProfileRequest
  | PassesRequest
  | ExpectedInputsRequest
  | MemoryRequest
  | TrimRequest
  | ModelMemoryRequest
  | TrainRequest
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
  /** Which call of the whole program was different, from 1; null where the operator was compared by itself. */
  readonly run: number | null;
  /** What was different of that call. Node and numbers are those of the first node that is wrong where the program ends with it. */
  readonly part: 'result' | 'arguments' | 'state' | null;
}

/** What `verify` found. */
export interface VerificationReport {
  readonly passed: boolean;
  /** Operators whose results were compared, and those that have no kernel for these arguments. */
  readonly compared: number;
  readonly notOnDevice: number;
  /** Calls of the whole program that were compared. */
  readonly runs: number;
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
