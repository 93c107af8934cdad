import { describe, expect, it } from 'vitest';
import { printCode } from './code-printer.ts';
import { verifyCode } from './code-verifier.ts';
import { Program } from '../../executor/program-fixture.ts';

function codeOf(text: string): ReturnType<ReturnType<Program['executors']['ofGraph']>['code']> {
  const program = new Program(text);
  return program.executors.ofGraph(program.graph, 'program').code();
}

describe('printCode', () => {
  it('shows registers, constants and last uses', () => {
    const code = codeOf(`
graph(%x : Tensor, %n : int):
  %one : int = prim::Constant[value=1]()
  %y : Tensor = aten::add(%x, %n, %one)
  %z : Tensor = aten::mul(%y, %x)
  return (%z)
`);
    expect(printCode(code)).toBe(`code program: 2 parameters, 4 registers, 1 constants
  0  OP aten::add.Scalar r0, r1, c0 -> r2
  1  OP aten::mul.Tensor r2!, r0! -> r3
  2  RETURN r3
`);
  });

  it('shows the jumps of Ifs and Loops', () => {
    const code = codeOf(`
graph(%n : int, %c : bool, %k : int):
  %r : int = prim::Loop(%n, %c, %k)
    block0(%i : int, %v : int):
      %w : int = prim::If(%c)
        block0():
          %a : int = aten::add(%v, %i)
          -> (%a)
        block1():
          -> (%v)
      -> (%c, %w)
  return (%r)
`);
    const text = printCode(code);
    expect(text).toMatch(/LOOP @\d+ r0, r\d+, r\d+ -> r\d+/);
    expect(text).toMatch(/JUMP_IF_FALSE @\d+ r1/);
    expect(() => verifyCode(code)).not.toThrow();
  });
});

describe('verifyCode', () => {
  it('finds registers, jumps and ends that are not there', () => {
    const code = codeOf(`
graph(%n : int):
  %m : int = aten::add(%n, %n)
  return (%m)
`);
    expect(() => verifyCode({ ...code, registerCount: 1 })).toThrow(/there is no/);
    expect(() => verifyCode({ ...code, instructions: code.instructions.slice(0, -1) })).toThrow(/no end/);
    const [first] = code.instructions;
    const jump = {
      ...first,
      op: 'JUMP',
      inputs: [],
      outputs: [],
      operand: { target: 99 },
    } as (typeof code.instructions)[0];
    expect(() => verifyCode({ ...code, instructions: [...code.instructions, jump] })).toThrow(/no instruction 99/);
  });
});
