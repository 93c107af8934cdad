import { applyJitOptions, setJitOptions } from '@cresset/ir';
import { Tensor, Tuple, type IValue } from '@cresset/tensor';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { registerAllParts } from '../all-parts.ts';
import { GraphExecutor } from './graph-executor.ts';
import { Program } from './program-fixture.ts';

beforeAll(registerAllParts);
afterEach(() => applyJitOptions({}));

const PROGRAM = `
graph(%x : Tensor, %bias : Tensor?, %pair : (Tensor, (int, Tensor))):
  %none : NoneType = prim::Constant()
  %one : int = prim::Constant[value=1]()
  %isNone : bool = aten::__is__(%bias, %none)
  %a : Tensor, %b : (int, Tensor) = prim::TupleUnpack(%pair)
  %n : int, %c : Tensor = prim::TupleUnpack(%b)
  %sum : Tensor = aten::add(%a, %c, %one)
  %r : Tensor = prim::If(%isNone)
    block0():
      -> (%sum)
    block1():
      %known : Tensor = prim::unchecked_unwrap_optional(%bias)
      %s : Tensor = aten::add(%sum, %known, %one)
      -> (%s)
  %d : int = aten::dim(%x)
  %t : Tensor = aten::mul(%r, %d)
  return (%t)
`;

const zeros = (sizes: number[], dtype: 'float32' | 'int64' = 'float32'): Tensor => Tensor.empty(sizes, dtype);
const pair = (a: Tensor, b: Tensor): Tuple => new Tuple([a, new Tuple([1n, b])]);

it('makes a plan for every dtype, rank and definedness of its arguments, however deep they lie', () => {
  setJitOptions({ executor: 'simple' });
  const program = new Program(PROGRAM);
  const executor = new GraphExecutor('f', program.graph, program.executors);
  const plan = (...args: IValue[]) => executor.planFor({ maxFusedTensors: 0, gradEnabled: true }, null, args);
  const first = plan(zeros([2, 3]), null, pair(zeros([3]), zeros([3])));
  expect(plan(zeros([4, 1]), null, pair(zeros([1]), zeros([5]))), 'sizes do not count').toBe(first);
  const required = zeros([3]);
  required.requiresGrad = true;
  const others = [
    plan(zeros([2]), null, pair(zeros([3]), zeros([3]))),
    plan(zeros([2, 3], 'int64'), null, pair(zeros([3]), zeros([3]))),
    plan(zeros([2, 3]), zeros([3]), pair(zeros([3]), zeros([3]))),
    plan(zeros([2, 3]), null, pair(zeros([3]), zeros([3, 3]))),
    plan(zeros([2, 3]), null, pair(zeros([3]), required)),
    plan(null, null, pair(zeros([3]), zeros([3]))),
  ];
  expect(new Set([first, ...others]).size).toBe(7);

  const text = first.graph.toString({ sourceRanges: false });
  expect(text).toContain('%x : Float(*, *, requires_grad=0, device=cpu)');
  expect(text, 'the rank is known').not.toContain('aten::dim');
  expect(text, 'there is no bias').not.toContain('prim::If');
  expect(others[2].graph.toString({ sourceRanges: false }), 'there is one').not.toContain('prim::If');
});

it('stops making plans', () => {
  setJitOptions({ executor: 'simple' });
  const program = new Program(PROGRAM);
  const executor = new GraphExecutor('f', program.graph, program.executors);
  const plans = new Set(
    Array.from({ length: 100 }, (_, rank) =>
      executor.planFor({ maxFusedTensors: 0, gradEnabled: false }, null, [
        zeros(Array.from({ length: rank }, () => 1)),
        null,
        pair(zeros([1]), zeros([1])),
      ]),
    ),
  );
  // One for each of so many specs, and one for anything else.
  expect(plans.size).toBe(33);
});
