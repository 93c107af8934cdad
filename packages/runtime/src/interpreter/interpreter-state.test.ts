import { describe, expect, it } from 'vitest';
import { Complex, type List, Tensor, type Tuple, type IValue } from '@cresset/tensor';
import { Program } from '../executor/program-fixture.ts';
import { RuntimeContext } from '../run/runtime-context.ts';
import { TorchScriptError } from './script-error.ts';

function tensor(...values: number[]): Tensor {
  return Tensor.fromArray(Float32Array.from(values), [values.length], 'float32');
}

describe('InterpreterState', () => {
  it('runs operators on numbers and tensors', () => {
    const program = new Program(`
graph(%x : Tensor, %n : int):
  %two : int = prim::Constant[value=2]()
  %one : int = prim::Constant[value=1]()
  %m : int = aten::mul(%n, %two)
  %y : Tensor = aten::add(%x, %m, %one)
  return (%y, %m)
`);
    const [y, m] = program.run([tensor(1, 2), 5n]) as IValue[];
    expect(m).toBe(10n);
    expect([...(y as Tensor).contiguousArray()]).toEqual([11, 12]);
  });

  it('makes dicts in which equal complex numbers are one key', () => {
    const program = new Program(`
graph(%a : complex, %b : complex, %one : int, %two : int):
  %d : Dict(complex, int) = prim::DictConstruct(%a, %one, %b, %two)
  %n : int = aten::len(%d)
  %v : int = aten::__getitem__(%d, %b)
  return (%n, %v)
`);
    expect(program.run([new Complex(0, 1), new Complex(0, 1), 1n, 2n])).toEqual([1n, 2n]);
    expect(program.run([new Complex(0, 1), new Complex(1, 1), 1n, 2n])).toEqual([2n, 2n]);
  });

  it('takes the branch the condition says', () => {
    const program = new Program(`
graph(%n : int):
  %zero : int = prim::Constant[value=0]()
  %positive : bool = aten::gt(%n, %zero)
  %r : int = prim::If(%positive)
    block0():
      %a : int = aten::add(%n, %n)
      -> (%a)
    block1():
      %b : int = aten::neg(%n)
      -> (%b)
  return (%r)
`);
    expect(program.run([4n])).toEqual([8n]);
    expect(program.run([-4n])).toEqual([4n]);
  });

  it('swaps loop variables and counts trips', () => {
    const program = new Program(`
graph(%n : int, %a : int, %b : int):
  %true : bool = prim::Constant[value=1]()
  %x : int, %y : int = prim::Loop(%n, %true, %a, %b)
    block0(%i : int, %p : int, %q : int):
      %s : int = aten::add(%q, %i)
      -> (%true, %s, %p)
  return (%x, %y)
`);
    // (1, 2) → (2+0, 1) → (1+1, 2) → (2+2, 2)
    expect(program.run([3n, 1n, 2n])).toEqual([4n, 2n]);
    expect(program.run([0n, 1n, 2n])).toEqual([1n, 2n]);
  });

  it('ends a loop when its condition turns false', () => {
    const program = new Program(`
graph(%limit : int):
  %true : bool = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %max : int = prim::Constant[value=9223372036854775807]()
  %r : int = prim::Loop(%max, %true, %zero)
    block0(%i : int, %k : int):
      %next : int = aten::add(%k, %one)
      %more : bool = aten::lt(%next, %limit)
      -> (%more, %next)
  return (%r)
`);
    expect(program.run([7n])).toEqual([7n]);
  });

  it('makes and takes apart lists, tuples and dicts', () => {
    const program = new Program(`
graph(%a : int, %b : int):
  %zero : int = prim::Constant[value=0]()
  %list : int[] = prim::ListConstruct(%a, %b)
  %c : int, %d : int = prim::ListUnpack(%list)
  %more : int[] = aten::append(%list, %d)
  %length : int = aten::len(%list)
  %tuple : (int, int, int[]) = prim::TupleConstruct(%c, %length, %list)
  %e : int = prim::TupleIndex(%tuple, %zero)
  return (%tuple, %e)
`);
    const [tuple, first] = program.run([3n, 4n]) as [Tuple, bigint];
    expect(first).toBe(3n);
    expect(tuple.items[1]).toBe(3n);
    expect((tuple.items[2] as List).items).toEqual([3n, 4n, 4n]);
  });

  it('prints as Python does', () => {
    const program = new Program(`
graph(%x : float, %s : str):
   = prim::Print(%s, %x)
  return ()
`);
    program.run([1.5, 'x is']);
    expect(program.printed).toEqual(['x is 1.5\n']);
  });

  it('raises the program’s own errors with their class', () => {
    const program = new Program(`
graph(%message : str):
  %class : str = prim::Constant[value="builtins.ValueError"]()
   = prim::RaiseException(%message, %class)
  return ()
`);
    let caught: unknown;
    try {
      program.run(['bad x']);
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(TorchScriptError);
    const error = caught as TorchScriptError;
    expect(error.isRaised).toBe(true);
    expect(error.pythonClassName).toBe('builtins.ValueError');
    expect(error.reason).toBe('bad x');
    expect(error.message).toContain('The following operation failed in the TorchScript interpreter.');
    expect(error.message).toContain('builtins.ValueError: bad x\n');
  });

  it('runs a fork and waits for it', () => {
    const program = new Program(`
graph(%a : int):
  %f : Future(int) = prim::fork_0(%a)
  %r : int = aten::wait(%f)
  return (%r)
with prim::fork_0 = graph(%x : int):
  %y : int = aten::add(%x, %x)
  return (%y)
`);
    expect(program.run([21n])).toEqual([42n]);
  });

  it('stops at the bound on instructions', () => {
    const program = new Program(
      `
graph():
  %true : bool = prim::Constant[value=1]()
  %max : int = prim::Constant[value=9223372036854775807]()
  %zero : int = prim::Constant[value=0]()
  %r : int = prim::Loop(%max, %true, %zero)
    block0(%i : int, %k : int):
      %next : int = aten::add(%k, %i)
      -> (%true, %next)
  return (%r)
`,
      new RuntimeContext({ limits: { maxInstructions: 10_000 } }),
    );
    expect(() => program.run([])).toThrow(expect.objectContaining({ code: 'RUN_LIMIT' }));
  });

  it('looks for an abort after every operator that makes a tensor', async () => {
    const controller = new AbortController();
    let rounds = 0;
    const context = new RuntimeContext({
      print: () => {
        if (++rounds === 3) controller.abort();
      },
    });
    const program = new Program(
      `
graph(%x : Tensor):
  %true : bool = prim::Constant[value=1]()
  %max : int = prim::Constant[value=9223372036854775807]()
  %r : Tensor = prim::Loop(%max, %true, %x)
    block0(%i : int, %k : Tensor):
      %y : Tensor = aten::relu(%k)
       = prim::Print(%i)
      -> (%true, %y)
  return (%r)
`,
      context,
    );
    const x = Tensor.fromArray(new Float32Array(4), [4], 'float32');
    // A run that lasts gives others a turn, on a slow machine here too: then it rejects instead of throwing.
    const run = async (): Promise<unknown> => program.run([x], controller.signal);
    await expect(run()).rejects.toThrow(expect.objectContaining({ code: 'ABORTED' }));
    expect(rounds).toBe(3);
  });

  it('is stopped by an abort signal in the middle of a loop', async () => {
    const program = new Program(`
graph():
  %true : bool = prim::Constant[value=1]()
  %max : int = prim::Constant[value=9223372036854775807]()
  %zero : int = prim::Constant[value=0]()
  %r : int = prim::Loop(%max, %true, %zero)
    block0(%i : int, %k : int):
      %next : int = aten::add(%k, %i)
      -> (%true, %next)
  return (%r)
`);
    const controller = new AbortController();
    const run = program.run([], controller.signal);
    setTimeout(() => controller.abort(), 1);
    await expect(run).rejects.toMatchObject({ code: 'ABORTED' });
  });
});
