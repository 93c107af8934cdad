export { compileCode, type CodeProvider } from './interpreter/code/code-compiler.ts';
export { printCode } from './interpreter/code/code-printer.ts';
export type { Code, CodeSource } from './interpreter/code/code.ts';
export { Execution } from './run/execution.ts';
export {
  ExecutorCache,
  GraphExecutor,
  type ExecutionPlan,
  type RunSpec,
  type StepListener,
} from './executor/graph-executor.ts';
export { InterpreterState } from './interpreter/interpreter-state.ts';
export { defaultLimits, type RuntimeLimits } from './run/limits.ts';
export { PhiloxGenerator } from './run/philox.ts';
export type { RunCounters } from './run/run-counters.ts';
export { RuntimeContext, type RuntimeContextOptions } from './run/runtime-context.ts';
export { InterruptedError, TorchScriptError } from './interpreter/script-error.ts';
export { runtimeConstants, toIValue } from './interpreter/code/constant-value.ts';
export {
  explainFunction,
  type Explanation,
  type KernelReport,
  type OperatorUse,
  type Placement,
  type StretchReport,
} from './explanation.ts';
export { registerCustomOperator } from './authoring/custom-operators.ts';
export { HostOperators } from './authoring/operator-call.ts';
export { newModule } from './authoring/source-program.ts';
export { functionModule } from './saving/function-module.ts';
export { registerAllParts } from './all-parts.ts';
export type { ScalarCall, ScalarForm } from './authoring/scalar-expression.ts';
export { initializeRuntime } from './initialize.ts';
export type * from './inspection/profiling/profile-report.ts';
export type { RunProfile } from './run/run-profile.ts';
export { ScriptModule, type CallOptions, type ScriptModuleOptions } from './script-module.ts';
export { bindArguments } from './worker/argument-binding.ts';
export { inProcessPorts } from './worker/in-process-ports.ts';
export * from './worker/wire/protocol.ts';
export type { Hyperparameters, OptimizerName } from './training/optimizers.ts';
export { ScriptFailure } from './worker/script-failure.ts';
export { toWireError } from './worker/wire/wire-error.ts';
export { toWire, WireReader } from './worker/wire/wire-value.ts';
export { WorkerClient, type WorkerClientOptions } from './worker/worker-client.ts';
export { PartLoader, type Part, type PartImports, type PartUse } from './worker/part-loader.ts';
export { WorkerHost, type HostEnvironment } from './worker/worker-host.ts';
export { passEnvironment } from './named-passes/pass-environment.ts';
export { evaluateAnyConstant, evaluateConstant } from './executor/constant-evaluator.ts';
export type { RuntimeServices } from './services.ts';
