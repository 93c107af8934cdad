import type { ListType, Node } from '@cresset/ir';
import { findRow, runOnHost, type HostContext } from '@cresset/operators';
import { List, type IValue } from '@cresset/tensor';

/** Runs operators on ints and lists of ints for tests, as the runtime's evaluator does. */
export function evaluate(node: Node, inputs: readonly unknown[]): readonly unknown[] | null {
  if (node.kind === 'prim::ListConstruct') {
    return [new List((node.output().type as ListType).elementType, [...(inputs as readonly IValue[])])];
  }
  try {
    const { name, overloadName } = node.operator();
    return runOnHost(findRow(name, overloadName)!, inputs as readonly IValue[], {} as HostContext);
  } catch {
    return null;
  }
}
