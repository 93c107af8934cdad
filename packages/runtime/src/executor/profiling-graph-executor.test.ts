import { applyJitOptions, setJitOptions, type JitOptions } from '@cresset/ir';
import { Tensor } from '@cresset/tensor';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { registerAllParts } from '../all-parts.ts';
import { Program } from './program-fixture.ts';

beforeAll(registerAllParts);
afterEach(() => applyJitOptions({}));

const vector = (length: number): Tensor =>
  Tensor.fromArray(
    Float32Array.from({ length }, (_, at) => at - 1),
    [length],
    'float32',
  );

/** A guard in a loop in a loop, whose counts are part of the answer, and writes that must happen once. */
const LOOPS = `
graph(%x : Tensor, %y : Tensor, %log : int[]):
  %one : int = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %true : bool = prim::Constant[value=1]()
  %n : int = aten::size(%x, %zero)
  %z : Tensor = aten::mul(%x, %y)
  %r : Tensor = prim::Loop(%n, %true, %z)
    block0(%i : int, %c : Tensor):
      %inner : Tensor = prim::Loop(%i, %true, %c)
        block0(%j : int, %d : Tensor):
          %pair : int = aten::add(%i, %j)
          %logged : int[] = aten::append(%log, %pair)
          %isOne : bool = aten::eq(%pair, %one)
          %e : Tensor = prim::If(%isOne)
            block0():
              %two : Tensor[] = prim::ListConstruct(%d, %d)
              %long : Tensor = aten::cat(%two, %zero)
              -> (%long)
            block1():
              -> (%d)
          %m : int = aten::size(%e, %zero)
          %k : int = aten::mul(%m, %j)
          %f : Tensor = aten::add(%e, %k, %i)
          -> (%true, %f)
      %g : Tensor = aten::sub(%inner, %i, %one)
      -> (%true, %g)
  %h : Tensor = aten::relu(%r)
  return (%h)
`;

function answer(program: Program, length: number): unknown {
  const log = program.emptyList();
  const [result] = program.run([vector(length), vector(length), log]) as readonly Tensor[];
  return [result.sizes, [...new Float32Array(result.storage.hostBytes().slice(0))], log.items];
}

describe.each<[string, JitOptions]>([
  ['fallbacks', { executor: 'profiling' }],
  ['groups', { executor: 'profiling', fuseOnCpu: true }],
  ['groups for any sizes', { executor: 'profiling', fuseOnCpu: true, fusionStrategy: [['DYNAMIC', 3]] }],
  ['bailouts', { executor: 'profiling', bailouts: true }],
  ['bailouts, and groups asked for', { executor: 'profiling', bailouts: true, fuseOnCpu: true }],
  ['bailouts by rank', { executor: 'profiling', bailouts: true, fusionStrategy: [['DYNAMIC', 2]] }],
  ['two profiled runs', { executor: 'profiling', bailouts: true, numProfiledRuns: 2 }],
  ['a plan for a spec', { executor: 'simple' }],
])('%s', (_name, options) => {
  it('gives what the program gives as it was written, whatever the shapes', () => {
    setJitOptions(options);
    const program = new Program(LOOPS);
    for (const length of [3, 3, 3, 2, 2, 4, 4, 1, 3, 5, 0, 2]) {
      applyJitOptions({ enabled: false });
      const expected = answer(new Program(LOOPS), length);
      applyJitOptions(options);
      expect(answer(program, length), `length ${length}`).toEqual(expected);
    }
  });
});

describe('the profiling executor', () => {
  it('goes through the stages that PyTorch has', () => {
    setJitOptions({ executor: 'profiling', numProfiledRuns: 2 });
    const program = new Program(LOOPS);
    answer(program, 2);
    expect([...program.stages().keys()]).toEqual(['inlined', 'profiled']);
    expect(text(program, 'profiled')).toContain(
      'prim::profile[profiled_type=Float(2, strides=[1], requires_grad=0, device=cpu), seen_none=0](%x)',
    );
    answer(program, 3);
    expect(text(program, 'profiled'), 'types of two runs are merged').toContain(
      'prim::profile[profiled_type=Float(*, strides=[1], requires_grad=0, device=cpu), seen_none=0](%x)',
    );
    answer(program, 2);
    expect([...program.stages().keys()]).toEqual(['inlined', 'profiled', 'optimized']);
    expect(text(program, 'optimized')).not.toContain('prim::profile');
  });

  it('folds what guards make known, and carries in a bailout what is needed to go on', () => {
    setJitOptions({ executor: 'profiling', bailouts: true });
    const program = new Program(`
graph(%x : Tensor, %y : Tensor):
  %zero : int = prim::Constant[value=0]()
  %n : int = aten::size(%x, %zero)
  %z : Tensor = aten::mul(%x, %y)
  %r : Tensor = aten::add(%z, %n, %n)
  return (%r)
`);
    const sizes = (length: number): unknown => (program.run([vector(length), vector(length)]) as Tensor[])[0].sizes;
    sizes(2);
    sizes(2);
    const [optimized] = text(program, 'optimized').split('with prim::BailoutTemplate_0');
    expect(optimized).toContain('prim::Constant[value=2]()');
    expect(optimized).not.toContain('aten::size');
    expect(optimized.match(/prim::BailOut\[/g), 'one for each input, none for what follows from them').toHaveLength(2);
    expect(sizes(5)).toEqual([5]);
  });
});

function text(program: Program, stage: string): string {
  return program.stages().get(stage)!.toString({ sourceRanges: false });
}
