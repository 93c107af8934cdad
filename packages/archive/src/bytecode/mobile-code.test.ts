import { parseIr, registerOperators } from '@cresset/ir';
import { beforeAll, describe, expect, test } from 'vitest';
import { compileMobileCode } from './mobile-code.ts';

beforeAll(() =>
  registerOperators(
    [
      'aten::tanh(Tensor self) -> Tensor',
      'aten::neg(Tensor self) -> Tensor',
      'aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor',
      'aten::add.int(int a, int b) -> int',
    ].map((schema) => ({ schema })),
  ),
);

/** Instructions one a line, operands left out where they are 0. */
function listing(ir: string): string[] {
  return compileMobileCode(parseIr(ir)).instructions.map(({ op, x, n }) =>
    [op, ...(x !== 0 || n !== 0 ? [x] : []), ...(n === 0 ? [] : [n])].join(' '),
  );
}

describe('compileMobileCode', () => {
  test('computes a value where it is used if nothing stands between', () => {
    const ir = `graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %y : Tensor = aten::tanh(%x)
  %z : Tensor = aten::add(%y, %x, %one)
  return (%z)
`;
    expect(listing(ir)).toEqual(['STORE 1', 'LOAD 1', 'OP', 'MOVE 1', 'OP 1', 'RET']);
  });

  test('gives up what is last used in a block after the node that has the block', () => {
    const ir = `graph(%x : Tensor, %c : bool):
  %y : Tensor = prim::If(%c)
    block0():
      -> (%x)
    block1():
      %z : Tensor = aten::neg(%x)
      -> (%z)
  return (%y)
`;
    expect(listing(ir)).toEqual([
      'STOREN 1 2',
      'MOVE 2',
      'JF 3',
      'LOAD 1',
      'JMP 3',
      'LOAD 1',
      'OP',
      'STORE 3',
      'DROPR 1',
      'MOVE 3',
      'RET',
    ]);
  });

  test('jumps back to the start of a loop', () => {
    const ir = `graph(%n : int):
  %true : bool = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %sum : int = prim::Loop(%n, %true, %zero)
    block0(%i : int, %s : int):
      %t : int = aten::add(%s, %i)
      -> (%true, %t)
  return (%sum)
`;
    const code = compileMobileCode(parseIr(ir));
    const at = code.instructions.findIndex(({ op }) => op === 'LOOP');
    const jump = code.instructions.findIndex(({ op }) => op === 'JMP');
    expect(jump + code.instructions[jump].x).toBe(at);
    expect(code.constants).toEqual([true, 0n, 0n]);
  });

  test('says which arguments an operator is given in the table', () => {
    const ir = `graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %y : Tensor = aten::add(%x, %x, %one)
  %z : Tensor = aten::add(%x, %y, %two)
  return (%z)
`;
    expect(compileMobileCode(parseIr(ir)).operators).toEqual([
      { name: 'aten::add', overloadName: 'Tensor', argumentCount: 3 },
    ]);
  });

  test('refuses what the lite interpreter lacks', () => {
    const ir = `graph(%f : Future(Tensor)):
  %x : Future(Tensor) = prim::fork(%f)
  return (%x)
`;
    expect(() => compileMobileCode(parseIr(ir))).toThrow('prim::fork is not supported in mobile module.');
  });
});
