import type { ScalarType } from '@cresset/tensor';
import { binary, constant, param, select, unary, type Expr } from '@cresset/tensorexpr';
import { drawExpr, uniformAt, uniformExpr } from '../../kernels/numbers/random-stream.ts';
import type { RandomStream } from '../../table/row.ts';

/** Normal and whole numbers from draws of 64 bits, on the host and as expressions for a device: the same in both places. */

/** A draw from the standard normal distribution (Box-Muller): two neighbours share two draws. */
export function normalAt(stream: RandomStream, draw: number, dtype: ScalarType): number {
  const first = draw - (draw % 2);
  // 1 - u is in (0, 1], whose logarithm is finite.
  const radius = Math.sqrt(-2 * Math.log(1 - uniformAt(stream, first, dtype)));
  const angle = 2 * Math.PI * uniformAt(stream, first + 1, dtype);
  return radius * (draw === first ? Math.cos(angle) : Math.sin(angle));
}

/** A whole number in [0, range), `range` at most 2^63. */
export function integerAt(stream: RandomStream, draw: number, range: number): number | bigint {
  if (range < 2 ** 32) return stream.low(draw) % range;
  const bits = (BigInt(stream.high(draw) & 0x7fffffff) << 32n) | BigInt(stream.low(draw));
  return bits % BigInt(range);
}

/** As `normalAt`. */
export function normalExpr(stream: RandomStream, draw: Expr, dtype: ScalarType): Expr {
  const one = constant('i32', 1);
  const float = (value: number): Expr => constant('float', value);
  const isSecond = binary('and', draw, one);
  const first = binary('sub', draw, isSecond);
  const rest = binary('sub', float(1), uniformExpr(stream, first, dtype));
  const radius = unary('sqrt', binary('mul', float(-2), unary('log', rest)));
  const angle = binary('mul', float(2 * Math.PI), uniformExpr(stream, binary('add', first, one), dtype));
  return binary('mul', radius, select(binary('eq', isSecond, one), unary('sin', angle), unary('cos', angle)));
}

/** As `integerAt`, an i64. */
export function integerExpr(stream: RandomStream, draw: Expr, range: number): Expr {
  const mask = range < 2 ** 32 ? 0xffffffffn : 0x7fffffffffffffffn;
  const bits = binary('and', drawExpr(stream, draw), param('i64', mask));
  return binary('remainder', bits, param('i64', BigInt(range)));
}
