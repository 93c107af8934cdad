import { boxingOf, type OperatorRow, type PointwiseArguments } from '@cresset/operators';
import { OpenNumber, type ScalarType } from '@cresset/tensor';
import type { Expr, ExprType, ParamExpr } from '@cresset/tensorexpr';

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

/** A param that may have another value when its kernel is launched again; who asks for the value settles it. */
export function openParam(type: ExprType, open: OpenNumber): ParamExpr {
  return {
    kind: 'param',
    type,
    open,
    get value() {
      baseOf(open)!.isRead = true;
      return open.value;
    },
  };
}

/**
 * Has Scalars of a pointwise row stay open: puts params that do among the values of its body, rounded and wrapped as the row takes them. What
 * the row does with a number besides settles it.
 *
 * @param openNumber the argument of this number, where it may be another one each time
 */
export function openScalars(
  row: OperatorRow,
  args: PointwiseArguments,
  values: PointwiseArguments,
  computing: ScalarType,
  paramOf: (name: string, value: number | bigint) => ParamExpr,
  openNumber: (at: number) => OpenNumber | null,
): void {
  const asked = { ...args };
  const { refuses, refusesByKind, dtype } = row.pointwise!;
  boxingOf(row).signature.args.forEach(({ name }, at) => {
    const open = openNumber(at);
    if (!open) return;
    const { kind, type } = values[name] as Expr;
    const converted = (value: number | bigint): number | bigint => {
      const { value: number } = paramOf(name, value);
      return typeof number === 'boolean' ? Number(number) : number;
    };
    const made = openParam(type, isExact(type, computing, open) ? open : new DerivedNumber(open, converted));
    if (kind === 'param') values[name] = made;
    else open.isRead = true;
    Object.defineProperty(asked, name, { get: () => made.value });
  });
  if (!refusesByKind) refuses?.(computing, asked);
  if (typeof dtype === 'function') dtype(computing, asked);
}

/** Whether a param of the type holds every such number as it is. */
function isExact(type: ExprType, computing: ScalarType, { value }: OpenNumber): boolean {
  if (type === 'float') return computing !== 'float16' && computing !== 'bfloat16';
  return typeof value === 'bigint' && (type === 'i64' || computing === 'int32');
}
