import { script } from '@cresset/frontend';
import { ClassType, IntType, OptionalType } from '@cresset/ir';
import { List, ScriptObject, Tuple, type IValue } from '@cresset/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { initializeRuntime } from '../initialize.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import { ScriptModule } from '../script-module.ts';

beforeAll(() => initializeRuntime());

function run(source: string, ...args: IValue[]): Promise<IValue> {
  const unit = script(source);
  const module = new ScriptModule(new ScriptObject(new ClassType('__torch__.M')), unit, new RuntimeContext());
  return module.callFunction(unit.getFunction('__torch__.f'), args);
}

const binary = (operator: string, a: bigint, b: bigint): Promise<IValue> =>
  run(`def f(a: int, b: int):\n    return a ${operator} b\n`, a, b);

const SMALLEST = -(2n ** 63n);
const edges = [
  0n, 1n, -1n, 2n, -3n, 7n, 2n ** 31n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n), -(2n ** 53n) + 1n,
  (2n ** 53n + 1n) / 3n, 6364136223846793005n, 2n ** 63n - 1n, SMALLEST, SMALLEST + 1n,
]; // prettier-ignore

const floor = (a: bigint, b: bigint): bigint => (a % b !== 0n && a < 0n !== b < 0n ? a / b - 1n : a / b);
const operators: Record<string, (a: bigint, b: bigint) => bigint | boolean> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '//': floor,
  '%': (a, b) => a - floor(a, b) * b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
};

describe('ints', () => {
  it.each(Object.keys(operators))('%s is exact, and wraps at 64 bits', async (operator) => {
    for (const a of edges) {
      for (const b of edges) {
        if (b === 0n && (operator === '//' || operator === '%')) continue;
        const expected = operators[operator](a, b);
        const wrapped = typeof expected === 'bigint' ? BigInt.asIntN(64, expected) : expected;
        expect(await binary(operator, a, b), `${a} ${operator} ${b}`).toBe(wrapped);
      }
    }
  });

  it('leave a chain of arithmetic as they would be with bigints alone', async () => {
    const source = 'def f(n: int):\n    h = 1\n    for i in range(n):\n        h = h * 31 + i\n    return h\n';
    let expected = 1n;
    for (let i = 0n; i < 100n; i++) expected = BigInt.asIntN(64, expected * 31n + i);
    expect(await run(source, 100n)).toBe(expected);
  });

  it('have no negative zero', async () => {
    expect(await run('def f(a: int, b: int):\n    return float(a * b), float(-a), float(b % 3)\n', 0n, -3n)).toEqual(
      new Tuple([0, 0, 0]),
    );
  });

  it('are divided by zero as PyTorch has it', async () => {
    await expect(binary('//', 1n, 0n)).rejects.toThrow('division by 0');
    await expect(binary('%', 1n, 0n)).rejects.toThrow('modulo by zero');
  });

  it('stay ints wherever something else looks at them', async () => {
    const source = `
def g(x: int):
    return x + 1
def f(a: int, flag: bool):
    b = a * 2
    l = [b, b + 1]
    l.append(g(b))
    d = {b: b}
    t = (b, float(b))
    o: Optional[int] = None
    if flag:
        o = b
    any: Any = b
    text = str(b) + "{}".format(b)
    return l, d, t, o, any, text, isinstance(any, int), b == 4, b == 4.0
`;
    const { items } = (await run(source, 2n, true)) as Tuple;
    const [list, dict, pair, ...rest] = items as [List, { entries: Map<IValue, IValue> }, Tuple, ...IValue[]];
    expect(list.items).toEqual([4n, 5n, 5n]);
    expect([...dict.entries]).toEqual([[4n, 4n]]);
    expect(pair.items).toEqual([4n, 4]);
    expect(rest).toEqual([4n, 4n, '44', true, true, true]);
  });

  it('come out of lists as what they are', async () => {
    const source = `
def f(l: List[int], o: List[Optional[int]]):
    s = 0
    for i in range(len(l)):
        s += l[i] + l[-1]
    first = o[0]
    return s, first
`;
    const args = [new List(IntType.get(), [1n, 2n ** 62n]), new List(OptionalType.create(IntType.get()), [7n, null])];
    expect(((await run(source, ...args)) as Tuple).items).toEqual([BigInt.asIntN(64, 1n + 3n * 2n ** 62n), 7n]);
  });

  it.each([2n, -3n])('outside a list are its error: l[%d]', async (at) => {
    const source = 'def f(l: List[int], at: int):\n    return l[at]\n';
    await expect(run(source, new List(IntType.get(), [1n, 2n]), at)).rejects.toThrow('list index out of range');
  });

  it('swap where a loop swaps its variables', async () => {
    const source =
      'def f(n: int):\n    a = 1\n    b = 2\n    for i in range(n):\n        a, b = b, a\n    return a, b\n';
    expect(((await run(source, 3n)) as Tuple).items).toEqual([2n, 1n]);
  });
});
