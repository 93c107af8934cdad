/** What the library exports beside the functions that use its worker. */
export { CressetError, setJitLogSink, setJitOptions, version, type JitOptions } from '@cresset/ir';
export { ScriptFailure as TorchScriptError } from '@cresset/runtime';
export type {
  CallPhases,
  CallProfile,
  DeviceReport,
  Explanation,
  InputExpectation,
  InputExpectations,
  KernelPlace,
  KernelProfile,
  KernelReport,
  LoadPhases,
  LoadTimings,
  ModelMemoryReport,
  ModelSummary,
  ModuleSummary,
  OperatorUse,
  OutputPlace,
  OutputPlaces,
  PartUse,
  PassStep,
  RunProfile,
  ScalarForm,
  SourceLine,
  StateDictReport,
  StretchReport,
  TensorSummary,
  TraceEvent,
  VerificationDifference,
  VerificationReport,
} from '@cresset/runtime';
export type { CachedFile } from '@cresset/archive';
export type { Availability, UnavailableReason } from './page/availability.ts';
export { cache } from './page/cache.ts';
export type { CheckpointOptions, LoadOptions, MemoryReport } from './page/library.ts';
export type { ProfileOptions, VerifyOptions } from './page/inspection.ts';
export type { SaveOptions, StateDictOptions } from './page/module-state.ts';
export type { ArgumentOptions, CallOptions } from './page/loaded-file.ts';
export type { ModelInput } from './page/values/model-input.ts';
export {
  ScriptModule,
  type GraphOptions,
  type ModelMethod,
  type ModelPlace,
  type PreloadOptions,
} from './page/script-module.ts';
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
  type TensorParts,
} from './page/values/tensor.ts';
export type { DeviceTensor } from './page/values/device-tensor.ts';
export type { ComplexNumber, EnumMember, Input, Output } from './page/values/value.ts';
export {
  AuthoredModule,
  moduleDict,
  moduleList,
  sequential,
  type DefineOptions,
  type ModuleContainer,
  type ParameterOptions,
  type Submodule,
} from './page/authored-module.ts';
export type { ProgramOptions, ScriptClass, ScriptFunction, ScriptObject } from './page/compilation-unit.ts';
export type { OperatorImplementation, OperatorShape } from './page/custom-operator.ts';
export { ignore, python, type GlobalValue, type Globals, type IgnoredFunction } from './page/global-values.ts';
export type { EstimateOptions, ModelEstimate } from './page/estimate.ts';
export type { FreezeOptions } from './page/freeze.ts';
export { TensorList } from './page/values/tensor-list.ts';
export { torch, type TraceOptions } from './page/trace.ts';
export type { TraceableFunction } from './tracing/recording.ts';
export type { TraceableModule } from './tracing/traced-module.ts';
export type { TracedTensor, TracedTorch, TraceIndex } from './tracing/traced-tensor.ts';
export {
  lrScheduler,
  optim,
  type AdamOptions,
  type OneCycleOptions,
  type Optimizer,
  type OptimizerOf,
  type Optimizers,
  type ParameterGroup,
  type Parameters,
  type PlateauOptions,
  type RMSpropOptions,
  type Schedule,
  type Schedules,
  type SGDOptions,
} from './training/optim.ts';
export type { LRScheduler } from './training/lr-scheduler.ts';
export type { ParamGroup } from './training/optimizer-groups.ts';
export type {
  DifferentiateOptions,
  GradOptions,
  Gradients,
  HookHandle,
  OptimizerStateDict,
  StepOptions,
  StepResult,
  Trainer,
  TrainerOptions,
} from './training/training.ts';
