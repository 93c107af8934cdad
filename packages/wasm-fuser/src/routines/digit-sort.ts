import { i32, i64, repeatWhile, when, type Code, type Local } from '../code.ts';
import { AT, COUNTS, DIGIT_BYTES, PIECE, whileTrue, type Defined, type OrderElements } from './order-elements.ts';
import { LINE_DONE } from './routine-functions.ts';

/** Longest line that is sorted by insertion alone. */
const SHORT_LINE = 48;

const fillBytes = (address: Code, byteLength: Code): Code => [address, i32.const(0), byteLength, 0xfc, 11, 0];

/** `fill(block, keys, scratch, from, to)`: elements of keys, and how often each of their digits occurs. */
export function defineFill(own: OrderElements, isCounted: boolean): Defined {
  return own.module.define(null, 5, (body, block, keys, scratch, from, to) => {
    const numbers = own.numbers(body, block, 'length', 'flip', 'turned');
    const [address, element, slot] = body.integers(3);
    const key = body.local(own.keyType);
    const digit = (at: number): Code => {
      const shifted = own.isLong
        ? i32.ofLong(i64.shiftRightUnsigned(key.get, i64.const(BigInt(8 * at))))
        : i32.shiftRightUnsigned(key.get, i32.const(8 * at));
      return i32.shl(i32.and(shifted, i32.const(255)), 2);
    };
    const counted = Array.from({ length: isCounted ? own.keyBytes : 0 }, (_, at) => [
      slot.set(i32.add(scratch.get, digit(at))),
      i32.store(
        slot.get,
        i32.add(i32.load(slot.get, COUNTS + at * DIGIT_BYTES), i32.const(1)),
        COUNTS + at * DIGIT_BYTES,
      ),
    ]);
    return [
      address.set(i32.add(keys.get, i32.mul(from.get, i32.const(own.keyBytes)))),
      element.set(own.place(own.elements(scratch, numbers.length), from.get)),
      whileTrue(i32.lt(from.get, to.get), [
        key.set(own.keyOf(body, address.get, numbers)),
        own.storeElement(element.get, key, from.get),
        counted,
        address.advance(own.keyBytes),
        element.advance(own.size),
        from.advance(1),
      ]),
    ];
  });
}

/** `stable(block, keys, scratch)`: digit by digit, the last first. Digits that all keys have in common are left out. */
export function defineStable(own: OrderElements, fillCounted: Defined, fill: Defined, insertion: Defined): Defined {
  return own.module.define(null, 3, (body, block, keys, scratch) => {
    const { length } = own.numbers(body, block, 'length');
    const [stage, position, end, isRight] = body.integers(4);
    const [from, to, counts, slot, target] = body.integers(5);
    const digitOf = (element: Local): Code =>
      i32.shl(i32.loadByte(i32.add(element.get, stage.get), own.keyBytes - 1), 2);
    const goOn = (shift: Code): Code => [
      isRight.set(shift),
      stage.advance(1),
      position.set(i32.const(0)),
      when(i32.gt(stage.get, i32.const(own.keyBytes)), stage.set(i32.const(LINE_DONE))),
    ];
    const begin = [
      fillBytes(i32.add(scratch.get, i32.const(COUNTS)), i32.const(own.keyBytes * DIGIT_BYTES)),
      isRight.set(i32.const(0)),
    ];
    const short = [
      fill(block.get, keys.get, scratch.get, i32.const(0), length.get),
      insertion(own.elements(scratch, length), own.place(own.elements(scratch, length), length.get)),
      isRight.set(i32.const(0)),
      stage.set(i32.const(LINE_DONE)),
    ];
    const fillPiece = [
      when(i32.eqz(position.get), begin),
      fillCounted(block.get, keys.get, scratch.get, position.get, end.get),
      position.set(end.get),
      when(i32.eq(end.get, length.get), goOn(i32.const(0))),
    ];
    /** Counts become the places where elements of each digit go. */
    const places = [
      target.set(own.elements(scratch, length, i32.eqz(isRight.get))),
      slot.set(counts.get),
      to.set(i32.add(counts.get, i32.const(DIGIT_BYTES))),
      repeatWhile(
        [
          end.set(i32.load(slot.get)),
          i32.store(slot.get, target.get),
          target.set(own.place(target.get, end.get)),
          slot.advance(4),
        ],
        i32.ltUnsigned(slot.get, to.get),
      ),
    ];
    const pass = [
      end.set(i32.min(i32.add(position.get, i32.const(PIECE)), length.get)),
      to.set(own.place(from.get, end.get)),
      from.set(own.place(from.get, position.get)),
      repeatWhile(
        [
          slot.set(i32.add(counts.get, digitOf(from))),
          target.set(i32.load(slot.get)),
          own.move(target.get, from.get),
          i32.store(slot.get, i32.add(target.get, i32.const(own.size))),
          from.advance(own.size),
        ],
        i32.ltUnsigned(from.get, to.get),
      ),
      position.set(end.get),
      when(i32.eq(end.get, length.get), goOn(i32.eqz(isRight.get))),
    ];
    const byDigit = [
      counts.set(
        i32.add(scratch.get, i32.add(i32.const(COUNTS - DIGIT_BYTES), i32.mul(stage.get, i32.const(DIGIT_BYTES)))),
      ),
      from.set(own.elements(scratch, length, isRight.get)),
      // Of a pass that goes on, places stand where counts were.
      slot.set(i32.and(i32.eqz(position.get), i32.eq(i32.load(i32.add(counts.get, digitOf(from))), length.get))),
      when(slot.get, goOn(isRight.get), [when(i32.eqz(position.get), places), pass]),
    ];
    return [
      stage.set(i32.load(scratch.get, AT.stage)),
      position.set(i32.load(scratch.get, AT.position)),
      isRight.set(i32.load(scratch.get, AT.isRight)),
      end.set(i32.min(i32.add(position.get, i32.const(PIECE)), length.get)),
      when(i32.le(length.get, i32.const(SHORT_LINE)), short, when(i32.eqz(stage.get), fillPiece, byDigit)),
      i32.store(scratch.get, stage.get, AT.stage),
      i32.store(scratch.get, position.get, AT.position),
      i32.store(scratch.get, isRight.get, AT.isRight),
    ];
  });
}

/** `insertion(first, last)`: elements of equal keys stay in their order. */
export function defineInsertion(own: OrderElements): Defined {
  return own.module.define(null, 2, (body, first, last) => {
    const [at, to] = body.integers(2);
    const value = body.local(own.elementType);
    const key = body.local(own.keyType);
    const before = i32.sub(to.get, i32.const(own.size));
    return [
      at.set(i32.add(first.get, i32.const(own.size))),
      whileTrue(i32.ltUnsigned(at.get, last.get), [
        value.set(own.load(at.get)),
        key.set(own.key(at.get)),
        to.set(at.get),
        whileTrue(i32.and(i32.gtUnsigned(to.get, first.get), own.isLess(key.get, own.key(before))), [
          own.move(to.get, before),
          to.advance(-own.size),
        ]),
        own.store(to.get, value.get),
        at.advance(own.size),
      ]),
    ];
  });
}
