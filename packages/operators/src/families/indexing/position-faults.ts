import { symEq, type SymInt, type Tensor } from '@cresset/tensor';
import { binary, cast, constant, param, TensorView, type Expr, type Store } from '@cresset/tensorexpr';
import type { ErrorKind } from '../../kernels/errors.ts';
import type { Complaint, LoweringContext } from '../../table/row.ts';

/** What PyTorch says of a position. */
export const outOfBoundsAt = (position: number | bigint | string, dim: number, size: number | string): string =>
  `index ${position} is out of bounds for dimension ${dim} with size ${size}`;

/** As `outOfBoundsAt`, of a position that a kernel meets. */
export const outOfBounds = (dim: number, size: SymInt): Complaint => ({ text: outOfBoundsAt('%', dim, '#'), size });

/** Notes a position that is not in [low, size), as a kernel reads it. */
export function positionFault(
  position: Expr,
  low: SymInt,
  size: SymInt,
  complaint: Complaint | string,
  context: LoweringContext,
  kind?: ErrorKind,
): readonly Store[] {
  const narrow = cast('i32', position);
  const start = low === 0 ? constant('i32', 0) : param('i32', low);
  const isBad = binary('or', binary('lt', narrow, start), binary('ge', narrow, param('i32', size)));
  return context.faults(isBad, narrow, complaint, kind);
}

/** Notes whatever position in `index` is not in [low, size): for kernels that do not read each of them once. */
export function launchPositionCheck(
  index: Tensor,
  low: SymInt,
  size: SymInt,
  complaint: Complaint | string,
  context: LoweringContext,
  kind?: ErrorKind,
): void {
  if (symEq(index.symNumel, 0)) return;
  const view = new TensorView(index);
  const axes = view.axes();
  const stores = positionFault(view.at(axes), low, size, complaint, context, kind);
  context.launch({ kind: 'nest', label: 'positions', axes, innerAxes: [], stores });
}
