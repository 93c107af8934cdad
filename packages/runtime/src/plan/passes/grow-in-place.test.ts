import { elementSize, Storage, Tensor } from '@cresset/tensor';
import { expect, test } from 'vitest';
import type { LaunchProgram } from '../program/launch-program.ts';
import { parseProgram } from '../program/parse-program-fixture.ts';
import { SameLayout } from '../recording/live-in.ts';
import { growInPlace } from './grow-in-place.ts';
import { recorderOf } from './launches-fixture.ts';

const limits = { maxBindingBytes: 1 << 27 };
const memory = {
  allocate: (byteLength: number) => ({ byteLength, isLost: false }),
  deviceElementSize: elementSize,
  isOfHost: true,
};

/** A program whose first storage is found in a tensor that a device has made. */
function found(program: LaunchProgram, isOfDevice = true): LaunchProgram {
  const [[{ byteLength }]] = program.storages;
  const count = byteLength / 4;
  const storage = isOfDevice
    ? Storage.onDevice(memory as never, 'float32', count)
    : Storage.onHost(new ArrayBuffer(byteLength));
  const tensor = new Tensor(storage, 'float32', [count], [1]);
  const liveIn = new SameLayout({ kind: 'register', register: 1 }, tensor, {
    opensOffsets: false,
    maxBindingBytes: limits.maxBindingBytes,
  });
  liveIn.storage = 0;
  return { ...program, steps: [liveIn, ...program.steps] };
}

const grown = (text: string, sizes: readonly number[], isOfDevice = true): string => {
  const { program, textOf } = parseProgram(text, sizes);
  return textOf(growInPlace(found(program, isOfDevice), recorderOf(), limits));
};

const cache = `program:
  @past: float32, 128*s0 bytes, given
  @more: float32, 128*s1 bytes, given
  @whole: float32, 128*s0 + 128*s1 bytes, new
  @y: float32, 128 bytes, new
  launch cat(i: 2, j: s0 + s1, k: 16)
    @whole[(i * (16*s0 + 16*s1) + j * 16) + k] = select(j < s0, @past[(i * 16*s0 + j * 16) + k], @more[(i * 16*s1 + (j - s0) * 16) + k])
  launch sum(i: 2, j: 16)
    @y[i * 16 + j] = sum[k: s0 + s1](@whole[(i * (16*s0 + 16*s1) + k * 16) + j]) - @past[i * 16*s0 + j]
`;

test('what is joined to the end of each row is stored behind it', () => {
  expect(grown(cache, [40, 3])).toMatchInlineSnapshot(`
    "program:
      @0: float32, 8*s2 bytes, given, 2 rows of 16*s0 + 16*s1
      @more: float32, 128*s1 bytes, given
      @y: float32, 128 bytes, new
      guard 2147483647 + -32*s0 + -32*s1 >= 0
      guard -134217729 + 8*s2 < 0
      %0 = register 1, @0
      launch cat(i: 2, j: s1, k: 16)
        @0[((16*s0 + i * s2) + j * 16) + k] = @more[((i * 16) * s1 + j * 16) + k]
      launch sum(i: 2, j: 16)
        @y[i * 16 + j] = sum[k: s0 + s1](@0[(i * s2 + k * 16) + j]) - @0[i * s2 + j]
    "
  `);
});

test('a join of two launches is the second one', () => {
  const text = `program:
  @past: float32, 128*s0 bytes, given
  @more: float32, 128 bytes, given
  @whole: float32, 128 + 128*s0 bytes, new
  launch cat(i: 2, j: 16*s0)
    @whole[i * (16 + 16*s0) + j] = @past[i * 16*s0 + j]
  launch mul+cat(i: 2, j: 16)
    @whole[(16*s0 + i * (16 + 16*s0)) + j] = @more[i * 16 + j] * 2
`;
  expect(grown(text, [40])).toMatchInlineSnapshot(`
    "program:
      @0: float32, 8*s1 bytes, given, 2 rows of 16*s0 + 16
      @more: float32, 128 bytes, given
      guard 2147483647 + -32*s0 >= 0
      guard -134217729 + 8*s1 < 0
      %0 = register 1, @0
      launch mul+cat(i: 2, j: 16)
        @0[(16*s0 + i * s1) + j] = @more[i * 16 + j] * 2
    "
  `);
});

const refused = (text: string, isOfDevice = true): boolean => !grown(text, [40, 3], isOfDevice).includes(' rows of ');

test.each([
  [
    'is read over the ends of rows',
    `  launch exp(i: 32*s0 + 32*s1)
    @y[i] = exp(@whole[i])
`,
  ],
  [
    'is read where an index says',
    `  launch take(i: 32)
    @y[i] = @whole[i * 16 + i32(@more[i])]
`,
  ],
  [
    'is written to',
    `  launch mul(i: 2, j: 16)
    @whole[i * (16*s0 + 16*s1) + j] = @y[i * 16 + j] * 2
`,
  ],
  [
    'grows out of what is written to',
    `  launch mul(i: 2, j: 16)
    @past[i * 16*s0 + j] = @y[i * 16 + j] * 2
`,
  ],
  [
    'is one of two that do',
    `  launch cat(i: 2, j: s0 + s1, k: 16)
    @whole[(i * (16*s0 + 16*s1) + j * 16) + k] = select(j < s0, @past[(i * 16*s0 + j * 16) + k], @more[(i * 16*s1 + (j - s0) * 16) + k])
`,
  ],
])('nothing grows that %s', (_, launch) => {
  expect(refused(cache)).toBe(false);
  expect(refused(cache + launch)).toBe(true);
});

test('what the host has is joined as it was', () => {
  expect(refused(cache, false)).toBe(true);
});
