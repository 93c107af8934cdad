import {
  type CompilationUnit,
  CressetError,
  type Graph,
  nested,
  Scope,
  TensorType,
  type Type,
  type Value,
} from '@cresset/ir';
import type { JsonObject } from '../json-object.ts';
import {
  itemsOf,
  malformed,
  nameOf,
  readNode,
  readValue,
  type SerializedNode,
  type SerializedValue,
} from './serialized-node.ts';
import { ArgumentValues } from './argument-values.ts';
import { convertHigherOrder } from './higher-order-operators.ts';
import { convertOperatorCall } from './operator-call.ts';
import { SourceLines } from './source-lines.ts';
import { convertSymbolic } from './symbolic-operators.ts';
import { beginsVmap, convertVmap, endOfVmap } from './vmap-regions.ts';

/** Where values come from that no node of the graph makes: parameters, buffers and constants. */
export type LiftedValues = (name: string) => Value | undefined;

/**
 * Puts the nodes of a graph of torch.export into one of ours, at its insert point.
 *
 * A graph within an operator is put in its place by a converter of its own: it sees nothing but its operands.
 */
export class GraphConverter {
  readonly graph: Graph;
  /** What the program's classes belong to. */
  readonly unit: CompilationUnit;
  readonly arguments: ArgumentValues;
  readonly #values = new Map<string, Value>();
  readonly #lifted: LiftedValues;
  readonly #lines: SourceLines;
  readonly #scopes: Map<string, Scope>;

  constructor(graph: Graph, unit: CompilationUnit, lifted: LiftedValues = () => undefined, parent?: GraphConverter) {
    this.graph = graph;
    this.unit = unit;
    this.#lifted = lifted;
    this.#lines = parent ? parent.#lines : new SourceLines();
    this.#scopes = parent ? parent.#scopes : new Map();
    this.arguments = new ArgumentValues(graph, (name) => this.valueOf(name));
  }

  define(name: string, value: Value): void {
    this.#values.set(name, value);
    if (/^[A-Za-z_]\w*$/.test(name) && !value.hasDebugName()) value.setDebugName(name);
  }

  valueOf(name: string): Value {
    const known = this.#values.get(name) ?? this.#lifted(name);
    if (!known) malformed(`it uses '${name}' before that is made`);
    return known;
  }

  /** Converts the nodes. */
  convertNodes(json: JsonObject): void {
    this.convertCalls(json.objects('nodes').map(readNode));
  }

  convertCalls(nodes: readonly SerializedNode[]): void {
    for (let at = 0; at < nodes.length; at++) {
      if (!beginsVmap(nodes[at])) {
        this.#convertNode(nodes[at]);
        continue;
      }
      const end = endOfVmap(nodes, at);
      convertVmap(this, nodes.slice(at, end));
      at = end;
    }
  }

  #convertNode(node: SerializedNode): void {
    this.graph.currentRange = this.#lines.rangeOf(node.metadata);
    this.graph.currentScope = this.#scopeOf(node.metadata);
    if (convertSymbolic(this, node) || convertHigherOrder(this, node)) return;
    this.defineOutputs(node, convertOperatorCall(this, node));
  }

  /** The module that a node was made in, by its path. */
  #scopeOf(metadata: JsonObject | null): Scope {
    const stack = metadata?.get('nn_module_stack');
    if (typeof stack !== 'string') return Scope.root;
    const last = stack.slice(stack.lastIndexOf(';') + 1);
    const [, path = ''] = last.split(',');
    let scope = this.#scopes.get(path);
    if (!scope) {
      scope = Scope.root.push('__module');
      for (const name of path === '' ? [] : path.split('.')) scope = scope.push(`${scope.name}.${name}`);
      this.#scopes.set(path, scope);
    }
    return scope;
  }

  /** Gives the results of a node their names. */
  defineOutputs({ target, outputs }: SerializedNode, values: readonly Value[]): void {
    const isWholeList = values.length === 1 && values[0].type.kind === 'ListType' && outputs.length > 1;
    const found = isWholeList ? this.#unpack(values[0], outputs.length) : values;
    const [first] = outputs;
    const parts: readonly SerializedValue[] =
      outputs.length === 1 && first.tag === 'as_tensors' && values.length !== 1
        ? itemsOf(first).map((value) => ({ tag: 'as_tensor', value }))
        : outputs;
    // What gives nothing has a name for that all the same.
    if (parts.slice(found.length).some(({ tag }) => tag !== 'as_none'))
      malformed(`'${target}' has ${found.length} results, and ${parts.length} names for them`);
    parts.forEach((output, index) => this.#defineOutput(output, found[index]));
  }

  #defineOutput(output: SerializedValue, value: Value): void {
    if (output.tag === 'as_tensors') {
      const items = itemsOf(output);
      if (items.length === 0) return;
      const parts = this.#unpack(value, items.length);
      items.forEach((item, index) => this.define((item as JsonObject).text('name'), parts[index]));
      return;
    }
    const name = nameOf(output);
    if (name !== null) this.define(name, this.arguments.numeric(value, output.tag));
  }

  #unpack(list: Value, count: number): readonly Value[] {
    return this.graph.insertNode(this.graph.createListUnpack(list, count)).outputs;
  }

  /** The values of an argument that is a list of operands. */
  operands(argument: SerializedValue | undefined): Value[] {
    return argument ? this.arguments.items(argument) : malformed('an operator lacks operands');
  }

  /**
   * Puts a graph, which is an argument of a node, at the insert point.
   *
   * @param operands what stands for its inputs
   * @returns its results
   */
  inline(graph: SerializedValue, operands: readonly Value[]): Value[] {
    if (graph.tag !== 'as_graph') malformed('an operator has no graph where it needs one');
    const json = (graph.value as JsonObject).object('graph');
    const inner = new GraphConverter(this.graph, this.unit, undefined, this);
    const inputs = json.objects('inputs').map(readValue);
    if (inputs.length !== operands.length)
      malformed(`a graph of ${inputs.length} inputs is called with ${operands.length}`);
    inputs.forEach((input, index) => {
      const name = nameOf(input);
      if (name !== null) inner.#values.set(name, operands[index]);
    });
    return nested(
      () => {
        inner.convertNodes(json);
        return json.objects('outputs').map((output) => inner.arguments.value(readValue(output), null));
      },
      () => new CressetError('EXPORT_MALFORMED', 'the program is damaged: its graphs are nested too deeply'),
    );
  }

  /** A value that stands for one of several, in the type that it has there. */
  typeOf(values: readonly Value[]): Type {
    const [first] = values;
    return values.every(({ type }) => type.equals(first.type)) ? first.type : TensorType.get();
  }
}
