import type { OrderWay } from '@cresset/tensorexpr';
import { i32, i64, repeatWhile, v128, when, type Code, type Local } from '../code.ts';
import type { FunctionBody, ModuleBuilder, ValueType } from '../module.ts';

/** How a line comes to be in order, by the number that functions are told. */
export const WAYS: readonly OrderWay[] = ['stable', 'heap', 'select and sort', 'select', 'quickselect'];

/**
 * What a line is told, in this order: how many elements it has, the first place of the order that is wanted, and how many of them; how they are found;
 * -1 where the order is a falling one; -1 where numbers below zero have the other bits turned over, since those of a float are magnitude and sign; and how
 * often ranges are parted before a heap does what is left.
 */
const NUMBERS = ['length', 'first', 'count', 'way', 'flip', 'turned', 'selectDepth', 'sortDepth'] as const;
type NumberName = (typeof NUMBERS)[number];
type Numbers<Name extends NumberName> = Readonly<Record<Name, Local>>;

/** Elements that are gone over between two stops. */
export const PIECE = 1 << 20;

/**
 * Where things lie in the memory that a line is worked on in: the stage it is at and what goes with that, an element on its way, ranges that wait to be
 * sorted, how often digits occur, and elements.
 */
export const AT = {
  stage: 0,
  position: 4,
  isRight: 8,
  cut: 12,
  low: 16,
  high: 20,
  depth: 24,
  waiting: 28,
  value: 32,
  ranges: 64,
};
export const RANGE_BYTES = 12;
export const COUNTS = 1024;
export const DIGIT_BYTES = 1024;
export const ELEMENTS = COUNTS + 8 * DIGIT_BYTES;

export type Defined = ReturnType<ModuleBuilder['define']>;

/** As `repeatWhile`, but not once where the condition does not hold. */
export const whileTrue = (condition: Code, body: Code): Code => when(condition, repeatWhile(body, condition));

const longSign = i64.const(-(2n ** 63n));
export const sign = i32.const(-(2 ** 31));

/**
 * Lines whose elements are keys with their places beside them, moved whole:
 *
 *     keys of 32 bits    place │ key     8 bytes
 *     keys of 64 bits    place │ key    16 bytes
 *
 * Keys are compared as integers without a sign. What makes such of numbers is told with them.
 */
export class OrderElements {
  /** Bytes of an element. */
  readonly size: number;
  readonly isLong: boolean;
  readonly elementType: ValueType;
  readonly keyType: ValueType;

  constructor(
    readonly module: ModuleBuilder,
    readonly keyBytes: 4 | 8,
  ) {
    this.size = 2 * keyBytes;
    this.isLong = keyBytes === 8;
    this.elementType = this.isLong ? 'v128' : 'i64';
    this.keyType = this.isLong ? 'i64' : 'i32';
  }

  /** Locals with what the line is told. */
  numbers<Name extends NumberName>(body: FunctionBody, block: Local, ...names: readonly Name[]): Numbers<Name> {
    const entries = names.map((name) => {
      const local = body.integer();
      // Two bindings stand before them.
      body.prologue.push(local.set(i32.load(block.get, 8 * (2 + NUMBERS.indexOf(name)))));
      return [name, local] as const;
    });
    return Object.fromEntries(entries) as Numbers<Name>;
  }

  load(address: Code): Code {
    return this.isLong ? v128.load(address) : i64.load(address);
  }

  store(address: Code, element: Code): Code {
    return this.isLong ? v128.store(address, element) : i64.store(address, element);
  }

  move(to: Code, from: Code): Code {
    return this.store(to, this.load(from));
  }

  swap(body: FunctionBody, x: Code, y: Code): Code {
    const kept = body.local(this.elementType);
    return [kept.set(this.load(x)), this.move(x, y), this.store(y, kept.get)];
  }

  /** The key of an element. */
  key(address: Code): Code {
    return this.isLong ? i64.load(address, 8) : i32.load(address, 4);
  }

  isLess(x: Code, y: Code): Code {
    return this.isLong ? i64.ltUnsigned(x, y) : i32.ltUnsigned(x, y);
  }

  isBefore(x: Code, y: Code): Code {
    return this.isLess(this.key(x), this.key(y));
  }

  /** The address of an element, so many after another. */
  place(first: Code, number: Code): Code {
    return i32.add(first, i32.shl(number, this.isLong ? 4 : 3));
  }

  /** The first of a line's elements, or of the second room for as many. */
  elements(scratch: Local, length: Local, isRight: Code = i32.const(0)): Code {
    return this.place(i32.add(scratch.get, i32.const(ELEMENTS)), i32.mul(length.get, isRight));
  }

  /** The key of a number, given where it lies. */
  keyOf(body: FunctionBody, address: Code, { flip, turned }: Numbers<'flip' | 'turned'>): Code {
    const bits = body.local(this.keyType);
    if (this.isLong) {
      const below = i64.shiftRightUnsigned(i64.shiftRight(bits.get, i64.const(63n)), i64.const(1n));
      const own = i64.xor(bits.get, i64.and(below, i64.ofInteger(turned.get)));
      return [bits.set(i64.load(address)), i64.xor(own, i64.xor(i64.ofInteger(flip.get), longSign))];
    }
    const below = i32.shiftRightUnsigned(i32.shiftRight(bits.get, i32.const(31)), i32.const(1));
    const own = i32.xor(bits.get, i32.and(below, turned.get));
    return [bits.set(i32.load(address)), i32.xor(own, i32.xor(flip.get, sign))];
  }

  storeElement(address: Code, key: Local, place: Code): Code {
    if (this.isLong) return [i64.store(address, i64.ofUnsigned(place)), i64.store(address, key.get, 8)];
    const shifted = i64.shiftLeft(i64.ofUnsigned(key.get), i64.const(32n));
    return i64.store(address, i64.or(shifted, i64.ofUnsigned(place)));
  }
}
