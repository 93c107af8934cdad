import { invariant } from '../error.ts';
import type { Graph } from './graph.ts';
import { insertGraph } from './insert-graph.ts';
import { parseIrWithNames, type ParsedIr } from '../text/ir-parser.ts';
import type { Node } from './node.ts';
import { findPatternMatches, type PatternMatch } from './subgraph-matcher.ts';
import type { Value } from './value.ts';

/** Whether a match is to be rewritten; `pattern` are the pattern's values by the names in its text. */
export type MatchFilter = (match: PatternMatch, pattern: ReadonlyMap<string, Value>) => boolean;

interface RewritePattern {
  readonly pattern: ParsedIr;
  readonly replacement: Graph;
}

/**
 * Puts other nodes in the place of those that fit a pattern (PyTorch: SubgraphRewriter). Patterns and replacements are
 * graphs in text, with the same numbers of inputs and outputs.
 */
export class SubgraphRewriter {
  readonly #patterns: RewritePattern[] = [];

  /** Throws `IR_PARSE` for text that is no graph, `IR_INVARIANT` where inputs and outputs do not correspond. */
  registerRewritePattern(pattern: string, replacement: string): this {
    const parsed = parseIrWithNames(pattern);
    const { graph } = parseIrWithNames(replacement);
    invariant(
      parsed.graph.inputs.length === graph.inputs.length && parsed.graph.outputs.length === graph.outputs.length,
      'a pattern and its replacement need the same numbers of inputs and outputs',
    );
    this.#patterns.push({ pattern: parsed, replacement: graph });
    return this;
  }

  /** Rewrites every match that the filter lets pass, pattern after pattern; returns whether it changed anything. */
  runOnGraph(graph: Graph, filter: MatchFilter = () => true): boolean {
    let changed = false;
    for (const pattern of this.#patterns) {
      changed = rewrite(graph, pattern, filter) || changed;
    }
    return changed;
  }
}

function rewrite(graph: Graph, { pattern, replacement }: RewritePattern, filter: MatchFilter): boolean {
  const replaced = new Set<Node>();
  const results: (readonly [Value, Value])[] = [];
  for (const match of findPatternMatches(pattern.graph, graph)) {
    // Matches may overlap; the first one takes the nodes.
    const isTaken = [...match.nodes.values()].some((node) => replaced.has(node));
    if (isTaken || !filter(match, pattern.values) || !canStandAtAnchor(match, pattern.graph)) {
      continue;
    }
    const valueOf = (value: Value): Value => match.values.get(value)!;
    const inputs = pattern.graph.inputs.map(valueOf);
    const made = graph.withInsertPoint(placeAfter(inputs, match.anchor), () => insertGraph(graph, replacement, inputs));
    pattern.graph.outputs.forEach((output, index) => {
      const old = valueOf(output);
      results.push([old, made[index].setType(old.type)]);
    });
    match.nodes.forEach((node) => replaced.add(node));
  }
  for (const [old, made] of results) {
    old.replaceAllUsesWith(made);
  }
  replaced.forEach((node) => node.removeAllInputs());
  replaced.forEach((node) => node.destroy());
  return replaced.size > 0;
}

/** Right after the last of the inputs, as PyTorch has it; before the anchor where they are of blocks around its own. */
function placeAfter(inputs: readonly Value[], anchor: Node): Node {
  let last: Node | undefined;
  for (const { node } of inputs) {
    if (node.owningBlock !== anchor.owningBlock) return anchor;
    if (last === undefined || last.isBefore(node)) last = node;
  }
  return last?.next ?? anchor;
}

/** The replacement goes before the anchor: whatever uses another output has to come after it. */
function canStandAtAnchor({ anchor, nodes, values }: PatternMatch, pattern: Graph): boolean {
  const matched = new Set(nodes.values());
  return pattern.outputs.every((output) =>
    values.get(output)!.uses.every(({ user }) => matched.has(user) || user.isAfter(anchor)),
  );
}
