import { declareFunctions, NATIVE_RESOLVER, parseProgram, type Def } from '@cresset/frontend';
import { CompilationUnit, CressetError, Source, type Graph } from '@cresset/ir';

const compiled = new Map<string, Graph>();

/**
 * The graph of an operator that is defined in terms of others, by the text in its row; compiled once. Throws what compiling
 * the text throws.
 */
export function compileDecomposition(schema: string, text: string): Graph {
  const key = `${schema}\n${text}`;
  let graph = compiled.get(key);
  if (!graph) compiled.set(key, (graph = compile(schema, text)));
  return graph;
}

/** Says what a decomposition comes to, where it is compiled by others. */
export function setDecomposition(schema: string, text: string, graph: Graph): void {
  compiled.set(`${schema}\n${text}`, graph);
}

function compile(schema: string, text: string): Graph {
  const unit = new CompilationUnit();
  const definitions = parseProgram(
    new Source(text, `<decomposition of ${schema.slice(0, schema.indexOf('('))}>`),
    'python',
  );
  const functions = declareFunctions(unit, definitions as readonly Def[], { resolver: NATIVE_RESOLVER });
  // Functions that the first one uses may follow it.
  const [main] = functions;
  if (!main) throw new CressetError('OPERATOR_NOT_IMPLEMENTED', `the decomposition of ${schema} defines no function`);
  return main.graph;
}
