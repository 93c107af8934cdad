/** What every edition of the library exports beside the functions that start it. */
export { CressetError, setJitLogSink, setJitOptions, type JitOptions } from '@cresset/ir';
export { ScriptFailure as TorchScriptError } from '@cresset/runtime';
export type {
  DeviceReport,
  Explanation,
  LoadTimings,
  ModelSummary,
  ModuleSummary,
  OperatorUse,
  RunProfile,
  StateDictReport,
  TensorSummary,
} from '@cresset/runtime';
export type { CachedFile } from '@cresset/archive';
export type { Availability, UnavailableReason } from './availability.ts';
export { cache } from './cache.ts';
export type { CheckpointOptions, LoadOptions, MemoryReport, ModelInput } from './library.ts';
export {
  ScriptModule,
  type ArgumentOptions,
  type CallOptions,
  type GraphOptions,
  type ModelMethod,
  type ModelPlace,
  type PreloadOptions,
  type StateDictOptions,
} from './script-module.ts';
export {
  Tensor,
  tensor,
  type DType,
  type Quantizer,
  type StorageDType,
  type NestedArray,
  type TensorData,
  type TensorInput,
  type TensorJson,
  type TensorOptions,
} from './tensor.ts';
export type { ComplexNumber, EnumMember, Input, Output } from './value.ts';
export { version } from './version.ts';
