import { CressetError, MAX_NESTING, Node, parseIr } from '@cresset/ir';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { registerTestOperators } from './operators-fixture.ts';
import { script } from './script.ts';

beforeAll(registerTestOperators);

const DEEP = 20_000;

const expression =
  (open: string, close: string, innermost = 'x') =>
  (depth: number): string =>
    `def f(x: int):\n    return ${open.repeat(depth)}${innermost}${close.repeat(depth)}\n`;

const annotation =
  (open: string) =>
  (depth: number): string =>
    `def f(x: ${open.repeat(depth)}int${']'.repeat(depth)}):\n    return x\n`;

/** Each level a statement within the one before. */
const blocks =
  (header: string) =>
  (depth: number): string => {
    const lines = Array.from({ length: depth }, (_, level) => `${' '.repeat(level + 1)}${header}:\n`);
    return `def f(x: int):\n${lines.join('')}${' '.repeat(depth + 1)}x = x + 1\n return x\n`;
  };

/** Statements in a row that make something deep. */
const rows =
  (row: (index: number) => string) =>
  (depth: number): string =>
    `def f(x: int):\n    y0 = x\n${Array.from({ length: depth }, (_, index) => `    ${row(index)}\n`).join('')}    return x\n`;

const programs: readonly (readonly [name: string, source: (depth: number) => string])[] = [
  ['parentheses', expression('(', ')')],
  ['lists', expression('[', ']')],
  ['tuples', expression('(', ',)')],
  ['dicts', expression('{1: ', '}')],
  ['minus signs', expression('-', '')],
  ['nots', expression('not ', '')],
  ['calls in arguments', expression('int(', ')')],
  ['calls of results', expression('', '()')],
  ['attributes', expression('', '.x')],
  ['subscripts', expression('', '[0]')],
  ['sums to the right', expression('1 + (', ')')],
  ['sums to the left', expression('', ' + x')],
  ['powers', expression('', ' ** 2')],
  ['comparisons', expression('', ' < x')],
  ['and', expression('', ' and x > 1', 'x > 0')],
  ['conditional expressions', expression('1 if x > 1 else ', '')],
  ['comprehensions', expression('[i for i in ', ']', '[x]')],
  ['comprehensions of comprehensions', expression('[', ' for i in [1]]')],
  ['List types', annotation('List[')],
  ['Optional types', annotation('Optional[')],
  ['Dict types', annotation('Dict[str, ')],
  ['Tuple types', annotation('Tuple[int, ')],
  ['Union types', annotation('Union[str, ')],
  ['if in if', (depth) => blocks('if x > 1')(Math.min(depth, 3000))],
  ['for in for', (depth) => blocks('for i in range(x)')(Math.min(depth, 3000))],
  ['while in while', (depth) => blocks('while x < 1')(Math.min(depth, 3000))],
  [
    'elif after elif',
    (depth) =>
      `def f(x: int):\n    if x == 0:\n        x = 1\n${'    elif x == 1:\n        x = 1\n'.repeat(depth)}    return x\n`,
  ],
  ['returns after returns', rows(() => 'if x > 1:\n        return x')],
  ['lists of lists of before', rows((index) => `y${index + 1} = [y${index}]`)],
  [
    'tuples of twice the one before',
    (depth) => rows((index) => `y${index + 1} = (y${index}, y${index})`)(Math.min(depth, 60)),
  ],
  [
    'functions that call the next',
    (depth) =>
      `${Array.from({ length: depth }, (_, at) => `def f${at}(x: int) -> int:\n    return f${at + 1}(x)\n`).join('')}def f${depth}(x: int) -> int:\n    return x\n`,
  ],
];

describe('what is nested without end', () => {
  it.each(programs)(
    '%s: an error of this library, before the stack ends',
    (_, source) => {
      expect(() => script(source(3))).not.toThrow(/nested|too many/);
      let thrown: unknown;
      try {
        script(source(DEEP));
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toBeInstanceOf(CressetError);
    },
    60_000,
  );

  it.each([
    ['blocks', (depth: number) => `graph(%x : int):\n${'  prim::Loop(%x, %x)\n    block0(%i : int):\n'.repeat(depth)}`],
    ['types', (depth: number) => `graph(%x : ${'List['.repeat(depth)}int):\n  return (%x)\n`],
    ['optional types', (depth: number) => `graph(%x : int${'[]'.repeat(depth)}):\n  return (%x)\n`],
    ['constants', (depth: number) => `graph():\n  %x : int[] = prim::Constant[value=${'['.repeat(depth)}]()\n`],
  ])('IR text: %s', (_, text) => {
    expect(() => parseIr(text(DEEP))).toThrow(CressetError);
  });

  it('refuses nothing a program has', () => {
    expect(MAX_NESTING).toBeGreaterThanOrEqual(400);
    for (const [, source] of programs.filter(([name]) => / types$|^if |^for |^sums|^elif|^returns/.test(name))) {
      expect(() => script(source(60))).not.toThrow(/nested|too many/);
    }
  });
});

describe('early returns', () => {
  it('are turned into branches in time proportional to their number', () => {
    const moves = vi.spyOn(Node.prototype, 'moveBefore');
    const clones = vi.spyOn(Node.prototype, 'copyMetadata');
    const steps = (count: number): number => {
      moves.mockClear();
      clones.mockClear();
      script(rows((index) => `if x > ${index}:\n        return ${index}`)(count));
      return moves.mock.calls.length + clones.mock.calls.length;
    };
    const [small, medium, large] = [steps(50), steps(100), steps(200)];
    expect(large - medium).toBe(2 * (medium - small));
    vi.restoreAllMocks();
  });
});
