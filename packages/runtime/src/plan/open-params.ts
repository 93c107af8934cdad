import { boxingOf, type OperatorRow, type PointwiseArguments } from '@cresset/operators';
import type { OpenNumber, ScalarType } from '@cresset/tensor';
import type { Expr, ExprType, ParamExpr } from '@cresset/tensorexpr';

/** A param that may have another value when its kernel is launched again; who asks for the value settles it. */
export function openParam(type: ExprType, open: OpenNumber): ParamExpr {
  return {
    kind: 'param',
    type,
    open,
    get value() {
      open.isRead = true;
      return open.value;
    },
  };
}

/**
 * Has Scalars of a pointwise row stay open: puts params that do among the values of its body. What the row does with a number besides, and
 * what a param cannot say (narrow types wrap and round it beforehand), settles the number.
 *
 * @param openNumber the argument of this number, where it may be another one each time
 */
export function openScalars(
  row: OperatorRow,
  args: PointwiseArguments,
  values: PointwiseArguments,
  computing: ScalarType,
  openNumber: (at: number) => OpenNumber | null,
): void {
  const asked = { ...args };
  const { refuses, refusesByKind, dtype } = row.pointwise!;
  boxingOf(row).signature.args.forEach(({ name }, at) => {
    const open = openNumber(at);
    if (!open) return;
    const { kind, type } = values[name] as Expr;
    const made = openParam(type, open);
    if (kind === 'param' && isExact(type, computing, open)) values[name] = made;
    else open.isRead = true;
    Object.defineProperty(asked, name, { get: () => made.value });
  });
  if (!refusesByKind) refuses?.(computing, asked);
  if (typeof dtype === 'function') dtype(computing, asked);
}

/** Whether a param of the type holds every such number as the row takes it. */
function isExact(type: ExprType, computing: ScalarType, { value }: OpenNumber): boolean {
  if (type === 'float') return computing !== 'float16' && computing !== 'bfloat16';
  return typeof value === 'bigint' && (type === 'i64' || computing === 'int32');
}
