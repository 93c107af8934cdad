import type { SentInput } from '@cresset/archive';
import type { JitOptions } from '@cresset/ir';
import type { ScalarType } from '@cresset/tensor';
import type { RunProfile } from '../run/run-profile.ts';
import type { PartUse } from './part-loader.ts';
import type { WireTensor, WireValue } from './wire/wire-format.ts';

export type DeviceChoice = 'auto' | 'webgpu' | 'cpu';

/** Where a model runs and why there. */
export interface DeviceReport {
  readonly device: 'webgpu' | 'cpu';
  /** The adapter's name, or the host. */
  readonly description: string;
  /** Why this one was chosen. */
  readonly reason: string;
  /**
   * Where the model computes on a device: up to so many elements of each tensor, work on what lies on the host is done there, without a launch (`setJitOptions({ smallWork })`). `explain()`
   * tells of what.
   */
  readonly smallWork?: number;
}

/** A parameter or buffer, without its elements. */
export interface TensorSummary {
  readonly name: string;
  readonly dtype: ScalarType;
  readonly shape: readonly number[];
  readonly kind: 'parameter' | 'buffer';
  /** Whether it is trained. */
  readonly requiresGrad: boolean;
  /** Of a tensor that stands in several places, in all but the first: the full name that it has there. */
  readonly tied?: string;
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
  /** Which program of a file that has several. */
  readonly program?: string | undefined;
  /** How weights of float32 lie on a GPU. */
  readonly weights?: WeightPrecision;
  /** Bytes that the tensors of the model and its runs may take; without it, any. */
  readonly memoryLimit?: number | undefined;
}

/** How weights of float32 lie on a GPU. */
export type WeightPrecision = 'float32' | 'float16';

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
  /** Buffers of earlier results, for those of this call. */
  readonly spare?: readonly ArrayBuffer[];
  /** Where the tensors of the result are to be; without it, on the page. */
  readonly outputs?: OutputPlaces | undefined;
}

/** Where tensors of a result are: on the page with their elements, or where they were made. */
export type OutputPlace = 'page' | 'device';

/** One place for all tensors of a result, or one for each value of a tuple or list that it is. */
export type OutputPlaces = OutputPlace | readonly OutputPlace[];

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
    }
  | { readonly about: 'tensor'; readonly name: string }
);

export interface DisposeRequest {
  readonly type: 'dispose';
  readonly id: number;
  readonly model: number;
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
  /** Where the first program is to run, where that is known: what computes there is fetched at once. */
  readonly device: DeviceChoice | null;
}

/** What a call gives. */
export interface CallResult {
  readonly value: WireValue;
  /** Arguments that the program wrote to, by their keys, as they are now. */
  readonly written: readonly (readonly [key: number, tensor: WireTensor])[];
  /** Buffers in which arguments came, for those of the next call. */
  readonly spared: readonly ArrayBuffer[];
  readonly profile: RunProfile;
  /** The sizes of tensors of the page that stay where they were made, by their numbers, where they have others now. */
  readonly reshaped?: readonly (readonly [id: number, shape: readonly number[]])[] | undefined;
}
