import { script } from '@cresset/frontend';
import { ClassType } from '@cresset/ir';
import { lastStorageSerial, ScriptObject, Tensor } from '@cresset/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { registerAllParts } from '../../all-parts.ts';
import { RuntimeContext } from '../../run/runtime-context.ts';
import { ScriptModule } from '../../script-module.ts';

beforeAll(() => registerAllParts());

const x = (): Tensor => Tensor.fromArray(Float32Array.of(1, 2), [2], 'float32');

/** The program `f(x: Tensor, n: int)` on the host. */
function program(body: string): (n: number) => Promise<number[]> {
  const unit = script(`def f(x: Tensor, n: int) -> Tensor:${body}\n`);
  const module = new ScriptModule(new ScriptObject(new ClassType('__torch__.M')), unit, new RuntimeContext());
  return async (n) => {
    const given = x();
    const result = (await module.callFunction(unit.getFunction('__torch__.f'), [given, BigInt(n)])) as Tensor;
    expect(Array.from(given.contiguousArray(), Number)).toEqual([1, 2]);
    return Array.from(result.contiguousArray(), Number);
  };
}

const SCAN = `
    state = torch.zeros([2])
    for i in range(n):
        decay = torch.exp(x * -1.0)
        state = decay * state + x * x * 0.5
    return state`;

describe('memory of results that nobody needs any more', () => {
  it('is taken by the next ones: eight trips, which run as one, make a storage for what they hand on', async () => {
    const run = program(SCAN);
    const made = async (n: number): Promise<number> => {
      const before = lastStorageSerial();
      await run(n);
      return lastStorageSerial() - before;
    };
    await made(64);
    const short = await made(64);
    expect(await made(1024)).toBe(short + (1024 - 64) / 8);
    const [first, second] = await run(50);
    for (const [value, at] of [
      [first, 1],
      [second, 2],
    ]) {
      expect(value).toBeCloseTo((at * at * 0.5) / (1 - Math.exp(-at)), 5);
    }
  });

  it.each<[string, string, readonly number[]]>([
    [
      'what a loop begins with, used again in the next trip of another',
      `
    z = torch.zeros([2])
    s = x
    for i in range(n):
        y = z
        for j in range(2):
            y = y * 2 + x
        s = s + y
    return s`,
      [1 + 3 * 3, 2 + 3 * 6],
    ],
    [
      'what a loop begins with, used after it',
      `
    z = torch.ones([2])
    y = z
    for i in range(n):
        y = y * 2
    return y + z`,
      [9, 9],
    ],
    [
      'variables that change places',
      `
    a = torch.zeros([2])
    b = torch.ones([2])
    for i in range(n):
        a, b = b + x, a
    return a * 10 + b`,
      [31, 52],
    ],
    [
      'what becomes two variables',
      `
    a = torch.zeros([2])
    b = torch.zeros([2])
    for i in range(n):
        a = a + x
        c = a * 2
        b = a
        a = a * 3
    return a * 100 + b`,
      [39 * 100 + 13, 78 * 100 + 26],
    ],
    [
      'what is in a list',
      `
    l = [x]
    for i in range(n):
        y = x + i
        l.append(y)
        z = y * 2
    return l[1] * 100 + l[2] * 10 + l[3]`,
      [1 * 100 + 2 * 10 + 3, 2 * 100 + 3 * 10 + 4],
    ],
    [
      'what an operator may give back as it is',
      `
    h = x * 2
    k = torch.dropout(h, 0.5, False)
    m = h + 1
    return m * 10 + k`,
      [32, 54],
    ],
    [
      'what has a view',
      `
    h = x * 2
    k = h[0]
    m = h + 1
    return m * 10 + k`,
      [32, 52],
    ],
    [
      'what is written in place',
      `
    h = x * 2
    k = h.add_(1)
    m = h * 3
    return m * 10 + k`,
      [93, 155],
    ],
    [
      'what a branch needs later',
      `
    h = x * 2
    y = x
    for i in range(n):
        if i > 0:
            y = h + y
    return y`,
      [5, 10],
    ],
  ])('stays where somebody may look there: %s', async (_, body, expected) => {
    const run = program(body);
    expect(await run(3)).toEqual(expected);
    expect(await run(3)).toEqual(expected);
  });
});
