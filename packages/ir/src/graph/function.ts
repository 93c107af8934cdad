import { CressetError, ErrorReport } from '../error.ts';
import type { ArgumentBinder } from '../schema/argument-binder.ts';
import type { FunctionSchema } from '../schema/function-schema.ts';
import type { Graph } from './graph.ts';
import { nested } from '../nesting.ts';
import { baseName, type ScriptFunction } from '../types/named-types.ts';

/** Thrown where compiling a function needs that function itself (PyTorch: RecursiveMethodCallError). */
export class RecursiveCallError extends CressetError {
  constructor(name: string) {
    super('COMPILE', `function '${name}' is called recursively. Recursive calls are not supported`);
    this.name = 'RecursiveCallError';
  }
}

/** Levels of nesting that a function counts for which is compiled because another one calls it. */
const COMPILATION_COST = 3;

/** Compiles a function into the graph of `fn` and sets its schema; run once, when the function is first needed. */
export type FunctionCreator = (fn: GraphFunction) => void;

/**
 * A function with a graph (PyTorch: GraphFunction). It is compiled when it is first asked for its schema or graph, so that
 * functions may name each other in any order.
 */
export class GraphFunction implements ScriptFunction {
  readonly qualifiedName: string;
  readonly #graph: Graph;
  #creator: FunctionCreator | undefined;
  #isBeingDefined = false;
  #schema: FunctionSchema | undefined;
  #isDeclared = false;
  #failure: unknown;
  binder: ArgumentBinder | null = null;
  /** How long compiling it took, with the functions that were first needed for it. */
  compileMilliseconds = 0;

  constructor(qualifiedName: string, graph: Graph, creator?: FunctionCreator) {
    this.qualifiedName = qualifiedName;
    this.#graph = graph;
    this.#creator = creator;
  }

  get name(): string {
    return baseName(this.qualifiedName);
  }

  /** Whether it is compiled. */
  get isDefined(): boolean {
    return this.#creator === undefined;
  }

  /** The schema; throws what compiling the function throws, unless it was declared. */
  get schema(): FunctionSchema {
    if (!this.#isDeclared) this.ensureDefined();
    if (this.#schema === undefined) {
      throw new CressetError('IR_INVARIANT', `function ${this.qualifiedName} has no schema`);
    }
    return this.#schema;
  }

  /** The graph; throws what compiling the function throws. */
  get graph(): Graph {
    this.ensureDefined();
    return this.#graph;
  }

  /** The graph while its creator fills it; everybody else asks for {@link graph}. */
  get graphBeingDefined(): Graph {
    return this.#graph;
  }

  setSchema(schema: FunctionSchema): this {
    this.#schema = schema;
    return this;
  }

  /** Gives the schema ahead of compiling, where all of its types are written down: calls can be matched to it then, and those that are not cost nothing. */
  declareSchema(schema: FunctionSchema): void {
    this.#schema = schema;
    this.#isDeclared = true;
  }

  /**
   * Compiles the function where that has not happened. Throws a {@link RecursiveCallError} where it is being compiled right now,
   * or the ErrorReport of the source; that one is thrown again on every further call.
   */
  ensureDefined(): void {
    if (this.#failure !== undefined) {
      throw this.#failure;
    }
    const creator = this.#creator;
    if (creator === undefined) {
      return;
    }
    if (this.#isBeingDefined) {
      throw new RecursiveCallError(this.name);
    }
    this.#isBeingDefined = true;
    const start = performance.now();
    try {
      nested(
        () => creator(this),
        () => tooManyCalls(this.name),
        COMPILATION_COST,
      );
      this.#creator = undefined;
      this.compileMilliseconds = performance.now() - start;
    } catch (error) {
      this.#failure = error;
      throw error;
    } finally {
      this.#isBeingDefined = false;
    }
  }
}

function tooManyCalls(name: string): ErrorReport {
  return new ErrorReport(undefined, `function '${name}' is nested too deeply to be compiled`);
}
