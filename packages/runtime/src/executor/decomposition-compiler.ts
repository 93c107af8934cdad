import { declareFunctions, NATIVE_RESOLVER, parseProgram, type Def } from '@cresset/frontend';
import { CompilationUnit, constantValue, CressetError, Source, type Graph } from '@cresset/ir';
import type { OperatorRow } from '@cresset/operators';
import { remembered } from '@cresset/tensorexpr';

/**
 * The graph of an operator that is defined in terms of others, by the text in its row; compiled once. Throws what compiling
 * the text throws.
 */
export const compileDecomposition = (row: OperatorRow): Graph => row.decomposed ?? compiled(row);

const compiled = remembered(compile);

function compile({ schema, decomposition }: OperatorRow): Graph {
  const unit = new CompilationUnit();
  const definitions = parseProgram(
    new Source(decomposition!, `<decomposition of ${schema.slice(0, schema.indexOf('('))}>`),
    'python',
  );
  const functions = declareFunctions(unit, definitions as readonly Def[], { resolver: NATIVE_RESOLVER });
  // Functions that the first one uses may follow it.
  const [main] = functions;
  if (!main) throw new CressetError('OPERATOR_NOT_IMPLEMENTED', `the decomposition of ${schema} defines no function`);
  for (const { graph } of functions) nameNoClass(graph);
  return main.graph;
}

/** Operators refuse in their own words, before which `assert` puts the name of a class. */
function nameNoClass(graph: Graph): void {
  const prefix = 'AssertionError: ';
  for (const node of graph.allNodes()) {
    if (node.kind !== 'prim::RaiseException') continue;
    const message = node.input(0);
    const text = constantValue(message);
    if (typeof text === 'string' && text.startsWith(prefix)) {
      const own = graph.withInsertPoint(node, () => graph.insertConstant(text.slice(prefix.length)));
      node.replaceInput(0, own);
    } else if (message.node.kind === 'aten::add' && constantValue(message.node.input(0)) === prefix) {
      node.replaceInput(0, message.node.input(1));
    }
  }
}
