import type { FunctionSchema, SourceRange, Symbol } from '@cresset/ir';
import { compileError } from '../compilation-error.ts';
import { matchSchema } from '../emission/schema-matching.ts';
import { PythonEntity } from '../python/python-value.ts';
import { OpaquePythonValue } from '../values/opaque-python-value.ts';
import { SimpleValue } from '../values/simple-value.ts';
import type { SugaredCall, SugaredValue } from '../values/sugared-value.ts';

/** A function that whoever runs the program computes: to Python a function, to programs an operator of its own. */
export class OutsideFunction extends PythonEntity {
  override readonly pythonType = 'function';

  constructor(
    readonly schema: FunctionSchema,
    /** Of the nodes that call it. */
    readonly nodeKind: Symbol,
  ) {
    super();
  }
}

/** Calls of it are kept as calls (PyTorch: PythonValue of a function marked torch.jit.ignore). */
export class OutsideFunctionValue extends OpaquePythonValue {
  readonly #fn: OutsideFunction;

  constructor(fn: OutsideFunction) {
    super();
    this.#fn = fn;
  }

  protected override pythonType(): string {
    return 'function';
  }

  override attr(range: SourceRange): SugaredValue {
    throw compileError(range, `attribute lookup is not defined on ${this.kind()}`);
  }

  override call({ range, fn, args, kwargs }: SugaredCall): SugaredValue {
    const graph = fn.graphBeingDefined;
    const { schema, nodeKind } = this.#fn;
    const { inputs } = matchSchema(schema, { range, graph, args, kwargs });
    const node = graph.insertNode(graph.create(nodeKind, inputs).setSourceRange(range));
    return new SimpleValue(node.output().setType(schema.returns[0]!.type));
  }
}
