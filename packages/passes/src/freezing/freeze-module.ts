import {
  AliasDb,
  type Block,
  ClassType,
  type CompilationUnit,
  CressetError,
  type Graph,
  GraphFunction,
  InterfaceType,
  logGraph,
  type Node,
  tryInsertConstant,
  type Value,
} from '@cresset/ir';
import { Dict, List, ScriptObject, Tensor, Tuple, type IValue } from '@cresset/tensor';
import type { ConstantEvaluator } from '../cleanup/constant-propagation.ts';
import { inline, insertGraphBefore, type BodyOf } from '../cleanup/inliner.ts';
import { preoptimizedBodies } from '../decomposition/preoptimize.ts';
import { eraseShapeInformation } from '../shape-analysis/propagate-input-shapes.ts';
import { AliasedValues } from './aliased-values.ts';
import { cloneModule } from './clone-module.ts';
import { cleanUpFrozenModule } from './frozen-module-cleanup.ts';
import { isMutableValue, PreservedAttributes } from './module-attributes.ts';
import { simplifyFrozenGraph } from './frozen-optimization.ts';

export interface FreezeOptions {
  /** Attributes and methods to be kept beside `forward`, those of modules below with dots: `encoder.scale`. */
  readonly preserved?: readonly string[];
  readonly evaluate: ConstantEvaluator;
  readonly autocast?: ((graph: Graph, evaluate: ConstantEvaluator) => void) | undefined;
}

/** A frozen module with the methods it kept. */
export interface FrozenModule {
  readonly module: ScriptObject;
  readonly methods: readonly GraphFunction[];
}

/**
 * A copy of a module in which attributes are constants of its methods, as far as no method writes to them, calls are put in place, and
 * what is not needed any more is gone (PyTorch: freeze_module). Tensors are those of the module.
 *
 * Throws `FREEZE` with PyTorch's message for what cannot be frozen.
 */
export function freezeModule(module: ScriptObject, unit: CompilationUnit, options: FreezeOptions): FrozenModule {
  const forward = module.type.findMethod('forward');
  if (forward instanceof GraphFunction && forward.graph.outputs.some(({ type }) => type.equals(module.type)))
    throw new CressetError('FREEZE', 'attempted to freeze a module that returns itself');
  return new AttributePropagator(cloneModule(module, unit), unit, options).run();
}

/** Applies `visit` to a graph and to those of its forks. */
function forEachForkedGraph(graph: Graph, visit: (graph: Graph) => void): void {
  visit(graph);
  for (const node of graph.allNodes()) if (node.kind === 'prim::fork') forEachForkedGraph(node.g('Subgraph'), visit);
}

/** Nodes block by block, blocks within others after them, the last one first: the order in which constants come to stand in a graph. */
function* nodesBlockByBlock(graph: Graph): IterableIterator<Node> {
  const blocks: Block[] = [graph.block];
  for (let block = blocks.pop(); block; block = blocks.pop()) {
    for (const node of block.nodes()) {
      blocks.push(...node.blocks);
      yield node;
    }
  }
}

class AttributePropagator {
  readonly #preserved = new PreservedAttributes();
  readonly #methods = new Set<GraphFunction>();
  /** Modules that are kept with all they have. */
  readonly #wholeModules = new Set<ScriptObject>();
  /** Attributes on the way to what is kept. They are constants to the graphs all the same. */
  readonly #onTheWay: (readonly [owner: ScriptObject, name: string])[] = [];
  readonly #used = new AliasedValues();
  /** The module that the graph at hand belongs to: a fork may be one of a module below. */
  #self: ScriptObject;

  constructor(
    private readonly module: ScriptObject,
    private readonly unit: CompilationUnit,
    private readonly options: FreezeOptions,
  ) {
    this.#self = module;
    const forward = module.type.findMethod('forward');
    if (forward instanceof GraphFunction) this.#methods.add(forward);
    for (const name of options.preserved ?? []) this.#preserve(name);
  }

  run(): FrozenModule {
    const { autocast } = this.options;
    const evaluate: ConstantEvaluator = (node, inputs) => {
      // A frozen module may be called within an autocast as well as without.
      if (node.kind.startsWith('aten::is_autocast')) return null;
      if (node.kind === 'prim::GetAttr') return [(inputs[0] as ScriptObject).getAttribute(node.s('name'))];
      return this.options.evaluate(node, inputs);
    };
    const bodyOf = preoptimizedBodies(evaluate);
    const methods = [...this.#methods];
    const interfaces: (() => void)[] = [];
    for (const { graph } of methods) {
      forEachForkedGraph(graph, (each) => {
        inline(each, bodyOf);
        eraseShapeInformation(each);
      });
      this.#inlineInterfaceCalls(graph, bodyOf, interfaces);
      refuseCalls(graph);
    }
    for (const setType of interfaces) setType();
    for (const { graph } of methods) this.#recordMutableAttributes(graph);
    for (const { graph } of methods) {
      this.#propagate(graph);
      forEachForkedGraph(graph, (each) => simplifyFrozenGraph(each, evaluate, autocast));
      logGraph('freeze_module', graph);
    }
    cleanUpFrozenModule(this.module, this.unit, {
      methods: this.#methods,
      preserved: this.#preserved,
      wholeModules: this.#wholeModules,
      onTheWay: this.#onTheWay,
    });
    return { module: this.module, methods };
  }

  // ---- what was asked for

  #preserve(path: string): void {
    const names = path.split('.');
    const name = names.pop()!;
    let owner = this.module;
    const onTheWay: (readonly [ScriptObject, string])[] = [];
    for (const each of names) {
      const next = owner.type.hasAttribute(each) ? owner.getAttribute(each) : null;
      if (!(next instanceof ScriptObject) || !next.type.isModule()) throw unknownName(path);
      onTheWay.push([owner, each]);
      owner = next;
    }
    const method = owner.type.findMethod(name);
    if (owner.type.hasAttribute(name)) {
      const value = owner.getAttribute(name);
      if (value instanceof ScriptObject && value.type.isModule()) this.#wholeModules.add(value);
      this.#preserved.add(owner, name);
    } else if (method instanceof GraphFunction) {
      this.#methods.add(method);
    } else {
      throw unknownName(path);
    }
    this.#onTheWay.push(...onTheWay);
  }

  // ---- interfaces

  /** Which module stands behind an interface is known here; its methods are put in the place of the calls. */
  #inlineInterfaceCalls(graph: Graph, bodyOf: BodyOf, interfaces: (() => void)[]): void {
    for (const node of nodesBlockByBlock(graph)) {
      if (node.kind === 'prim::fork') {
        this.#inFork(graph, node, (subgraph) => this.#inlineInterfaceCalls(subgraph, bodyOf, interfaces));
      } else if (node.kind === 'prim::SetAttr') {
        this.#refuseInterface(node);
      } else if (node.kind === 'prim::GetAttr' && node.output().type instanceof InterfaceType) {
        const name = node.s('name');
        const place = this.#preserved.constantAttribute(graph, this.#self, node.input(), name);
        if (!(place?.value instanceof ScriptObject))
          throw new CressetError('FREEZE', `failed to freeze interface attribute '${name}'`);
        const { owner, value } = place;
        const calls = node.output().uses.filter(({ user }) => user.kind === 'prim::CallMethod');
        for (const { user } of calls) inlineCall(user, value, bodyOf);
        node.output().setType(value.type);
        interfaces.push(() => owner.type.changeAttributeType(name, value.type));
      }
    }
  }

  #refuseInterface(node: Node): void {
    const { type } = node.input(0);
    const name = node.s('name');
    if (type instanceof ClassType && type.isModule() && type.findAttribute(name) instanceof InterfaceType) {
      const what = `Freezing does not support SetAttr on an interface type. SetAttr is attempted on '${name}'`;
      throw new CressetError('FREEZE', what);
    }
  }

  // ---- what is written to

  #recordMutableAttributes(graph: Graph): void {
    const aliasDb = new AliasDb(graph, { isFrozen: true });
    for (const node of nodesBlockByBlock(graph)) {
      if (node.kind === 'prim::ModuleContainerIndex') {
        const what = 'Freezing modules containing prim::ModuleContainerIndex is not supported';
        throw new CressetError('FREEZE', what);
      }
      if (node.kind === 'prim::fork') {
        this.#inFork(graph, node, (subgraph) => this.#recordMutableAttributes(subgraph));
        continue;
      }
      const isRead = node.kind === 'prim::GetAttr';
      if (!isRead && node.kind !== 'prim::SetAttr') continue;
      const name = node.s('name');
      const place = this.#preserved.constantAttribute(graph, this.#self, node.input(0), name);
      if (!place) continue;
      const { owner, value } = place;
      if (isRead) {
        if (value instanceof ScriptObject || !isMutableValue(value)) continue;
        this.#used.add(value);
      }
      if (!isRead || aliasDb.hasOutputWriters(node)) this.#preserved.add(owner, name);
    }
    this.#refuseOverlaps();
  }

  /** Aliases of what a container holds are nothing that constants could keep. */
  #refuseOverlaps(): void {
    const seen = new AliasedValues();
    for (const value of this.#used) {
      const within = AliasedValues.within(value);
      if (seen.overlaps(within)) {
        throw new CressetError('FREEZE', 'module contains attributes values that overlaps');
      }
      for (const each of within) seen.add(each);
    }
  }

  // ---- constants for attributes

  #propagate(graph: Graph): void {
    const constants = new Map<ScriptObject, Map<string, Value>>();
    const first = graph.block.paramNode.next;
    const folded: Node[] = [];
    for (const node of nodesBlockByBlock(graph)) {
      if (node.kind === 'prim::fork') {
        this.#inFork(graph, node, (subgraph) => this.#propagate(subgraph));
        continue;
      }
      if (node.kind !== 'prim::GetAttr') continue;
      const name = node.s('name');
      const place = this.#preserved.constantAttribute(graph, this.#self, node.input(), name);
      if (!place) continue;
      let known = constants.get(place.owner);
      if (!known) constants.set(place.owner, (known = new Map()));
      const constant =
        known.get(name) ??
        graph.withInsertPoint(first, () => tryInsertConstant(graph, withoutGradient(place.value), node.sourceRange));
      if (!constant) continue;
      if (!known.has(name)) constant.setDebugName(['self', ...place.path, name].join('.'));
      known.set(name, constant);
      node.output().replaceAllUsesWith(constant);
      folded.push(node);
    }
    for (const node of folded) node.destroy();
  }

  /** A fork of a module's method is frozen as that module's; others are of the module around them. */
  #inFork(graph: Graph, fork: Node, visit: (subgraph: Graph) => void): void {
    const { node, type } = fork.input(0);
    const before = this.#self;
    if (node.kind === 'prim::GetAttr' && type instanceof ClassType) {
      const place = this.#preserved.constantAttribute(graph, before, node.input(), node.s('name'));
      if (!(place?.value instanceof ScriptObject)) return;
      this.#self = place.value;
    }
    visit(fork.g('Subgraph'));
    this.#self = before;
  }
}

function unknownName(name: string): CressetError {
  return new CressetError('FREEZE', `Unknown name: ${name}`);
}

function inlineCall(call: Node, module: ScriptObject, bodyOf: BodyOf): void {
  const method = module.type.getMethod(call.s('name')) as GraphFunction;
  const results = insertGraphBefore(call, bodyOf(method), call.inputs);
  call.outputs.forEach((output, index) => output.replaceAllUsesWith(results[index]));
  call.destroy();
}

/** What a method that stays a call does with attributes is not known. */
function refuseCalls(graph: Graph): void {
  forEachForkedGraph(graph, (each) => {
    for (const { kind, inputs } of each.allNodes()) {
      const type = kind === 'prim::CallMethod' ? inputs[0].type : null;
      if (type instanceof InterfaceType || (type instanceof ClassType && type.isModule()))
        throw new CressetError('FREEZE', 'this module calls too much to be frozen: not all calls can be put in place');
    }
  });
}

/** Constants have no gradients (PyTorch: overrideGradient). */
function withoutGradient(value: IValue): IValue {
  if (value instanceof Tensor) return value.requiresGrad ? detached(value) : value;
  if (AliasedValues.within(value).every((each) => !(each instanceof Tensor && each.requiresGrad))) return value;
  if (value instanceof List) return new List(value.elementType, value.items.map(withoutGradient));
  if (value instanceof Tuple) return new Tuple(value.items.map(withoutGradient), value.type);
  if (!(value instanceof Dict)) return value;
  const entries = [...value.entries].map(([key, item]) => [key, withoutGradient(item)] as const);
  return new Dict(value.keyType, value.valueType, new Map(entries));
}

function detached(tensor: Tensor): Tensor {
  const view = tensor.asStrided(tensor.sizes, tensor.strides);
  view.requiresGrad = false;
  return view;
}
