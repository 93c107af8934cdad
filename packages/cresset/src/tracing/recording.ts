import { writeModule } from '@cresset/archive';
import { checkInputs, tracedFunction, Tracer, traceError } from '@cresset/frontend';
import { lint, type Graph, type GraphFunction } from '@cresset/ir';
import { eliminateDeadWrites, lowerSimpleTuples, normalizeOps } from '@cresset/passes';
import { functionModule, HostOperators, initializeRuntime } from '@cresset/runtime';
import type { IValue, ScriptObject } from '@cresset/tensor';
import { parameterNames } from '../page/parameter-names.ts';
import type { ActiveTrace, TraceOptions } from '../page/trace.ts';
import { Tensor as PageTensor } from '../page/values/tensor.ts';
import { mapItems } from '../page/values/named-tuple.ts';
import { TensorList } from '../page/values/tensor-list.ts';
import { calleeArguments } from './callee-arguments.ts';
import { runtimeTensor } from './runtime-tensor.ts';
import { ScriptedCallees, type TracedCallee } from './scripted-callees.ts';
import { ModuleTree, type TraceableModule } from './traced-module.ts';
import type { TracedTensor } from './traced-tensor.ts';
import { TracedValues } from './traced-values.ts';

export { checkTrace } from './trace-check.ts';
export { ScriptedCallees };

/** Options of a trace that decide what is recorded. */
export type RecordOptions = Pick<TraceOptions, 'argumentNames' | 'strict' | 'forceOutplace' | 'warn'>;

/** Makes calls of `torch` and of programs what a trace says, while `body` runs. */
type WithTrace = <T>(trace: ActiveTrace, body: () => T) => T;

/** Puts in place what compiling needs, which tracing does too. */
export function register(): void {
  initializeRuntime();
}

/** A function to be traced: its last parameter is the module `torch`, its results tensors, arrays or objects of such. */
export type TraceableFunction = (...inputs: TracedTensor[]) => unknown;

/** Example inputs of the methods that are traced, by their names. */
export type MethodInputs = Readonly<Record<string, readonly unknown[]>>;

/** What a trace recorded of one method. */
export interface RecordedMethod {
  readonly graph: Graph;
  /** What the function gave. */
  readonly outputs: IValue;
}

/** What a trace recorded: a module with the methods that were traced. */
export interface RecordedTrace {
  readonly module: ScriptObject;
  readonly methods: ReadonlyMap<string, RecordedMethod>;
}

/** Traces one program, as often as it takes. Random numbers go on from one time to the next. */
export class TraceRecorder {
  readonly #program: TraceableFunction | TraceableModule;
  readonly #options: RecordOptions;
  readonly #withTrace: WithTrace;
  readonly #operators = new HostOperators();
  readonly #told = new Set<string>();
  readonly callees: ScriptedCallees;

  constructor(
    program: TraceableFunction | TraceableModule,
    options: RecordOptions,
    withTrace: WithTrace,
    callees = new ScriptedCallees(),
  ) {
    this.#program = program;
    this.#options = options;
    this.#withTrace = withTrace;
    this.callees = callees;
  }

  /** Shows a warning, once. */
  readonly warn = (message: string): void => {
    if (this.#told.has(message)) return;
    this.#told.add(message);
    this.#options.warn?.(message);
  };

  /**
   * Runs the program on example inputs and records what it does. Throws `TRACE` for what cannot be recorded.
   *
   * @param warn shows warnings
   */
  record(inputs: MethodInputs, warn: (message: string) => void = this.warn): RecordedTrace {
    const program = this.#program;
    const tree = typeof program === 'object' ? new ModuleTree(program, cleanUp, this.callees) : null;
    const methods = new Map(
      Object.entries(inputs).map(([name, given]) => [name, this.#method(name, given, tree, warn)]),
    );
    if (tree) return { module: tree.root.object, methods };
    const { graph } = methods.get('forward')!;
    cleanUp(graph);
    return { module: functionModule(tracedFunction('__torch__.traced', graph)), methods };
  }

  #method(
    name: string,
    inputs: readonly unknown[],
    tree: ModuleTree | null,
    warn: (message: string) => void,
  ): RecordedMethod {
    const { strict, forceOutplace, argumentNames } = this.#options;
    const operators = this.#operators;
    const tracer = new Tracer(
      {
        execute: (operator, args) => operators.call(operator, args),
        run: (fn, args) => operators.run(fn, args)[0] ?? null,
        warn,
        strict,
        forceOutplace,
      },
      tree?.root ?? null,
      tree?.places,
    );
    const values = new TracedValues(tracer);
    tree?.begin(values);
    const source = this.#sourceOf(name);
    const run = source.bind(tree?.self(this.#program) ?? null) as (...inputs: readonly unknown[]) => unknown;
    const names = argumentNames ?? parameterNames(source);
    const examples = exampleInputs(inputs, values);
    checkInputs(examples);
    const given = examples.map((input, index) => tracer.addInput(input, names[index] ?? ''));
    const trace = { torch: values.torch, call: this.#caller(values, tree) };
    const body = (): unknown => run(...given.map((input) => values.wrap(input)), values.torch);
    const result = this.#withTrace(trace, body);
    if (result instanceof Promise) {
      result.catch(() => undefined);
      throw traceError('an async function cannot be traced: what it does after its first wait is not seen');
    }
    this.callees.requireAll();
    const outputs = values.unwrap(result ?? null);
    tracer.addOutput(outputs, 0);
    const { graph } = tracer;
    tree?.define(tree.root.object.type, graph, name);
    return { graph, outputs };
  }

  #sourceOf(name: string): TraceableFunction {
    const program = this.#program;
    const source = typeof program === 'object' ? (program as unknown as Record<string, unknown>)[name] : program;
    if (typeof source === 'function') return source as TraceableFunction;
    throw traceError(`the module that is traced has no method '${name}'`);
  }

  /** Has calls of programs that were compiled before recorded. */
  #caller(values: TracedValues, tree: ModuleTree | null): ActiveTrace['call'] {
    return (file, path, name, args) => {
      const callee: TracedCallee = { file, module: path, name };
      const { tracer } = values;
      const unwrap = (value: unknown): ReturnType<TracedValues['tensorIn']> => values.tensorIn(value);
      const fn = this.callees.functionOf(callee);
      if (fn) return values.wrap(tracer.callFunction(fn, calleeArguments(fn, undefined, args, unwrap)));
      const object = this.callees.moduleOf(callee);
      const module = tree?.placeOf(object) ?? { object, path: [''] };
      const method = object.type.getMethod(callee.name) as GraphFunction;
      const bound = calleeArguments(method, object, args, unwrap).slice(1);
      return values.wrap(tracer.callMethod(module, method, bound));
    };
  }

  /** What a recorded method gives for inputs, computed on the host. */
  run({ module }: RecordedTrace, name: string, inputs: readonly unknown[]): IValue {
    const method = module.type.getMethod(name) as GraphFunction;
    const args = inputs.map(inputValue);
    return this.#operators.run(method, [module, ...args])[0] ?? null;
  }
}

/** The function's inputs as programs get them. */
function exampleInputs(inputs: readonly unknown[], values: TracedValues): IValue[] {
  return inputs.map((input) => values.unwrap(withRuntimeTensors(input)));
}

/** An input as a program gets it. */
function inputValue(input: unknown): IValue {
  return TracedValues.plain(withRuntimeTensors(input));
}

function withRuntimeTensors(value: unknown): unknown {
  if (value instanceof PageTensor) return runtimeTensor(value);
  if (value instanceof TensorList) return new TensorList(value.items.map(withRuntimeTensors));
  if (Array.isArray(value)) return mapItems(value, withRuntimeTensors);
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, withRuntimeTensors(item)]));
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withRuntimeTensors(item)]));
  }
  return value;
}

/** As torch.jit.trace leaves a graph (PyTorch: FixupTraceScopeBlocks and runCleanupPasses). */
function cleanUp(graph: Graph): void {
  normalizeOps(graph);
  lowerSimpleTuples(graph);
  eliminateDeadWrites(graph);
  lint(graph);
}

/** The file of a traced program. */
export function traceFile({ module }: RecordedTrace): Promise<Uint8Array<ArrayBuffer>> {
  return writeModule(module, { name: 'traced' });
}
