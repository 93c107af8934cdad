import {
  ClassType,
  GraphFunction,
  IntType,
  TensorType,
  unshapedType,
  type Graph,
  type Symbol,
  type Type,
  type Value,
} from '@cresset/ir';
import { ScriptObject, Tensor, Tuple, type IValue } from '@cresset/tensor';
import { convolutionRank, generalConvolution } from './convolution-calls.ts';
import {
  markRequiresGrad,
  OperatorRecorder,
  requiresGrad,
  type OperatorExecutor,
  type TracedCall,
} from './operator-recorder.ts';
import type { TracedArgument } from './traced-arguments.ts';
import { withoutScope, type AttributePlace, type TracedModule, type TracingFrame } from './tracing-frame.ts';
import { TracingState, traceError, type TracingOptions } from './tracing-state.ts';

export interface TracerOptions extends TracingOptions {
  readonly execute: OperatorExecutor;
  /** Runs a function that was compiled before. */
  readonly run?: ((fn: GraphFunction, args: readonly IValue[]) => IValue) | undefined;
}

/** What a program reads out of a tensor, by the words that the warning has for it. */
export type PythonValue = 'boolean' | 'integer' | 'float' | 'index' | 'list' | 'number';

const DATAFLOW_MESSAGE =
  " might cause the trace to be incorrect. We can't record the data flow of Python values, so this value will be treated as a constant " +
  'in the future. This means that the trace might not generalize to other inputs!';

const CONSTRUCTOR_MESSAGE =
  ' results are registered as constants in the trace. You can safely ignore this warning if you use this function to create tensors out of ' +
  'constant variables that would be the same every time you call this function. In any other case, this might cause the trace to be incorrect.';

/**
 * Runs a program on example inputs and records the operators it calls as a graph (PyTorch: torch/csrc/jit/frontend/tracer). Tensors are
 * computed as the program goes, so it may look at them; what it does with what it sees is not recorded.
 */
export class Tracer {
  readonly #state: TracingState;
  readonly #recorder: OperatorRecorder;
  readonly #run: NonNullable<TracerOptions['run']>;

  constructor(
    options: TracerOptions,
    module: TracedModule | null = null,
    places: ReadonlyMap<Tensor, AttributePlace> = new Map(),
  ) {
    this.#state = new TracingState(options, module, places);
    this.#recorder = new OperatorRecorder(this.#state, options.execute);
    this.#run =
      options.run ??
      ((fn) => {
        throw traceError(`nothing here runs ${fn.name}`);
      });
  }

  get graph(): Graph {
    return this.#state.graph;
  }

  /** Adds an input to the graph; gives the value the program is to work with. */
  addInput(value: IValue, name = ''): IValue {
    return this.#state.input(value, this.graph.addInput(name));
  }

  /** Makes a value a result of the graph. */
  addOutput(value: IValue, index: number): void {
    this.graph.registerOutput(this.#state.outputOf(value, index));
  }

  /** Calls an operator. One result is itself, several are an array. Throws `TRACE` where no overload takes the arguments. */
  call(
    name: Symbol,
    args: readonly TracedArgument[],
    kwargs?: Readonly<Record<string, TracedArgument>>,
  ): IValue | readonly IValue[] {
    const results = this.#call({ name, args, kwargs });
    return results.length === 1 ? results[0]! : results;
  }

  /** Reads all elements of a tensor, which PyTorch records what it does for (`Tensor.tolist`). */
  readAll(tensor: Tensor): void {
    this.warnOfPythonValue('list');
    for (const name of ['aten::resolve_conj', 'aten::resolve_neg']) {
      const [resolved] = this.#recorder.call({ name, args: [tensor] });
      this.#state.setValue(tensor, this.#state.valueOf(resolved!));
    }
  }

  /** Calls an operator without recording it: its results are constants of the trace. */
  runUnrecorded(name: Symbol, args: readonly TracedArgument[]): IValue {
    return this.#recorder.run({ name, args })[0]!;
  }

  #call(call: TracedCall): readonly IValue[] {
    const general = generalConvolution(call);
    if (general === undefined) {
      return this.#recorder.call(call);
    }
    const [input] = general.args as readonly [Tensor];
    if (input.dim !== convolutionRank(call.name)! - 1) {
      return this.#recorder.call(general);
    }
    // An input without a batch gets one of one.
    const [batched] = this.#recorder.call({ name: 'aten::unsqueeze', args: [input, 0n] });
    const [result] = this.#recorder.call({ ...general, args: [batched, ...general.args.slice(1)] });
    return this.#recorder.call({ name: 'aten::squeeze', args: [result, 0n] });
  }

  /** `tensor.size(dim)`: a tensor without dimensions, so that what is done with it is recorded (PyTorch: getSizeOf). */
  sizeOf(tensor: Tensor, dim: number): Tensor {
    const at = dim < 0 ? dim + tensor.dim : dim;
    const size = tensor.sizes[at];
    if (size === undefined) {
      throw traceError(
        `Dimension out of range (expected to be in range of [${-tensor.dim}, ${tensor.dim - 1}], but got ${dim})`,
      );
    }
    const { graph } = this;
    return this.#numberOf(size, 'aten::size', [this.#state.valueOf(tensor), graph.insertConstant(BigInt(dim))]);
  }

  /** `tensor.numel()` */
  numelOf(tensor: Tensor): Tensor {
    return this.#numberOf(tensor.numel, 'aten::numel', [this.#state.valueOf(tensor)]);
  }

  #numberOf(value: number, name: Symbol, inputs: Parameters<Graph['create']>[1]): Tensor {
    const { graph } = this;
    const node = graph.insertNode(graph.create(name, inputs));
    node.output().setType(IntType.get());
    const number = Tensor.fromArray(BigInt64Array.of(BigInt(value)), [], 'int64');
    const traced = graph.insertNode(graph.createNumToTensor(node.output())).output();
    this.#state.setValue(number, traced);
    return number;
  }

  /** Warns that the program took a number out of a tensor, which the trace will not do again. */
  warnOfPythonValue(what: PythonValue): void {
    this.#state.warn(`Converting a tensor to a Python ${what}${DATAFLOW_MESSAGE}`);
  }

  /** Warns that a tensor made of JavaScript's data is a constant of the trace. */
  warnOfConstant(constructor: string): void {
    this.#state.warn(`${constructor}${CONSTRUCTOR_MESSAGE}`);
  }

  warn(message: string): void {
    this.#state.warn(message);
  }

  /** Calls a function that was compiled or traced before; its call is recorded, and not what it does (PyTorch: runAndInsertCall). */
  callFunction(fn: GraphFunction, args: readonly IValue[]): IValue {
    return this.#callScripted(fn, args, (inputs, type) => this.graph.insertFunctionCall(fn, inputs, type), false);
  }

  /** As {@link callFunction}, for a method of a module that was compiled or traced before. Throws `TRACE` where that is no part of what is traced. */
  callMethod(module: TracedModule, method: GraphFunction, args: readonly IValue[]): IValue {
    const { object } = module;
    const self = this.#valueOfModule(module);
    return this.#callScripted(
      method,
      [object, ...args],
      (inputs, type) => this.graph.insertMethodCall(method.name, [self, ...inputs], type),
      usesParameter(method.graph),
    );
  }

  #callScripted(
    fn: GraphFunction,
    args: readonly IValue[],
    insert: (inputs: readonly Value[], type: Type) => Value,
    isOfParameters: boolean,
  ): IValue {
    const own = args.filter((each) => !(each instanceof ScriptObject));
    const call = insert(
      own.map((each) => this.#state.valueOf(each)),
      fn.schema.returns[0]!.type,
    );
    const result = this.#run(fn, args);
    if (isOfParameters || own.some(requiresGrad)) markRequiresGrad(result);
    this.#state.setResult(result, call);
    return result;
  }

  #valueOfModule(module: TracedModule): Value {
    const self = this.#state.frame.moduleValue(module);
    if (self !== undefined) return self;
    throw traceError(
      `Tried to trace <${module.object.type.qualifiedName} object> but it is not part of the active trace. Modules that are called during a ` +
        'trace must be registered as submodules of the thing being traced.',
    );
  }

  /**
   * Calls a module below the one that is traced: what `body` does is recorded as a method of its class. What it takes from outside becomes
   * parameters, and what it made of its results comes back (PyTorch: TracedModuleForward).
   *
   * @param define adds the method, and returns its name
   */
  callModule(module: TracedModule, body: () => IValue, define: (graph: Graph) => string): IValue {
    const state = this.#state;
    const self = this.#valueOfModule(module);
    const { graph } = this;
    // Attributes of the module that is called are got in its own method.
    let method = '';
    let results: readonly Tensor[] = [];
    let lifted: readonly Tensor[] = [];
    let returned: Type | undefined;
    const value = state.within(module, (frame) => {
      const result = body();
      results = ownTensors(result, frame);
      returned = registerResults(state, frame, results);
      ({ lifted } = frame);
      method = define(frame.graph);
      return result;
    });
    const inputs = [self, ...lifted.map((tensor) => state.valueOf(tensor))];
    withoutScope(graph, () => {
      const output = graph.insertMethodCall(method, inputs, returned!);
      if (results.length === 1) {
        state.setValue(results[0]!, output);
      } else if (results.length > 1) {
        const items = graph.insertNode(graph.createTupleUnpack(output)).outputs;
        results.forEach((tensor, index) => state.setOutput(tensor, items[index]!));
      }
    });
    return value;
  }
}

/** Whether a method reads a parameter, of its module or of one below it. */
function usesParameter(graph: Graph): boolean {
  for (const node of graph.allNodes()) {
    const owner = node.inputs[0]?.type;
    if (!(owner instanceof ClassType) || !owner.isModule()) continue;
    if (node.kind === 'prim::GetAttr') {
      const slot = owner.findAttributeSlot(node.s('name'));
      if (slot !== undefined && owner.attributes[slot]!.kind === 'parameter') return true;
    } else if (node.kind === 'prim::CallMethod') {
      const method = owner.findMethod(node.s('name'));
      if (method instanceof GraphFunction && usesParameter(method.graph)) return true;
    }
  }
  return false;
}

/** The tensors in a result that were made in a frame, each once. */
function ownTensors(value: IValue, frame: TracingFrame): readonly Tensor[] {
  const found = new Set<Tensor>();
  const visit = (each: IValue): void => {
    if (each instanceof Tensor) {
      if (frame.isOwn(each)) found.add(each);
    } else if (each instanceof Tuple) {
      each.items.forEach(visit);
    } else if (each !== null && typeof each === 'object' && 'items' in each) {
      each.items.forEach(visit);
    } else if (each !== null && typeof each === 'object' && 'entries' in each) {
      [...each.entries.values()].forEach(visit);
    } else if (each instanceof ScriptObject) {
      throw traceError('a traced module cannot return objects');
    }
  };
  visit(value);
  return [...found];
}

/** Several results become a tuple; gives the type that is returned. */
function registerResults(state: TracingState, { graph }: TracingFrame, results: readonly Tensor[]): Type {
  const values = results.map((tensor) => state.valueOf(tensor));
  if (values.length === 1) {
    graph.registerOutput(values[0]!);
    return TensorType.get();
  }
  const output =
    values.length === 0
      ? graph.insertConstant(null)
      : withoutScope(graph, () => graph.insertNode(graph.createTuple(values)).output());
  graph.registerOutput(output);
  return unshapedType(output.type);
}
