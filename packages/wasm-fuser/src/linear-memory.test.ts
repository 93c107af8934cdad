import { describe, expect, it } from 'vitest';
import { LinearMemory } from './linear-memory.ts';

describe('LinearMemory', () => {
  it('grows, and its arrays are of all of it', () => {
    const memory = new LinearMemory();
    const small = memory.take(1000);
    memory.floats[small >> 2] = 7;
    const large = memory.take(1 << 20);
    expect(memory.floats.length * 4).toBeGreaterThanOrEqual(large + (1 << 20));
    expect(memory.floats[small >> 2]).toBe(7);
    expect(memory.integers.buffer).toBe(memory.memory.buffer);
  });

  it('gives what was given back to those who come then, joined with what lies beside it', () => {
    const memory = new LinearMemory();
    const [first, second, third] = [640, 640, 640].map((size) => memory.take(size));
    memory.give(first);
    memory.give(third);
    memory.give(second);
    expect(memory.takenBytes).toBe(0);
    expect(memory.take(1920)).toBe(first);
    expect(memory.takenBytes).toBe(1920);
    // Nobody had it.
    memory.give(second);
    expect(memory.takenBytes).toBe(1920);
  });

  it('grows by no more than is missing at its end', () => {
    const memory = new LinearMemory();
    const first = memory.take(60000);
    memory.give(first);
    expect(memory.take(70000)).toBe(0);
    expect(memory.memory.buffer.byteLength).toBe(2 << 16);
  });

  it('grows in few steps, by a part of what there is', () => {
    const memory = new LinearMemory();
    const buffers = new Set<ArrayBufferLike>();
    for (let page = 0; page < 1000; page++) {
      memory.take(1 << 16);
      buffers.add(memory.memory.buffer);
    }
    expect(buffers.size).toBeLessThan(100);
    expect(memory.memory.buffer.byteLength).toBeLessThan((1000 << 16) * 1.07);
  });

  it('says so where there is no more memory', () => {
    const memory = new LinearMemory();
    expect(() => memory.take(2 ** 33)).toThrow();
    expect(memory.takenBytes).toBe(0);
  });
});
