import type { AttributeEntry, TensorAttribute } from '../graph/attributes.ts';
import type { Block } from '../graph/block.ts';
import {
  type DictConstant,
  deviceText,
  isComplexConstant,
  isDeviceConstant,
  isDictConstant,
  isEnumConstant,
  isListConstant,
  isObjectConstant,
  isTensorConstant,
  isTupleConstant,
} from '../graph/constant-value.ts';
import type { Graph } from '../graph/graph.ts';
import { formatComplex, formatFloat, formatQuotedString, formatSignificant } from './literal-format.ts';
import { jitOptions } from '../jit-options.ts';
import type { Node } from '../graph/node.ts';
import { ignoredFunctionName } from '../graph/symbol.ts';
import { ComplexType, FloatType, IntType, StringType } from '../types/primitive-types.ts';
import { TypeVerbosity, typeVerbosity } from '../types/type-verbosity.ts';
import type { Type } from '../types/type.ts';
import type { Value } from '../graph/value.ts';

export interface PrintOptions {
  /** Append ` # file:line:column` to nodes whose place in the source is known; unless given, as the JIT's options say. */
  readonly sourceRanges?: boolean;
  /** Append `, scope: name` to nodes that have a scope. Default true. */
  readonly scopes?: boolean;
}

/** A graph in PyTorch's text (PyTorch: Graph::print), subgraphs after it as `with prim::FusionGroup_0 = graph(…`. */
export function printGraph(graph: Graph, options: PrintOptions = {}): string {
  const printer = new GraphPrinter(options);
  return printer.graph(graph);
}

/** One node with its blocks, at no indentation; a subgraph stands as `Subgraph=<Graph>`. */
export function printNode(node: Node, options: PrintOptions = {}): string {
  return new GraphPrinter(options, false).node(node, 0);
}

class GraphPrinter {
  readonly #options: PrintOptions;
  readonly #groups: Node[] | undefined;

  constructor(options: PrintOptions, collectGroups = true) {
    this.#options = options;
    this.#groups = collectGroups ? [] : undefined;
  }

  graph(graph: Graph): string {
    // What the environment says of types has to be known before the first is shown.
    jitOptions();
    let out = `graph(${typedValues(graph.inputs, ',\n      ')}):\n`;
    for (const node of graph.nodes()) {
      out += this.node(node, 1);
    }
    out += `  return (${valueRefs(graph.outputs)})\n`;
    for (const [index, node] of (this.#groups ?? []).entries()) {
      out += `with ${node.kind}_${index} = ${printGraph(node.g('Subgraph'), this.#options)}`;
    }
    return out;
  }

  node(node: Node, level: number): string {
    const ignored = ignoredFunctionName(node.kind);
    const kind = ignored === undefined ? node.kind : `^${ignored}[]()`;
    let out = `${'  '.repeat(level)}${typedValues(node.outputs, ', ')} = ${kind}`;
    if (this.#groups !== undefined && node.hasAttribute('Subgraph')) {
      out += `_${this.#groups.length}`;
      if (node.attributeNames.length > 1 && node.kind !== 'prim::DifferentiableGraph') {
        out += printAttributes(node, true);
      }
      this.#groups.push(node);
    } else if (node.hasAttributes()) {
      out += printAttributes(node, false);
    }
    out += `(${valueRefs(node.inputs)})`;
    const scope = node.scope.namesFromRoot();
    if (this.#options.scopes !== false && scope !== '') {
      out += `, scope: ${scope}`;
    }
    out += `${this.#place(node)}\n`;
    node.blocks.forEach((block, index) => {
      out += this.#block(block, index, level + 1);
    });
    return out;
  }

  #block(block: Block, index: number, level: number): string {
    let out = `${'  '.repeat(level)}block${index}(${typedValues(block.inputs, ', ')}):\n`;
    for (const node of block.nodes()) {
      out += this.node(node, level + 1);
    }
    return `${out}${'  '.repeat(level + 1)}-> (${valueRefs(block.outputs)})\n`;
  }

  #place(node: Node): string {
    const range = node.sourceRange;
    if ((this.#options.sourceRanges ?? jitOptions().sourceRanges) !== true || range === undefined) {
      return '';
    }
    const place = (range.original() ?? range).fileLineCol();
    return place === undefined ? '' : ` # ${place.join(':')}`;
  }
}

function valueRefs(values: readonly Value[]): string {
  return values.map((value) => `%${value.debugName}`).join(', ');
}

function typedValues(values: readonly Value[], separator: string): string {
  const withTypes = typeVerbosity() >= TypeVerbosity.Type;
  return values.map((value) => `%${value.debugName}${withTypes ? ` : ${value.type}` : ''}`).join(separator);
}

function printAttributes(node: Node, ignoreSubgraph: boolean): string {
  const names = node.attributeNames.filter((name) => !ignoreSubgraph || name !== 'Subgraph');
  return `[${names.map((name) => `${name}=${printAttribute(node.attribute(name))}`).join(', ')}]`;
}

/** The value of an attribute as graphs show it. */
export function printAttribute(attribute: AttributeEntry): string {
  switch (attribute.kind) {
    case 't':
      return printTensor(attribute.value);
    case 'ts':
      return '[<Tensors>]';
    case 'g':
      return '<Graph>';
    case 'gs':
      return '[<Graphs>]';
    case 'ty':
      return `${attribute.value}`;
    case 'tys':
      return `[${attribute.value.join(', ')}]`;
    case 'is':
      return printList(IntType.get(), attribute.value);
    case 'fs':
      return printList(FloatType.get(), attribute.value);
    case 'ss':
      return printList(StringType.get(), attribute.value);
    case 'cs':
      return printList(ComplexType.get(), attribute.value);
    default:
      return printConstant(attribute.value);
  }
}

/** A constant as graphs show it (PyTorch: IValue::repr with the formatter of printAttribute). */
export function printConstant(value: unknown): string {
  switch (typeof value) {
    case 'boolean':
      return value ? 'True' : 'False';
    case 'bigint':
      return String(value);
    case 'number':
      return formatFloat(value);
    case 'string':
      return formatQuotedString(value);
    default:
      break;
  }
  if (value === null || value === undefined) {
    return 'None';
  }
  if (isListConstant(value)) {
    return printList(value.elementType, value.items);
  }
  if (isTupleConstant(value)) {
    return `(${value.items.map(printConstant).join(', ')}${value.items.length === 1 ? ',' : ''})`;
  }
  if (isDictConstant(value)) {
    return printDict(value);
  }
  if (isTensorConstant(value)) {
    return printTensor(value);
  }
  if (isEnumConstant(value)) {
    return `${value.type.qualifiedName}.${value.name}`;
  }
  if (isObjectConstant(value)) {
    return value.type.isModule() ? value.type.qualifiedName : `object(${value.type.qualifiedName})`;
  }
  if (isDeviceConstant(value)) {
    return `torch.device(${formatQuotedString(deviceText(value))})`;
  }
  return isComplexConstant(value) ? formatComplex(value) : '<Object>';
}

/** Types that a reader of the members alone would not find again: lists and dicts of them are annotated. */
const NEED_ANNOTATION: ReadonlySet<string> = new Set(['UnionType', 'OptionalType', 'NumberType', 'AnyType']);

function printList(elementType: Type, items: readonly unknown[]): string {
  if (elementType.kind === 'TensorType') {
    return '[<Tensors>]';
  }
  const text = `[${items.map(printConstant).join(', ')}]`;
  return items.length === 0 || NEED_ANNOTATION.has(elementType.kind)
    ? `annotate(List[${elementType.annotationStr()}], ${text})`
    : text;
}

function printDict({ keyType, valueType, entries }: DictConstant): string {
  const text = `{${[...entries].map(([key, item]) => `${printConstant(key)}: ${printConstant(item)}`).join(', ')}}`;
  return entries.size === 0 || NEED_ANNOTATION.has(valueType.kind)
    ? `annotate(Dict[${keyType.annotationStr()}, ${valueType.annotationStr()}],${text})`
    : text;
}

function printTensor(tensor: TensorAttribute): string {
  return tensor.graphText?.() ?? '<Tensor>';
}

/** A tensor of one element as graphs show it: `{3}`, `{0.5}`; for {@link TensorAttribute.graphText}. */
export function printScalarTensor(value: unknown): string {
  if (typeof value === 'number') {
    return `{${formatSignificant(value, 6)}}`;
  }
  if (isComplexConstant(value)) {
    return `{(${formatSignificant(value.re, 6)},${formatSignificant(value.im, 6)})}`;
  }
  return `{${typeof value === 'boolean' ? Number(value) : String(value)}}`;
}
