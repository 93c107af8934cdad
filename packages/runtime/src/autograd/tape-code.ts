import { CressetError, GraphFunction, type Graph, type ScriptFunction } from '@cresset/ir';
import { inline, replaceTensorsByNumbers } from '@cresset/passes';
import { compileCode, type CodeProvider } from '../interpreter/code/code-compiler.ts';
import type { Code, CodeSource } from '../interpreter/code/code.ts';

/**
 * Makes code in which every operator of a program is called as it was written: derivatives are those of the operators that a person named, and what writes in
 * place does so.
 */
export class TapeCode implements CodeProvider {
  readonly #codes = new WeakMap<Graph, Code>();

  ofFunction(fn: ScriptFunction): CodeSource {
    if (!(fn instanceof GraphFunction)) {
      throw new CressetError('FUNCTION_WITHOUT_GRAPH', `${fn.qualifiedName} has no graph to run`);
    }
    return { name: fn.name, code: () => this.#codeOf(fn.graph, fn.name) };
  }

  ofGraph(graph: Graph, name: string): CodeSource {
    return { name, code: () => this.#codeOf(graph, name) };
  }

  /** What stands for a graph where it is run or inlined. */
  protected bodyOf(graph: Graph): Graph {
    return graph;
  }

  #codeOf(graph: Graph, name: string): Code {
    let code = this.#codes.get(graph);
    if (!code) {
      const copy = this.bodyOf(graph).copy();
      inline(copy, (fn) => this.bodyOf(fn.graph));
      replaceTensorsByNumbers(copy.block);
      this.#codes.set(graph, (code = compileCode(name, copy, this)));
    }
    return code;
  }
}

export const tapeCode = new TapeCode();
