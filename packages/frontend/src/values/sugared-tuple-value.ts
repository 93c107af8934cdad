import { constantValue, type GraphFunction, type SourceRange, type Value } from '@cresset/ir';
import { compileError } from '../compilation-error.ts';
import { SugaredValue } from './sugared-value.ts';

/** A tuple whose elements need not be values: the submodules of a list, the current items of a `zip`. */
export class SugaredTupleValue extends SugaredValue {
  readonly elements: readonly SugaredValue[];

  constructor(elements: readonly SugaredValue[]) {
    super();
    this.elements = elements;
  }

  override kind(): string {
    return 'Tuple';
  }

  override asTuple(): readonly SugaredValue[] {
    return this.elements;
  }

  override asValue(range: SourceRange, fn: GraphFunction): Value {
    const graph = fn.graphBeingDefined;
    const values = this.elements.map((element) => element.asValue(range, fn));
    return graph.insertNode(graph.createTuple(values).setSourceRange(range)).output();
  }

  override getitem(range: SourceRange, _fn: GraphFunction, index: Value): SugaredValue {
    const constant = constantValue(index);
    if (typeof constant !== 'bigint') {
      throw compileError(
        range,
        'Expected integer literal for index but got a variable or non-integer. ModuleList/Sequential indexing is only supported with integer literals. ' +
          "For example, 'i = 4; self.layers[i](x)' will fail because i is not a literal. " +
          "Enumeration is supported, e.g. 'for index, v in enumerate(self): out = v(inp)'",
      );
    }
    const position = Number(constant);
    const element = this.elements.at(position);
    if (element === undefined) {
      throw compileError(range, `Index ${position} out of range of length ${this.elements.length}`);
    }
    return element;
  }

  override iter(): SugaredValue {
    return this;
  }

  override staticLen(): number {
    return this.elements.length;
  }
}
