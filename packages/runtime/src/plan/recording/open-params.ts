import { boxingOf, TensorElement, type OperatorRow, type PointwiseArguments } from '@cresset/operators';
import { OpenNumber, settle, type ScalarType, type SymKind, type SymNode } from '@cresset/tensor';
import { constant, type Expr, type ExprType, type ParamExpr } from '@cresset/tensorexpr';
import { numberOfNow } from './numbers-of-sizes.ts';

/** The number that an expression of sizes comes to with each replay. */
export class SizedNumber extends OpenNumber {
  constructor(readonly size: SymNode<SymKind>) {
    super(numberOfNow(size));
  }
}

/** What is made of a number that stays open. */
export class DerivedNumber extends OpenNumber {
  constructor(
    readonly base: OpenNumber,
    readonly of: (value: number | bigint) => number | bigint,
  ) {
    super(of(base.value));
  }
}

/** The number that another one is made of, or is. */
export const baseOf = (open: OpenNumber | undefined): OpenNumber | undefined =>
  open instanceof DerivedNumber ? open.base : open;

/** Has what is recorded hold for the number alone that an open one is now. */
export function close(open: OpenNumber): void {
  const base = baseOf(open)!;
  base.isRead = true;
  if (base instanceof SizedNumber) settle(base.size);
}

/** A param that may have another value when its kernel is launched again; who asks for the value settles it. */
export function openParam(type: ExprType, open: OpenNumber): ParamExpr {
  return {
    kind: 'param',
    type,
    open,
    get value() {
      close(open);
      return open.value;
    },
  };
}

/** The param that is made of an open number. */
export function derivedParam(open: OpenNumber, paramOf: (value: number | bigint) => ParamExpr): ParamExpr {
  const derived = new DerivedNumber(open, (value) => {
    const { value: number } = paramOf(value);
    return typeof number === 'boolean' ? Number(number) : number;
  });
  return openParam(paramOf(open.value).type, derived);
}

/** Numbers of an instruction that may be others each time. */
export interface OpenArguments {
  /** Argument `at`, where it may; null where it is one number. */
  openNumber(at: number): OpenNumber | null;
  /** Has what is recorded serve for such numbers alone for which `refuses` does not throw. @param what is said of them, for people to read */
  admit(at: number, what: string, refuses: (value: number | bigint) => void): void;
}

/**
 * Has Scalars of a pointwise row stay open: puts params that do among the values of its body, rounded and wrapped as the row takes them. Numbers that the row
 * refuses, or makes another dtype of, are none of a replay; what its body does with a number besides settles it.
 */
export function openScalars(
  row: OperatorRow,
  args: PointwiseArguments,
  values: PointwiseArguments,
  computing: ScalarType,
  paramOf: (name: string, value: number | bigint) => ParamExpr,
  numbers: OpenArguments,
): void {
  const { signature } = boxingOf(row);
  signature.args.forEach(({ name }, at) => {
    const open = numbers.openNumber(at);
    if (!open) return;
    const { kind, type } = values[name] as Expr;
    if (kind !== 'param') return close(open);
    values[name] = isExact(type, computing, open)
      ? openParam(type, open)
      : derivedParam(open, (value) => paramOf(name, value));
    const refuses = refusalOf(row, computing, args, name);
    if (refuses) numbers.admit(at, `goes to ${signature.name} of ${computing}`, refuses);
  });
}

/** What throws where a row does not take a number as the argument of that name as it took this one; null where it does not look at it. */
function refusalOf(
  row: OperatorRow,
  computing: ScalarType,
  args: PointwiseArguments,
  name: string,
): ((value: number | bigint) => void) | null {
  const { refuses, dtype } = row.pointwise!;
  // Elements hold on to tensors, and rows go by their dtypes.
  const entries = Object.entries(args).map(([each, value]) => [
    each,
    value instanceof TensorElement ? new TensorElement(constant('bool', false), value.dtype, value.category) : value,
  ]);
  const given: PointwiseArguments = Object.fromEntries(entries);
  let isAsked = false;
  let now: unknown = given[name];
  Object.defineProperty(given, name, {
    get: () => {
      isAsked = true;
      return now;
    },
  });
  const typesOf = (): string => {
    refuses?.(computing, given);
    return typeof dtype === 'function' ? Object.values(dtype(computing, given)).join() : '';
  };
  const types = typesOf();
  if (!isAsked) return null;
  return (value) => {
    now = value;
    if (typesOf() !== types) throw new TypeError(`${row.schema} computes in another dtype`);
  };
}

/** Whether a param of the type holds every such number as it is. */
function isExact(type: ExprType, computing: ScalarType, { value }: OpenNumber): boolean {
  if (type === 'float') return computing !== 'float16' && computing !== 'bfloat16';
  return typeof value === 'bigint' && (type === 'i64' || computing === 'int32');
}
