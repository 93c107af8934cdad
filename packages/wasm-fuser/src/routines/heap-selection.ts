import { i32, i32x4, v128, when, type Code, type Local } from '../code.ts';
import type { FunctionBody } from '../module.ts';
import { AT, PIECE, sign, whileTrue, type Defined, type OrderElements } from './order-elements.ts';
import { LINE_DONE } from './routine-functions.ts';

/** Functions of heaps, their last element on top. */
export interface Heap {
  readonly adjust: Defined;
  readonly pop: Defined;
  readonly make: Defined;
  readonly sort: Defined;
}

export function defineHeap(own: OrderElements): Heap {
  /** `adjust(first, hole, length, value)`: puts an element where it belongs in a heap of which the place `hole` is free. */
  const adjust = own.module.define(null, 4, (body, first, hole, length, value) => {
    const [top, child, parent] = body.integers(3);
    const at = (number: Local): Code => own.place(first.get, number.get);
    const isBeforeKey = (number: Local): Code => own.isLess(own.key(at(number)), own.key(value.get));
    const sink = [own.move(at(hole), at(child)), hole.set(child.get)];
    const half = (count: Code): Code => i32.shiftRight(count, i32.const(1));
    const up = parent.set(half(i32.sub(hole.get, i32.const(1))));
    const hasTwo = i32.lt(child.get, half(i32.sub(length.get, i32.const(1))));
    const isLast = i32.eq(child.get, half(i32.sub(length.get, i32.const(2))));
    return [
      top.set(hole.get),
      child.set(hole.get),
      whileTrue(hasTwo, [
        child.set(i32.shl(i32.add(child.get, i32.const(1)), 1)),
        parent.set(i32.sub(child.get, i32.const(1))),
        when(own.isBefore(at(child), at(parent)), child.set(parent.get)),
        sink,
      ]),
      when(i32.and(i32.eqz(i32.and(length.get, i32.const(1))), isLast), [
        child.set(i32.add(i32.shl(child.get, 1), i32.const(1))),
        sink,
      ]),
      up,
      whileTrue(i32.and(i32.gt(hole.get, top.get), isBeforeKey(parent)), [
        own.move(at(hole), at(parent)),
        hole.set(parent.get),
        up,
      ]),
      own.move(at(hole), value.get),
    ];
  });
  /** `pop(first, length, to, scratch)`: moves a heap's top to `to`, and what was there into the heap. */
  const pop = own.module.define(null, 4, (_body, first, length, to, scratch) => {
    const value = i32.add(scratch.get, i32.const(AT.value));
    return [own.move(value, to.get), own.move(to.get, first.get), adjust(first.get, i32.const(0), length.get, value)];
  });
  /** `make(first, length, scratch)` */
  const make = own.module.define(null, 3, (body, first, length, scratch) => {
    const parent = body.integer();
    const value = i32.add(scratch.get, i32.const(AT.value));
    return [
      parent.set(i32.shiftRight(length.get, i32.const(1))),
      whileTrue(i32.gt(parent.get, i32.const(0)), [
        parent.advance(-1),
        own.move(value, own.place(first.get, parent.get)),
        adjust(first.get, parent.get, length.get, value),
      ]),
    ];
  });
  /** `sort(first, length, scratch)`: elements of a heap, first to last. */
  const sort = own.module.define(null, 3, (_body, first, length, scratch) =>
    whileTrue(i32.gt(length.get, i32.const(1)), [
      length.advance(-1),
      pop(first.get, length.get, own.place(first.get, length.get), scratch.get),
    ]),
  );
  return { adjust, pop, make, sort };
}

/** `top(block, keys, scratch)`: a heap of what comes first, its last one on top, which all others are compared with. */
export function defineTop(own: OrderElements, fill: Defined, heap: Heap): Defined {
  const offer = own.module.define(null, 5, (body, block, keys, scratch, from, to) => {
    const numbers = own.numbers(body, block, 'length', 'count', 'flip', 'turned');
    const [address, first] = body.integers(2);
    const key = body.local(own.keyType);
    const value = i32.add(scratch.get, i32.const(AT.value));
    return [
      first.set(own.elements(scratch, numbers.length)),
      address.set(i32.add(keys.get, i32.mul(from.get, i32.const(own.keyBytes)))),
      whileTrue(i32.lt(from.get, to.get), [
        key.set(own.keyOf(body, address.get, numbers)),
        when(own.isLess(key.get, own.key(first.get)), [
          own.storeElement(value, key, from.get),
          heap.adjust(first.get, i32.const(0), numbers.count.get, value),
        ]),
        address.advance(own.keyBytes),
        from.advance(1),
      ]),
    ];
  });
  return own.module.define(null, 3, (body, block, keys, scratch) => {
    const { length, count, flip, turned } = own.numbers(body, block, 'length', 'count', 'flip', 'turned');
    const [position, end, next, address, first] = body.integers(5);
    const begin = [
      fill(block.get, keys.get, scratch.get, i32.const(0), count.get),
      heap.make(first.get, count.get, scratch.get),
      position.set(count.get),
      i32.store(scratch.get, i32.const(0), AT.isRight),
    ];
    const offerUpTo = (until: Local): Code => [
      offer(block.get, keys.get, scratch.get, position.get, until.get),
      position.set(until.get),
    ];
    return [
      first.set(own.elements(scratch, length)),
      position.set(i32.load(scratch.get, AT.position)),
      when(i32.eqz(position.get), begin),
      end.set(i32.min(i32.add(position.get, i32.const(PIECE)), length.get)),
      // Most elements are none of the first: sixteen are looked at in one go.
      own.isLong ? [] : skipOthers(body, { position, end, next, address, first, keys, flip, turned }, offerUpTo),
      offerUpTo(end),
      i32.store(scratch.get, position.get, AT.position),
      when(
        i32.eq(position.get, length.get),
        [heap.sort(first.get, count.get, scratch.get), i32.store(scratch.get, i32.const(LINE_DONE))],
        i32.store(scratch.get, i32.const(1)),
      ),
    ];
  });
}

/** Goes on as long as sixteen elements beside each other are none of the first. */
function skipOthers(
  body: FunctionBody,
  at: Readonly<Record<'position' | 'end' | 'next' | 'address' | 'first' | 'keys' | 'flip' | 'turned', Local>>,
  offerUpTo: (until: Local) => Code,
): Code {
  const { position, end, next, address, first, keys } = at;
  const [flip, turned, last, bits, isAny] = body.vectors(5);
  const seeLast = last.set(i32x4.splat(i32.xor(i32.load(first.get, 4), sign)));
  const below = i32x4.shiftRightUnsigned(i32x4.shiftRight(bits.get, i32.const(31)), i32.const(1));
  const compared = (four: number): Code => [
    bits.set(v128.load(address.get, 16 * four)),
    isAny.set(
      v128.or(isAny.get, i32x4.gt(last.get, v128.xor(v128.xor(bits.get, v128.and(below, turned.get)), flip.get))),
    ),
  ];
  const hasMore = i32.le(next.get, end.get);
  return [
    flip.set(i32x4.splat(at.flip.get)),
    turned.set(i32x4.splat(at.turned.get)),
    seeLast,
    next.set(i32.add(position.get, i32.const(16))),
    whileTrue(hasMore, [
      address.set(i32.add(keys.get, i32.shl(position.get, 2))),
      isAny.set(v128.zero),
      [0, 1, 2, 3].map(compared),
      when(v128.anyTrue(isAny.get), [offerUpTo(next), seeLast], position.set(next.get)),
      next.advance(16),
    ]),
  ];
}
