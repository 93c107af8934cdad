import { tracedFunction, traceError, type AttributePlace, type TracedModule } from '@cresset/frontend';
import { CompilationUnit, TensorType, type ClassType, type Graph } from '@cresset/ir';
import { newModule, type WireReference } from '@cresset/runtime';
import type { ScriptObject, Tensor, IValue } from '@cresset/tensor';
import { Tensor as PageTensor } from '../page/values/tensor.ts';
import { inMessages, type Reference } from '../page/values/value.ts';
import type { ScriptedCallees } from './scripted-callees.ts';
import { runtimeTensor } from './runtime-tensor.ts';
import type { TracedTensor } from './traced-tensor.ts';
import type { TracedValues } from './traced-values.ts';

/**
 * A module written in JavaScript: what is traced is its `forward`. Tensors among its properties are its parameters, those that `buffers`
 * names its buffers, and objects with a `forward`, or arrays or plain objects of such, the modules below it. In `forward`, `this.weight` is a traced tensor, and
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
  readonly #callees: ScriptedCallees;
  readonly #modules = new Map<object, TracedModule>();
  /** Modules that were compiled before, with where they stand. */
  readonly #scripted = new Map<ScriptObject, TracedModule>();
  #values: TracedValues | null = null;
  readonly #tensors = new Map<PageTensor, Tensor>();
  readonly #proxies = new Map<object, object>();

  /**
   * @param cleanup what is done to each graph that was recorded
   * @param callees modules that were compiled before
   */
  constructor(source: TraceableModule, cleanup: (graph: Graph) => void, callees: ScriptedCallees) {
    this.#cleanup = cleanup;
    this.#callees = callees;
    this.root = this.#add(source, []);
  }

  #add(source: object, path: readonly string[]): TracedModule {
    const known = this.#modules.get(source);
    if (known?.path.every((name, at) => path[at] === name)) {
      throw traceError(`the module at '${path.join('.')}' stands within itself`);
    }
    // One that stands in two places goes by the first.
    if (known) return known;
    const object = newModule(this.unit, `${NAMESPACE}.${classNameOf(source)}`);
    const traced = { object, path };
    this.#modules.set(source, traced);
    const buffers = new Set((source as Partial<TraceableModule>).buffers);
    for (const [name, value] of Object.entries(source)) {
      if (value instanceof PageTensor) {
        this.#addTensor(traced, name, value, buffers.has(name) ? 'buffer' : 'parameter');
      } else if (isScripted(value)) {
        const { model, path: modulePath } = value[inMessages] as WireReference;
        const below = this.#callees.moduleAt(model, modulePath);
        if (!this.#scripted.has(below)) this.#scripted.set(below, { object: below, path: [...path, name] });
        object.type.addAttribute(name, below.type);
        object.slots.push(below);
      } else if (isTraceableModule(value) || isContainer(value)) {
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

  /** Another method is traced. */
  begin(values: TracedValues): void {
    this.#values = values;
    this.#proxies.clear();
  }

  /** Where a module stands that was compiled before; undefined where it is no part of what is traced. */
  placeOf(module: ScriptObject): TracedModule | undefined {
    return this.#scripted.get(module);
  }

  /** What `this` is in a module's `forward`. */
  self(source: object): object {
    let proxy = this.#proxies.get(source);
    if (!proxy) {
      proxy = new Proxy(source, {
        get: (target, name) => this.#member(Reflect.get(target, name, proxy)),
      });
      this.#proxies.set(source, proxy);
    }
    return proxy;
  }

  #member(value: unknown): unknown {
    const values = this.#values!;
    if (value instanceof PageTensor) {
      const tensor = this.#tensors.get(value);
      return tensor ? values.tensor(tensor) : value;
    }
    if (isScripted(value)) return callable(value);
    if (isContainer(value)) {
      const below = (module: TraceableModule): unknown =>
        isScripted(module) ? callable(module) : this.#callable(module);
      if (Array.isArray(value)) return (value as readonly TraceableModule[]).map(below);
      return Object.fromEntries(Object.entries(value).map(([name, module]) => [name, below(module)]));
    }
    return isTraceableModule(value) && this.#modules.has(value) ? this.#callable(value) : value;
  }

  /** A module below: calling it calls its `forward`, and its properties are there too. */
  #callable(source: TraceableModule): unknown {
    const values = this.#values!;
    const self = this.self(source);
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

/** A module that was compiled, traced or loaded before. */
function isScripted(value: unknown): value is TraceableModule & Reference {
  return value !== null && typeof value === 'object' && inMessages in value;
}

/** Calls `forward` where a program calls it as a function. */
function callable(module: TraceableModule): unknown {
  const call = (...args: unknown[]): unknown => module.forward(...(args as TracedTensor[]));
  return new Proxy(call, { get: (_target, name) => Reflect.get(module, name, module) as unknown });
}

/** Modules in an array, or by name. */
type Container = readonly TraceableModule[] | Readonly<Record<string, TraceableModule>>;

function isContainer(value: unknown): value is Container {
  if (value === null || typeof value !== 'object' || isTraceableModule(value)) return false;
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return false;
  const modules: readonly unknown[] = Object.values(value);
  return modules.length > 0 && modules.every(isTraceableModule);
}

function classNameOf(source: object): string {
  if (isContainer(source)) return `torch.nn.modules.container.${Array.isArray(source) ? 'ModuleList' : 'ModuleDict'}`;
  const { name } = source.constructor;
  return name === 'Object' || !/^\w+$/.test(name) ? 'Module' : name;
}
