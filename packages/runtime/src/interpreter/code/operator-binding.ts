import { someContainedType, type FunctionSchema, type Node, type Type } from '@cresset/ir';
import { functionalizedRow, OperatorError, type OperatorRow, type PreparedCall } from '@cresset/operators';
import { isFunctionalized } from '@cresset/passes';
import { List, type IValue } from '@cresset/tensor';

/** An operator at one place of a program: what the interpreter has to know of it besides its arguments. */
export interface OperatorBinding {
  /** Name with overload: `aten::add.Tensor`. */
  readonly name: string;
  /** Absent where no operator of that name and those types is known: running it raises an error that says so. */
  readonly row: OperatorRow | null;
  /** The function of plain values that it is, of at most one result: it asks neither for elements of tensors nor for a place to run. */
  readonly scalar: ((...args: IValue[]) => IValue) | null;
  readonly outputCount: number;
  /** Which arguments are tensors, or lists of them, that have to be there: an undefined tensor of a file or a program is None. */
  readonly tensors: readonly number[];
  /** Which arguments are tensors, or lists of them, that it writes to. */
  readonly written: readonly number[];
  /** Whether it may put its arguments into something that lasts longer than the call (`append`). */
  readonly keepsArguments: boolean;
  /** Whether it makes lists, dicts or objects that can change later; one it only hands on counts for nothing. */
  readonly makesContainers: boolean;
  /** Whether what it keeps or makes a container of can be a tensor, which a ledger has to know of. */
  readonly holdsTensors: boolean;
  /** Whether it makes a tensor of values that are none: the first step of a tensor that a device may get a copy of. */
  readonly makesTensor: boolean;
  /** Which arguments are tensors that nobody else has and nobody needs afterwards: a result may take their memory. */
  readonly spent: readonly number[];
  /** The last call on the host, ready for the next one with arguments like those. */
  prepared: PreparedCall | null;
}

/**
 * The operator a node calls, or another that says the same.
 * @param spent as `OperatorBinding.spent`
 */
export function bindOperator(
  node: Node,
  operator = node.maybeOperator(),
  spent: readonly number[] = [],
): OperatorBinding {
  const schema = operator?.schema;
  const row = (operator?.row as OperatorRow | undefined) ?? null;
  const isPlain = row !== null && !row.readsElements && !row.remote && schema!.returns.length < 2;
  const makesTensor =
    row?.scalar !== undefined && isMadeHere(schema!, 0) && schema!.returns[0]?.type.kind === 'TensorType';
  // Nothing is known of an operator that there is not.
  const keeps = !schema || operator.aliasAnalysis === 'conservative' || keepsArguments(schema);
  const makesContainers =
    !schema ||
    node.outputs.some(({ type, offset }) => isMadeHere(schema, offset) && someContainedType(type, isContainer));
  return {
    name: schema?.operatorName ?? node.kind,
    row: row && isFunctionalized(node) ? functionalizedRow(row) : row,
    scalar: (isPlain && !makesTensor && row.scalar) || null,
    outputCount: node.outputs.length,
    tensors: schema?.arguments.flatMap(({ type }, at) => (isDefinedTensor(type) ? at : [])) ?? [],
    written: schema?.arguments.flatMap(({ isWrite }, at) => (isWrite ? at : [])) ?? [],
    keepsArguments: keeps,
    makesContainers,
    makesTensor,
    holdsTensors:
      (keeps || makesContainers) && [...node.inputs, ...node.outputs].some(({ type }) => mayHoldTensors(type)),
    spent,
    prepared: null,
  };
}

/** Whether an alias annotation says that an argument becomes part of something else: `t(c -> *) el`. */
export function keepsArguments(schema: FunctionSchema): boolean {
  return schema.arguments.some(({ aliasInfo, isWrite, type }) => {
    if (!aliasInfo) return false;
    return (aliasInfo.isWildcardAfter && !aliasInfo.isWildcardBefore) || (isWrite && isContainer(type));
  });
}

/**
 * Whether a result is new: `split` returns `Tensor(a)[]`, a new list of views, but `append` its list, `t[](a!)`, and `__getitem__`
 * something that lies in its list, `t(*)`.
 */
export function isMadeHere({ returns }: FunctionSchema, offset: number): boolean {
  return !returns[offset]?.aliasInfo?.beforeSet;
}

/** Throws PyTorch's error where an argument of `tensors` is no tensor, or holds something that is none. */
export function expectTensors({ tensors }: OperatorBinding, args: readonly IValue[]): void {
  for (const at of tensors) {
    const value = args[at];
    if (value === null || (value instanceof List && value.items.includes(null))) throw undefinedTensor();
  }
}

export const undefinedTensor = (): OperatorError => new OperatorError('Expected Tensor but got None');

const isDefinedTensor = (type: Type): boolean =>
  type.kind === 'TensorType' || (type.kind === 'ListType' && isDefinedTensor(type.containedTypes()[0]));

/** Types whose values are no tensors, nor hold any that their parts do not. */
const tensorless: ReadonlySet<Type['kind']> = new Set([
  ...(['IntType', 'FloatType', 'BoolType', 'StringType', 'NoneType'] as const),
  ...(['ListType', 'DictType', 'TupleType', 'OptionalType'] as const),
]);

const mayHoldTensors = (type: Type): boolean => someContainedType(type, ({ kind }) => !tensorless.has(kind));

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
