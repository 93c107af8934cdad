import { declareFunctions, NATIVE_RESOLVER, parseProgram, type Def } from '@cresset/frontend';
import { CompilationUnit, CressetError, Source, type Graph } from '@cresset/ir';
import type { OperatorRow } from '@cresset/operators';

const compiled = new WeakMap<OperatorRow, Graph>();

/**
 * The graph of an operator that is defined in terms of others, by the text in its row; compiled once. Throws what compiling
 * the text throws.
 */
export function compileDecomposition(row: OperatorRow): Graph {
  let graph = row.decomposed ?? compiled.get(row);
  if (!graph) compiled.set(row, (graph = compile(row)));
  return graph;
}

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
  return main.graph;
}
