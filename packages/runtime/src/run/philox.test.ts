import { describe, expect, it } from 'vitest';
import { philox4x32, PhiloxGenerator } from './philox.ts';

function words(counter: number[], key: [number, number]): string[] {
  const result = new Uint32Array(4);
  philox4x32(Uint32Array.from(counter), key[0], key[1], result);
  return [...result].map((word) => word.toString(16).padStart(8, '0'));
}

describe('philox4x32', () => {
  it('gives the words of the authors’ known-answer tests', () => {
    expect(words([0, 0, 0, 0], [0, 0])).toEqual(['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']);
    const ones = 0xffffffff;
    expect(words([ones, ones, ones, ones], [ones, ones])).toEqual(['408f276d', '41c83b0e', 'a20bc7c6', '6d5451fd']);
    expect(words([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0])).toEqual([
      'd16cfe09',
      '94fdcceb',
      '5001e420',
      '24126ea1',
    ]);
  });
});

describe('PhiloxGenerator', () => {
  it('starts again with the seed', () => {
    const generator = new PhiloxGenerator(7n);
    const first = [generator.nextUint32(), generator.nextUniform(), generator.nextNormal()];
    generator.manualSeed(7n);
    expect([generator.nextUint32(), generator.nextUniform(), generator.nextNormal()]).toEqual(first);
    generator.manualSeed(8n);
    expect(generator.nextUint32()).not.toBe(first[0]);
  });

  it('takes the bits of a negative seed', () => {
    const draws = (seed: bigint): number[] => {
      const generator = new PhiloxGenerator(seed);
      return [generator.nextUint32(), generator.nextUint32()];
    };
    expect(draws(-1n)).toEqual(draws(0xffffffffffffffffn));
    expect(draws(-1n)).not.toEqual(draws(1n));
  });

  it('gives draws out of the stream by number, two words each', () => {
    const [stream, words] = [new PhiloxGenerator(5n), new PhiloxGenerator(5n)];
    const first = stream.stream(6);
    const expected = Array.from({ length: 12 }, () => words.nextUint32());
    expect(Array.from({ length: 6 }, (_, draw) => [first.low(draw), first.high(draw)]).flat()).toEqual(expected);
    // What comes next goes on behind them; a stream begins with a whole counter.
    expect(stream.nextUint32()).toBe(words.nextUint32());
    expect(stream.stream(1).first).toBe(8n);
  });

  it('draws with the moments of the distributions', () => {
    const generator = new PhiloxGenerator(1n);
    const count = 20_000;
    let uniform = 0;
    let normal = 0;
    let square = 0;
    for (let i = 0; i < count; i++) {
      uniform += generator.nextUniform();
      const draw = generator.nextNormal();
      normal += draw;
      square += draw * draw;
    }
    expect(Math.abs(uniform / count - 0.5)).toBeLessThan(0.01);
    expect(Math.abs(normal / count)).toBeLessThan(0.03);
    expect(Math.abs(square / count - 1)).toBeLessThan(0.04);
  });
});
