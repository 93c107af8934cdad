import { i64, type Code } from '../../code.ts';
import type { Keep } from './floats.ts';

const low = (x: Code): Code => i64.and(x, i64.const(0xffffffffn));
const high = (x: Code): Code => i64.shiftRightUnsigned(x, i64.const(32n));

/** Philox 4×32-10: the 64 bits with number `index` in the stream of `key`, of which a block of 128 has two. */
export function philox(key: Code, index: Code, keep: Keep): Code {
  const block = keep(i64.shiftRightUnsigned(index, i64.const(1n)));
  let [a, b, c, d] = [keep(low(block)), keep(high(block)), i64.const(0n), i64.const(0n)];
  let [k0, k1] = [keep(low(key)), keep(high(key))];
  for (let round = 0; round < 10; round++) {
    const left = keep(i64.mul(a, i64.const(0xd2511f53n)));
    const right = keep(i64.mul(c, i64.const(0xcd9e8d57n)));
    [a, b, c, d] = [
      keep(i64.xor(i64.xor(high(right), b), k0)),
      keep(low(right)),
      keep(i64.xor(i64.xor(high(left), d), k1)),
      keep(low(left)),
    ];
    k0 = keep(low(i64.add(k0, i64.const(0x9e3779b9n))));
    k1 = keep(low(i64.add(k1, i64.const(0xbb67ae85n))));
  }
  const word = (x: Code, y: Code): Code => i64.or(x, i64.shiftLeft(y, i64.const(32n)));
  return [word(a, b), word(c, d), i64.eqz(i64.and(index, i64.const(1n))), 0x1b];
}
