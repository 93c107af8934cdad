// As much of the other libraries as the bench calls: only `pnpm bench` installs them, and everything is checked without.

/** What vite-plugin.mjs puts in its place. */
declare const __JAX_VERSION__: string;

interface ImportMeta {
  /** Vite's: whether this was made for Node. */
  readonly env: { readonly SSR: boolean };
}

declare module '*?url' {
  const address: string;
  export default address;
}

declare module 'onnxruntime-web' {
  export class Tensor {
    constructor(type: string, data: ArrayBufferView, dims: readonly number[]);
    readonly type: string;
    readonly dims: readonly number[];
    readonly data: ArrayBufferView;
    /** Brings the elements to the host. @param releases what lies on the GPU then */
    getData(releases?: boolean): Promise<ArrayBufferView>;
    dispose(): void;
  }
  export interface Session {
    readonly inputNames: readonly string[];
    readonly outputNames: readonly string[];
    run(feeds: Readonly<Record<string, Tensor>>): Promise<Readonly<Record<string, Tensor>>>;
    release(): Promise<void>;
  }
  export const InferenceSession: {
    create(
      model: Uint8Array,
      options: {
        readonly executionProviders: readonly string[];
        /** Where results are left. */
        readonly preferredOutputLocation?: 'cpu' | 'gpu-buffer';
      },
    ): Promise<Session>;
  };
  export const env: {
    readonly versions: { readonly common?: string; readonly web?: string };
    readonly wasm: { wasmPaths?: { readonly wasm: string }; numThreads?: number };
    logLevel: string;
  };
}

declare module 'onnxruntime-web/webgpu' {
  export * from 'onnxruntime-web';
}

declare module 'onnxruntime-web/wasm' {
  export * from 'onnxruntime-web';
}

declare module '@tensorflow/tfjs-core' {
  import type { TensorFlow } from './tensorflow-api.ts';

  const tensorflow: TensorFlow;
  export = tensorflow;
}

declare module '@tensorflow/tfjs-core/dist/register_all_gradients.js' {}

declare module '@tensorflow/tfjs-backend-webgpu' {}

declare module '@tensorflow/tfjs-backend-wasm' {
  export function setWasmPaths(paths: Readonly<Record<string, string>>): void;
}

declare module '@jax-js/jax' {
  export interface Array {
    readonly shape: number[];
    /** The same array, for one more use: functions take their arguments over. */
    readonly ref: Array;
    add(other: Array): Array;
    sub(other: Array): Array;
    mul(other: Array | number): Array;
    sum(): Array;
    reshape(shape: readonly number[]): Array;
    data(): Promise<ArrayBufferView>;
    dispose(): void;
  }
  export type Device = 'wasm' | 'webgpu';
  export const numpy: {
    array(data: ArrayBufferView, options: { readonly shape: readonly number[]; readonly dtype?: string }): Array;
    matmul(a: Array, b: Array): Array;
  };
  export const nn: { relu(x: Array): Array; logSoftmax(x: Array, axis?: number): Array };
  export const lax: {
    convWithGeneralPadding(
      x: Array,
      filter: Array,
      strides: readonly number[],
      padding: readonly (readonly [number, number])[],
    ): Array;
  };
  /** What a function gives, and its gradients by the first argument. */
  export function valueAndGrad<Weights, Others extends readonly unknown[]>(
    fn: (weights: Weights, ...others: Others) => Array,
  ): (weights: Weights, ...others: Others) => [value: Array, gradients: Weights];
  export function init(...devices: Device[]): Promise<Device[]>;
  export function defaultDevice(device: Device): Device;
  export function jit<Fn extends (...inputs: never[]) => unknown>(fn: Fn): Fn & { dispose(): void };
}

declare module '@jax-js/onnx' {
  import type { Array } from '@jax-js/jax';
  export class ONNXModel {
    constructor(bytes: Uint8Array);
    readonly model: {
      readonly graph?: {
        readonly input: { readonly name: string }[];
        readonly output: { readonly name: string }[];
        readonly initializer: { readonly name: string }[];
      };
    };
    readonly run: (inputs: Record<string, Array>) => Record<string, Array>;
    dispose(): void;
  }
}
