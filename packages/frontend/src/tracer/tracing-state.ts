import { CressetError, DictType, Graph, ListType, TensorType, TupleType, type Type, type Value } from '@cresset/ir';
import { Dict, List, Tensor, Tuple, type DictKey, type IValue, type Storage } from '@cresset/tensor';
import { TracingFrame, typeOfTensor, type AttributePlace, type TracedModule } from './tracing-frame.ts';

/** How a trace is made. */
export interface TracingOptions {
  /** Shows a warning. */
  readonly warn?: ((message: string) => void) | undefined;
  /** Whether lists and dicts among the results are refused or warned about; by default they are. */
  readonly strict?: boolean | undefined;
  /** Records operators that write to a tensor as those that make another; by default as they are. */
  readonly forceOutplace?: boolean | undefined;
}

const STRICT_MESSAGE =
  " might cause the trace to be incorrect, this is only valid if the container structure does not change based on the module's inputs. " +
  'Consider using a constant container instead (e.g. for `list`, use a `tuple` instead. for `dict`, use a `NamedTuple` instead). ' +
  'If you absolutely need this and know the side effects, pass strict=False to trace() to allow this behavior.';

/** The graph that is being recorded, and which of its values stand for which tensors (PyTorch: TracingState). */
export class TracingState {
  readonly #frames: TracingFrame[];
  readonly #places: ReadonlyMap<Tensor, AttributePlace>;
  readonly #warn: (message: string) => void;
  readonly #strict: boolean;
  readonly forceOutplace: boolean;
  /** Tensors that the trace has seen, by their memory. */
  readonly #sharing = new Map<Storage, Set<Tensor>>();

  /** `module`: what is traced, where it is a module's method; `places`: where its tensors stand. */
  constructor(
    options: TracingOptions,
    module: TracedModule | null = null,
    places: ReadonlyMap<Tensor, AttributePlace> = new Map(),
  ) {
    this.#places = places;
    this.#warn = options.warn ?? (() => undefined);
    this.#strict = options.strict ?? true;
    this.forceOutplace = options.forceOutplace ?? false;
    this.#frames = [new TracingFrame(new Graph(), module, null, places)];
  }

  get frame(): TracingFrame {
    return this.#frames.at(-1)!;
  }

  get graph(): Graph {
    return this.frame.graph;
  }

  warn(message: string): void {
    this.#warn(message);
  }

  /** Records what `body` does into a graph of its own. */
  within<T>(module: TracedModule, body: (frame: TracingFrame) => T): T {
    const graph = new Graph();
    graph.currentScope = this.graph.currentScope.push(`__module.${module.path.join('.')}`);
    const frame = new TracingFrame(graph, module, this.frame, this.#places);
    this.#frames.push(frame);
    try {
      return body(frame);
    } finally {
      this.#frames.pop();
    }
  }

  /** Whether a tensor came from the inputs, or from an operator that was recorded. */
  isTraced(tensor: Tensor): boolean {
    return this.frame.find(tensor) !== undefined;
  }

  setValue(tensor: Tensor, value: Value): void {
    this.frame.set(tensor, value);
    const { storage } = tensor;
    const sharing = this.#sharing.get(storage);
    if (sharing === undefined) this.#sharing.set(storage, new Set([tensor]));
    else sharing.add(tensor);
  }

  /** How many tensors with the memory of this one the trace has seen; which of them the program still has, JavaScript does not tell. */
  referencesTo({ storage }: Tensor): number {
    return this.#sharing.get(storage)?.size ?? 1;
  }

  /**
   * Makes a value of the graph stand for what a call gave, and values taken out of it for the tensors in it (PyTorch: TracingState::setValue). Throws
   * `TRACE` for what no trace can go on with.
   */
  setResult(given: IValue, value: Value): void {
    const { graph } = this;
    if (given instanceof Tensor) {
      this.setOutput(given, value);
    } else if (given instanceof Tuple || given instanceof List) {
      const node =
        given instanceof Tuple ? graph.createTupleUnpack(value) : graph.createListUnpack(value, given.items.length);
      const items = graph.insertNode(node).outputs;
      given.items.forEach((item, index) => this.setResult(item, items[index]!));
    } else if (given instanceof Dict) {
      for (const [key, item] of given.entries) {
        this.setResult(item, graph.insert('aten::__getitem__', [value, graph.insertConstant(key)]));
      }
    } else {
      throw traceError(
        `Tracer cannot set value trace for type ${tagOf(given)}. Supported types are tensor, tensor list, and tuple of tensors.`,
      );
    }
  }

  /** An operator's result: its value is given the type the tensor has. */
  setOutput(tensor: Tensor, value: Value): void {
    this.setValue(tensor, value.setType(typeOfTensor(tensor)));
  }

  /**
   * The value that stands for something: a tensor that nothing traced made, and what is no tensor, becomes a constant (PyTorch:
   * TracingState::getValue). Throws `TRACE` for what no graph can hold.
   */
  valueOf(value: IValue): Value {
    const { graph } = this;
    if (value instanceof Tensor) {
      return this.frame.find(value) ?? this.#constantTensor(value);
    }
    if (value instanceof List && value.elementType.isSubtypeOf(TensorType.get())) {
      const items = value.items.map((item) => this.valueOf(item));
      return graph.insertNode(graph.createList(TensorType.get(), items)).output();
    }
    if (value instanceof Tuple) {
      const items = value.items.map((item) => this.valueOf(item));
      return graph.insertNode(graph.createTuple(items, value.type ?? undefined)).output();
    }
    if (value instanceof Dict) {
      const keys: Value[] = [];
      const values: Value[] = [];
      for (const [key, item] of value.entries) {
        keys.push(this.valueOf(key));
        values.push(this.valueOf(item));
      }
      return graph.insertNode(graph.createDict(value.keyType, value.valueType, keys, values)).output();
    }
    return graph.insertConstant(value);
  }

  #constantTensor(tensor: Tensor): Value {
    if (tensor.requiresGrad) {
      throw traceError(
        'Cannot insert a Tensor that requires grad as a constant. Consider making it a parameter or input, or detaching the gradient',
      );
    }
    const constant = this.graph.insertConstant(tensor);
    this.setOutput(tensor, constant);
    return constant;
  }

  /** The value of one of the results of what is traced (PyTorch: TracingState::getOutput). */
  outputOf(value: IValue, index: number): Value {
    const { graph } = this;
    if (value instanceof Tensor) {
      const found = this.frame.find(value);
      if (found === undefined) {
        throw traceError(
          `output ${index} of traced region did not have observable data dependence with trace inputs; ` +
            'this probably indicates your program cannot be understood by the tracer.',
        );
      }
      return found;
    }
    if (value instanceof Tuple) {
      const items = value.items.map((item) => this.outputOf(item, index));
      return graph.insertNode(graph.createTuple(items, value.type ?? undefined)).output();
    }
    if (value instanceof List && value.items.every((item) => item instanceof Tensor)) {
      if (value.items.length === 0) {
        throw traceError('Tracer cannot infer type of []\n:List trace inputs must have elements');
      }
      if (this.#strict) {
        this.warn(`Encountering a list at the output of the tracer${STRICT_MESSAGE}`);
      }
      const items = value.items.map((item) => this.outputOf(item, index));
      return graph.insertNode(graph.createList(TensorType.get(), items)).output();
    }
    if (value instanceof Dict) {
      if (this.#strict) {
        throw traceError(`Encountering a dict at the output of the tracer${STRICT_MESSAGE}`);
      }
      if ([...value.entries.values()].some((item) => item instanceof List || item instanceof Dict)) {
        throw traceError(
          `output ${index + 1} of traced region cannot be understood by the tracer, only outputs matching ` +
            'dict[Union[str, Tensor], Union[Tensor, Tuple[Tensor, ...]]] can be a dictionary output of a traced function',
        );
      }
      const entries = [...value.entries];
      const keys = entries.map(([key]) => graph.insertConstant(key));
      const values = entries.map(([, item]) => this.outputOf(item, index));
      return graph.insertNode(graph.createDict(value.keyType, value.valueType, keys, values)).output();
    }
    if (value === null) {
      throw traceError(
        "The traced function didn't return any values! Side-effects are not captured in traces, so it would be a no-op.",
      );
    }
    throw traceError(
      'Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions',
    );
  }

  /** Makes `value` stand for an input, and values taken out of it for the tensors in it; gives the input as the program is to see it. */
  input(given: IValue, value: Value, type: Type = typeOfInput(given)): IValue {
    const { graph } = this;
    value.setType(type);
    if (given instanceof Tensor) {
      // One tensor that is given twice is two inputs.
      const tensor = this.isTraced(given) ? given.asStrided(given.sizes, given.strides) : given;
      this.setValue(tensor, value);
      return tensor;
    }
    if (given instanceof Tuple) {
      const items = graph.insertNode(graph.createTupleUnpack(value)).outputs;
      const types = (type as TupleType).elements;
      return new Tuple(
        given.items.map((item, index) => this.input(item, items[index]!, types[index])),
        given.type,
      );
    }
    if (given instanceof Dict) {
      const entries = new Map<DictKey, IValue>();
      for (const [key, item] of given.entries) {
        const found = graph.insert('aten::__getitem__', [value, graph.insertConstant(key)]);
        entries.set(key, this.input(item, found));
      }
      return new Dict(given.keyType, given.valueType, entries);
    }
    if (given instanceof List && given.items.length > 0) {
      const items = graph.insertNode(graph.createListUnpack(value, given.items.length)).outputs;
      return new List(
        given.elementType,
        given.items.map((item, index) => this.input(item, items[index]!)),
      );
    }
    throw traceError(
      'Only tensors or (possibly nested) dict or tuples of tensors can be inputs to traced functions. Got ' +
        describe(given),
    );
  }
}

/** An error of tracing, with code `TRACE`. */
export function traceError(message: string): CressetError {
  return new CressetError('TRACE', message);
}

/** The type of an input; lists and dicts say of their tensors that they are tensors. */
function typeOfInput(value: IValue): Type {
  if (value instanceof Tensor) {
    return typeOfTensor(value);
  }
  if (value instanceof Tuple) {
    return value.type ?? new TupleType(value.items.map(typeOfInput));
  }
  if (value instanceof List) {
    return new ListType(value.elementType);
  }
  if (value instanceof Dict) {
    return new DictType(value.keyType, value.valueType);
  }
  throw traceError(
    `Type ${describe(value)} cannot be traced. Only Tensors and (possibly nested) Lists, Dicts, and Tuples of Tensors can be traced`,
  );
}

/** What PyTorch calls the kinds of values that are no tensors. */
function tagOf(value: IValue): string {
  const names = { bigint: 'Int', number: 'Double', boolean: 'Bool', string: 'String' } as const;
  return value === null ? 'None' : (names[typeof value as keyof typeof names] ?? 'Object');
}

/** Throws `TRACE` where something among all inputs is no tensor, nor a container of some. */
export function checkInputs(inputs: readonly IValue[]): void {
  const isTraceable = (value: IValue): boolean =>
    value instanceof Tensor ||
    ((value instanceof Tuple || value instanceof List) && value.items.every(isTraceable)) ||
    (value instanceof Dict && [...value.entries.values()].every(isTraceable));
  if (inputs.every(isTraceable)) return;
  const nameOf = (input: IValue): string => (input === null ? 'NoneType' : describe(input));
  const types = inputs.map((input) => (isTraceable(input) ? typeOfInput(input).annotationStr() : nameOf(input)));
  throw traceError(
    `Type 'Tuple[${types.join(', ')}]' cannot be traced. Only Tensors and (possibly nested) Lists, Dicts, and Tuples of Tensors can be traced`,
  );
}

function describe(value: IValue): string {
  // Of a number of JavaScript's a whole one is an int.
  if (typeof value === 'number' && Number.isInteger(value)) return 'int';
  const names = { bigint: 'int', number: 'float', boolean: 'bool', string: 'str' } as const;
  return value === null ? 'None' : (names[typeof value as keyof typeof names] ?? value.constructor.name);
}

/** Whether a type is that of a list of tensors. */
export function isTensorList(type: Type): boolean {
  return type instanceof ListType && type.elementType instanceof TensorType;
}
