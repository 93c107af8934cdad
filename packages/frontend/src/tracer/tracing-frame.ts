import { Scope, TensorType, type Graph, type Value } from '@cresset/ir';
import type { ScriptObject, Tensor } from '@cresset/tensor';

/** A module that is being traced, with the way that leads to it from the outermost one. */
export interface TracedModule {
  readonly object: ScriptObject;
  readonly path: readonly string[];
}

/** Where a parameter, buffer or other tensor attribute stands in the module that is traced. */
export interface AttributePlace {
  readonly path: readonly string[];
  readonly name: string;
}

/**
 * What one function, or one call of a module in it, records: a graph, and the values that stand for tensors in it. A tensor that an outer
 * frame knows becomes an input (PyTorch: the block of a prim::TracedModuleForward, taken out by lambda lifting).
 */
export class TracingFrame {
  readonly graph: Graph;
  readonly module: TracedModule | null;
  readonly #outer: TracingFrame | null;
  readonly #places: ReadonlyMap<Tensor, AttributePlace>;
  readonly #values = new Map<Tensor, Value>();
  readonly #attributes = new Map<string, Value>();
  readonly #lifted: Tensor[] = [];
  readonly #self: Value | null;

  constructor(
    graph: Graph,
    module: TracedModule | null,
    outer: TracingFrame | null,
    places: ReadonlyMap<Tensor, AttributePlace>,
  ) {
    this.graph = graph;
    this.module = module;
    this.#outer = outer;
    this.#places = places;
    this.#self = module === null ? null : graph.addInput('self').setType(module.object.type);
  }

  /** Tensors of outer frames that are inputs here, in order, after self. */
  get lifted(): readonly Tensor[] {
    return this.#lifted;
  }

  set(tensor: Tensor, value: Value): void {
    this.#values.set(tensor, value);
  }

  /** Whether the tensor was made here, or was changed in place. */
  isOwn(tensor: Tensor): boolean {
    return this.#values.has(tensor) && !this.#lifted.includes(tensor);
  }

  /** The value that stands for a tensor; undefined where nothing traced has to do with it. */
  find(tensor: Tensor): Value | undefined {
    return this.#find(tensor, false);
  }

  #find(tensor: Tensor, isForCall: boolean): Value | undefined {
    return this.#values.get(tensor) ?? this.#attribute(tensor, isForCall) ?? this.#lift(tensor);
  }

  /** The value of a module below this frame's own, for calling its method. Undefined for one that is not. */
  moduleValue({ path }: TracedModule): Value | undefined {
    return this.#relative(path) === undefined ? undefined : this.#moduleAt(path);
  }

  #attribute(tensor: Tensor, isForCall: boolean): Value | undefined {
    const place = this.#places.get(tensor);
    if (place === undefined || this.#relative(place.path) === undefined) {
      return undefined;
    }
    return this.#attributeOf([...place.path, place.name], isForCall);
  }

  /** The part of a path that is below this frame's module; undefined where the path leads elsewhere. */
  #relative(path: readonly string[]): readonly string[] | undefined {
    const own = this.module?.path;
    return own !== undefined && own.every((name, index) => path[index] === name) ? path.slice(own.length) : undefined;
  }

  #moduleAt(path: readonly string[]): Value {
    return path.length === this.module!.path.length ? this.#self! : this.#attributeOf(path);
  }

  /**
   * An attribute, or a module further below, by its path: got once, at the front of the graph. Each has a way of its own from this frame's module
   * (PyTorch: convertAttrReferencesToLocalGetAttrs).
   *
   * @param isLast whether it stands behind those that are there: what a call takes along
   */
  #attributeOf(path: readonly string[], isLast = false): Value {
    const key = path.join('.');
    let value = this.#attributes.get(key);
    if (value === undefined) {
      const { graph } = this;
      const names = path.slice(this.module!.path.length);
      let place = graph.block.paramNode.next;
      while (isLast && place.kind === 'prim::GetAttr') place = place.next;
      value = withoutScope(graph, () =>
        graph.withInsertPoint(place, () =>
          names.reduce((owner, name) => graph.insertGetAttr(owner, name), this.#self!),
        ),
      );
      this.#attributes.set(key, value);
    }
    return value;
  }

  /** Attributes come first among what is taken from outside. */
  #lift(tensor: Tensor): Value | undefined {
    const outer = this.#outer === null ? undefined : this.#outer.#find(tensor, true);
    if (outer === undefined) {
      return undefined;
    }
    const isAttribute = this.#places.has(tensor);
    const at = isAttribute ? this.#lifted.filter((each) => this.#places.has(each)).length : this.#lifted.length;
    const name = outer.hasDebugName() ? outer.debugNameBase : '';
    const input = this.graph.insertInput(at + (this.#self === null ? 0 : 1), name).setType(typeOfTensor(tensor));
    this.#lifted.splice(at, 0, tensor);
    this.#values.set(tensor, input);
    return input;
  }
}

/** The type of a tensor with all that is known of it, as traced graphs show it. */
export function typeOfTensor(tensor: Tensor): TensorType {
  return TensorType.create({
    scalarType: tensor.dtype,
    device: 'cpu',
    shape: tensor.sizes,
    strides: tensor.strides,
    requiresGrad: tensor.requiresGrad,
  });
}

/** Inserts nodes that belong to no module, in PyTorch those that are made when a trace has ended. */
export function withoutScope<T>(graph: Graph, insert: () => T): T {
  const { currentScope } = graph;
  graph.currentScope = Scope.root;
  try {
    return insert();
  } finally {
    graph.currentScope = currentScope;
  }
}
