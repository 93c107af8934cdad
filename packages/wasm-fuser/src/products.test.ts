import { describe, expect, it } from 'vitest';
import { hasRelaxedSimd } from './engine-features.ts';
import { LinearMemory } from './linear-memory.ts';
import { functionsOf, moduleBytes } from './load.ts';
import {
  defineImageProducts,
  definePackedProducts,
  definePacking,
  type Definition,
  type ImageProductFunctions,
  type PackedProductFunctions,
  type PackingFunctions,
} from './products.ts';

/** Small whole numbers, whose products and sums are exact in single precision. */
const value = (at: number): number => ((at * 37) % 17) - 8;

describe.each([false, ...(hasRelaxedSimd() ? [true] : [])])(
  'products, with products and sums in one: %s',
  (isRelaxed) => {
    const memory = new LinearMemory();
    const load = <Functions>(define: Definition): Functions =>
      functionsOf(moduleBytes([define], isRelaxed, false), memory);
    const { pack } = load<PackingFunctions>(definePacking);
    const { multiply } = load<PackedProductFunctions>(definePackedProducts);
    const { multiplyImage } = load<ImageProductFunctions>(defineImageProducts);
    const [raw, a, b, c] = [1 << 16, 1 << 18, 1 << 18, 1 << 16].map((size) => memory.take(size));
    const write = (count: number, shift: number): void => {
      for (let at = 0; at < count; at++) memory.floats[(raw >> 2) + at] = value(at + shift);
    };

    it.each([
      [1, 1, 1],
      [1, 12, 7],
      [2, 4, 3],
      [3, 5, 1],
      [4, 12, 8],
      [5, 17, 2],
      [6, 9, 5],
      [18, 8, 3],
      [23, 20, 4],
      [7, 16, 65],
      [9, 31, 513],
      [4, 13, 1025],
    ])('multiplies %i × %i over %i', (m, n, k) => {
      for (const isTransposed of [false, true]) {
        write(m * k, 1);
        if (isTransposed) pack(raw, 4, 4 * m, m, k, a);
        else pack(raw, 4 * k, 4, m, k, a);
        write(k * n, 5);
        if (isTransposed) pack(raw, 4 * k, 4, n, k, b);
        else pack(raw, 4, 4 * n, n, k, b);
        const vectors = Math.ceil(n / 4);
        for (const accumulate of [0, 1]) {
          multiply(m, vectors, k, a, 16 * k, b, 16 * k, c, 16 * vectors, accumulate);
          for (let i = 0; i < m; i++) {
            for (let j = 0; j < n; j++) {
              let sum = 0;
              for (let at = 0; at < k; at++) {
                const left = isTransposed ? at * m + i : i * k + at;
                const right = isTransposed ? j * k + at : at * n + j;
                sum += value(left + 1) * value(right + 5);
              }
              expect(memory.floats[(c >> 2) + i * vectors * 4 + j]).toBe(sum * (accumulate + 1));
            }
          }
        }
      }
    });

    it.each([
      [1, 1, 4, 1, 3],
      [2, 5, 9, 3, 4],
      [3, 14, 13, 2, 700],
    ])('multiplies %i images with %i rows, over columns that lie beside each other', (groups, m, n, lines, k) => {
      const vectors = Math.ceil(n / 4);
      const [lineLength, imageLength] = [n + 5, lines * (n + 5) + 3];
      const offset = (at: number): number => (at * 7) % 11;
      const [image, table] = [a + 4 * groups * k * (m + 4), b];
      for (let group = 0; group < groups; group++) {
        write(m * k, group);
        pack(raw, 4 * k, 4, m, k, a + 16 * k * Math.ceil(m / 4) * group);
      }
      for (let at = 0; at < groups * imageLength + 32; at++) memory.floats[(image >> 2) + at] = value(at + 3);
      for (let at = 0; at < k; at++) memory.integers[(table >> 2) + at] = 4 * offset(at);
      const sums = 16 * m * lines * vectors;
      multiplyImage(
        groups,
        m,
        lines,
        vectors,
        k,
        a,
        16 * k * Math.ceil(m / 4),
        image,
        4 * imageLength,
        4 * lineLength,
        table,
        c,
        sums,
      );
      for (let group = 0; group < groups; group++) {
        for (let row = 0; row < m; row++) {
          for (let line = 0; line < lines; line++) {
            for (let column = 0; column < n; column++) {
              let sum = 0;
              for (let at = 0; at < k; at++) {
                const place = group * imageLength + line * lineLength + offset(at) + column;
                sum += value(row * k + at + group) * value(place + 3);
              }
              const at = (c + sums * group) / 4 + (row * lines + line) * 4 * vectors + column;
              expect(memory.floats[at]).toBe(sum);
            }
          }
        }
      }
    });
  },
);
