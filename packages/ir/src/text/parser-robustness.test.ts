import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CressetError, parseIr, parseSchema } from '../index.ts';

const PIECES = [
  'graph(',
  '%x',
  '%1',
  ' : ',
  'Tensor',
  'int',
  '[]',
  '?',
  ',',
  ')',
  ':\n',
  '  ',
  ' = ',
  'aten::add',
  'prim::Constant',
  '[value=',
  '1',
  '-',
  '1.5',
  '2.j',
  '"a\\n"',
  "'",
  '{',
  '}',
  '(',
  'block0',
  '->',
  'return',
  '\n',
  'with prim::G_0 = ',
  'prim::G_0',
  'Float(2, *)',
  'Dict(str, int)',
  'annotate(List[int], ',
  '<Tensor>',
  'Union(int, str)',
  '#',
  '...',
  '(a! -> *)',
  '!',
  '*',
  'None',
  'inf',
  '__torch__.M',
];

const garbled = fc.array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ maxLength: 3 })), { maxLength: 40 });

/** A result or a CressetError, and nothing else. */
function answers(parse: (text: string) => unknown, text: string): void {
  try {
    parse(text);
  } catch (error) {
    expect(error).toBeInstanceOf(CressetError);
  }
}

test('any text is a graph or a CressetError', () => {
  fc.assert(
    fc.property(garbled, (pieces) => answers(parseIr, `graph(%x : Tensor):\n  ${pieces.join('')}`)),
    { numRuns: 1500 },
  );
  fc.assert(
    fc.property(garbled, (pieces) => answers(parseIr, pieces.join(''))),
    { numRuns: 500 },
  );
});

test('any text is a schema or a CressetError', () => {
  fc.assert(
    fc.property(garbled, (pieces) => answers(parseSchema, `f(${pieces.join('')}`)),
    { numRuns: 1000 },
  );
});

test('a graph with a piece cut out or doubled is a graph or a CressetError', () => {
  const text = `graph(%x : Float(2, 3, strides=[3, 1]), %c : bool):
  %1 : (int, str) = prim::Constant[value=(1, "a")]()
  %2 : Tensor = prim::If(%c)
    block0():
      %3 : Tensor = prim::FusionGroup_0[n=[1, 2]](%x)
      -> (%3)
    block1():
      -> (%x)
  return (%2)
with prim::FusionGroup_0 = graph(%x : Tensor):
  return (%x)
`;
  const cut = fc.tuple(fc.nat(text.length), fc.nat(40), fc.boolean());
  const mutate = ([at, length, isDoubled]: [number, number, boolean]): string =>
    text.slice(0, at) + (isDoubled ? text.slice(at, at + length).repeat(2) : '') + text.slice(at + length);
  fc.assert(
    fc.property(cut, (mutation) => answers(parseIr, mutate(mutation))),
    { numRuns: 1500 },
  );
});

test.each([
  ['types', (depth: number) => `graph(%x : ${'('.repeat(depth)}int${')'.repeat(depth)}):\n  return (%x)`],
  ['list types', (depth: number) => `graph(%x : int${'[]'.repeat(depth)}):\n  return (%x)`],
  ['constants', (depth: number) => `graph():\n  %1 : int = prim::Constant[value=${'('.repeat(depth)}`],
  ['blocks', (depth: number) => `graph(%c : bool):\n${'prim::Loop()\nblock0():\n'.repeat(depth)}`],
  ['subgraphs', (depth: number) => 'graph():\n  = p::G_0()\n  return ()\nwith p::G_0 = '.repeat(depth)],
])('%s nested without end are a CressetError', (_what, text) => {
  answers(parseIr, text(100_000));
});
