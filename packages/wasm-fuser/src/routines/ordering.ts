import type { OrderWay } from '@cresset/tensorexpr';
import { i32, i64, repeatWhile, when, type Code } from '../code.ts';
import type { ModuleBuilder } from '../module.ts';
import { defineFill, defineInsertion, defineStable } from './digit-sort.ts';
import { defineHeap, defineTop } from './heap-selection.ts';
import { AT, ELEMENTS, OrderElements, WAYS, type Defined } from './order-elements.ts';
import { definePartition, defineQuickselect, defineSelect } from './quick-selection.ts';
import { LINE_DONE } from './routine-functions.ts';

/** Bytes that a line takes to be put in order. */
export function bytesOfOrder(way: OrderWay, length: number, count: number, keyBytes: number): number {
  const elements = way === 'heap' ? count : way === 'stable' ? 2 * length : length;
  return ELEMENTS + 2 * keyBytes * elements;
}

/** How deep a quicksort goes: twice the binary logarithm. */
const depthLimit = (count: number): number => 2 * (31 - Math.clz32(count));

/**
 * What the functions are told of lines.
 *
 * @param isFloat whether keys are the bits of floats, without a negative zero and with one sort of NaN, which comes last
 */
export const orderNumbers = (
  way: OrderWay,
  length: number,
  first: number,
  count: number,
  isFloat: boolean,
  descending: boolean,
): number[] => [
  length,
  first,
  count,
  WAYS.indexOf(way),
  descending ? -1 : 0,
  isFloat ? -1 : 0,
  depthLimit(length),
  depthLimit(Math.max(count - 1, 1)),
];

/** Defines `run` as a routine has it. */
export function defineOrdering(module: ModuleBuilder, keyBytes: 4 | 8): void {
  const own = new OrderElements(module, keyBytes);
  const insertion = defineInsertion(own);
  const heap = defineHeap(own);
  const partition = definePartition(own);
  const fill = defineFill(own, false);
  const stable = defineStable(own, defineFill(own, true), fill, insertion);
  const top = defineTop(own, fill, heap);
  const select = defineSelect(own, fill, insertion, heap, partition);
  const nth = defineQuickselect(own, fill);
  const advance = module.define(null, 3, (body, block, line, scratch) => {
    const { length, first, count, way } = own.numbers(body, block, 'length', 'first', 'count', 'way');
    const [keys, places, element, end] = body.integers(4);
    const perform = (order: Defined): Code => order(block.get, keys.get, scratch.get);
    const isWay = (name: OrderWay): Code => i32.eq(way.get, i32.const(WAYS.indexOf(name)));
    return [
      keys.set(i32.add(i32.load(block.get), i32.mul(i32.mul(line.get, length.get), i32.const(keyBytes)))),
      when(
        i32.eqz(way.get),
        perform(stable),
        when(isWay('heap'), perform(top), when(isWay('quickselect'), perform(nth), perform(select))),
      ),
      when(i32.eq(i32.load(scratch.get), i32.const(LINE_DONE)), [
        places.set(i32.add(i32.load(block.get, 8), i32.shl(i32.mul(line.get, count.get), 2))),
        end.set(i32.add(places.get, i32.shl(count.get, 2))),
        element.set(own.place(own.elements(scratch, length, i32.load(scratch.get, AT.isRight)), first.get)),
        repeatWhile(
          [i32.store(places.get, i32.load(element.get)), places.advance(4), element.advance(own.size)],
          i32.ltUnsigned(places.get, end.get),
        ),
      ]),
    ];
  });
  module.define('run', 6, (_body, block, from, to, scratch, isWhole) => {
    const line = advance(block.get, from.get, scratch.get);
    return when(
      isWhole.get,
      repeatWhile(
        [
          i64.store(scratch.get, i64.const(0n)),
          repeatWhile(line, i32.ne(i32.load(scratch.get), i32.const(LINE_DONE))),
          from.advance(1),
        ],
        i32.lt(from.get, to.get),
      ),
      line,
    );
  });
}
