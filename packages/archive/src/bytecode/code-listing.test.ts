import { parseIr, registerOperators } from '@cresset/ir';
import { beforeAll, expect, test } from 'vitest';
import { listCode } from './code-listing.ts';

beforeAll(() =>
  registerOperators(
    [
      'aten::tanh(Tensor self) -> Tensor',
      'aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor',
      'aten::gt.int(int a, int b) -> bool',
    ].map((schema) => ({ schema })),
  ),
);

/** The lines behind the graph. */
const listing = (ir: string): string => {
  const text = listCode(parseIr(ir));
  return text.slice(text.indexOf('\n\n') + 2);
};

test('a line is a place, an instruction with its operands, and the node of what it calls', () => {
  const ir = `graph(%x : Tensor, %n : int):
  %one : int = prim::Constant[value=1]()
  %c : bool = aten::gt(%n, %one)
  %y : Tensor = prim::If(%c)
    block0():
      %a : Tensor = aten::tanh(%x)
      -> (%a)
    block1():
      %b : Tensor = aten::add(%x, %x, %one)
      -> (%b)
  %all : Tensor[] = prim::ListConstruct(%y, %x)
  return (%all)
`;
  expect(listing(ir)).toBe(`0 STOREN 1 2
1 MOVE 2
2 LOADC 0
3 OP 0 # %3 : bool = aten::gt(%n, %2)
4 JF 4
5 LOAD 1
6 OP 1 # %5 : Tensor = aten::tanh(%x)
7 JMP 5
8 LOAD 1
9 LOAD 1
10 LOADC 0
11 OP 2 # %6 : Tensor = aten::add(%x, %x, %2)
12 STORE 3
13 MOVE 3
14 MOVE 1
15 LIST_CONSTRUCT 0 2
16 RET
`);
});

test('what the lite interpreter lacks has instructions too: guards, with what they jump to behind all else, calls and forks', () => {
  const guarded = `graph(%x : Tensor, %n : int):
  %t : int = prim::BailoutTemplate_0()
  %y : Tensor = prim::BailOut[index=0](%t, %x, %n)
  %f : Future(Tensor) = prim::fork_1(%y)
  return (%f)
with prim::BailoutTemplate_0 = graph(%x : Tensor, %n : int):
  return (%x)
with prim::fork_1 = graph(%x : Tensor):
  return (%x)
`;
  const lines = listing(guarded)
    .split('\n')
    .map((line) => line.replace(/ # .*$/, '').replace(/^\d+ /, ''));
  const at = lines.findIndex((line) => line.startsWith('JF'));
  expect(lines.slice(at - 2, at)).toEqual(['MOVE 1', 'GUARD 0']);
  const target = at + Number(lines[at].slice(3));
  expect(lines.slice(target)).toEqual(['MOVE 2', 'TAIL_CALL 0', '']);
  expect(lines.slice(at + 1, target)).toContain('FORK 0 1');
  expect(lines[target - 1]).toBe('RET');
});
