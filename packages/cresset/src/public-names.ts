/** What every edition of the library exports beside the functions that start it. */
export { CressetError } from '@cresset/ir';
export { ScriptFailure as TorchScriptError } from '@cresset/runtime';
export type {
  DeviceReport,
  Explanation,
  ModelSummary,
  ModuleSummary,
  OperatorUse,
  RunProfile,
  TensorSummary,
} from '@cresset/runtime';
export type { Availability, UnavailableReason } from './availability.ts';
export type { LoadOptions, MemoryReport, ModelInput } from './library.ts';
export {
  ScriptModule,
  type CallOptions,
  type GraphOptions,
  type ModelMethod,
  type ModelPlace,
} from './script-module.ts';
export {
  Tensor,
  tensor,
  type DType,
  type NestedArray,
  type TensorData,
  type TensorInput,
  type TensorOptions,
} from './tensor.ts';
export type { ComplexNumber, EnumMember, Input, Output } from './value.ts';
export { version } from './version.ts';
