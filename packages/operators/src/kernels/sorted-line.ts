import { symGe, type SymInt } from '@cresset/tensor';
import { binary, constant, param, select, unary, type Expr } from '@cresset/tensorexpr';

/**
 * How many elements of an ascending line come before `value`, equal ones included where `right` is set: halves of the line are
 * left out one after the other. NaN is largest.
 */
export function placeIn(length: SymInt, element: (at: Expr) => Expr, value: Expr, right: boolean): Expr {
  const isNaN = (x: Expr): Expr => (x.type === 'float' ? unary('isnan', x) : constant('bool', false));
  const comesBefore = (x: Expr): Expr => {
    const plain = binary(right ? 'le' : 'lt', x, value);
    if (x.type !== 'float') return plain;
    return select(isNaN(value), right ? constant('bool', true) : unary('not', isNaN(x)), plain);
  };
  const end = param('i32', length);
  let place = constant('i32', 0);
  let longest = 1;
  while (symGe(length, 2 * longest)) longest *= 2;
  for (let step = longest; step >= 1; step /= 2) {
    const next = binary('add', place, constant('i32', step));
    const isThere = binary(
      'and',
      binary('le', next, end),
      comesBefore(element(binary('sub', next, constant('i32', 1)))),
    );
    place = select(isThere, next, place);
  }
  return place;
}
