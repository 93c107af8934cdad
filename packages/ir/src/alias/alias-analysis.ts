import type { AliasInfo } from './alias-info.ts';
import { CONTAINERS, CREATORS, directlyWritten, EXTRACTORS, FORWARDERS, UNKNOWN_EFFECTS } from './direct-writes.ts';
import type { Block } from '../graph/block.ts';
import { constantValue } from '../graph/constants.ts';
import type { FunctionSchema } from '../schema/function-schema.ts';
import type { Graph } from '../graph/graph.ts';
import { MemoryDag, type MemoryElement, MemoryLocations } from './memory-dag.ts';
import { type AliasTypeSet, MutableTypes, singleTypeOf } from '../types/mutable-types.ts';
import type { Node } from '../graph/node.ts';
import type { Symbol } from '../graph/symbol.ts';
import type { Type } from '../types/type.ts';
import type { Use, Value } from '../graph/value.ts';

export interface AliasAnalysisOptions {
  /** Attributes of modules count as values of their own, as in a frozen module. */
  readonly isFrozen?: boolean;
}

/** What {@link analyzeAliases} finds out. */
export interface AliasFacts {
  readonly dag: MemoryDag;
  readonly mutableTypes: MutableTypes;
  /** Every value of a mutable type has an element. */
  readonly elements: Map<Value, MemoryElement>;
  /** The wildcard of a type, where any value of it may be anything. */
  wildcardOf(type: Type): MemoryElement | undefined;
  /** Those of all types. */
  readonly wildcards: readonly MemoryElement[];
  /** The type whose wildcard an element is. */
  wildcardType(element: MemoryElement): Type | undefined;
  /** The locations a node writes to, those of nodes in its blocks not among them. */
  readonly writes: ReadonlyMap<Node, MemoryLocations>;
  /** Whether the graph, and graphs within it, are still what was looked at. */
  isCurrent(): boolean;
}

const SUBGRAPHS: ReadonlySet<Symbol> = new Set([
  'prim::FusionGroup',
  'prim::oneDNNFusionGroup',
  'prim::FunctionalGraph',
  'prim::DifferentiableGraph',
  'prim::FallbackGraph',
]);

/** Operators that read a list's elements and give nothing that aliases them. */
const LIST_READERS: ReadonlySet<Symbol> = new Set([
  'aten::cat',
  'aten::broadcast_tensors',
  'aten::stack',
  'aten::vstack',
  'aten::hstack',
  'aten::dstack',
]);

/** Finds out which values of a graph may share memory, and which nodes write where (PyTorch: AliasDb's analysis). */
export function analyzeAliases(graph: Graph, options: AliasAnalysisOptions): AliasFacts {
  return new AliasAnalysis(graph, options).run();
}

class AliasAnalysis implements AliasFacts {
  readonly dag = new MemoryDag();
  readonly mutableTypes = new MutableTypes();
  readonly elements = new Map<Value, MemoryElement>();
  readonly writes = new Map<Node, MemoryLocations>();
  readonly #graph: Graph;
  readonly #options: AliasAnalysisOptions;
  readonly #revisions = new Map<Graph, number>();
  /** Wildcards of types that have been asked for. */
  readonly #wildcardsByType = new Map<Type, MemoryElement>();
  /** Wildcards by the Python spelling of their type, which few types share. */
  readonly #wildcardsByName = new Map<string, { type: Type; element: MemoryElement }[]>();
  readonly wildcards: MemoryElement[] = [];
  readonly #wildcardValues = new Set<Value>();
  readonly #writtenValues: (readonly [Node, Value])[] = [];
  readonly #writtenContainers: (readonly [Node, Value])[] = [];
  readonly #writersToAllWildcards: Node[] = [];

  constructor(graph: Graph, options: AliasAnalysisOptions) {
    this.#graph = graph;
    this.#options = options;
    this.#revisions.set(graph, graph.revision);
  }

  isCurrent(): boolean {
    for (const [graph, revision] of this.#revisions) {
      if (graph.revision !== revision) return false;
    }
    return true;
  }

  run(): AliasFacts {
    this.#graph.inputs.forEach((input) => this.#setWildcard(input));
    this.#analyzeBlock(this.#graph.block);
    const wildcards = [...this.#wildcardValues].map(
      (value) => [this.elements.get(value)!, this.wildcardOf(value.type)!] as const,
    );
    this.dag.setWildcards(wildcards, (value) => this.wildcardOf(value.type));
    this.#indexWrites();
    return this;
  }

  #indexWrites(): void {
    for (const [node, value] of this.#writtenValues) {
      this.#writesOf(node).addAll(this.dag.locationsOf(this.elements.get(value)!));
    }
    for (const [node, value] of this.#writtenContainers) {
      this.#writesOf(node).addAll(this.dag.allContainedLocationsOf(this.elements.get(value)!));
    }
    for (const node of this.#writersToAllWildcards) {
      for (const wildcard of this.wildcards) {
        this.#writesOf(node).add(wildcard.index);
      }
    }
  }

  #writesOf(node: Node): MemoryLocations {
    let writes = this.writes.get(node);
    if (writes === undefined) {
      this.writes.set(node, (writes = new MemoryLocations()));
    }
    return writes;
  }

  // ---- nodes

  #analyzeBlock(block: Block): void {
    for (const node of block.nodes()) {
      this.#analyzeNode(node);
    }
  }

  #analyzeNode(node: Node): void {
    const { kind } = node;
    if (CREATORS.has(kind) || (this.#options.isFrozen === true && isModuleAttribute(node))) {
      node.outputs.forEach((output) => this.#giveFreshElement(output));
    } else if (SUBGRAPHS.has(kind)) {
      this.#analyzeSubgraph(node);
    } else if (EXTRACTORS.has(kind)) {
      node.outputs.forEach((output) => this.#setWildcard(output));
    } else if (FORWARDERS.has(kind)) {
      const count = Math.min(node.inputs.length, node.outputs.length);
      this.#mapAliases(node.outputs.slice(0, count), node.inputs.slice(0, count));
    } else if (CONTAINERS.has(kind)) {
      this.#analyzeContainer(node);
    } else if (UNKNOWN_EFFECTS.has(kind)) {
      this.#analyzeConservatively(node);
    } else {
      this.#analyzeOtherNode(node);
    }
  }

  #analyzeOtherNode(node: Node): void {
    switch (node.kind) {
      case 'prim::If':
        return this.#analyzeIf(node);
      case 'prim::Loop':
        return this.#analyzeLoop(node);
      case 'prim::GradOf':
        this.#analyzeBlock(node.blocks[0]);
        return this.#mapAliases(node.outputs, node.blocks[0].outputs);
      case 'prim::fork':
      case 'prim::awaitable':
      case 'prim::rpc_async':
      case 'prim::rpc_sync':
      case 'prim::rpc_remote':
        node.inputs.forEach((input) => this.#setWildcard(input));
        return node.outputs.forEach((output) => this.#giveFreshElement(output));
      case 'aten::wait':
      case 'prim::awaitable_wait':
        // What is waited for may have written to anything it was given.
        this.#writersToAllWildcards.push(node);
        return node.outputs.forEach((output) => this.#setWildcard(output));
      case 'aten::batch_norm':
      case 'aten::instance_norm':
        node.outputs.forEach((output) => this.#giveFreshElement(output));
        if (node.kind === 'aten::batch_norm' && this.#options.isFrozen === true) return;
        return directlyWritten(node)?.forEach((statistics) => this.#registerWrite(statistics, node));
      case 'prim::ConstantChunk':
        return node.outputs.forEach((output) => this.#makePointerTo(output, node.input()));
      case 'prim::BroadcastingChunk':
        return this.#analyzeBroadcastingChunk(node);
      case 'prim::BailOut':
        return this.#makePointerTo(node.output(), node.input(1));
      case 'prim::SetAttr':
        this.#registerWrite(node.input(0), node);
        this.#setWildcard(node.input(1));
        return;
      case 'prim::Print':
      case 'prim::isinstance':
        return;
      default:
        return this.#analyzeOperator(node);
    }
  }

  #analyzeIf(node: Node): void {
    for (const branch of node.blocks) {
      this.#analyzeBlock(branch);
    }
    const [whenTrue, whenFalse] = node.blocks;
    node.outputs.forEach((output, index) => {
      this.#makePointerTo(output, whenTrue.outputs[index]);
      this.#makePointerTo(output, whenFalse.outputs[index]);
    });
  }

  #analyzeLoop(node: Node): void {
    const [body] = node.blocks;
    this.#mapAliases(body.inputs.slice(1), node.inputs.slice(2));
    this.#analyzeBlock(body);
    this.#mapAliases(node.outputs, body.outputs.slice(1));
    // Without a trip the loop gives what it was given; PyTorch's analysis leaves that out.
    if (!makesTrips(node)) this.#mapAliases(node.outputs, node.inputs.slice(2));
  }

  #analyzeSubgraph(node: Node): void {
    const subgraph = node.g('Subgraph');
    const { block } = subgraph;
    this.#revisions.set(subgraph, subgraph.revision);
    this.#mapAliases(block.inputs, node.inputs);
    this.#analyzeBlock(block);
    // Differentiation gives a subgraph more outputs than its node: the captured values.
    this.#mapAliases(node.outputs, block.outputs.slice(0, node.outputs.length));
  }

  #analyzeBroadcastingChunk(node: Node): void {
    const chunks = Number(node.i('chunks'));
    node.outputs.forEach((output, index) => this.#makePointerTo(output, node.input(Math.floor(index / chunks))));
  }

  #analyzeConservatively(node: Node): void {
    for (const input of node.inputs) {
      if (this.#isMutable(input)) {
        this.#setWildcard(input);
        this.#writtenContainers.push([node, input]);
      }
    }
    node.outputs.forEach((output) => this.#setWildcard(output));
    node.blocks.forEach((block) => this.#analyzeBlock(block));
  }

  // ---- containers

  #analyzeContainer(node: Node): void {
    const container = node.output();
    if (!this.#isMutable(container)) {
      return;
    }
    // What is put in a container may be anything from then on, unless the only use of the container shows that nothing
    // comes out of it again.
    const [use] = container.uses;
    if (container.uses.length === 1 && (this.#isListOnlyRead(use) || this.#isOnlyReturned(use))) {
      this.#giveFreshElement(container, false);
      const element = this.#elementOf(container);
      for (const input of node.inputs) {
        if (this.#isMutable(input)) {
          this.dag.addToContainedElements(this.#elementOf(input), element);
        }
      }
      return;
    }
    this.#giveFreshElement(container);
    for (const input of node.inputs) {
      const wildcard = this.#setWildcard(input);
      if (wildcard !== undefined) {
        this.dag.addToContainedElements(wildcard, this.#elementOf(container));
      }
    }
  }

  #isListOnlyRead({ user, offset }: Use): boolean {
    const operator = user.maybeOperator();
    if (user.input(offset).type.kind !== 'ListType' || operator?.mayGiveArguments) return false;
    return LIST_READERS.has(user.kind) || operator?.aliasAnalysis === 'pure-function';
  }

  /** A list or tuple that the graph gives as it is: who gets it is outside, and escapesScope tells of it. */
  #isOnlyReturned({ user, offset }: Use): boolean {
    const { kind } = user.input(offset).type;
    return (kind === 'TupleType' || kind === 'ListType') && user === this.#graph.returnNode;
  }

  // ---- operators with a schema

  #analyzeOperator(node: Node): void {
    const operator = node.maybeOperator();
    if (operator?.aliasAnalysis === 'pure-function') {
      node.outputs.forEach((output) => this.#giveFreshElement(output));
    } else if (operator === undefined || operator.aliasAnalysis !== 'from-schema') {
      this.#analyzeConservatively(node);
    } else {
      this.#analyzeBySchema(node, operator.schema);
      if (operator.mayGiveArguments && !operator.schema.tellsAliases) this.#analyzeUndeclaredViews(node);
    }
  }

  /** Results that may be arguments, or views of them. Tensors that come in lists may be anything. */
  #analyzeUndeclaredViews(node: Node): void {
    for (const output of node.outputs) {
      for (const input of node.inputs) {
        if (!this.#isMutable(input)) continue;
        if (input.type.kind === 'TensorType' && output.type.kind === 'TensorType') this.#makePointerTo(output, input);
        else [input, output].forEach((value) => this.#setWildcard(value));
      }
    }
  }

  #analyzeBySchema(node: Node, schema: FunctionSchema): void {
    if (!schema.tellsAliases) return node.outputs.forEach((output) => this.#giveFreshElement(output));
    const actuals = this.#bindAliasSets(node, schema);
    schema.returns.forEach((result, index) => {
      const output = node.output(index);
      const annotation = innermost(result.aliasInfo);
      if (annotation === undefined) {
        this.#giveFreshElement(output);
      } else if (this.#isMutable(output)) {
        this.#bindOutput(node, output, annotation, actuals);
      }
    });
    // Outputs that a schema with `...` does not name.
    node.outputs.slice(schema.returns.length).forEach((output) => this.#giveFreshElement(output));
  }

  /** The values that the alias sets of a schema stand for at a node; notes what is written on the way. */
  #bindAliasSets(node: Node, schema: FunctionSchema): ReadonlyMap<string, Value> {
    const actuals = new Map<string, Value>();
    schema.arguments.forEach((argument, index) => {
      const annotation = innermost(argument.aliasInfo);
      const set = annotation?.beforeSet;
      const actual = node.input(index);
      if (annotation === undefined || set === undefined || !this.#isMutable(actual) || actuals.has(set)) {
        return;
      }
      actuals.set(set, actual);
      if (annotation.isWrite) {
        this.#registerWrite(actual, node);
      }
      if (annotation.isWildcardAfter) {
        this.#setWildcard(actual);
      }
    });
    return actuals;
  }

  #bindOutput(node: Node, output: Value, annotation: AliasInfo, actuals: ReadonlyMap<string, Value>): void {
    if (annotation.isWildcardBefore) {
      this.#setWildcard(output);
      return;
    }
    let isAlias = false;
    for (const set of annotation.beforeSets) {
      const actual = actuals.get(set);
      if (actual !== undefined) {
        isAlias = true;
        this.#makePointerTo(output, actual);
      }
    }
    // `(b)` that no argument has, or `(b|c)`: a new value. `(a|b)` where only a is known: taken for a, to be safe.
    if (!isAlias) {
      this.#giveFreshElement(output);
    }
    if (annotation.isWrite) {
      this.#registerWrite(output, node);
    }
  }

  // ---- elements

  #isMutable(value: Value): boolean {
    return this.mutableTypes.isMutable(value.type);
  }

  #registerWrite(value: Value, node: Node): void {
    if (this.#isMutable(value)) {
      this.#elementOf(value);
      this.#writtenValues.push([node, value]);
    }
  }

  #mapAliases(from: readonly Value[], to: readonly Value[]): void {
    from.forEach((value, index) => this.#makePointerTo(value, to[index]));
  }

  #makePointerTo(from: Value, to: Value): void {
    if (neverAliases(from) || neverAliases(to)) {
      this.#giveFreshElement(from);
      this.#giveFreshElement(to);
      return;
    }
    // Optionals, tuples and the like of a mutable and an immutable type may stand for each other: no alias then.
    if (!this.#isMutable(to)) {
      this.#giveFreshElement(from);
    } else if (from !== to && this.#isMutable(from)) {
      this.dag.makePointerTo(this.#elementOf(from), this.#elementOf(to));
    }
  }

  #elementOf(value: Value): MemoryElement {
    this.#giveFreshElement(value);
    return this.elements.get(value)!;
  }

  /** Makes an element for a value of a mutable type that has none. It holds the wildcards of the types within its type. */
  #giveFreshElement(value: Value, holdsWildcards = true): void {
    const types = this.mutableTypes.aliasTypeSet(value.type);
    if (types === undefined || this.elements.has(value)) {
      return;
    }
    const element = this.dag.makeFreshElement(value);
    this.elements.set(value, element);
    if (holdsWildcards) {
      this.#relateToWildcards(element, types);
    }
  }

  #relateToWildcards(element: MemoryElement, types: AliasTypeSet): void {
    if (types.length > 1) {
      for (const type of types) {
        const wildcard = this.#wildcardFor(type);
        if (wildcard !== undefined) {
          this.dag.makePointerTo(element, wildcard);
        }
      }
      return;
    }
    for (const contained of types[0].containedTypes()) {
      const wildcard = this.#wildcardFor(contained);
      // A class may have an attribute of its own type: it holds itself anyway.
      if (wildcard !== undefined && wildcard !== element) {
        this.dag.addToContainedElements(wildcard, element);
      }
    }
  }

  // ---- wildcards

  /** Lets a value stand for anything of its type; returns the wildcard, or undefined for an immutable type. */
  #setWildcard(value: Value): MemoryElement | undefined {
    const wildcard = this.#wildcardFor(value.type);
    if (wildcard !== undefined) {
      this.#elementOf(value);
      this.#wildcardValues.add(value);
    }
    return wildcard;
  }

  #wildcardFor(type: Type): MemoryElement | undefined {
    const known = this.wildcardOf(type);
    const types = this.mutableTypes.aliasTypeSet(type);
    if (known !== undefined || types === undefined) {
      return known;
    }
    const single = singleTypeOf(types);
    const element = this.dag.makeFreshElement(undefined);
    const name = single.annotationStr();
    const sameName = this.#wildcardsByName.get(name) ?? [];
    sameName.push({ type: single, element });
    this.#wildcardsByName.set(name, sameName);
    this.wildcards.push(element);
    this.#relateToWildcards(element, types);
    return element;
  }

  wildcardOf(type: Type): MemoryElement | undefined {
    let wildcard = this.#wildcardsByType.get(type);
    const types = wildcard === undefined ? this.mutableTypes.aliasTypeSet(type) : undefined;
    if (types !== undefined) {
      const single = singleTypeOf(types);
      const sameName = this.#wildcardsByName.get(single.annotationStr());
      wildcard = sameName?.find((entry) => entry.type.equals(single))?.element;
      if (wildcard !== undefined) this.#wildcardsByType.set(type, wildcard);
    }
    return wildcard;
  }

  wildcardType(element: MemoryElement): Type | undefined {
    const entries = [...this.#wildcardsByName.values()].flat();
    return entries.find((entry) => entry.element === element)?.type;
  }
}

/** Where a list has no annotation of its own, that of its elements counts for it. */
function innermost(annotation: AliasInfo | undefined): AliasInfo | undefined {
  const isElementsOnly =
    annotation !== undefined && annotation.beforeSets.size === 0 && annotation.containedTypes.length > 0;
  return isElementsOnly ? annotation.containedTypes[0] : annotation;
}

/** None and what is never read may meet a mutable type where branches join, but alias nothing. */
function neverAliases(value: Value): boolean {
  return value.mustBeNone() || value.node.kind === 'prim::Uninitialized';
}

function isModuleAttribute(node: Node): boolean {
  return node.kind === 'prim::GetAttr' && node.input().type.isModule();
}

/** Whether a loop makes a trip in any case. */
function makesTrips({ inputs: [trips, condition] }: Node): boolean {
  const [most, begins] = [constantValue(trips), constantValue(condition)];
  return typeof most === 'bigint' && most > 0n && begins === true;
}
