import { tracedFunction, traceError, type AttributePlace, type TracedModule } from '@cresset/frontend';
import { CompilationUnit, TensorType, type ClassType, type Graph } from '@cresset/ir';
import { newModule } from '@cresset/runtime';
import type { ScriptObject, Tensor, IValue } from '@cresset/tensor';
import { Tensor as PageTensor } from '../page/values/tensor.ts';
import { runtimeTensor } from './runtime-tensor.ts';
import type { TracedTensor, TracedValues } from './traced-tensor.ts';

/**
 * A module written in JavaScript: what is traced is its `forward`. Tensors among its properties are its parameters, those that `buffers`
 * names its buffers, and objects with a `forward`, or arrays of such, the modules below it. In `forward`, `this.weight` is a traced tensor, and
 * `this.layer.forward(x)`, or `this.layer(x)`, calls a module.
 */
export interface TraceableModule {
  forward(...inputs: TracedTensor[]): unknown;
  /** Names of properties that are buffers. */
  readonly buffers?: readonly string[];
}

const NAMESPACE = '__torch__';

export function isTraceableModule(value: unknown): value is TraceableModule {
  return value !== null && typeof value === 'object' && typeof (value as { forward?: unknown }).forward === 'function';
}

/** The TorchScript module that a traced one becomes: its tensors first, its methods as they are called. */
export class ModuleTree {
  readonly unit = new CompilationUnit();
  readonly root: TracedModule;
  /** Where each tensor stands. */
  readonly places = new Map<Tensor, AttributePlace>();
  readonly #cleanup: (graph: Graph) => void;
  readonly #modules = new Map<object, TracedModule>();
  readonly #tensors = new Map<PageTensor, Tensor>();
  readonly #proxies = new Map<object, object>();

  /** @param cleanup what is done to each graph that was recorded */
  constructor(source: TraceableModule, cleanup: (graph: Graph) => void) {
    this.#cleanup = cleanup;
    this.root = this.#add(source, []);
  }

  #add(source: object, path: readonly string[]): TracedModule {
    if (this.#modules.has(source)) {
      throw traceError(`the module at '${path.join('.')}' stands in the traced module twice`);
    }
    const object = newModule(this.unit, `${NAMESPACE}.${classNameOf(source)}`);
    const traced = { object, path };
    this.#modules.set(source, traced);
    const buffers = new Set((source as Partial<TraceableModule>).buffers);
    for (const [name, value] of Object.entries(source)) {
      if (value instanceof PageTensor) {
        this.#addTensor(traced, name, value, buffers.has(name) ? 'buffer' : 'parameter');
      } else if (isTraceableModule(value) || isModuleList(value)) {
        const below = this.#add(value, [...path, name]);
        object.type.addAttribute(name, below.object.type);
        object.slots.push(below.object);
      }
    }
    return traced;
  }

  #addTensor({ object, path }: TracedModule, name: string, value: PageTensor, kind: 'buffer' | 'parameter'): void {
    let tensor = this.#tensors.get(value);
    if (!tensor) {
      tensor = runtimeTensor(value);
      tensor.requiresGrad = kind === 'parameter' && (value.dtype.startsWith('float') || value.dtype === 'bfloat16');
      this.#tensors.set(value, tensor);
      this.places.set(tensor, { path, name });
    }
    object.type.addAttribute(name, TensorType.get(), kind);
    object.slots.push(tensor);
  }

  /** Adds a method with a recorded graph to a class; gives its name, which has a number where there is one already. */
  define(type: ClassType, graph: Graph, name = 'forward'): string {
    this.#cleanup(graph);
    let unique = name;
    for (let number = 1; type.findMethod(unique) !== undefined; number++) unique = `${name}${number}`;
    type.addMethod(this.unit.registerFunction(tracedFunction(`${type.qualifiedName}.${unique}`, graph)));
    return unique;
  }

  /** What `this` is in a module's `forward`. */
  self(source: object, values: TracedValues): object {
    let proxy = this.#proxies.get(source);
    if (!proxy) {
      proxy = new Proxy(source, {
        get: (target, name) => this.#member(Reflect.get(target, name, proxy), values),
      });
      this.#proxies.set(source, proxy);
    }
    return proxy;
  }

  #member(value: unknown, values: TracedValues): unknown {
    if (value instanceof PageTensor) {
      const tensor = this.#tensors.get(value);
      return tensor ? values.tensor(tensor) : value;
    }
    if (isModuleList(value)) return value.map((module) => this.#callable(module, values));
    return isTraceableModule(value) && this.#modules.has(value) ? this.#callable(value, values) : value;
  }

  /** A module below: calling it calls its `forward`, and its properties are there too. */
  #callable(source: TraceableModule, values: TracedValues): unknown {
    const self = this.self(source, values);
    const call = (...args: unknown[]): unknown => {
      const module = this.#modules.get(source)!;
      const body = (): IValue => values.unwrap(source.forward.apply(self, args as TracedTensor[]));
      const define = (graph: Graph): string => this.define(module.object.type, graph);
      return values.wrap(values.tracer.callModule(module, body, define));
    };
    return new Proxy(call, {
      get: (target, name) => (name === 'forward' ? target : Reflect.get(self, name, self)),
    });
  }
}

/** The module of a traced function (PyTorch: PlaceholderModule). */
export function placeholderModule(graph: Graph, cleanup: (graph: Graph) => void): ScriptObject {
  const unit = new CompilationUnit();
  const object = newModule(unit, `${NAMESPACE}.PlaceholderModule`);
  graph.insertInput(0, 'self').setType(object.type);
  cleanup(graph);
  object.type.addMethod(unit.registerFunction(tracedFunction(`${object.type.qualifiedName}.forward`, graph)));
  return object;
}

function isModuleList(value: unknown): value is readonly TraceableModule[] {
  return Array.isArray(value) && value.length > 0 && value.every(isTraceableModule);
}

function classNameOf(source: object): string {
  if (Array.isArray(source)) return 'ModuleList';
  const { name } = source.constructor;
  return name === 'Object' || !/^\w+$/.test(name) ? 'Module' : name;
}
