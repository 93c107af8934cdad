import { elementSize, symGe, symLt } from '@cresset/tensor';
import {
  axis,
  binary,
  childrenOf,
  constant,
  expressionsOf,
  FreeAxes,
  loadsIn,
  reductionsIn,
  remembered,
  symExtentOf,
  type AxisExpr,
  type Expr,
  type LoadExpr,
  type LoopNest,
} from '@cresset/tensorexpr';
import { i32, v128, type Code } from '../code.ts';
import type { ExpressionWriter } from './expression-writer.ts';
import { hasLoad, isOne, strideOf } from './index-steps.ts';
import type { Scope } from './scope.ts';

/**
 * What a nest stores lies beside each other along its last loop, and what it loads along another one: a transposition, or an operand of one. Four steps of
 * both are taken at once then, and a block of the loop over lanes goes by before the next four of the other: whole lines of memory are read and
 * written, and few at a time.
 *
 *     rows that are loaded, four at a time        rows that are stored
 *       l0: a0 a1 a2 a3                             a0: l0 l1 l2 l3
 *       l1: a0 a1 a2 a3          turned             a1: l0 l1 l2 l3
 *       l2: a0 a1 a2 a3                             a2: l0 l1 l2 l3
 *       l3: a0 a1 a2 a3                             a3: l0 l1 l2 l3
 */
export interface Tile {
  /** The loop along which elements are loaded that lie beside each other. */
  readonly across: AxisExpr;
  readonly loads: readonly LoadExpr[];
  /** Loops over fours of it, and over blocks of the loop over lanes. */
  readonly fours: AxisExpr;
  readonly blocks: AxisExpr;
}

/** Steps below which a loop is none to be turned. */
const LEAST = 8;
/** Steps of the loop over lanes that make a block. */
export const BLOCK = 64;

/** How a nest is gone over in tiles; null where it is better not. Goes by the numbers of this launch. */
export const tileOf = remembered(findTile);

function findTile({ axes, innerAxes, stores }: LoopNest): Tile | null {
  const lanes = axes.at(-1);
  if (!lanes || axes.length < 2 || innerAxes.length > 0 || symLt(symExtentOf(lanes), LEAST)) return null;
  const freeAxes = new FreeAxes();
  const isBeside = (index: Expr, own: AxisExpr): boolean => {
    const stride = strideOf(index, own, freeAxes);
    return stride !== null && isOne(stride);
  };
  const isPlain = stores.every(
    ({ offset, guard, combine }) => !guard && !combine && !hasLoad(offset) && isBeside(offset, lanes),
  );
  const roots = stores.flatMap(expressionsOf);
  const hasDoubles = [...stores, ...loadsIn(roots)].some(({ operand: { dtype } }) => dtype === 'float64');
  // Vectors are of two then.
  if (!isPlain || hasDoubles || reductionsIn(roots).length > 0) return null;
  const isAcross = ({ operand: { dtype }, offset }: LoadExpr): boolean =>
    elementSize(dtype) === 4 &&
    freeAxes.of(offset).has(lanes) &&
    strideOf(offset, lanes, freeAxes) !== null &&
    !isBeside(offset, lanes) &&
    !hasLoad(offset);
  const turned = unconditionalLoads(roots).filter(isAcross);
  const loadsAlong = (own: AxisExpr): LoadExpr[] => turned.filter(({ offset }) => isBeside(offset, own));
  const across = axes
    .slice(0, -1)
    .filter((own) => symGe(symExtentOf(own), LEAST))
    .reduce<AxisExpr | null>(
      (best, own) => (loadsAlong(own).length > (best ? loadsAlong(best).length : 0) ? own : best),
      null,
    );
  if (!across) return null;
  const pieces = (own: AxisExpr, length: number): AxisExpr =>
    axis(own.name, binary('truncdiv', binary('add', own.extent, constant('i32', length - 1)), constant('i32', length)));
  return { across, loads: loadsAlong(across), fours: pieces(across, 4), blocks: pieces(lanes, BLOCK) };
}

/** Loads that every point makes. */
function unconditionalLoads(roots: readonly Expr[]): LoadExpr[] {
  const loads = new Set<LoadExpr>();
  const seen = new Set<Expr>();
  const visit = (expr: Expr): void => {
    if (seen.has(expr)) return;
    seen.add(expr);
    if (expr.kind === 'load') loads.add(expr);
    else (expr.kind === 'select' ? [expr.condition] : childrenOf(expr)).forEach(visit);
  };
  roots.forEach(visit);
  return [...loads];
}

/** The points of a nest's loops in tiles, at the fours and the block that `scope` is for. */
export function writeTile(
  writer: ExpressionWriter,
  { across, loads, fours, blocks }: Tile,
  lanes: AxisExpr,
  scope: Scope,
  write: (scope: Scope) => void,
): void {
  const integer = (code: Code): Code => writer.keep(scope, 'i32', code);
  const range = (pieces: AxisExpr, length: number, { extent }: AxisExpr): [start: Code, end: Code] => {
    const start = integer(i32.mul(writer.valueIn('scalar', pieces, scope), i32.const(length)));
    const all = writer.valueIn('scalar', extent, scope);
    return [start, integer(i32.min(integer(i32.add(start, i32.const(length))), all))];
  };
  const [row, rowEnd] = range(fours, 4, across);
  const [start, end] = range(blocks, BLOCK, lanes);
  let rest = start;
  if (writer.takesLanes(lanes, scope)) {
    const isWhole = i32.eq(i32.sub(rowEnd, row), i32.const(4));
    const last = integer(i32.add(start, i32.mul(i32.sub(end, start), isWhole)));
    rest = writer.laneSteps(lanes, start, last, scope, 1, (inner) => {
      const bound = (at: number): Scope => {
        const one = inner.open();
        const place = writer.keep(one, 'i32', i32.add(row, i32.const(at)));
        one.bind(across, { form: 'scalar', code: place });
        return one;
      };
      const first = bound(0);
      const turned = loads.map((load) => turnedLoads(writer, load, lanes, first));
      inner.code.push(first.code);
      for (let at = 0; at < 4; at++) {
        const one = bound(at);
        loads.forEach((load, which) => one.bind(load, { form: 'lanes', code: turned[which][at] }));
        write(one);
        inner.code.push(one.code);
      }
    });
  }
  writer.steps(across, row, rowEnd, scope, (one) => writer.allSteps(lanes, rest, end, one, write));
}

/** What four steps of one loop load in each of four steps of the other one. */
function turnedLoads(writer: ExpressionWriter, load: LoadExpr, lanes: AxisExpr, scope: Scope): readonly Code[] {
  const vector = (code: Code): Code => writer.keep(scope, 'v128', code);
  const first = writer.keep(scope, 'i32', i32.add(writer.address(load), i32.shl(writer.first(load.offset, scope), 2)));
  const stride = writer.valueIn('scalar', strideOf(load.offset, lanes, writer.freeAxes)!, scope);
  const step = writer.keep(scope, 'i32', i32.shl(stride, 2));
  const [a, b, c, d] = [0, 1, 2, 3].map((lane) => vector(v128.load(i32.add(first, i32.mul(step, i32.const(lane))))));
  const pairs = (x: Code, y: Code, lanesOf: readonly number[]): Code => vector(v128.shuffle(x, y, lanesOf));
  const [ab, cd] = [pairs(a, b, [0, 4, 1, 5]), pairs(c, d, [0, 4, 1, 5])];
  const [ef, gh] = [pairs(a, b, [2, 6, 3, 7]), pairs(c, d, [2, 6, 3, 7])];
  return [
    pairs(ab, cd, [0, 1, 4, 5]),
    pairs(ab, cd, [2, 3, 6, 7]),
    pairs(ef, gh, [0, 1, 4, 5]),
    pairs(ef, gh, [2, 3, 6, 7]),
  ];
}
