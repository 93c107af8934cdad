import { Dict, List, Tensor, Tuple, type IValue } from '@cresset/tensor';
import { Argument, FunctionSchema, StringType, TensorType } from '@cresset/ir';
import { describe, expect, it } from 'vitest';
import { InputChecks, type CheckedSignature, type ExpectedInput } from './input-checks.ts';
import { parseGuard } from './guard-expression.ts';
import { parseSymbolicSize } from './symbolic-size.ts';
import type { TreeSpec } from '../tree/tree-spec.ts';

const leaf: TreeSpec = { kind: 'leaf' };
const zeros = (...sizes: number[]): Tensor =>
  Tensor.fromArray(new Float32Array(sizes.reduce((a, b) => a * b, 1)), sizes, 'float32');
const symbol = (name: string): string => `Symbol('${name}', positive=True, integer=True)`;
const size = (text: string): ReturnType<typeof parseSymbolicSize> => parseSymbolicSize(text);

function checksOf(inputs: readonly ExpectedInput[], changes: Partial<CheckedSignature> = {}): InputChecks {
  const names = inputs.map((_, index) => 'xyz'[index]);
  return new InputChecks({
    names,
    positional: inputs.map(() => leaf),
    keywords: [],
    inputs,
    ranges: new Map(),
    guards: [],
    hasExamples: true,
    ...changes,
  });
}

describe('the checks of a program with example inputs', () => {
  it('say of what the guard is that fails', () => {
    const checks = checksOf([
      { kind: 'tensor', sizes: [2n, 3n] },
      { kind: 'constant', value: 5n },
    ]);
    const refused =
      (...values: IValue[]): (() => void) =>
      () =>
        checks.check(values);
    expect(refused(zeros(2, 3), 5n)).not.toThrow();
    expect(refused(zeros(2, 3), 5)).not.toThrow();
    expect(refused(zeros(2, 4), 5n)).toThrow('Guard failed: x.size()[1] == 3');
    expect(refused(zeros(2, 3), 6n)).toThrow('Guard failed: y == 5');
    expect(refused(zeros(2), 5n)).toThrow('tuple index out of range');
    expect(refused(1n, 5n)).toThrow("'int' object has no attribute 'size'");
  });

  it('hold symbols to their ranges, and to each other', () => {
    const rows = size(symbol('s1'));
    const checks = checksOf(
      [
        { kind: 'tensor', sizes: [rows] },
        { kind: 'tensor', sizes: [rows] },
      ],
      { ranges: new Map([['s1', { min: 4n, max: 8n }]]) },
    );
    expect(() => checks.check([zeros(5), zeros(5)])).not.toThrow();
    expect(() => checks.check([zeros(3), zeros(3)])).toThrow('Guard failed: x.size()[0] >= 4');
    expect(() => checks.check([zeros(9), zeros(9)])).toThrow('Guard failed: x.size()[0] <= 8');
    expect(() => checks.check([zeros(5), zeros(6)])).toThrow('Guard failed: y.size()[0] == x.size()[0]');
  });

  it('compare sizes that are derived of a symbol nobody has', () => {
    const checks = checksOf(
      [
        { kind: 'tensor', sizes: [size(`Add(${symbol('s1')}, Integer(1))`)] },
        { kind: 'tensor', sizes: [size(`Add(Mul(Integer(2), ${symbol('s1')}), Integer(1))`)] },
      ],
      {
        ranges: new Map([
          ['s1 + 1', { min: 2n, max: null }],
          ['2*s1 + 1', { min: 2n, max: null }],
        ]),
      },
    );
    expect(() => checks.check([zeros(4), zeros(7)])).not.toThrow();
    expect(() => checks.check([zeros(4), zeros(8)])).toThrow('Guard failed: -1 + 2 * x.size()[0] == y.size()[0]');
  });

  it('refuse what is put together otherwise, and other keywords', () => {
    const dict: TreeSpec = { kind: 'dict', type: 'builtins.dict', keys: ['a', 'b'], children: [leaf, leaf] };
    const checks = checksOf(
      [1, 2, 3].map(() => ({ kind: 'constant', value: null })),
      {
        names: ['d', 'k'],
        positional: [dict],
        keywords: [['k', leaf]],
      },
    );
    const given = (...keys: string[]): Dict =>
      new Dict(StringType.get(), TensorType.get(), new Map(keys.map((key) => [key, zeros(1)])));
    const schema = new FunctionSchema(
      'forward',
      '',
      ['self', 'd', 'k'].map((name) => new Argument(name)),
      [],
    );
    const bind =
      (args: readonly IValue[], ...keywords: string[]): (() => unknown) =>
      () =>
        checks.bind(schema, args, new Map(keywords.map((name) => [name, null as IValue])), (value) => value);
    expect(bind([given('a', 'b')], 'k')).not.toThrow();
    expect(bind([given('a', 'b')])).toThrow(
      "Ran into a kwarg keyword mismatch: Got the following keywords [] but expected ['k']",
    );
    expect(bind([given('a', 'b'), null], 'k')).toThrow('Trying to flatten user inputs with exported input tree spec:');
    expect(() => checks.check([given('b', 'a'), null])).not.toThrow();
    for (const value of [given('a'), new List(TensorType.get(), []), new Tuple([zeros(1), zeros(1)]), zeros(1)])
      expect(() => checks.check([value, null])).toThrow('Trying to flatten user inputs');
  });
});

it('a program without example inputs says what it expected', () => {
  const rows = size(symbol('s1'));
  const checks = checksOf(
    [
      { kind: 'tensor', sizes: [rows, 3n] },
      { kind: 'tensor', sizes: [size(`Mul(Integer(2), ${symbol('s1')})`)] },
      { kind: 'constant', value: 5n },
    ],
    { hasExamples: false, ranges: new Map([['s1', { min: 0n, max: 4n }]]) },
  );
  const refused =
    (...values: IValue[]): (() => void) =>
    () =>
      checks.check(values);
  expect(refused(zeros(2, 3), zeros(4), 5n)).not.toThrow();
  expect(refused(zeros(2, 4), zeros(4), 5n)).toThrow(
    'Expected input at *args[0].shape[1] to be equal to 3, but got 4. If you meant for this dimension to be dynamic',
  );
  expect(refused(zeros(5, 3), zeros(10), 5n)).toThrow('Expected input at *args[0].shape[0] to be <= 4, but got 5');
  expect(refused(zeros(2, 3), zeros(5), 5n)).toThrow('Expected input at *args[1].shape[0] to be equal to 4, but got 5');
  expect(refused(zeros(2), zeros(4), 5n)).toThrow(
    'Unexpected number of dimensions in input at *args[0].shape (expected torch.Size([s1, 3]), got torch.Size([2]))',
  );
  expect(refused(zeros(2, 3), zeros(4), 6n)).toThrow('Expected input at *args[2] to be equal to 5, but got 6');
});

it.each([
  ["L['x'].size()[0] == ((-1) + L['y'].size()[0])", 'x.size()[0] == -1 + y.size()[0]', true],
  ["(L['x'].size()[0] // 2) != 1", 'x.size()[0] // 2 != 1', true],
  [
    "((L['x'].size()[0] + (((-1)*L['x'].size()[0]) % 4)) % 4) == 0",
    '(x.size()[0] + -1 * x.size()[0] % 4) % 4 == 0',
    true,
  ],
  [
    "max(1, L['y'].size()[0]) <= 3 and not (L['x'].size()[0] > 9)",
    'max(1, y.size()[0]) <= 3 and not x.size()[0] > 9',
    false,
  ],
  ["L['x'].size()[0] / 2 == 2.0", 'x.size()[0] / 2 == 2.0', true],
])('a guard %s is told as Python prints it', (code, text, holds) => {
  const guard = parseGuard(code, ["L['x']", "L['y']"], ['x', 'y']);
  expect(guard.text).toBe(text);
  expect(guard.holds([zeros(4), zeros(5)])).toBe(holds);
});

it.each([
  [`Add(${symbol('s1')}, Integer(-1))`, 's1 - 1', 6n],
  [`Add(Integer(5), Mul(Integer(-1), ${symbol('s1')}))`, '5 - s1', -2n],
  [`Mul(Integer(2), Add(${symbol('s1')}, Integer(3)))`, '2*s1 + 6', 20n],
  [`FloorDiv(Add(${symbol('s1')}, Integer(1)), Integer(2))`, '((s1 + 1)//2)', 4n],
])('%s is a size', (text, shown, value) => {
  const parsed = size(text);
  expect(parsed.text).toBe(shown);
  expect(parsed.evaluate(new Map([['s1', 7n]]))).toBe(value);
});
