import { CressetError } from '../error.ts';
import type { Graph } from './graph.ts';
import { ClassType } from '../types/named-types.ts';
import type { Node } from './node.ts';
import { printAttribute } from '../text/printer.ts';
import type { Value } from './value.ts';

/** One place in a graph that a pattern fits. */
export interface PatternMatch {
  /** The node that the pattern's last node, the maker of its first output, stands for. */
  readonly anchor: Node;
  /** The graph's nodes by the pattern's. */
  readonly nodes: ReadonlyMap<Node, Node>;
  /** The graph's values by the pattern's. */
  readonly values: ReadonlyMap<Value, Value>;
}

/**
 * Finds every place in a graph, blocks included, that a pattern fits (PyTorch: findPatternMatches).
 *
 * A pattern is a graph without blocks. Its inputs stand for any value; its other values fit only where they have as many
 * uses, unless they are outputs. String attributes of the pattern are regular expressions; a node `match::module[name="…"]`
 * stands for a `prim::GetAttr` that gives a module whose class name ends so. Throws `IR_INVARIANT` for a pattern with blocks
 * or without outputs.
 */
export function findPatternMatches(pattern: Graph, graph: Graph): PatternMatch[] {
  const [result] = pattern.outputs;
  const isSimple = [...pattern.nodes()].every((node) => node.blocks.length === 0);
  if (!isSimple || result === undefined) {
    throw new CressetError('IR_INVARIANT', 'a pattern has outputs and no blocks');
  }
  const matches: PatternMatch[] = [];
  for (const anchor of graph.allNodes()) {
    const attempt = new MatchAttempt(anchor);
    if (attempt.fits(result.node) && pattern.outputs.every((output) => attempt.values.has(output))) {
      matches.push(attempt);
    }
  }
  return matches;
}

class MatchAttempt implements PatternMatch {
  readonly anchor: Node;
  readonly nodes = new Map<Node, Node>();
  readonly values = new Map<Value, Value>();

  constructor(anchor: Node) {
    this.anchor = anchor;
  }

  fits(last: Node): boolean {
    return this.#nodeFits(last, this.anchor);
  }

  #nodeFits(pattern: Node, node: Node): boolean {
    const known = this.nodes.get(pattern);
    if (known !== undefined) {
      return known === node;
    }
    if (pattern.kind === 'prim::Param') {
      return true;
    }
    if (node.kind === 'prim::Param' || node.owningBlock !== this.anchor.owningBlock || !isLike(pattern, node)) {
      return false;
    }
    // Noted before its values are looked at: the search may come back to it through them.
    this.nodes.set(pattern, node);
    return (
      pattern.outputs.every((output, index) => this.#valueFits(output, node.outputs[index])) &&
      pattern.inputs.every((input, index) => this.#valueFits(input, node.inputs[index]))
    );
  }

  #valueFits(pattern: Value, value: Value): boolean {
    const known = this.values.get(pattern);
    if (known !== undefined) {
      return known === value;
    }
    const isFree = pattern.node.kind === 'prim::Param' || pattern.owningGraph.outputs.includes(pattern);
    if (!isFree && pattern.uses.length !== value.uses.length) {
      return false;
    }
    this.values.set(pattern, value);
    return this.#nodeFits(pattern.node, value.node);
  }
}

function isLike(pattern: Node, node: Node): boolean {
  if (pattern.kind === 'match::module') {
    const type = node.outputs[0]?.type;
    return node.kind === 'prim::GetAttr' && type instanceof ClassType && type.qualifiedName.endsWith(pattern.s('name'));
  }
  return (
    pattern.kind === node.kind &&
    pattern.outputs.length === node.outputs.length &&
    pattern.inputs.length === node.inputs.length &&
    pattern.attributeNames.length === node.attributeNames.length &&
    pattern.attributeNames.every((name) => attributeFits(pattern, node, name))
  );
}

function attributeFits(pattern: Node, node: Node, name: string): boolean {
  if (!node.hasAttribute(name) || pattern.kindOf(name) !== node.kindOf(name)) {
    return false;
  }
  if (pattern.kindOf(name) === 's') {
    return new RegExp(`^(?:${pattern.s(name)})$`, 's').test(node.s(name));
  }
  return printAttribute(pattern.attribute(name)) === printAttribute(node.attribute(name));
}
