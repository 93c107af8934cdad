import type { ScalarType } from '@cresset/tensor';
import { binary, cast, constant, param, type Expr } from '@cresset/tensorexpr';
import type { RandomStream } from '../../table/row.ts';

/**
 * What uniform numbers are made of, from draws of 64 bits, on the host and as expressions for a device: the same numbers in
 * both places. A uniform number has 24 bits, or 53 for float64; PyTorch makes its own in the same way.
 */

const whole24 = 2 ** -24;

/** In [0, 1). */
export function uniformAt(stream: RandomStream, draw: number, dtype: ScalarType): number {
  if (dtype !== 'float64') return (stream.low(draw) & 0xffffff) * whole24;
  return ((stream.high(draw) & 0x1fffff) * 2 ** 32 + stream.low(draw)) * 2 ** -53;
}

/** Draw number `draw`, an i32, of a stream: an i64. */
export function drawExpr(stream: RandomStream, draw: Expr): Expr {
  const { key, first } = stream.open ?? { key: param('i64', stream.key), first: param('i64', stream.first) };
  return binary('philox', key, binary('add', first, cast('i64', draw)));
}

/** As `uniformAt`; `draw` is an i32. */
export function uniformExpr(stream: RandomStream, draw: Expr, dtype: ScalarType): Expr {
  if (dtype === 'float64') {
    const all = binary('and', drawExpr(stream, draw), constant('i64', 0x1fffffffffffffn));
    return binary('mul', cast('float', all), constant('float', 2 ** -53));
  }
  const bits = binary('and', cast('i32', drawExpr(stream, draw)), constant('i32', 0xffffff));
  return binary('mul', cast('float', bits), constant('float', whole24));
}
