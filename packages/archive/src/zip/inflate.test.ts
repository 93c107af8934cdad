import { constants, deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { inflate } from './inflate.ts';

function inflated(data: Uint8Array, size: number): Uint8Array {
  const contents = new Uint8Array(size);
  return contents.subarray(0, inflate(data, contents));
}

const text = new TextEncoder().encode('def forward(self, x):\n  return torch.relu(x)\n'.repeat(300));
/** Bytes without repetitions, which codes of up to 15 bits are worth for: small ones are by far more frequent. */
const skewed = Uint8Array.from({ length: 60_000 }, (_, index) => {
  const hash = Math.imul(index + 1, 2_654_435_761) >>> 0;
  return Math.clz32(hash) * 8 + (hash & 7);
});

describe('inflate', () => {
  const inputs = { text, skewed, empty: new Uint8Array(0), one: Uint8Array.of(7), zeros: new Uint8Array(5000) };
  for (const [name, bytes] of Object.entries(inputs)) {
    for (const level of [0, 1, 6, 9]) {
      it(`gives what was deflated: ${name} at level ${level}`, () => {
        expect(inflated(deflateRawSync(bytes, { level }), bytes.length)).toEqual(bytes);
      });
    }
    it(`knows the codes that blocks do not bring: ${name}`, () => {
      const data = deflateRawSync(bytes, { strategy: constants.Z_FIXED });
      expect(inflated(data, bytes.length)).toEqual(bytes);
    });
  }

  it('goes through several blocks, and copies what a window of 32 kB holds', () => {
    const bytes = new Uint8Array(65_536);
    bytes.set(skewed.subarray(0, 32_700));
    bytes.set(skewed.subarray(0, 32_700), 32_700);
    expect(inflated(deflateRawSync(bytes, { memLevel: 1 }), bytes.length)).toEqual(bytes);
  });

  it('gives what was deflated, whatever it was', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 400 }),
        fc.integer({ min: 0, max: 9 }),
        (bytes, level) => {
          const data = deflateRawSync(Uint8Array.from(bytes), { level });
          expect([...inflated(data, bytes.length)]).toEqual(bytes);
        },
      ),
    );
  });

  it('refuses what is damaged, and never runs on', () => {
    const data = deflateRawSync(text);
    const cut = data.subarray(0, data.length - 10);
    expect(() => inflated(cut, text.length)).toThrow();
    expect(() => inflated(data, text.length - 1)).toThrow('beyond the contents');
    // A repetition of what was never there, a stored block whose length is wrong, and a kind of block that there is not.
    expect(() => inflated(Uint8Array.of(0x03, 0x02), 300)).toThrow('beyond');
    expect(() => inflated(Uint8Array.of(0x01, 1, 0, 0, 0, 5), 300)).toThrow('length of a stored block');
    expect(() => inflated(Uint8Array.of(0x07), 300)).toThrow('no such block');
    fc.assert(
      fc.property(fc.nat(data.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const damaged = data.slice();
        damaged[at] ^= change;
        const contents = new Uint8Array(text.length);
        let count = 0;
        let problem: unknown = new Error('none');
        try {
          count = inflate(damaged, contents);
        } catch (error) {
          problem = error;
        }
        expect(problem).toBeInstanceOf(Error);
        expect(count).toBeLessThanOrEqual(text.length);
      }),
    );
  });
});
