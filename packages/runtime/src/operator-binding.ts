import { someContainedType, type FunctionSchema, type Node, type Type } from '@cresset/ir';
import type { OperatorRow } from '@cresset/operators';

/** An operator at one place of a program: what the interpreter has to know of it besides its arguments. */
export interface OperatorBinding {
  /** Name with overload: `aten::add.Tensor`. */
  readonly name: string;
  /** Absent where no operator of that name and those types is known: running it raises an error that says so. */
  readonly row: OperatorRow | null;
  readonly outputCount: number;
  /** Whether it may put its arguments into something that lasts longer than the call (`append`). */
  readonly keepsArguments: boolean;
  /** Whether its results are or hold lists, dicts or objects. */
  readonly returnsContainers: boolean;
}

/** The operator a node calls. */
export function bindOperator(node: Node): OperatorBinding {
  const operator = node.maybeOperator();
  if (!operator) {
    return {
      name: node.kind,
      row: null,
      outputCount: node.outputs.length,
      keepsArguments: true,
      returnsContainers: true,
    };
  }
  return {
    name: operator.schema.operatorName,
    row: (operator.row as OperatorRow | undefined) ?? null,
    outputCount: node.outputs.length,
    keepsArguments: operator.aliasAnalysis === 'conservative' || keepsArguments(operator.schema),
    returnsContainers: node.outputs.some((output) => someContainedType(output.type, isContainer)),
  };
}

/** Whether an alias annotation says that an argument becomes part of something else: `t(c -> *) el`. */
export function keepsArguments(schema: FunctionSchema): boolean {
  return schema.arguments.some(({ aliasInfo, isWrite, type }) => {
    if (!aliasInfo) return false;
    return (aliasInfo.isWildcardAfter && !aliasInfo.isWildcardBefore) || (isWrite && isContainer(type));
  });
}

function isContainer(type: Type): boolean {
  switch (type.kind) {
    case 'ListType':
    case 'DictType':
    case 'ClassType':
    case 'InterfaceType':
    case 'AnyType':
    case 'AnyListType':
    case 'AnyClassType':
    case 'FutureType':
    case 'UnionType':
    case 'VarType':
      return true;
    default:
      return false;
  }
}
